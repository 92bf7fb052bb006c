"""The words of the game: Batch, Report, Round, and the roles that exchange them. Types only.

Round t: the learner deploys a policy π^t, a batch of people arrives, lots turn probabilities into decisions, the
auditor sees the people with their probabilities (or only the decisions) and answers, the learner learns. Nothing here
computes; every other module speaks in these types.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from likewise.facts import AuditorFacts, EnvironmentFacts
from likewise.theory import Bound

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[Any]
"""Encoded people, one per entry of the first axis: whatever the class of hypotheses needs."""


class Role(IntEnum):
    """Who draws: each role has a stream of random numbers of its own."""

    ENVIRONMENT = 0
    LEARNER = 1
    AUDITOR = 2
    LOT = 3
    REVIEW = 4


class Key(NamedTuple):
    """Names one stream of random numbers: (seed, role, t).

    Philox is counter-based, so a key *is* its stream: any round can be drawn again without the rounds before
    it, in any process. Only whoever draws builds a generator.

    Examples
    --------
    >>> a, b = Key(0, Role.LEARNER, 7), Key(0, Role.AUDITOR, 7)
    >>> bool(a.generator().random() == a.generator().random()), bool(a.generator().random() == b.generator().random())
    (True, False)
    """

    seed: int
    role: Role
    t: int

    def generator(self) -> np.random.Generator:
        """A fresh generator at the start of this key's stream."""
        return self.stream(0)

    def stream(self, number: int) -> np.random.Generator:
        """One of many generators of this key, so that a wrapper need not draw from the same one as what it wraps."""
        # t sits in the highest word of the counter: two rounds are 2**192 blocks apart and can't overlap.
        key = np.array([self.seed, self.role], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, number, self.t]))


class Batch(NamedTuple):
    """The people of one round.

    Attributes
    ----------
    rows
        People as the class of hypotheses needs them (``HypothesisClass.encode``).
    y
        Labels 0 or 1; NaN where the label is missing.
    view
        What the auditor compares people by: an array or a dataframe with one row per person.
    person
        A number for each of them: the same number is the same person, in all rounds; None if nobody keeps count.
    weight
        How much each one's errors count, at least 0; None if everybody counts once. Bounds hold where the weights of a
        round add up to at most k.
    """

    rows: Rows
    y: Floats
    view: Any
    person: NDArray[np.intp] | None = None
    weight: Floats | None = None


class Report(NamedTuple):
    """A pair that the auditor points at, as treated too differently.

    Attributes
    ----------
    favoured, disfavoured
        Positions in the batch; the favoured person has the higher probability.
    violates
        Whether the pair is an α-violation; None when a person reports and nobody can know.
    false
        The report is known to be untrue (only simulated noise knows that of itself).
    stated
        How far apart their probabilities may be, by an auditor who says it with each report; None by all others.
    """

    favoured: int
    disfavoured: int
    violates: bool | None = None
    false: bool = False
    stated: float | None = None


class Skip(Enum):
    """The answer of an auditor who did not look: not the same as finding nothing."""

    SKIPPED = "skipped"


SKIPPED = Skip.SKIPPED
Answer: TypeAlias = Report | tuple[Report, ...] | Literal[Skip.SKIPPED] | None
"""A pair, several pairs, None (looked, and no pair violates), or SKIPPED (did not look)."""


def reports_of(answer: Answer) -> tuple[Report, ...]:
    """The pairs that an answer points at.

    Examples
    --------
    >>> len(reports_of(None)), len(reports_of(Report(0, 1))), len(reports_of((Report(0, 1), Report(0, 2))))
    (0, 1, 2)
    """
    if answer is None or answer is SKIPPED:
        return ()
    return (answer,) if isinstance(answer, Report) else answer


def numbered(probabilities: Floats) -> NDArray[np.intp]:
    """The number of each person of a round, as every table, picture and sentence counts them.

    Number 1 has the highest probability. People with the same probability are counted in the order of the batch.

    Examples
    --------
    >>> numbered(np.array([0.2, 0.9, 0.5, 0.9])).tolist()
    [4, 1, 3, 2]
    """
    numbers = np.empty(len(probabilities), dtype=np.intp)
    numbers[np.argsort(-probabilities, kind="stable")] = np.arange(1, len(probabilities) + 1)
    return numbers


class Estimate(NamedTuple):
    """How the labels of a round are estimated where only those of accepted people are seen; fixed before its lot.

    Attributes
    ----------
    floor
        γ: everybody has at least this probability, π̃ = γ + (1 − γ)π.
    doubt
        u: what an unseen person counts as, between −(cost of a false negative), "good", and 0.
    slack
        γ′, added to the probability that an estimate divides by; 0 unless high probability is wanted.
    """

    floor: float = 0.0
    doubt: float = 0.0
    slack: float = 0.0


class ReviewLot(NamedTuple):
    """How it came about that a round was reviewed or not, where reviews are drawn by lot.

    Attributes
    ----------
    probability
        q: the probability of a review, fixed before the lot; 0 if the round was cleared.
    drawn
        Whether it was drawn for review.
    gap
        The largest gap of a pair that could be reported; 0 if there is no such pair.
    cleared
        That gap is not above the level of reporting, so that no pair violates: nobody has to look.
    """

    probability: float
    drawn: bool
    gap: float
    cleared: bool = False


class Round(NamedTuple):
    """What was seen in one round: all that a learner may learn from.

    Attributes
    ----------
    batch
        The people.
    probabilities
        π^t of each of them, as shown to the auditor.
    reports
        The pairs that the auditor pointed at: none, one, or several, which share the round's penalty evenly.
    reviewed
        Whether anybody looked.
    decisions
        Yes or no, drawn from the probabilities; None if nobody drew.
    unseen
        Whose label is unseen because they were refused: not the same as a label that is missing. None if labels don't
        depend on decisions.
    estimate
        How the learner estimates unseen labels, as fixed before the lot; None if it doesn't.
    compared
        Whose probabilities the auditor compared: where nothing was reported, their gaps were found fine. None for
        everybody's. One who sees only decisions compares nobody's, and people who return are left out.
    lot
        How it was drawn for review, or not; None where every round is to be reviewed.

    Examples
    --------
    >>> round_ = Round(Batch(np.zeros(3), np.zeros(3), None), np.array([0.9, 0.5, 0.2]), (Report(0, 1), Report(0, 2)))
    >>> round(round_.gap, 6)
    0.55
    """

    batch: Batch
    probabilities: Floats
    reports: tuple[Report, ...] = ()
    reviewed: bool = True
    decisions: NDArray[np.bool_] | None = None
    unseen: NDArray[np.bool_] | None = None
    estimate: Estimate | None = None
    compared: NDArray[np.bool_] | None = None
    lot: ReviewLot | None = None

    @property
    def own(self) -> Floats:
        """π of each person as the learner's weights give it, without the floor that was deployed."""
        if self.estimate is None or self.estimate.floor == 0.0:
            return self.probabilities
        return np.asarray((self.probabilities - self.estimate.floor) / (1.0 - self.estimate.floor))

    @property
    def gap(self) -> float:
        """π(favoured) − π(disfavoured), the mean over the reported pairs; 0 without a report."""
        if not self.reports:
            return 0.0
        p = self.probabilities
        return float(sum(p[report.favoured] - p[report.disfavoured] for report in self.reports) / len(self.reports))


class HypothesisClass(Protocol):
    """A class F of hypotheses f: people → {0, 1}."""

    constants: tuple[int, ...]
    """Which constant hypotheses F is known to hold: a subset of (0, 1)."""

    @property
    def size(self) -> int | None:
        """|F|, exactly; None where it can't be known."""
        ...

    def encode(self, X: Any) -> Rows:
        """People, as an array or dataframe, turned into what this class needs."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The class as plain JSON values, models by fingerprint."""
        ...


class Policy(Protocol):
    """A mixture of hypotheses, deployed: gives each person a probability."""

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        ...

    def probability(self, X: Any) -> Floats:
        """π at people as they come, an array or a dataframe."""
        ...

    def on(self, batch: Batch) -> Floats:
        """π at the people of a round: ``at(batch.rows)``, unless the policy compares the people of a batch."""
        ...


class State(Protocol):
    """A learner's state: a NamedTuple of arrays and numbers, so it can be stored, compared and hashed."""

    @property
    def rounds(self) -> int:
        """How many rounds this state has learned from."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


class Learner(Protocol):
    """Frozen parameters and pure functions: π^t = A(h^{t−1})."""

    @property
    def hypotheses(self) -> HypothesisClass:
        """The class that policies are mixtures of."""
        ...

    @property
    def k(self) -> int | None:
        """The largest batch; None when any size will do."""
        ...

    @property
    def T(self) -> int | None:
        """The horizon; None when any number of rounds will do."""
        ...

    @property
    def costs(self) -> tuple[float, float]:
        """What a false positive and a false negative cost."""
        ...

    @property
    def needs_blind(self) -> bool:
        """Whether its theorem fails when the environment sees π^t before choosing the batch."""
        ...

    def init(self) -> Any:
        """The state before the first round."""
        ...

    def act(self, state: Any, key: Key) -> Policy:
        """The policy to deploy; the only place where a learner draws."""
        ...

    def update(self, state: Any, round: Round) -> Any:
        """The state after one more round: deterministic and cheap, and it never calls an oracle."""
        ...

    def penalty_at(self, state: Any) -> float:
        """C_t: what the reports of the coming round will weigh together."""
        ...

    def bound(self, alpha: float, T: int | None = None) -> Bound | None:
        """What the learner's theorem promises over T rounds; None where there is no theorem.

        By default T is the learner's own horizon, and it must not exceed that. A learner whose theorem holds at every T
        answers for T rounds. One that is tuned for its horizon answers with the horizon's bound, which also
        holds earlier.
        """
        ...

    @property
    def bound_survives_delay(self) -> bool:
        """Whether ``observed_bound`` also holds when rounds are learned late, each with the policy it was played by."""
        ...

    def observed_bound(self, state: Any) -> float | None:
        """An upper limit of the Lagrangian regret of *this* play, proved from what was observed, if any."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Every parameter, as plain JSON values."""
        ...


class Auditor(Protocol):
    """Knows similarity, can't write it down; points at pairs treated too differently, or at none."""

    @property
    def alpha(self) -> float:
        """Violations are counted at this level."""
        ...

    @property
    def margin(self) -> float:
        """Pairs are reported already at ``alpha - margin``."""
        ...

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """One look at the people of a round and their probabilities."""
        ...

    def facts(self) -> AuditorFacts:
        """What is known of this auditor."""
        ...


class AuditorOfDecisions(Protocol):
    """As ``Auditor``, but sees only who got a yes and who a no."""

    sees: str
    """``"decisions"``."""

    @property
    def alpha(self) -> float:
        """A report is accepted if its gap exceeds this, besides what was stated with it."""
        ...

    @property
    def margin(self) -> float:
        """0."""
        ...

    def audit(self, batch: Batch, decisions: Floats, key: Key, pairs: NDArray[np.intp]) -> Answer:
        """One look at the people of a round, with 1.0 for a yes and 0.0 for a no.

        ``pairs`` (m, 2) were decided differently and may be named, favoured first. Of several reports, in order, the
        first that can be accepted is.
        """
        ...

    def facts(self) -> AuditorFacts:
        """What is known of this auditor."""
        ...


class Environment(Protocol):
    """Where people come from."""

    @property
    def k(self) -> int | None:
        """The largest batch; None where it isn't known in advance."""
        ...

    @property
    def sees_policy(self) -> bool:
        """Whether it looks at π^t before it chooses the batch."""
        ...

    def encoded(self, encode: Callable[[Any], Rows]) -> Environment:
        """The same environment with its people encoded, once and for all where that is possible."""
        ...

    def batch(self, key: Key, previous: Round | None, policy: Policy | None) -> Batch | None:
        """The people of round ``key.t``; None when there are no more. ``policy`` is None if it is blind."""
        ...

    def facts(self) -> EnvironmentFacts:
        """What is known of this environment."""
        ...


Distance: TypeAlias = Callable[[Any], Floats]
"""From the view of a batch of k people to their (k, k) distances."""
