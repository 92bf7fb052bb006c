"""A small stream of loans: settings, people, a clock that is set by hand, and what follows from commands alone."""

from __future__ import annotations

import numpy as np

from likewise.service.canonical import dumps
from likewise.service.stream import commands
from likewise.service.stream.decide import decide
from likewise.service.stream.events import Aside, Learned, RoundOpened
from likewise.service.stream.lots import Lot, commitment, review_secret
from likewise.service.stream.plain_state import dump_state
from likewise.service.stream.readers import past_round
from likewise.service.stream.settings import Feature, Review, Settings, Waits
from likewise.service.stream.state import State

COLUMNS = ("score", "age")
CUTS = tuple(np.linspace(0.1, 0.9, 9).tolist())
BANK = {"labels": "accepted", "lot": "round"}
"""The settings of a bank, which never learns what becomes of people it refuses."""
SECRET = bytes(32)


class Clock:
    """Seconds since 1970, as the test says."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now

    def forward(self, seconds):
        self.now += seconds


def loans(**changes):
    """The settings of a stream on two numbers in [0, 1]."""
    plain = {
        "name": "loans",
        "features": tuple(Feature(name=name) for name in COLUMNS),
        "cuts": dict.fromkeys(COLUMNS, CUTS),
        "alpha": 0.1,
        "k": 4,
        "waits": Waits(grace=0),
        "review": Review(ask_all=True),  # nearly all first rounds hold people who are treated alike
    }
    return Settings(**plain | changes)


def from_class(F, columns=COLUMNS, **changes):
    """The settings of a stream that plays a class of thresholds or a grid over an array."""
    thresholds = hasattr(F, "cuts")
    cuts = F.cuts if thresholds else F.assign.cuts
    kind = "thresholds" if thresholds else "cells"
    named = {name: tuple(column.tolist()) for name, column in zip(columns, cuts, strict=True)}
    return loans(features=tuple(Feature(name=name) for name in columns), cuts=named, hypotheses=kind, **changes)


def people(X, columns=COLUMNS, prefix=""):
    """Rows of numbers as the people of a request."""
    rows = [dict(zip(columns, map(float, row), strict=True)) for row in X]
    return [{"id": f"{prefix}{i}", "features": features} for i, features in enumerate(rows)]


def drawn(rng, k=4, prefix=""):
    """Some people."""
    return people(rng.random((k, len(COLUMNS))), prefix=prefix)


def far_apart(probabilities):
    """Positions of the two people who were treated most differently."""
    return int(np.argmax(probabilities)), int(np.argmin(probabilities))


def fingerprint(state):
    """Everything about a state, in one text."""
    return dumps(dump_state(state))


def bank_life(rounds=40, seed=0, **settings):
    """A stream that sees labels of accepted people only, with late labels and people who come again, in memory."""
    fold = Fold(loans(waits=Waits(label=50, audit=50, grace=5), **BANK | settings))
    rng, record = np.random.default_rng(seed), {}
    for i in range(rounds):
        X = rng.random((4, 2))
        prefix = f"{i - 1}." if i % 7 == 6 else f"{i}."
        t, p = fold.open(X, prefix=prefix, record={id: record[id] for id in record if id.startswith(prefix)})
        decisions = [person.decision for person in fold.opened(t).people]
        record |= {f"{prefix}{j}": (p[j], decisions[j]) for j in range(4)}
        round_ = fold.past(t)
        open_ = [j for j in range(4) if j not in round_.unlabelled]
        now, later = (open_[:1], open_[1:]) if i % 3 == 0 else (open_, [])
        if now:
            fold.do(commands.ReceiveLabels(t, {f"{prefix}{j}": int(X[j, 0] > 0.5) for j in now}, "decider"))
        if t in fold.state.rounds and fold.state.rounds[t].verdict is None:
            _bank_audit(fold, t, i)
        fold.clock.forward(60)
        fold.advance(t)
        if later and t not in fold.state.rounds:
            fold.do(fold.late(t, {j: int(X[j, 0] > 0.5) for j in later[:-1] or later}))
    return fold


def _bank_audit(fold, t, i):
    round_, settings = fold.state.rounds[t], fold.state.stream.settings
    shown = round_.probabilities if settings.audits == "probabilities" else None
    pairs = round_.reportable(settings.level)
    if shown is not None:
        pairs = [(a, b) for a in round_.fresh for b in round_.fresh if shown[a] - shown[b] > settings.level]
    ids = round_.ids
    if i % 5 == 4:
        fold.do(commands.Audit(t, "skip", "ann"))
    elif pairs and i % 2:
        fold.do(commands.Audit(t, "pair", "ann", [ids[j] for j in pairs[0]]))
    elif i % 11:
        fold.do(commands.Audit(t, "none", "ann"))


class Fold:
    """A stream in memory: every command is decided and its events are folded, with no store behind."""

    def __init__(self, settings=None, clock=None):
        self.state, self.events, self.clock = State(), [], clock or Clock()
        settings = loans() if settings is None else settings
        lot = commitment(SECRET, settings.name, 1) if settings.lot == "round" else None
        review = commitment(review_secret(SECRET), settings.name, 1)
        self.do(commands.CreateStream(settings, "root", "00", lot, review=review))

    def do(self, command):
        decision = decide(self.state, command, self.clock())
        self.state = decision.after
        self.events += decision.events
        return decision.events

    def kinds(self, command):
        return [event.kind for event in self.do(command)]

    def open(self, X, columns=COLUMNS, prefix="", record=()):
        """Open a round for rows of numbers; people are called "0", "1", …, with a prefix if that is given."""
        t, settings = self.state.opened + 1, self.state.stream.settings
        asked = people(X, columns, prefix)
        asides = [Aside(f"{t}.{i}", "person", t, "00" * 32, person) for i, person in enumerate(asked)]
        lot = Lot.of(SECRET, settings.name, t) if settings.lot == "round" else None
        review = Lot.of(review_secret(SECRET), settings.name, self.state.drawing.lots + 1)
        asking = commands.RequestDecisions(asides, np.full(len(asides), 0.5), "decider", lot, dict(record), review)
        opened, *_ = self.do(asking)
        return t, np.array([person.probability for person in opened.people])

    def past(self, t):
        """A round that is over, as an engine reads it from the log: what a command about it brings."""
        return past_round([event for event in self.events if event.about == t], self.state)

    def late(self, t, labels):
        """A command with labels of a round that is over, by position."""
        learned = any(isinstance(event, Learned) and event.t == t for event in self.events)
        named = {self.past(t).ids[i]: label for i, label in labels.items()}
        return commands.ReceiveLabels(t, named, "decider", self.past(t), learned)

    def opened(self, t):
        """The event that opened a round."""
        return next(event for event in self.events if isinstance(event, RoundOpened) and event.t == t)

    def label(self, t, y):
        """Labels by position; NaN for one that doesn't come."""
        labels = {str(i): int(label) for i, label in enumerate(y) if not np.isnan(label)}
        return self.do(commands.ReceiveLabels(t, labels, "decider"))

    def audit(self, t, report=None, by="ann"):
        if report is None:
            return self.do(commands.Audit(t, "none", by))
        return self.do(commands.Audit(t, "pair", by, (str(report[0]), str(report[1]))))

    def advance(self, t):
        return self.do(commands.Advance(t))
