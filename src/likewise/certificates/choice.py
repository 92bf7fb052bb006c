"""What to deploy, chosen on people who took no part in learning.

Each of J learned policies gets three claims (its error, its share of unfair pairs, that it errs less than one answer
for everybody), each with confidence 1 − δ/(3J + 1); the constant's error shares the last part. By the union bound all
of them are true at once with confidence 1 − δ, so any policy may be picked afterwards. A learned policy is
recommended only if it is *proved* to err less than both constants: a constant treats everybody alike, so a policy
that is no better in errors is worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from likewise import theory
from likewise.certificates import advice
from likewise.certificates import held_out_people as measured
from likewise.certificates.held_out_people import CONSTANTS, FEWEST, HeldOut
from likewise.certificates.heldout import FairnessEvaluation, unfair_pairs
from likewise.displays import short, text_html
from likewise.errors import require, require_number
from likewise.protocol import Distance, Floats
from likewise.reduction import EQUAL_COSTS
from likewise.wording import plural


class Constant(NamedTuple):
    """One answer for everybody: fair to any two people, and the least that a policy must beat.

    Examples
    --------
    >>> str(Constant(0)), Constant(1).probability([[3.0], [4.0]]).tolist()
    ('always no', [1.0, 1.0])
    """

    answer: int

    def probability(self, X: Any) -> Floats:
        """The same for everybody."""
        return np.full(len(X), float(self.answer))

    def __str__(self) -> str:
        return CONSTANTS[self.answer]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A learned policy on held-out people.

    Attributes
    ----------
    name, policy
        What it is called, and the policy itself.
    error
        Its mean loss on the held-out people whose label is known.
    error_limit
        Its expected loss on a new person is at most this; None where nothing is claimed.
    unfair
        The share of pairs of held-out people that it treats too differently; None without a distance.
    unfair_limit
        The probability that it treats two new people too differently is at most this; None where nothing is claimed.
    beats_constants
        Proved to err less than either answer for everybody.
    """

    name: str
    policy: Any = field(repr=False)
    error: float
    error_limit: float | None
    unfair: float | None
    unfair_limit: float | None
    beats_constants: bool

    def to_dict(self) -> dict[str, Any]:
        """The numbers, as plain JSON values."""
        return {name: value for name, value in vars(self).items() if name != "policy"}


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What to deploy, and what is proved about it and about every other candidate, all at once.

    Attributes
    ----------
    recommended, policy
        The name of what to deploy, and the policy. It is a constant ("always no", "always yes") when no learned policy
        is proved better.
    candidates
        Every learned policy, in the order given.
    constant
        The better answer for everybody, 0 or 1.
    constant_error, constant_error_limit
        Its mean loss on the held-out people, and the limit for a new person (None where nothing is claimed).
    people, labelled
        How many distinct people were held out, and of how many of them the label is known.
    alpha, delta
        The level, and one minus the confidence of all claims together.
    tolerance
        The largest share of unfair pairs that was allowed; None for any.
    costs
        What a false positive and a false negative cost.
    same_rows
        Rows that equal an earlier one, where no ids tell whether they are one person.
    """

    recommended: str
    policy: Any = field(repr=False)
    candidates: tuple[Candidate, ...]
    constant: int
    constant_error: float
    constant_error_limit: float | None
    people: int
    labelled: int
    alpha: float
    delta: float
    tolerance: float | None
    costs: tuple[float, float]
    same_rows: int

    @property
    def claims_made(self) -> bool:
        """False below a hundred held-out people with a label, and where several rows may be one person."""
        return self.labelled >= FEWEST and not self.same_rows

    @property
    def dominated(self) -> bool:
        """No learned policy was shown to err less than one answer for everybody."""
        return not any(candidate.beats_constants for candidate in self.candidates)

    @property
    def headline(self) -> str:
        """The first line: what to deploy, and why."""
        return advice.headline(self)

    @property
    def each(self) -> float:
        """One minus the confidence of each claim by itself."""
        return self.delta / (3 * len(self.candidates) + 1)

    @property
    def spotless_limit(self) -> float:
        """The limit for unfair pairs if no pair of these people were treated unfairly: the best that they can prove."""
        return theory.all_pairs_limit(0.0, self.people, self.each) if self.people > 1 else 1.0

    def people_needed(self, share: float) -> int:
        """How many people must be held out to claim this share of unfair pairs, if none of theirs is unfair."""
        return max(FEWEST, 2 * theory.pairs_needed(share, self.each))

    def about(self, name: str) -> str:
        """What is claimed about one policy; if it was not shown to beat a constant, the first sentence says so."""
        return advice.about(self, name)

    def __repr__(self) -> str:
        return short("Choice", self.recommended, f"on {plural(self.people, 'person', 'people')} who were held out")

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def __str__(self) -> str:
        return advice.letter(self)

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain JSON values."""
        plain = {name: value for name, value in vars(self).items() if name not in ("policy", "candidates")}
        conclusions = {"claims_made": self.claims_made, "dominated": self.dominated, "headline": self.headline}
        candidates = [candidate.to_dict() for candidate in self.candidates]
        return {**plain, "costs": list(self.costs), **conclusions, "candidates": candidates}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Choice:
        """The numbers of ``to_dict``, and what they say; the policies themselves are not in them."""
        names = {each.name for each in fields(cls)} - {"policy", "candidates", "costs"}
        candidates = tuple(Candidate(policy=None, **candidate) for candidate in data["candidates"])
        known = {name: data[name] for name in names}
        return cls(policy=None, candidates=candidates, costs=tuple(data["costs"]), **known)


def choose(
    candidates: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    alpha: float,
    view: Any | None = None,
    distance: Distance | str | None = None,
    delta: float = 0.05,
    tolerance: float | None = None,
    costs: tuple[float, float] = EQUAL_COSTS,
    ids: Any | None = None,
) -> Choice:
    """What to deploy: the least error limit among the policies that are proved to err less than both constants.

    Everything claimed about any candidate holds at once with confidence 1 − δ, if the people are independent draws
    from one population and took no part in learning, and if this is the first time that they are looked at.

    Parameters
    ----------
    candidates
        Learned policies by name: anything with ``probability(X)``. The two constants are always candidates too.
    X, y
        Held-out people, and their labels 0, 1 or NaN; errors are over the people whose label is known.
    alpha, view, distance
        How much more than their distance two people may differ, what they are compared by (``X`` by default), and from
        that to their (k, k) distances: a callable, the name of a SciPy metric, or None where nobody knows it.
    delta
        One minus the confidence.
    tolerance
        Recommend only what is proved to treat at most this share of pairs too differently.
    costs
        What a false positive and a false negative cost.
    ids
        Who each row is: of rows with the same id the first one counts. Rows that are the same without ids may be one
        person, so nothing is claimed.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> X = np.random.default_rng(0).random((400, 1))
    >>> steep, flat = lw.Mixture(lw.Thresholds([[0.5]]), np.eye(4)[2]), lw.Mixture(lw.Thresholds([[2.0]]), np.eye(4)[2])
    >>> choice = lw.choose({"steep": steep, "flat": flat}, X, X[:, 0] > 0.5, alpha=0.1)
    >>> print(choice.headline)
    We recommend “steep”: it was shown to err less than giving everybody the same answer.
    >>> [candidate.beats_constants for candidate in choice.candidates]
    [True, False]
    """
    held, costs = HeldOut.of(X, y, view, ids), measured.checked_costs(costs)
    _check(candidates, held, alpha, delta, tolerance, distance)
    claim = _Claims(held, distance, alpha, costs, delta / (3 * len(candidates) + 1))
    judged = tuple(claim.candidate(name, policy) for name, policy in candidates.items())
    answer, error, limit = claim.constant()
    best = min((c for c in judged if _deployable(c, tolerance)), key=lambda c: c.error_limit or 0.0, default=None)
    return Choice(
        recommended=CONSTANTS[answer] if best is None else best.name,
        policy=Constant(answer) if best is None else best.policy,
        candidates=judged,
        constant=answer,
        constant_error=error,
        constant_error_limit=limit,
        people=len(held),
        labelled=held.labelled,
        alpha=alpha,
        delta=delta,
        tolerance=tolerance,
        costs=costs,
        same_rows=held.same_rows,
    )


def _check(
    candidates: Mapping[str, Any],
    held: HeldOut,
    alpha: float,
    delta: float,
    tolerance: float | None,
    distance: Distance | str | None,
) -> None:
    require_number(alpha, "alpha", 0, 1)
    require_number(delta, "delta", 0, 1, open_at="low high")
    require(len(candidates) > 0, "candidates", "hold at least one policy", dict(candidates))
    taken = sorted(set(candidates) & set(CONSTANTS))
    require(not taken, "candidates", f"be called other than {' and '.join(CONSTANTS)}", taken)
    require(held.labelled > 0, "y", "hold at least one known label", "only missing ones")
    if tolerance is not None:
        require_number(tolerance, "tolerance", 0, 1)
        require(distance is not None, "distance", "be given with a tolerance for unfair pairs", distance)


def _deployable(candidate: Candidate, tolerance: float | None) -> bool:
    tolerated = tolerance is None or (candidate.unfair_limit is not None and candidate.unfair_limit <= tolerance)
    return candidate.beats_constants and tolerated


class _Claims(NamedTuple):
    """What held-out people prove, each claim with confidence 1 − δ."""

    held: HeldOut
    distance: Distance | str | None
    alpha: float
    costs: tuple[float, float]
    delta: float

    def candidate(self, name: str, policy: Any) -> Candidate:
        p, known = self.held.probabilities(policy), self.held.known
        given, y = p[known], self.held.y[known]
        pairs, speak = self._pairs(p), self.held.speak
        return Candidate(
            name=name,
            policy=policy,
            error=float(measured.losses(given, y, self.costs).mean()),
            error_limit=measured.loss_limit(given, y, self.costs, self.delta) if speak else None,
            unfair=None if pairs is None else pairs.share,
            unfair_limit=pairs.upper if pairs is not None and speak else None,
            beats_constants=speak and all(self._beats(given, y, answer) for answer in (0, 1)),
        )

    def _pairs(self, p: Floats) -> FairnessEvaluation | None:
        """All pairs; one person is no pair. The interval has two sides, and only the upper one is claimed: hence 2δ."""
        if self.distance is None or len(self.held) < 2:
            return None
        return unfair_pairs(p, self.held.view, self.distance, self.alpha, 2 * self.delta)

    def _beats(self, p: Floats, y: Floats, answer: int) -> bool:
        """The mean of (1 + ℓ_π − ℓ_c)/2 is below ½, losses scaled to [0, 1].

        Asking for both constants costs nothing: if the claim is false, the test against the better one has failed.
        """
        constant = np.full(len(y), float(answer))
        difference = measured.losses(p, y, self.costs) - measured.losses(constant, y, self.costs)
        return theory.error_limit((1.0 + difference / max(self.costs)) / 2, self.delta) < 0.5

    def constant(self) -> tuple[int, float, float | None]:
        """The better constant, its error, and its limit at δ/2, as either of the two could have been picked."""
        y = self.held.y[self.held.known]
        answer = measured.better_constant(y, self.costs)
        error = float(measured.losses(np.full(len(y), float(answer)), y, self.costs).mean())
        limit = measured.constant_loss_interval(answer, y, self.costs, self.delta)[1] if self.held.speak else None
        return answer, error, limit
