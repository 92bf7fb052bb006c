"""Policies: mixtures of hypotheses, deployed. π(x) = Σ_f p_f f(x) ∈ [0, 1].

The average policy (1/T) Σ_t π^t is what generalises to people not yet seen. Mixtures over one class are linear in
their weights, so it is one running sum, not T stored policies.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.displays import facts_html, short, text_html
from likewise.errors import InvalidParameter, LikewiseError, NotSupported, require
from likewise.hypotheses import Cube, EnumerableClass, EstimatorClass, from_dict
from likewise.protocol import Batch, Floats, Policy, Rows
from likewise.reading import (
    Change,
    Encoder,
    Reading,
    Reasons,
    Rule,
    Scorecard,
    changes_of,
    reading_of,
    reasons_of,
    rules_of,
    scorecard_of,
)
from likewise.wording import plural

NEGLIGIBLE = 1e-6
"""Hypotheses of no more weight are not counted where a policy shows itself."""
SHOWN = 5
"""Rules of a policy that a notebook shows."""


@functools.lru_cache(maxsize=64)
def _keyed(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod=hashlib.sha256)


def thresholds_of(ids: Sequence[Any], secret: bytes) -> Floats:
    """u = HMAC-SHA256(secret, id) scaled to [0, 1), one number per person that nobody can choose or guess."""
    require(
        isinstance(secret, bytes) and len(secret) >= 16,
        "secret",
        "be at least 16 bytes",
        f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__,
    )
    keyed, numbers = _keyed(secret), []
    for name in ids:
        one = keyed.copy()  # `hmac.digest` would prepare the key again
        one.update(str(name).encode())
        # 53 bits are what a float holds, so u < 1 exactly and a probability of 1 is always a yes.
        numbers.append(int.from_bytes(one.digest()[:8], "big") >> 11)
    return np.array(numbers) / 2.0**53


class DeployablePolicy:
    """What every policy can do for people as they come: give a probability, make a decision."""

    hypotheses: Any
    compares_a_batch = False
    """Whether what a person gets depends on who else is in the batch; then it has no average over rounds."""

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        raise NotSupported(f"{type(self).__name__} must define `at`.")

    def on(self, batch: Batch) -> Floats:
        """π at the people of a round."""
        return self.at(batch.rows)

    def probability(self, X: Any) -> Floats:
        """π at people, an array or a dataframe: floats in [0, 1]."""
        return self.at(self.hypotheses.encode(X))

    def decide(self, X: Any, ids: Sequence[Any], secret: bytes) -> NDArray[np.bool_]:
        """One stable decision per person: yes iff HMAC(secret, id), scaled to [0, 1), is below π(x).

        The same person gets the same answer however often they are asked, and a rising probability never turns
        a yes into a no.
        """
        probabilities = self.probability(X)
        require(len(ids) == len(probabilities), "ids", f"name each of {len(probabilities)} people", len(ids))
        return thresholds_of(ids, secret) < probabilities

    def __repr__(self) -> str:
        return short(type(self).__name__, *self._described())

    def _described(self) -> list[str]:
        """What it is, in a few words."""
        return [f"over {self.hypotheses!r}"]

    def _repr_html_(self) -> str:
        """What it is made of, where it can be read; otherwise the line of ``repr``."""
        try:
            rules = [(f"{rule.weight:.3f}", rule.text) for rule in self.rules(SHOWN)]
        except LikewiseError:
            return text_html(repr(self))
        return facts_html(f"{type(self).__name__}: the rules that weigh most", rules, repr(self))

    # What it is made of, and why ---------------------------------------------------------------------------------

    def reading(self) -> Reading:
        """The policy with the units of its columns, as ``rules``, ``reasons`` and ``what_if`` read it."""
        raise NotSupported(
            f"A {type(self).__name__} can't be read: its members are fitted models that only answer yes or no."
        )

    def rules(self, top: int | None = 10, *, people: Any = None) -> list[Rule]:
        """What the policy is made of: the rules that weigh most, in the units of its columns.

        A cut is written as the shortest decimal within eight roundings of the exact boundary, with ≥ or > as that
        decimal itself is treated, so that it can be applied to the column of the file as it stands. Where that takes
        more than nine figures, it is no number that people wrote down: it is rounded, and says "about". With ``people``
        it is the shortest decimal that separates the same people. "Or missing" is said of a column that had missing
        values when its encoder was fitted.

        Parameters
        ----------
        top
            How many rules, the heaviest first; None for all.
        people
            People whom the stated cuts must separate in the same way.

        Examples
        --------
        >>> from likewise.hypotheses import Thresholds
        >>> policy = Mixture(Thresholds([[18, 65]], names=["age"]), np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3]))
        >>> for rule in policy.rules():
        ...     print(rule)
        0.600  age ≥ 18
        0.300  age < 65
        0.100  always yes
        """
        return rules_of(self.reading(), top, people)

    def reasons(self, X: Any, *, compared_with: Any = None) -> Reasons:
        """Why people have their probabilities: an amount for each column, which add up to the probability.

        **Cut-offs on columns**: exact, since a mixture of cut-offs is a sum of step functions, one for each column.
        **Cells**: one term, the cell in words. **Cut-offs on models' scores**: exact by model. By column each model's
        part is split by its Shapley values against ``compared_with``: exactly if the model reads one column, or up to
        14 columns through a sum over them (linear and spline models, naive Bayes), otherwise estimated from some of
        the orders, and marked so. Either way they add up.

        Parameters
        ----------
        X
            The people.
        compared_with
            People to compare with: amounts are then more or less than their mean. Without any, amounts count from the
            least that anybody can have. A policy on models' scores needs them (at most 100 are used): people whom no
            model was fitted on.

        Examples
        --------
        >>> from likewise.hypotheses import Thresholds
        >>> policy = Mixture(Thresholds([[18, 65]], names=["age"]), np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3]))
        >>> print(policy.reasons([[40.0]]).text())
        1.000 = 0.400 for everybody + 0.600 for age 40
        """
        return reasons_of(self.reading(), X, compared_with)

    def what_if(self, person: Any, by: float = 0.05, *, compared_with: Any = None) -> list[Change]:
        """The nearest change of each column by itself that moves a person's probability, up and down.

        Of a category, whose levels have no order, it is the level that does most. It is what the policy would answer
        for such a person. Whether anybody can change so, and what else would change with it, the policy doesn't know.

        Parameters
        ----------
        person
            One row.
        by
            By how much the probability must move, at least.
        compared_with
            For a policy on models' scores: people whose values are tried.

        Examples
        --------
        >>> from likewise.hypotheses import Thresholds
        >>> policy = Mixture(Thresholds([[18, 65]], names=["age"]), np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3]))
        >>> for change in policy.what_if([[40.0]]):
        ...     print(change)
        age < 18 instead of 40: 0.400 (−0.600)
        """
        return changes_of(self.reading(), person, by, compared_with)

    def scorecard(self) -> Scorecard:
        """The policy as base + Σ_j g_j(x_j), for cut-offs on columns; ``figures.scorecard`` draws it."""
        return scorecard_of(self.reading())


class Mixture(DeployablePolicy):
    """A policy over an enumerable class, held as the class's weight vector.

    Weights are a distribution over hypotheses, or, for ``likewise.Cells``, each cell's probability.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> policy = Mixture(Thresholds([[0.5]]), np.array([0.0, 0.2, 0.8, 0.0]))
    >>> policy.probability([[0.0], [1.0]]).tolist()
    [0.2, 1.0]
    >>> bool(policy.decide([[1.0]], ["Ada"], secret=b"sixteen bytes min")[0])
    True
    """

    def __init__(self, hypotheses: EnumerableClass, weights: Floats) -> None:
        self.hypotheses: EnumerableClass = hypotheses
        self.weights = weights

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        return self.hypotheses.probability(self.weights, rows)

    def _described(self) -> list[str]:
        if isinstance(self.hypotheses.geometry, Cube):
            return [f"a probability for each cell of {self.hypotheses!r}"]
        used = int((self.weights > NEGLIGIBLE).sum())
        return [f"{used:,} with weight of {self.hypotheses!r}"]

    def reading(self, encoder: Encoder | None = None) -> Reading:
        """The policy with the units of its columns: the class's own, or those of an encoder's file."""
        return reading_of(self.hypotheses, self.weights, encoder)

    def to_dict(self) -> dict[str, Any]:
        """The policy as plain JSON values."""
        return {"hypotheses": self.hypotheses.to_dict(), "weights": self.weights.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], models: Any = None, *, hypotheses: Any = None) -> Mixture:
        """Rebuild the policy. A class built on models needs them and checks them; or pass the class itself."""
        F = from_dict(data["hypotheses"], models) if hypotheses is None else hypotheses
        weights = np.array(data["weights"], dtype=float)
        require(weights.shape == (F.geometry.dim,), "weights", f"have {F.geometry.dim} entries", weights.shape)
        inside = bool((weights >= 0).all() and (weights <= 1 + 1e-9).all())
        complete = isinstance(F.geometry, Cube) or abs(weights.sum() - 1) < 1e-6
        require(
            inside and complete, "weights", "be probabilities (that add up to 1 over a listed class)", weights.sum()
        )
        return cls(F, weights)

    def save(self, path: str | Path) -> None:
        """Write the policy as JSON."""
        Path(path).write_text(json.dumps(self.to_dict()))

    @classmethod
    def load(cls, path: str | Path, models: Any = None, *, hypotheses: Any = None) -> Mixture:
        """Read a policy written by ``save``."""
        return cls.from_dict(json.loads(Path(path).read_text()), models, hypotheses=hypotheses)


class Floored(DeployablePolicy):
    """A policy with a floor: everybody's probability is γ + (1 − γ)π, so that nobody's label stays unseen for ever.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> never = Mixture(Thresholds([[0.5]]), np.array([1.0, 0.0, 0.0, 0.0]))
    >>> Floored(never, 0.1).probability([[0.7]]).tolist()
    [0.1]
    """

    def __init__(self, policy: Any, floor: float) -> None:
        require(0 <= floor < 1, "floor", "be in [0, 1)", floor)
        self.policy, self.floor = policy, floor
        self.hypotheses = policy.hypotheses

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        return np.asarray(self.floor + (1.0 - self.floor) * self.policy.at(rows))

    def _described(self) -> list[str]:
        return [f"at least {self.floor:g}", repr(self.policy)]

    def mixture(self) -> Mixture:
        """The same policy as one ``Mixture``, where the class holds "always yes"."""
        F = self.hypotheses
        if not isinstance(self.policy, Mixture) or 1 not in F.constants:
            raise NotSupported("A policy with a floor is a mixture of its class only if the class holds “always yes”.")
        return Mixture(F, (1.0 - self.floor) * self.policy.weights + self.floor * F.constant(1))

    def reading(self) -> Reading:
        """The policy as one mixture, with the units of its columns."""
        return self.mixture().reading()


class Committee(DeployablePolicy):
    """The uniform mixture of some fitted hypotheses of a ``likewise.EstimatorClass``."""

    def __init__(self, hypotheses: EstimatorClass, models: Sequence[Any]) -> None:
        self.hypotheses: EstimatorClass = hypotheses
        self.models = tuple(models)

    def _described(self) -> list[str]:
        return [f"{plural(len(self.models), 'fitted hypothesis', 'fitted hypotheses')} of {self.hypotheses!r}"]

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        return np.asarray(np.mean([self.hypotheses.answers(model, rows) for model in self.models], axis=0))


class AveragePolicy(DeployablePolicy):
    """(1/T) Σ_t π^t, accumulated round by round.

    Over an enumerable class it is one weight vector. Other policies, such as committees of fitted estimators, have no
    common vector to add up in, so they are kept as they are.

    Examples
    --------
    >>> from likewise.hypotheses import Thresholds
    >>> F, average = Thresholds([[0.5]]), AveragePolicy()
    >>> for weights in ([1.0, 0, 0, 0], [0, 1.0, 0, 0]):
    ...     average.include(Mixture(F, np.array(weights)))
    >>> average.probability([[7.0]]).tolist()
    [0.5]
    """

    def __init__(self) -> None:
        self.rounds = 0
        self.lost = 0
        """Rounds whose policies were not saved, or have no average, so that the average is not known."""
        self.floors = 0.0
        """Σ_t of the floors: ``total`` holds (1 − γ_t) of each round's weights."""
        self._sum: Floats | None = None
        self._members: list[Policy] = []

    def _described(self) -> list[str]:
        lost = f"{self.lost:,} of them not kept" if self.lost else ""
        mixed = repr(self.mixture()) if self.total is not None and self.rounds else ""
        return [f"the average of {plural(self.rounds, 'round')}", lost, mixed]

    def include(self, policy: Policy) -> None:
        """Count one more round's policy."""
        if isinstance(policy, Mixture):
            self._accumulate(policy.hypotheses, policy.weights)
        elif isinstance(policy, Floored) and isinstance(policy.policy, Mixture):
            self._accumulate(policy.hypotheses, (1.0 - policy.floor) * policy.policy.weights)
            self.floors += policy.floor
        elif getattr(policy, "compares_a_batch", False):
            self.lost += 1
        else:
            self._members.append(policy)
        self.rounds += 1

    def _accumulate(self, hypotheses: EnumerableClass, weights: Floats) -> None:
        if self._sum is None:
            self._sum = np.zeros(len(weights))
            self.hypotheses = hypotheses
        if len(weights) != len(self._sum):
            raise InvalidParameter(f"`policy` must have {len(self._sum)} weights, got {len(weights)}.")
        self.hypotheses.geometry.accumulate(self._sum, weights)

    @property
    def total(self) -> Floats | None:
        """Σ_t of the weight vectors; None unless the average is one weight vector."""
        return None if self._members or self.lost else self._sum

    @classmethod
    def of(cls, hypotheses: Any, total: Floats | None, rounds: int, floors: float = 0.0) -> AveragePolicy:
        """Rebuild the average policy from Σ_t of its weights; without them, its rounds are lost."""
        average = cls()
        average.hypotheses, average.rounds, average.floors = hypotheses, rounds, floors
        if total is None:
            average.lost = rounds
        else:
            average._sum = np.array(total, dtype=float)
        return average

    def joined(self, other: AveragePolicy) -> AveragePolicy:
        """The average over the rounds of both."""
        average = AveragePolicy()
        for half in (self, other):
            average.rounds += half.rounds
            average.lost += half.lost
            average.floors += half.floors
            average._members += half._members
            if half._sum is not None:
                average.hypotheses = half.hypotheses
                average._sum = half._sum + (0.0 if average._sum is None else average._sum)
        return average

    def mixture(self) -> Mixture:
        """The same policy as one ``Mixture``, which can be saved."""
        if self.total is None:
            raise NotSupported(
                "This average policy is not one weight vector: it holds no rounds, or policies that can't be added or "
                "compare the people of a batch, or was loaded from a play of fitted estimators, which are not saved."
            )
        if self.floors == 0.0:
            return Mixture(self.hypotheses, self.total / self.rounds)
        floor = self.floors / self.rounds
        return Floored(Mixture(self.hypotheses, self.total / (self.rounds - self.floors)), floor).mixture()

    def reading(self) -> Reading:
        """The average as one mixture, with the units of its columns."""
        return self.mixture().reading()

    def at(self, rows: Rows) -> Floats:
        """π^avg at encoded people."""
        return self._mean([member.at(rows) for member in self._members], "at", rows)

    def probability(self, X: Any) -> Floats:
        """π^avg at people, an array or a dataframe."""
        return self._mean([member.probability(X) for member in self._members], "probability", X)

    def _mean(self, members: list[Floats], method: str, people: Any) -> Floats:
        if self.lost or not (members or self.floors):
            return np.asarray(getattr(self.mixture(), method)(people))
        total = np.sum(members, axis=0) if members else 0.0
        if self._sum is not None:
            mixed = self.rounds - len(members) - self.floors
            mean = getattr(Mixture(self.hypotheses, self._sum / mixed), method)(people)
            total = total + self.floors + mixed * mean
        return np.asarray(total / self.rounds)
