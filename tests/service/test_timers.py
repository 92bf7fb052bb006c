"""Timers against going through every open round, on random lives of random rounds."""

from __future__ import annotations

import numpy as np
import pytest
from loans import Fold, loans

from likewise.errors import LikewiseError
from likewise.service.asides import reason_aside
from likewise.service.live.timers import Timers
from likewise.service.stream import commands
from likewise.service.stream.settings import Waits

WAITS = (Waits(audit=30, label=50, grace=10), Waits(audit=30, grace=0), Waits(label=20, grace=5), Waits(grace=15))


def gone_through(state, now):
    """The rounds that are due, found the slow way."""
    return {t for t, round_ in state.rounds.items() if round_.due(state.waits) <= now}


class Life:
    """A stream to which random things happen, and timers that hear of each."""

    def __init__(self, rng, waits):
        self.rng = rng
        self.fold = Fold(loans(waits=waits))
        self.timers = Timers()

    @property
    def now(self):
        return self.fold.clock()

    def do(self, command):
        try:
            events = self.fold.do(command)
        except LikewiseError:  # audited twice, labels of the erased
            return
        self.timers.changed(self.fold.state, events)

    def open(self):
        before = len(self.fold.events)
        self.fold.open(self.rng.random((2, 2)))
        self.timers.changed(self.fold.state, self.fold.events[before:])

    def happens(self):
        t = int(self.rng.choice(list(self.fold.state.rounds) or [0]))
        if t == 0 or self.rng.random() < 0.3:
            self.open()
            return
        person = str(self.rng.integers(2))
        refs = [ref for ref in self.fold.state.rounds[t].refs if ref.endswith(person)]
        label = commands.ReceiveLabels(t, {person: int(self.rng.integers(2))}, "decider")
        audit, retract = commands.Audit(t, "none", "ann"), commands.RetractAudit(t, "ann")
        change = commands.ChangeWaits({"audit": float(self.rng.integers(5, 60))}, "root")
        chosen = self.rng.choice(6, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
        self.do(
            [
                label,
                audit,
                retract,
                commands.Stop(reason_aside("lunch"), "root"),
                change,
                commands.Erase(refs, [t], "root"),
            ][chosen]
        )
        self.do(commands.Resume("root"))

    def due(self):
        """What the timers take out, held against all rounds."""
        expected = gone_through(self.fold.state, self.now)
        rounds = self.timers.due(self.fold.state, self.now)
        assert len(set(rounds)) == len(rounds)
        assert set(rounds) == expected
        return rounds


@pytest.mark.parametrize("waits", WAITS, ids=["all", "audits", "labels", "grace"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_due_is_what_going_through_every_round_finds(waits, seed):
    life, taken = Life(np.random.default_rng(seed), waits), 0
    for _ in range(150):
        life.happens()
        life.fold.clock.forward(float(life.rng.integers(6)))
        if life.rng.random() < 0.5:
            for t in (rounds := life.due()):
                life.do(commands.Advance(t))
            taken += len(rounds)
    assert taken > 5, "nothing was ever due"


def test_what_was_taken_out_comes_back_only_if_somebody_looks_again():
    life = Life(np.random.default_rng(0), WAITS[0])
    for _ in range(5):
        life.open()
    life.fold.clock.forward(31)
    assert life.due() == [1, 2, 3, 4, 5]
    assert life.timers.due(life.fold.state, life.now) == []
    life.timers.look_again()
    assert life.due() == [1, 2, 3, 4, 5]


def test_a_state_that_went_back_is_gone_through_again():
    """A verdict is lost after its round was looked at: the audit expires as if it had never been given."""
    life = Life(np.random.default_rng(0), WAITS[1])
    life.open()
    assert life.due() == []
    before = life.fold.state
    life.do(commands.Audit(1, "none", "ann"))
    life.fold.clock.forward(31)
    assert life.due() == []
    life.fold.state = before
    life.timers.look_again()
    assert life.due() == [1]


def test_rounds_that_are_due_first_come_first():
    life = Life(np.random.default_rng(0), WAITS[1])
    life.due()
    for _ in range(4):
        life.open()
        life.fold.clock.forward(1)
    life.do(commands.Audit(1, "none", "ann"))
    life.do(commands.RetractAudit(1, "ann"))
    life.do(commands.ReceiveLabels(3, {"0": 1, "1": 1}, "decider"))
    life.do(commands.ChangeWaits({"grace": 2.0}, "root"))
    life.do(commands.Audit(3, "none", "ann"))  # final in two seconds, before any audit expires
    life.fold.clock.forward(40)
    assert life.due() == [3, 1, 2, 4]
