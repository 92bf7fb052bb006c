"""Columns that say the same: equal in every row but for their spelling, or nearly so, and names that repeat.

A twin is not wrong, but it counts twice: in a distance over both, and in what is dropped (dropping a leak and leaving
its twin changes nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.columns import Column, codes, levels, numbers
from likewise.datasets.doctor.finding import Finding
from likewise.protocol import Floats

ALIKE = 0.999
"""Two columns of numbers, or of two levels, whose correlation is at least this (or at most minus this) say the same."""
ROWS, COLUMNS = 5_000, 400
"""At most this many rows are looked at for numbers that are nearly the same, and this many columns."""
_REPEATED = re.compile(r"(.+)\.\d+")


def of_twins(columns: Sequence[tuple[Column, Any]], label: str | None) -> list[Finding]:
    """Columns that repeat another's name or values; the label's own twins are leaks, and not among these."""
    names = [column.name for column, _ in columns]
    repeated = [name for name in names if (match := _REPEATED.fullmatch(name)) and match[1] in names]
    usable = [(column, values) for column, values in columns if column.kind != "unusable" and column.name != label]
    findings = [_twin(first, second) for first, second in _pairs(usable)]
    named = {finding.columns[1] for finding in findings}
    for name in repeated:
        if name not in named and name != label:
            first = name.rpartition(".")[0]
            sentence = f"Two columns are called {first}; the second is read as {name}, and they differ."
            findings.append(Finding("twins", (first, name), sentence))
    return findings


def _twin(first: str, second: str) -> Finding:
    sentence = f"{second} says the same as {first}: together they count twice."
    return Finding("twins", (first, second), sentence, "--drop", (second,))


def _pairs(columns: Sequence[tuple[Column, Any]]) -> Iterator[tuple[str, str]]:
    """The first column of each group of twins, with each of the others."""
    taken: set[str] = set()
    for first, second in sorted({*_same(columns), *_nearly(columns)}):
        name, other = columns[first][0].name, columns[second][0].name
        if name not in taken and other not in taken:
            taken.add(other)
            yield name, other


def _same(columns: Sequence[tuple[Column, Any]]) -> Iterator[tuple[int, int]]:
    """Pairs that are one to one in all rows: levels numbered in order of their first row are then the same."""
    seen: dict[bytes, int] = {}
    for place, (column, values) in enumerate(columns):
        if column.different > len(values) / 5:  # what differs in nearly every row is one to one by chance
            continue
        coded = codes(values, levels(values))
        _, first, which = np.unique(coded, return_index=True, return_inverse=True)
        key = np.argsort(np.argsort(first))[which.ravel()].astype(np.int32).tobytes()
        if key in seen:
            yield seen[key], place
        seen.setdefault(key, place)


def _nearly(columns: Sequence[tuple[Column, Any]]) -> Iterator[tuple[int, int]]:
    scaled = {place: row for place, (column, values) in list(enumerate(columns))[:COLUMNS]
              if (row := _scaled(column, values)) is not None}  # fmt: skip
    if len(scaled) < 2:
        return
    places, stacked = list(scaled), np.vstack(list(scaled.values()))
    alike: NDArray[np.bool_] = np.abs(stacked @ stacked.T) >= ALIKE
    for i, j in zip(*np.nonzero(np.triu(alike, 1)), strict=True):
        if np.array_equal(np.isnan(_floats(*columns[places[i]])), np.isnan(_floats(*columns[places[j]]))):
            yield places[i], places[j]


def _scaled(column: Column, values: Any) -> Floats | None:
    """A column of length 1 around 0, with its mean where it is missing; None if it can't be correlated."""
    floats = _floats(column, values)
    # Spread over the file: its first rows may all be of one year.
    floats = floats[np.linspace(0, len(floats) - 1, min(ROWS, len(floats))).astype(int)]
    present = ~np.isnan(floats)
    if not present.any():
        return None
    centred = np.where(present, floats - floats[present].mean(), 0.0)
    length = float(np.sqrt(centred @ centred))
    return centred / length if length > 1e-9 else None


def _floats(column: Column, values: Any) -> Floats:
    if column.kind == "number":
        return numbers(values, column.name)
    if column.different != 2:
        return np.full(len(values), np.nan)
    place = codes(values, levels(values))
    return np.where(place < 0, np.nan, place).astype(float)
