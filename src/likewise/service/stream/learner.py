"""What the settings of a stream stand for: its class of hypotheses, its learner, and the policies they deploy."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.classes.program import ScoreProgram
from likewise.errors import InvalidParameter, require, require_number
from likewise.hypotheses import Cells, EnumerableClass, Thresholds
from likewise.hypotheses.cells import Grid
from likewise.hypotheses.priors import prior_weights
from likewise.learners import AdaHedge, AnytimeHedge, Cuts, Hedge, OneSided, Scheduled, Tilted
from likewise.learners.fixed import FixedPolicy, score_as_it_is
from likewise.policies import Floored, Mixture
from likewise.protocol import Estimate, Floats, Key, Role, Rows
from likewise.reduction import label_weights
from likewise.service.canonical import digest, dumps
from likewise.service.stream.settings import GROWING, Settings

SEED = 0
"""Of the learner's keys. The learners of the service draw nothing, so every stream can have the same."""
LEARNER_VERSION = 4
"""Of the learners: what they do when a setting is left open, to the last bit.

The event that creates a stream holds it. Whoever changes a default or a sum gives it a new number, and builds the old
learner for streams that were created with the old number. Version 1, of release 1, is in no log of this format, and
version 2 was in no release. Since version 4 a learner knows who comes again, and gives no more slack than .05.
"""
KNOWN_VERSIONS = (3, LEARNER_VERSION)


class Deployed(NamedTuple):
    """A policy with its number (rounds learned before it), the hash of its weights and class, and its floor.

    Where only the labels of accepted people come, ``estimate`` says how the others are estimated, and holds the floor.
    """

    version: int
    weights: Floats
    hash: str
    estimate: Estimate | None = None


class Model:
    """The class and the learner of a stream, built from its settings and the version that it was created with.

    Parameters
    ----------
    settings
        Of the stream.
    version
        Of the learners.
    program
        The scores that policies cut, as :func:`score_program` reads them; None if they cut features.

    Examples
    --------
    >>> from likewise.service.stream.settings import Feature
    >>> score = Feature(name="score")
    >>> model = Model(Settings(name="loans", features=(score,), cuts={"score": (0.3, 0.6)}, alpha=0.2, k=2))
    >>> model.hypotheses.size, model.encode([{"score": 0.5}]).tolist()
    (6, [[1]])
    """

    def __init__(self, settings: Settings, version: int = LEARNER_VERSION, program: ScoreProgram | None = None) -> None:
        known = f"be one of {KNOWN_VERSIONS}, the versions of the learners that this service knows"
        require(version in KNOWN_VERSIONS and type(version) is int, "learner_version", known, version)
        self.settings, self.version, self.program = settings, version, program
        self.columns = [(f, settings.cuts[f.name]) for f in settings.features if f.name in settings.cuts]
        self.hypotheses: EnumerableClass = self._thresholds() if settings.hypotheses == "thresholds" else self._cells()
        self.learner: Any = self._learner()
        if settings.labels == "accepted":
            self.learner = OneSided(self.learner, safe=settings.safe)
        self.inside: AdaHedge | Hedge | AnytimeHedge | FixedPolicy = getattr(self.learner, "learner", self.learner)
        """The learner, or what is inside one that sees only the labels of accepted people."""

    def _thresholds(self) -> Thresholds:
        """A number has its cuts; every level of a category has a column of its own, cut between no and yes."""
        if self.program is not None:
            return Thresholds(self.program.cuts, names=self.program.names)
        cuts: list[Sequence[float]] = []
        for feature, column in self.columns:
            cuts += [column] if column is not None else [(0.5,)] * len(feature.levels)
        return Thresholds(cuts)

    def _cells(self) -> Cells:
        cuts = [
            column if column is not None else [level + 0.5 for level in range(len(feature.levels) - 1)]
            for feature, column in self.columns
        ]
        width = len(cuts)
        grid = Grid(cuts, list(range(width)), list(range(width)), width)
        return Cells(grid, grid.cells)

    def _learner(self) -> AdaHedge | Hedge | AnytimeHedge | FixedPolicy:
        settings, penalty = self.settings, _penalty(self.settings.penalty)
        if settings.learner == "none":
            return self._nothing_learned()
        shared: dict[str, Any] = {"k": settings.k, "T": settings.T, "costs": settings.costs}
        if settings.learner == "adahedge":
            learner = AdaHedge(self.hypotheses, alpha=settings.level, penalty=penalty, **shared)
            ones = None if self.program is None or settings.labels == "accepted" else self.program.ones
            learner = learner if ones is None else learner.leaning(ones)
            default = penalty is None and isinstance(learner.rule, Cuts)
            return learner.with_slack(settings.level / 2) if self.version < 4 and default else learner
        if isinstance(penalty, (Scheduled, Tilted, str)):
            raise InvalidParameter("`penalty` must be a number for hedge; only adahedge has penalties that grow.")
        if settings.T is not None:
            return Hedge(self.hypotheses, penalty=penalty, **shared)
        if penalty is None:
            raise InvalidParameter("`penalty` must be given for hedge without `T`, got None.")
        return AnytimeHedge(self.hypotheses, penalty=penalty, **shared)

    def _nothing_learned(self) -> FixedPolicy:
        """The score that is cut, as it is."""
        settings, F = self.settings, self.hypotheses
        plain = settings.labels == "all" and settings.penalty is None and self.program is None
        require(plain, "learner", "not be none with a penalty, fitted scores or labels of accepted people", "none")
        one_score = isinstance(F, Thresholds) and len(self.columns) == 1 and self.columns[0][1] is not None
        require(one_score, "cuts", "be of one number, the score, where nothing is learned", sorted(settings.cuts))
        assert isinstance(F, Thresholds)
        weights = tuple(score_as_it_is(F).tolist())
        return FixedPolicy(F, weights=weights, k=settings.k, T=settings.T, costs=settings.costs)

    def encode(self, people: Sequence[Mapping[str, Any]]) -> Rows:
        """People, each a mapping of checked features, turned into what the class needs."""
        numbers = self._numbers(people)
        if isinstance(self.hypotheses, Thresholds):
            # What its `encode` does for arrays, which for a batch would spend most of its time on checks.
            passed = [list(map(bisect_right, self._cuts, person)) for person in numbers]
            return np.array(passed, dtype=np.int32).reshape(len(passed), len(self._cuts))
        return self.hypotheses.encode(np.array(numbers, dtype=float))

    @cached_property
    def _cuts(self) -> list[list[float]]:
        return [cuts.tolist() for cuts in self.hypotheses.cuts]  # type: ignore[attr-defined]

    def _numbers(self, people: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        """What is cut of each person: scores, or features."""
        if self.program is not None:
            scores: list[list[float]] = self.program.scores(people).tolist()
            return scores
        return [self._features(person) for person in people]

    def _features(self, person: Mapping[str, Any]) -> list[float]:
        numbers: list[float] = []
        for feature, column in self.columns:
            value = person[feature.name]
            if column is not None:
                numbers.append(value)
            elif self.settings.hypotheses == "cells":
                numbers.append(feature.levels.index(value))
            else:
                numbers += [float(value == level) for level in feature.levels]
        return numbers

    def neutral(self, people: int) -> Rows:
        """Rows for people whose features are gone; nothing is learned from them."""
        width = () if self.settings.hypotheses == "cells" else (len(self.hypotheses.cuts),)  # type: ignore[attr-defined]
        return np.zeros((people, *width), dtype=np.intp if self.settings.hypotheses == "cells" else np.int32)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the class, which is a part of every policy's hash."""
        described = self.hypotheses.to_dict()
        if self.settings.scores is not None:
            described["models"] = self.settings.scores
        return hashlib.sha256(dumps(described).encode()).digest()

    @cached_property
    def used(self) -> list[str]:
        """The features that policies use."""
        return [feature.name for feature, _ in self.columns] if self.program is None else self.program.features

    def deploy(self, state: Any) -> Deployed:
        """The policy of a learner's state, numbered and hashed."""
        version = int(state.rounds)
        policy = self.learner.act(state, Key(SEED, Role.LEARNER, version + 1))
        policy = policy.policy if isinstance(policy, Floored) else policy
        weights = np.ascontiguousarray(policy.weights, dtype="<f8")
        hash = hashlib.sha256(self.digest + weights.tobytes()).hexdigest()
        return Deployed(version, policy.weights, hash, self._estimate(state))

    def _estimate(self, state: Any) -> Estimate | None:
        """How labels of the coming round are estimated, if they are; without a -0.0, which the log doesn't have."""
        if not isinstance(self.learner, OneSided):
            return None
        return Estimate(*(part + 0.0 for part in self.learner.estimate(state)))

    def probabilities(self, policy: Deployed, rows: Rows) -> Floats:
        """π at encoded people, with the floor."""
        mixture = Mixture(self.hypotheses, policy.weights)
        if policy.estimate is None or policy.estimate.floor == 0.0:
            return mixture.at(rows)
        return Floored(mixture, policy.estimate.floor).at(rows)

    def booked(self, state: Any, rows: Rows, y: Floats, shown: Floats, estimate: Estimate) -> Any:
        """The state of a learner that hears late labels of people who were accepted with the probabilities ``shown``.

        Their round booked u for each. (s − u)/(π̃ + γ′) f(x) is added to the losses, and they join the running doubt.
        """
        s, F = label_weights(y, self.settings.costs), self.hypotheses
        losses = F.added(state.losses, rows, (s - estimate.doubt) / (shown + estimate.slack))
        seen, worth = state.seen, state.worth
        for each, p in zip(s.tolist(), shown.tolist(), strict=True):
            seen, worth = seen + 1.0 / p, worth + each / p
        state = state._replace(losses=losses, seen=seen, worth=worth)
        if isinstance(self.inside, AdaHedge):
            start = self.inside.start
            rate = start.rho / state.delta if state.delta > 0 else math.inf
            state = state._replace(weights=prior_weights(F, start, losses, rate))
        return state

    @property
    def keeps_reports(self) -> bool:
        """Whether the learner keeps reports and revises their prices."""
        return isinstance(self.inside, AdaHedge) and isinstance(self.inside.rule, Cuts)

    @property
    def knows_people(self) -> bool:
        """Whether the learner is told who comes again, so that it hears when answers about two people contradict."""
        return self.keeps_reports and self.version >= 4 and self.settings.audits == "probabilities"

    def dump(self, state: Any) -> dict[str, Any]:
        """A learner's state as plain JSON values; numbers survive bit by bit, also in the log.

        The log has no -0.0, and no state has one: weights are exponentials, and a sum that began at 0.0 is never -0.0.
        """
        return {name: _plain(value) for name, value in state._asdict().items()}

    @cached_property
    def blank(self) -> Any:
        """A state of the learner for the types and lengths of its parts; what they hold means nothing."""
        return self.learner.blank() if isinstance(self.learner, AdaHedge) else self.learner.init()

    def load(self, data: Mapping[str, Any]) -> Any:
        """A learner's state again; each part has the type, and each row the length, that it has at the beginning."""
        start = self.blank
        return type(start)(**{name: _typed(getattr(start, name), value) for name, value in data.items()})

    def frozen(self, state: Any, rows: NDArray[np.bool_]) -> Any:
        """A learner's state that doesn't tell any more of some reports where their people lay between the cuts.

        Their prices stay, so the policy does too, but can't be revised any more.
        """
        if not isinstance(self.learner, OneSided):
            return state.frozen_rows(rows)
        return type(state)(*self.learner.inside(state).frozen_rows(rows), state.seen, state.worth)


def person_number(id: str | None) -> int:
    """A number that stands for an id; 0 for somebody who was erased.

    It has 53 bits, as many as a number in JSON may have: among a million people two share one with a probability below
    1e-4. Then somebody seems to have come again: less is claimed, and a report of theirs may weigh less.
    """
    if id is None:
        return 0
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "big") >> 11 or 1


def score_program(settings: Settings, scores: Mapping[str, Any] | None) -> ScoreProgram | None:
    """The scores that the settings name by their hash; refused if these are others."""
    held = None if scores is None else digest(scores)
    require(held == settings.scores, "scores", "have the hash that the settings hold", held)
    return None if scores is None else ScoreProgram(scores)


def _plain(value: Any) -> Any:
    """A part of a learner's state as JSON, which has no infinity: a gap that has not passed yet is null."""
    if not isinstance(value, np.ndarray):
        return value
    numbers = value.tolist()
    return [None if number == -math.inf else number for number in numbers] if value.ndim == 1 else numbers


def _typed(like: Any, value: Any) -> Any:
    """A part of a learner's state, of the same type as another one; in the log a whole float is an int."""
    if not isinstance(like, np.ndarray):
        return type(like)(value)
    numbers = [-math.inf if number is None else number for number in value]
    return np.array(numbers, dtype=like.dtype).reshape(-1, *like.shape[1:])


def _penalty(given: Any) -> float | Scheduled | Tilted | str | None:
    if given == GROWING:
        return GROWING
    if isinstance(given, Mapping):
        if set(given) == {"first", "growth"}:
            return Scheduled(**given)
        if {"c"} <= set(given) <= {"c", "floor"}:
            return Tilted(**given)
        raise InvalidParameter(
            f"`penalty` must hold first and growth (scheduled) or c and floor (tilted), got {sorted(given)}."
        )
    if given is not None:
        require_number(given, "penalty", 0)
        return float(given)
    return None
