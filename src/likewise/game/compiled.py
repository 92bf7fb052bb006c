"""A whole play in one compiled loop, where every part is plain arrays. The same kernels, so the same transcript.

``play`` asks each part for its compiled form: a class of thresholds, a learner with weights, a stored population, an
auditor with a named metric. If one of them has none, or a subclass has changed what its form stands for, the readable
loop plays instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise.game.averages import Averages
from likewise.game.recorder import Recorder
from likewise.game.transcript import Transcript
from likewise.hypotheses.thresholds import FEW
from likewise.policies import AveragePolicy
from likewise.protocol import Auditor, Batch, Environment, Floats, Key, Learner, Role, Rows

CHUNK = 4096
"""Rounds played between two looks at the progress bar."""


@dataclass(frozen=True)
class CompiledPlay:
    """The parts of a play, as arrays. A part with a compiled form has more than its protocol asks for."""

    learner: Any
    environment: Any
    first: Any
    kind: int
    knobs: Floats
    population: tuple[Rows, Floats, Floats]
    audit: tuple[Any, ...]

    @classmethod
    def of(cls, learner: Learner, people: Environment, auditor: Auditor) -> CompiledPlay | None:
        """The compiled play of these parts; None unless each of them has a compiled form and keeps to it."""
        first = _form(learner.hypotheses, "losses", "probability", "added", "mix_gap", "shrunk")
        rule = _form(learner, "init", "act", "update", "penalty_at")
        population = _form(people, "batch", "draws")
        if first is None or rule is None or population is None or people.k is None or people.k > FEW:
            return None
        metric = _form(auditor, "audit", "excess", width=population[2].shape[1])
        if metric is None:
            return None
        kind = getattr(kernels, rule[0])
        return cls(learner, people, first, kind, np.array(rule[1]), population, metric)

    def play(
        self, record: Recorder, averages: Averages, state: Any, T: int, seed: int, chunks: Iterable[range]
    ) -> Transcript:
        """T rounds from ``state`` on, onto the record; a chunk ends wherever the averages begin a new sum."""
        k, begins, fresh = self.environment.k or 0, state.rounds + 1, type(state)
        shown, pairs = np.empty((T, k)), np.empty((T, 2), dtype=np.intp)
        violates, penalties = np.empty(T, dtype=np.int8), np.empty(T)
        draws = self.environment.draws(seed, begins, T)
        rows, y, view = self.population
        metric, alpha, level, choose = self.audit
        weights = np.array(self.learner.act(state, Key(seed, Role.LEARNER, begins)).weights)
        average = np.zeros(len(weights))
        numbers = getattr(state, "log_weights", None)
        numbers = np.array(state.losses if numbers is None else numbers)
        delta, reports, rounds = getattr(state, "delta", 0.0), state.reports, state.rounds
        log_size = float(self.learner.hypotheses.log_size)
        summed, ends = rounds, {*averages.cuts, rounds + T}
        for part in chunks:
            span = slice(part.start, part.stop)
            delta, reports, rounds = kernels.play_rounds(
                self.kind, self.knobs, np.array(self.learner.costs, dtype=float), log_size, self.first,
                rows, y, view, draws[span], *metric, alpha, level, choose,
                numbers, weights, delta, reports, rounds, average,
                shown[span], pairs[span], violates[span], penalties[span],
            )  # fmt: skip
            if rounds in ends:
                averages.add(AveragePolicy.of(self.learner.hypotheses, average, rounds - summed))
                average[:], summed = 0.0, rounds
        fields = {"rounds": rounds, "reports": reports, "losses": numbers, "log_weights": numbers}
        fields |= {"delta": delta, "weights": weights}
        people = draws.ravel()
        record.add_many(
            Batch(rows[people], y[people], self.environment.view[people], self.environment.person[people]),
            shown, pairs, violates, penalties,
        )  # fmt: skip
        state = fresh(**{name: fields[name] for name in fresh._fields})
        return record.transcript(state, averages.all_rounds, averages.first_pass, averages.late)


def _form(part: Any, *methods: str, **details: Any) -> Any:
    """The compiled form of a part, if no subclass has redefined a method that the form stands for."""
    class_ = type(part)
    owner = _owner(class_, "compiled")
    if owner is None or any(not issubclass(owner, _owner(class_, name) or object) for name in methods):
        return None
    return part.compiled(**details)


def _owner(class_: type, name: str) -> type | None:
    return next((base for base in class_.__mro__ if name in vars(base)), None)
