"""What a new kind of event takes: one class, and a line in ``decide`` that makes it happen.

A kind that this file alone knows goes through log, view, figures, restart, export and verifier. Then the source itself
is read: which of its files name a kind.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from loans import Clock, drawn, loans

import likewise
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.signing import Signer
from likewise.service.projections import summaries
from likewise.service.proof.replay import verify
from likewise.service.stream import decide
from likewise.service.stream.events import KINDS
from likewise.service.stream.events.event import RoundEvent
from likewise.service.stream.plain_state import dump_state

# A kind that only this file knows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAsked(RoundEvent):
    """Somebody wants a second verdict on an open round."""

    kind: ClassVar[str] = "second_asked"
    by: str

    def evolve(self, state):
        round_ = self.round(state)
        return state.with_round(replace(round_, panel=self.hear(round_.panel)))

    def hear(self, panel):
        return panel._replace(wanted=2, rule="any")

    def tell(self, view):
        view["review"] = {"probability": 1.0, "drawn": True, "second": True}

    def sum_up(self, row):
        row["verdict"] = "twice"

    def objection(self, state, memory):
        return "asks for a second verdict again" if self.round(state).panel.wanted == 2 else ""


@dataclass(frozen=True)
class AskSecond:
    """Ask for it; nothing is refused, so that the verifier has something to find."""

    t: int
    by: str


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(KINDS, SecondAsked.kind, SecondAsked)
    asked = lambda decision, command: decision.add(SecondAsked(at=decision.at, t=command.t, by=command.by))  # noqa: E731
    monkeypatch.setitem(decide._DECIDERS, AskSecond, asked)


@pytest.fixture
def engine(tmp_path, known):
    with Store(tmp_path / "log.db") as store:
        store.migrate()
        engine = Engine(store, Signer.generate(), clock=Clock())
        engine.create(loans(), "root")
        engine.decide("loans", drawn(np.random.default_rng(0), 4), "decider")
        yield engine


def ask(engine):
    command = AskSecond(1, "root")
    return engine._do(engine.streams.get("loans"), lambda state: command, lambda outcome: {"receipt": None})


def verified(engine, tmp_path):
    (tmp_path / "export.jsonl").write_text("".join(engine.export_text("loans")), encoding="utf-8")
    return verify(tmp_path / "export.jsonl")


def test_it_is_signed_changes_the_state_and_tells_the_round(engine):
    assert ask(engine)["receipt"]["seq"] == engine.store.head("loans")[0]
    engine.audit("loans", 1, "none", "ann")
    record = engine.round("loans", 1)
    assert (record["review"]["second"], record["audit"], len(record["verdicts"])) == (True, None, 1)
    engine.audit("loans", 1, "none", "ben")
    assert engine.round("loans", 1)["audit"]["verdict"] == "cleared"


def test_it_is_in_the_rows_that_pictures_are_drawn_from(engine):
    ask(engine)
    assert summaries.read_on(engine, "loans")
    assert [row.verdict for row in summaries.newest(engine.store, "loans")] == ["twice"]


def test_another_process_reads_it_from_the_log(engine):
    ask(engine)
    again = Engine(engine.store, engine.signer, clock=engine.clock)
    states = [each.streams.get("loans").current() for each in (engine, again)]
    assert dump_state(states[0]) == dump_state(states[1])
    assert states[1].rounds[1].panel.wanted == 2


def test_an_outsider_verifies_it(engine, tmp_path):
    ask(engine)
    labels = dict.fromkeys(engine.streams.get("loans").current().rounds[1].ids, 1)
    engine.audit("loans", 1, "none", "ann")
    engine.label("loans", 1, labels, "decider")
    engine.audit("loans", 1, "none", "ben")
    seen = verified(engine, tmp_path)
    assert (seen.first, seen.replay.rounds) == (None, 1)


def test_an_outsider_notices_one_that_may_not_follow(engine, tmp_path):
    ask(engine)
    ask(engine)
    seq, said = verified(engine, tmp_path).first
    assert seq == engine.store.head("loans")[0]
    assert "(second_asked) asks for a second verdict again" in said


# The kinds that there are ---------------------------------------------------------------------------------------------

SOURCE = Path(likewise.__file__).parent
EVENTS = "likewise.service.stream.events"


def named_in(path):
    """The kinds that a file names: by their strings, or by classes that it makes or takes from ``stream/events``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} if "events" in path.parts else set()
    taken = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(EVENTS)
        for alias in node.names
    }
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return (strings & KINDS.keys()) | {kind for kind, cls in KINDS.items() if cls.__name__ in made | taken}


@pytest.fixture(scope="module")
def files():
    """By kind, the files that name it."""
    named = {path.relative_to(SOURCE).as_posix(): named_in(path) for path in sorted(SOURCE.rglob("*.py"))}
    return {kind: [path for path, kinds in named.items() if kind in kinds] for kind in KINDS}


OF_REVIEWING = (
    "brief_changed", "cleared_by_arithmetic", "known_answered", "known_marked", "known_retracted", "known_shown",
    "pair_judged", "plan_changed", "review_drawn",
)  # fmt: skip


@pytest.mark.parametrize("kind", OF_REVIEWING)
def test_a_kind_that_reviewing_brought_is_named_in_at_most_four_files(kind, files):
    """Its class, what makes it happen, the pages' sentence for it, and one reader that must know it by name."""
    folder = "service/stream/"
    assert len([path for path in files[kind] if path.startswith(f"{folder}events/")]) == 1
    assert len([path for path in files[kind] if path.startswith(folder)]) == 2
    assert len(files[kind]) <= 4, files[kind]


def test_the_count_is_not_blind(files):
    """A kind that others must know by name is named in many files: opening a round is what everything rests on."""
    assert len(files["round_opened"]) > 10
    assert len(files["verdict_late"]) > 4  # docs/design.md says so
