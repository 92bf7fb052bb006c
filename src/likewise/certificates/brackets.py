"""What the auditor's answers say about the hidden distance, pair by pair.

A truthful report of a gap says d < gap − α_r on that pair, α_r the level reported at. An auditor who reports whenever
they can, and reports nothing, says d ≥ gap − α_r on every pair of the batch. Where a lower limit reaches an upper one
on the same two people, the auditor has contradicted themselves, or has changed their mind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.game import Transcript
from likewise.protocol import Floats


class Bracket(NamedTuple):
    """Limits of the hidden distance on a reported pair.

    Attributes
    ----------
    round
        The round of the report with the smallest upper limit.
    favoured, disfavoured
        Positions in its batch.
    numbers
        Their numbers in that round, as people read them: from 1, highest probability first.
    lower, upper
        lower ≤ d < upper, as far as the answers go; ``lower`` is 0 where no clear round shows the same two people.
    cleared
        The round that gave the lower limit; None if there is none.
    """

    round: int
    favoured: int
    disfavoured: int
    numbers: tuple[int, int]
    lower: float
    upper: float
    cleared: int | None

    @property
    def contradicts(self) -> bool:
        """No distance fits both answers."""
        return self.lower >= self.upper


def brackets(transcript: Transcript) -> tuple[Bracket, ...]:
    """One bracket for every two people (as the auditor sees them), favoured first, who were ever reported.

    False reports are left out. A distance may differ by direction: that a gap was let pass says nothing of the pair
    the other way round.
    """
    t = transcript
    used = np.flatnonzero(~t.false)
    # Who names people that they find alike, and sees decisions only, says nothing about how far apart they are.
    if len(used) == 0 or (t.facts.auditor.sees == "decisions" and t.stated is None):
        return ()
    person = _identities(t.view)
    high, low = t.pair_people[used].T
    keys = _pair_keys(person[high], person[low])
    # An auditor known to miss pairs says nothing by keeping silent.
    misses = t.facts.auditor.exhaustive is False
    lower, cleared = ({}, {}) if misses else _lower_limits(t, person, np.unique(keys))
    by_pair: dict[int, Bracket] = {}
    for key, report in zip(keys.tolist(), used.tolist(), strict=True):
        upper = float(t.pair_gaps[report]) - t.level
        if key not in by_pair or upper < by_pair[key].upper:
            favoured, disfavoured = (int(p) for p in t.pairs[report])
            round_ = cleared.get(key)
            by_pair[key] = Bracket(
                t.first + int(t.report_rounds[report]),
                favoured,
                disfavoured,
                t.numbers_of(report),
                lower.get(key, 0.0),
                upper,
                None if round_ is None else t.first + round_,
            )
    return tuple(by_pair.values())


def _identities(view: Any) -> NDArray[np.intp]:
    """A number for each person, the same for people whom the auditor can't tell apart."""
    columns = (
        [view[name] for name in view.columns] if hasattr(view, "columns") else np.asarray(view).reshape(len(view), -1).T
    )
    person = np.zeros(len(view), dtype=np.intp)
    for column in columns:  # one by one, as sorting whole rows takes ten times as long
        codes = np.unique(_comparable(np.asarray(column)), return_inverse=True)[1].ravel()
        person = np.unique(person * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return person


def _comparable(column: NDArray[Any]) -> NDArray[Any]:
    return column.astype(str) if column.dtype.hasobject else column


def _pair_keys(favoured: NDArray[np.intp], disfavoured: NDArray[np.intp]) -> NDArray[np.int64]:
    return favoured.astype(np.int64) * (2**31) + disfavoured


def _lower_limits(
    t: Transcript, person: NDArray[np.intp], wanted: NDArray[np.int64]
) -> tuple[dict[int, float], dict[int, int]]:
    """The largest gap − level of each wanted pair in a round that was reviewed and found clear."""
    lower: dict[int, float] = {}
    cleared: dict[int, int] = {}
    clear = np.flatnonzero(t.reviewed & ~t.reported)
    for round_ in clear[_holds(t, person, wanted, clear)].tolist():
        people = np.arange(int(t.starts[round_]), int(t.starts[round_ + 1]))
        i, j = np.nonzero(~np.eye(len(people), dtype=bool))
        keys = _pair_keys(person[people[i]], person[people[j]])
        limits: Floats = t.shown[people[i]] - t.shown[people[j]] - t.level
        for at in np.flatnonzero(np.isin(keys, wanted) & (limits > 0)).tolist():
            key, limit = int(keys[at]), float(limits[at])
            if limit > lower.get(key, 0.0):
                lower[key], cleared[key] = limit, round_
    return lower, cleared


def _holds(
    t: Transcript, person: NDArray[np.intp], wanted: NDArray[np.int64], rounds: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which rounds hold at least two people of wanted pairs: the others need no closer look."""
    involved = np.isin(person, np.unique(np.concatenate([wanted // 2**31, wanted % 2**31])))
    return np.add.reduceat(involved, t.starts[:-1], dtype=int)[rounds] >= 2
