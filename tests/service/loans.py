"""A small stream of loans: settings, people, a clock that is set by hand, and what follows from commands alone."""

from __future__ import annotations

import numpy as np

from likewise.service.canonical import dumps
from likewise.service.stream import commands
from likewise.service.stream.decide import decide
from likewise.service.stream.events import Aside
from likewise.service.stream.settings import Feature, Settings, Waits
from likewise.service.stream.state import State, dump_state

COLUMNS = ("score", "age")
CUTS = tuple(np.linspace(0.1, 0.9, 9).tolist())


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


class Fold:
    """A stream in memory: every command is decided and its events are folded, with no store behind."""

    def __init__(self, settings=None, clock=None):
        self.state, self.events, self.clock = State(), [], clock or Clock()
        self.do(commands.CreateStream(loans() if settings is None else settings, "root", "00"))

    def do(self, command):
        decision = decide(self.state, command, self.clock())
        self.state = decision.after
        self.events += decision.events
        return decision.events

    def kinds(self, command):
        return [event.kind for event in self.do(command)]

    def open(self, X, columns=COLUMNS):
        """Open a round for rows of numbers; people are called "0", "1", …"""
        t = self.state.opened + 1
        asides = [Aside(f"{t}.{i}", "person", t, "00" * 32, person) for i, person in enumerate(people(X, columns))]
        (opened,) = self.do(commands.RequestDecisions(asides, np.full(len(asides), 0.5), "decider"))
        return t, np.array([person.probability for person in opened.people])

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
