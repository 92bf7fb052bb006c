"""Leaks: columns that give the label away, because they were written down when the outcome was known.

For each column that a policy may use, a rule is learned on one half of the people: the more frequent label of each
level, of each of up to 32 intervals of a number, and of those where it is missing. The other half says how often the
rule is wrong, e of n, and how often one answer for everybody is, b. The column is named a leak if

    upper(e, n) ≤ b / 3n,

where ``upper`` is the Clopper–Pearson limit, at 5 % divided by the number of columns tried; a file that is too small to
tell has no leak. Why a third: the best honest column leaves 45 % of the mistakes of one answer in the made-up data set
(skill), 78 % in the other built-in ones (priors, of COMPAS) and 59 % in the raw mortgage file (gdlin). Four leaks of
the raw COMPAS file leave 6 to 25 %: is_recid, r_charge_degree, event and end. A weaker leak is missed there:
r_days_from_arrest leaves 35 %.

A column that equals the label, or its opposite, in every row is a fact about the file and needs no halves; it is named
unless it may be chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.columns import MISSING, Column, codes, levels, numbers
from likewise.datasets.doctor.finding import Finding
from likewise.protocol import Floats

LEFT = 1 / 3
"""A leak leaves at most this part of the mistakes that one answer for everybody makes."""
DOUBT = 0.05
"""The probability of an interval, over all columns of a file together, that misses the truth."""
INTERVALS = 32

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class OneColumnRule:
    """How well one column predicts the label, on people apart from those it was learned on.

    Attributes
    ----------
    errors, people
        Wrong for this many of so many people.
    low, high
        The interval of its error rate.
    constant
        The error rate of one answer for everybody, among the same people.
    """

    errors: int
    people: int
    low: float
    high: float
    constant: float

    @property
    def leaks(self) -> bool:
        """Whether it leaves so few mistakes that it must be asked how it can know."""
        return self.high <= LEFT * self.constant

    def __str__(self) -> str:
        at, low, high = (f"{rate:.1%}" for rate in (self.errors / self.people, self.low, self.high))
        return (
            f"wrong for {at} ({low} to {high}) of {self.people:,} people it was not learned from; one answer for "
            f"everybody is wrong for {self.constant:.1%}"
        )


def one_column_rule(place: Codes, y: Floats, first: NDArray[np.bool_], doubt: float = DOUBT) -> OneColumnRule:
    """Learn the more frequent label of each code on the people of ``first``; measure it on the others.

    Examples
    --------
    >>> y = np.tile([0.0, 1.0], 500)
    >>> rule = one_column_rule(y.astype(np.int64), y, np.arange(1000) < 500)
    >>> rule.errors, rule.constant, round(rule.high, 3), rule.leaks
    (0, 0.5, 0.007, True)
    """
    place = place - place.min()
    often = float(y[first].mean() > 0.5)
    people = np.bincount(place[first], minlength=place.max() + 1)
    yes = np.bincount(place[first], y[first], place.max() + 1)
    answer = np.where(2 * yes == people, often, 2 * yes > people)  # also for codes that nobody had
    errors = int((answer[place[~first]] != y[~first]).sum())
    low, high = interval(errors, int((~first).sum()), doubt)
    return OneColumnRule(errors, int((~first).sum()), low, high, float((y[~first] != often).mean()))


def interval(errors: int, people: int, doubt: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate.

    Examples
    --------
    >>> [round(end, 4) for end in interval(0, 50, 0.05)]
    [0.0, 0.0711]
    """
    from scipy.special import betaincinv

    low = 0.0 if errors == 0 else float(betaincinv(errors, people - errors + 1, doubt / 2))
    high = 1.0 if errors == people else float(betaincinv(errors + 1, people - errors, 1 - doubt / 2))
    return low, high


def in_codes(values: Any, column: Column, first: NDArray[np.bool_]) -> Codes:
    """A column as small whole numbers: levels, or intervals of a number with as many people of the first half each."""
    if column.kind == "category" or column.different <= INTERVALS:
        return codes(values, levels(values))
    floats = numbers(values, column.name)
    present = floats[first & ~np.isnan(floats)]
    cuts = np.quantile(present, np.arange(1, INTERVALS) / INTERVALS) if len(present) else np.zeros(0)
    return np.where(np.isnan(floats), MISSING, np.searchsorted(cuts, floats, side="right"))


def halves(person: NDArray[np.intp], seed: int = 0) -> NDArray[np.bool_]:
    """Whether each row is of a person of the first half; a person's rows stay together."""
    lots = np.random.default_rng(seed).permutation(int(person.max(initial=-1)) + 1)
    return np.asarray(2 * lots[person] < len(lots))


def of_leaks(columns: Sequence[tuple[Column, Any]], label: str, y: Floats, person: NDArray[np.intp]) -> list[Finding]:
    """The columns that give the label away: the label is y, and nobody lacks it."""
    first = halves(person)
    if not columns or not 0 < y.mean() < 1 or first.all() or not first.any():
        return []
    doubt = DOUBT / len(columns)
    findings = []
    for column, values in columns:
        copied = _copied(values, column.name, label, y, doubt) if column.different == 2 else ""
        sentence = copied or _predicted(values, column, label, y, first, doubt)
        if sentence:
            findings.append(Finding("leak", (column.name,), sentence, "--drop", (column.name,)))
    return findings


def _copied(values: Any, name: str, label: str, y: Floats, doubt: float) -> str:
    distinct = levels(values)
    place = codes(values, distinct)
    if len(distinct) != 2 or (place == MISSING).any() or _by_chance(len(y), int(y.sum())) > doubt:
        return ""
    if np.array_equal(place, y):
        return f"{name} is {label} itself, in every row."
    return f"{name} is the opposite of {label}, in every row." if np.array_equal(1 - place, y) else ""


def _by_chance(people: int, yes: int) -> float:
    """The probability that a random order of the labels makes them a column's own values or their opposite, at most.

    Examples
    --------
    >>> round(_by_chance(4, 3), 3), _by_chance(500_000, 250_000)
    (0.5, 0.0)
    """
    return exp(log(2) - lgamma(people + 1) + lgamma(yes + 1) + lgamma(people - yes + 1))


def _predicted(values: Any, column: Column, label: str, y: Floats, first: NDArray[np.bool_], doubt: float) -> str:
    place = in_codes(values, column, first)
    rule = one_column_rule(place, y, first, doubt)
    if not rule.leaks:
        return ""
    absent = (place == MISSING).astype(np.int64)
    alone = one_column_rule(absent, y, first, doubt)
    # The missing values alone may be what gives it away: the column is filled in only once the outcome is known.
    by, rule = (f"Whether {column.name} is missing", alone) if alone.leaks else (column.name, rule)
    return f"{by} alone predicts {label}: {rule}."
