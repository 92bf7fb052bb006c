"""A whole play in one compiled loop, where every part is plain arrays. The same kernels, so the same transcript.

``play`` asks each part for its compiled form: a class of thresholds, a learner with weights, a stored population, an
auditor with a named metric. If one of them has none, or a subclass has changed what its form stands for, the readable
loop plays instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import kernels
from likewise.game.averages import Averages
from likewise.game.recorder import Drawn, Recorder
from likewise.game.rounds import World
from likewise.game.transcript import Transcript
from likewise.hypotheses.thresholds import FEW
from likewise.policies import AveragePolicy
from likewise.protocol import Batch, Environment, Floats, Key, Learner, Role, Rows

CHUNK = 4096
"""Rounds played between two looks at the progress bar."""


@dataclass(frozen=True)
class CompiledPlay:
    """The parts of a play, as arrays. A part with a compiled form has more than its protocol asks for."""

    learner: Any
    """The learner with weights: that inside a learner of one-sided labels."""
    environment: Any
    world: World
    first: Any
    rule: tuple[Any, ...]
    side: Floats
    """Whose labels are seen, and how others are estimated, as ``likewise.kernels.lots`` takes it."""
    population: tuple[Rows, Floats, Floats]
    audit: tuple[Any, ...]

    @classmethod
    def of(cls, learner: Learner, people: Environment, world: World) -> CompiledPlay | None:
        """The compiled play of these parts; None unless each of them has a compiled form and keeps to it."""
        if world.record is not None:
            return None
        side = np.zeros(6)
        side[0] = kernels.ACCEPTED if world.labels == "accepted" else kernels.ALL
        if hasattr(learner, "estimate"):
            estimated = _form(learner, "init", "act", "update", "estimate", "penalty_at")
            if estimated is None:
                return None
            learner, side = estimated
        first = _form(
            learner.hypotheses, "losses", "probability", "added", "mix_gap", "shrunk", "contrast", "tilted", "prices"
        )
        rule = _form(learner, "init", "act", "update", "learn", "penalty_at")
        weighted = getattr(people, "weight", None) is not None
        if weighted and rule is not None and rule[0] == "EXPONENTIAL_WEIGHTS":
            return None
        population = _form(people, "batch", "draws")
        if first is None or rule is None or population is None or people.k is None or people.k > FEW:
            return None
        metric = _form(world.auditor, "audit", "excess", width=population[2].shape[1])
        return None if metric is None else cls(learner, people, world, first, rule, side, population, metric)

    def play(
        self, record: Recorder, averages: Averages, state: Any, T: int, seed: int, chunks: Iterable[range]
    ) -> Transcript:
        """T rounds from ``state`` on, onto the record; a chunk ends wherever the averages begin a new sum."""
        k, begins = self.environment.k or 0, state.rounds + 1
        lots = np.zeros((T, k)) if self.world.lots is None else self.world.lots.many(begins, T, k)
        seen = np.empty((T, k)), np.empty((T, 2), dtype=np.intp), np.empty(T, dtype=np.int8), np.empty(T)
        drawn = np.empty((T, k), dtype=bool), np.empty((T, 3))
        draws = self.environment.draws(seed, begins, T)
        fold = (_Kept if self.rule[0] == "KEPT" else _Weights)(self, state)
        average = np.zeros(len(fold.weights))
        summed, ends = state.rounds, {*averages.cuts, state.rounds + T}
        (rows, y, view), chosen = self.population, draws.ravel()
        weight = None if self.environment.weight is None else self.environment.weight[chosen]
        each = np.ones(len(chosen)) if weight is None else weight
        # `take` is four times faster than an index where each person has a row of numbers.
        rows, looks = rows.take(chosen, axis=0), view.take(chosen, axis=0)
        people = rows, y[chosen], looks, self.environment.person[chosen], each
        for part in chunks:
            span, those = slice(part.start, part.stop), slice(part.start * k, part.stop * k)
            fold.play([array[those] for array in people], average, *(array[span] for array in (lots, *seen, *drawn)))
            if fold.rounds in ends:
                floors = self._floors(drawn[1][summed - begins + 1 : fold.rounds - begins + 1, 0])
                averages.add(AveragePolicy.of(self.learner.hypotheses, average, fold.rounds - summed, floors))
                average[:], summed = 0.0, fold.rounds
        rows, y, _, person, _ = people
        looks = looks if view is self.environment.view else self.environment.view[chosen]
        record.add_many(Batch(rows, y, looks, person, weight), *seen, self._drawn(*drawn))
        return record.transcript(fold.state(), averages.all_rounds, averages.first_pass, averages.late)

    def _floors(self, floors: Floats) -> float:
        """Σ of the floors of some rounds, one by one as the readable loop adds them; all labels need none."""
        return sum(floors.tolist(), 0.0) if self.side[0] == kernels.ESTIMATED else 0.0

    def _drawn(self, decisions: NDArray[np.bool_], estimates: Floats) -> Drawn | None:
        """What lots brought about, if any were drawn."""
        if self.world.lots is None:
            return None
        everybody, rounds = decisions.ravel(), len(decisions)
        estimated = self.side[0] == kernels.ESTIMATED
        unknown, none = np.full((rounds, 3), np.nan), np.zeros(rounds, dtype=np.intp)
        estimates = estimates if estimated else unknown
        return Drawn(everybody, ~everybody, estimates, none, unknown[:, 0])

    @property
    def costs(self) -> Floats:
        """What a false positive and a false negative cost."""
        return np.array(self.learner.costs, dtype=float)


class _Weights:
    """The state of a learner that folds reports into its losses, as arrays that a compiled loop changes in place."""

    def __init__(self, play: CompiledPlay, state: Any) -> None:
        self.parts, self.kind = play, type(state)
        self.sums = np.array([getattr(state, name, 0.0) for name in SUMS])
        self.weights = np.array(play.learner.act(state, Key(0, Role.LEARNER, state.rounds + 1)).weights)
        numbers = getattr(state, "log_weights", None)
        self.numbers = np.array(state.losses if numbers is None else numbers)
        self.delta, self.reports, self.rounds = getattr(state, "delta", 0.0), state.reports, state.rounds

    def play(self, people: Sequence[Any], average: Floats, *seen: Any) -> None:
        """Some rounds more."""
        parts, (metric, alpha, level, choose) = self.parts, self.parts.audit
        self.delta, self.reports, self.rounds = kernels.play_rounds(
            getattr(kernels, parts.rule[0]), np.array(parts.rule[1]), parts.costs, parts.side,
            float(parts.learner.hypotheses.log_size), parts.first, parts.environment.k, *people[:3], people[4],
            *metric, alpha, level, choose, self.numbers, self.weights, self.delta, self.reports, self.rounds,
            self.sums, average, *seen,
        )  # fmt: skip

    def state(self) -> Any:
        """The learner's state after the rounds so far."""
        fields = {"rounds": self.rounds, "reports": self.reports, "losses": self.numbers, "log_weights": self.numbers}
        fields |= {"delta": self.delta, "weights": self.weights} | dict(zip(SUMS, self.sums.tolist(), strict=True))
        return self.kind(**{name: fields[name] for name in self.kind._fields})


SUMS = ("seen", "worth")
"""What a learner of one-sided labels knows of the people it has seen."""
TABLES = ("contrasts", "people", "gaps", "terms", "passed", "repeats", "made")
"""What a learner that keeps reports knows of each."""


class _Kept:
    """The state of a learner that keeps reports, as arrays with room for one row more than it may keep."""

    def __init__(self, play: CompiledPlay, state: Any) -> None:
        self.parts, self.last = play, state
        self.sums = np.array([getattr(state, name, 0.0) for name in SUMS])
        self.weights, self.losses = np.array(state.weights), np.array(state.losses)
        self.frozen, self.count = np.array(state.frozen), len(state.gaps)
        room = max(int(play.learner.rule.rows), self.count) + 1
        self.tables = [_with_room(np.asarray(getattr(state, name)), room) for name in TABLES]
        self.delta, self.reports, self.rounds = float(state.delta), state.reports, state.rounds
        self.shared = float(state.shared)

    def play(self, people: Sequence[Any], average: Floats, *seen: Any) -> None:
        """Some rounds more."""
        parts, (metric, alpha, level, choose) = self.parts, self.parts.audit
        _, knobs, prior = parts.rule
        self.delta, self.reports, self.rounds, self.shared, self.count = kernels.play_kept(
            np.array(knobs, dtype=float), parts.costs, parts.side, prior.weights, prior.inverse, prior.offset,
            parts.first, parts.environment.k, *people, *metric, alpha, level, choose, self.losses, self.weights,
            self.delta, self.reports, self.rounds, self.shared, self.frozen, self.count, *self.tables, self.sums,
            average, *seen,
        )  # fmt: skip

    def state(self) -> Any:
        """The learner's state after the rounds so far."""
        rows = {name: table[: self.count].copy() for name, table in zip(TABLES, self.tables, strict=True)}
        return self.last._replace(
            rounds=self.rounds, reports=self.reports, losses=self.losses, delta=self.delta, weights=self.weights,
            shared=self.shared, frozen=self.frozen, **rows, **self._sums(),
        )  # fmt: skip

    def _sums(self) -> dict[str, float]:
        """Those of a running doubt, if the state has any."""
        return dict(zip(SUMS, self.sums.tolist(), strict=True)) if hasattr(self.last, SUMS[0]) else {}


def _with_room(table: NDArray[Any], rows: int) -> NDArray[Any]:
    """A copy with room for so many rows."""
    wide = np.zeros((rows, *table.shape[1:]), dtype=table.dtype)
    wide[: len(table)] = table
    return wide


def _form(part: Any, *methods: str, **details: Any) -> Any:
    """The compiled form of a part, if no subclass has redefined a method that the form stands for."""
    class_ = type(part)
    owner = _owner(class_, "compiled")
    if owner is None or any(not issubclass(owner, _owner(class_, name) or object) for name in methods):
        return None
    return part.compiled(**details)


def _owner(class_: type, name: str) -> type | None:
    return next((base for base in class_.__mro__ if name in vars(base)), None)
