"""Fills in the scoreboard: measures every policy on the same people, and computes what is possible there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.certificates import held_out_people as held_out_people
from likewise.certificates.held_out_people import HeldOut
from likewise.certificates.heldout import unfair_pairs
from likewise.errors import require, require_number, require_whole
from likewise.hindsight.compared import taken
from likewise.protocol import Distance, Floats
from likewise.reduction import EQUAL_COSTS
from likewise.scoreboard import limits, notes
from likewise.scoreboard.limits import ANY, MIXTURE, Possible
from likewise.scoreboard.table import Row, Scoreboard

THIS, TODAY, LABELS, PAPER = "this policy", "today's rule", "labels alone", "the paper's learner"
CONSTANT = "one answer for everybody"


@dataclass(frozen=True, eq=False)
class Entry:
    """A row to fill in.

    Attributes
    ----------
    policy
        Anything with ``probability(X)``, or a list with one probability per person of ``X``.
    told
        What it was told: "labels", "pairs" (and the share of labels), "everything", or "" where nobody knows.
    chosen_from
        From how many policies it was chosen by looking at these people: its intervals allow for that.
    """

    policy: Any
    told: str = ""
    chosen_from: int = 1


def scoreboard(
    entries: Mapping[str, Entry],
    X: Any,
    y: Any,
    *,
    alpha: float,
    view: Any | None = None,
    distance: Distance | str | None = None,
    hypotheses: Any | None = None,
    features: Any | None = None,
    this: str = THIS,
    costs: tuple[float, float] = EQUAL_COSTS,
    delta: float = 0.05,
    most: int = 2000,
    seed: int = 0,
    ids: Any | None = None,
    held_out: bool = True,
) -> Scoreboard:
    """The scoreboard of some policies on these people.

    Parameters
    ----------
    entries
        Policies by name. "today's rule", "labels alone", "the paper's learner" and ``this`` come in this order.
    X, y
        Held-out people, and their labels 0, 1 or NaN.
    view, distance, alpha
        What pairs are compared by (``X`` by default), how far apart two people are (a callable, the name of a SciPy
        metric, or None where nobody knows), and how much more than that their probabilities may differ.
    hypotheses
        The class whose best fair mixture is shown; left out if it can't be searched exactly.
    features
        Numbers for the model of the label; ``X`` by default.
    this
        The name of the entry that the table is about.
    costs
        What a false positive and a false negative cost.
    delta
        One minus the confidence of each interval by itself.
    most
        People on whom the exact rows are computed, at most: the first of a random order.
    ids
        Who each row is; of rows with the same id the first one counts.
    held_out
        False if these people took part in learning: then nothing is claimed about others.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> rule = Entry((X[:, 0] > 0.5).astype(float), "labels")
    >>> board = scoreboard({"this policy": rule}, X, X[:, 0] > 0.5, distance="cityblock", alpha=0.1)
    >>> [row.name for row in board.rows]
    ['one answer for everybody', 'this policy', 'best fair policy of any kind (exact)']
    """
    held, costs = HeldOut.of(X, y, view, ids), held_out_people.checked_costs(costs)
    _check(entries, held, alpha, delta, most)
    given = {name: _given(entry.policy, held, len(X)) for name, entry in _ordered(entries, this)}
    numbers = taken(X if features is None else features, held.rows)
    possible = limits.possible(held, numbers, distance, alpha, hypotheses=hypotheses, costs=costs, most=most, seed=seed)
    measure = _Measure(held, distance, alpha, costs, delta, held_out and held.speak, possible)
    rows = [measure.constant()]
    rows += [measure.row(name, p, entries[name], bold=name == this) for name, p in given.items()]
    share, why = possible.share_of_gain(given.get(this))
    return Scoreboard(
        rows=(*rows, *(measure.exact(name, p) for name, p in possible.policies.items())),
        people=len(held),
        of_whom=notes.of_whom(held, held_out),
        alpha=alpha,
        delta=delta,
        share_of_gain=share,
        no_share=why,
        limit_people=len(possible.chosen),
        notes=notes.below(
            held,
            possible,
            rows,
            alpha=alpha,
            delta=delta,
            costs=costs,
            held_out=held_out,
            chosen_from=entries[this].chosen_from if this in entries else 1,
        ),
        unit=notes.unit(costs),
    )


def _check(entries: Mapping[str, Entry], held: HeldOut, alpha: float, delta: float, most: int) -> None:
    require_number(alpha, "alpha", 0, 1)
    require_number(delta, "delta", 0, 1, open_at="low high")
    require_whole(most, "most", 2)
    taken_names = sorted({CONSTANT, MIXTURE, ANY} & set(entries))
    require(not taken_names, "entries", "not be called as the rows that are always there", taken_names)
    require(held.labelled > 0, "y", "hold at least one known label", "only missing ones")
    for entry in entries.values():
        require_whole(entry.chosen_from, "chosen_from", 1)


def _ordered(entries: Mapping[str, Entry], this: str) -> list[tuple[str, Entry]]:
    """Today's rule, labels alone, the paper's learner, any others, and last the policy that the table is about."""
    first = {TODAY: 0, LABELS: 1, PAPER: 2, this: 4}
    return sorted(entries.items(), key=lambda entry: first.get(entry[0], 3))


def _given(policy: Any, held: HeldOut, rows: int) -> Floats:
    """What a policy gives each person; or what a list holds for each row of the tables that were given."""
    if hasattr(policy, "probability"):
        return held.probabilities(policy)
    return held_out_people.checked_probabilities(policy, rows)[held.rows]


class _Measure(NamedTuple):
    """The numbers of one policy after another on the same people."""

    held: HeldOut
    distance: Distance | str | None
    alpha: float
    costs: tuple[float, float]
    delta: float
    speak: bool
    possible: Possible

    def row(self, name: str, p: Floats, entry: Entry, *, bold: bool = False) -> Row:
        """A policy's row. Of several that were looked at here any may be picked: by the union bound, each at δ/their
        number."""
        measure, known = self._replace(delta=self.delta / entry.chosen_from), self.held.known
        given, y = p[known], self.held.y[known]
        error = float(held_out_people.losses(given, y, self.costs).mean())
        return measure._row(name, p, error, *measure._between(given, y), entry.told, bold)

    def constant(self) -> Row:
        """The constant that errs less under the labels that happened."""
        y = self.held.y[self.held.known]
        answer = held_out_people.better_constant(y, self.costs)
        error = float(held_out_people.losses(np.full(len(y), float(answer)), y, self.costs).mean())
        low, high = held_out_people.constant_loss_interval(answer, y, self.costs, self.delta)
        p = np.full(len(self.held), float(answer))
        if not self.speak:
            return self._row(CONSTANT, p, error, None, None, "labels", False)
        return self._row(CONSTANT, p, error, low, high, "labels", False)

    def exact(self, name: str, p: Floats) -> Row:
        """A row of the policies that are made for the chosen people: it says nothing of new ones.

        It has no error under the labels that happened: those of the other rows are on more people, and nobody should
        compare the two.
        """
        lot = float((2 * p * (1 - p)).mean())
        expected = self.possible.expected_error(p)
        return Row(name, None, None, None, expected, 0.0, None, None, lot, "everything", exact=True)

    def _row(
        self, name: str, p: Floats, error: float, low: float | None, high: float | None, told: str, bold: bool
    ) -> Row:
        chosen = self.possible.chosen
        expected = self.possible.expected_error(p[chosen]) if len(chosen) else None
        lot = float((2 * p * (1 - p)).mean())
        return Row(name, error, low, high, expected, *self._unfair(p), lot, told, bold)

    def _between(self, p: Floats, y: Floats) -> tuple[float | None, float | None]:
        if not self.speak:
            return None, None
        low = held_out_people.loss_floor(p, y, self.costs, self.delta / 2)
        return low, held_out_people.loss_limit(p, y, self.costs, self.delta / 2)

    def _unfair(self, p: Floats) -> tuple[float | None, float | None, float | None]:
        """The share of unfair pairs and its interval; none for a constant is no luck, so it has no interval."""
        if np.ptp(p) == 0:
            return 0.0, None, None
        if self.distance is None or len(self.held) < 2:
            return None, None, None
        pairs = unfair_pairs(p, self.held.view, self.distance, self.alpha, self.delta)
        return (pairs.share, pairs.lower, pairs.upper) if self.speak else (pairs.share, None, None)
