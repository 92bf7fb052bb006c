"""What a score reads of a person: some encoded columns, or the view as it follows from them.

Encoding and comparing both start from the same columns of the file. A number is (x − centre)/spread to the encoder and
weight · x/unit to the comparison. A category is one column per level to the encoder, and a corner of a cross-polytope
to the comparison. So the view is a linear function of the encoded columns, plus a constant, and a score of the view
needs nothing but the encoded columns.

A level that the encoder has not met is a level of its own. Where the comparison tells apart more people than the
encoder can, they get the same view. So distances by this view never exceed those of the comparison, and a score that
is gentle on it is gentle on the comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.datasets import Comparison, Encoder
from likewise.datasets.comparison import ByCategory, ByNumber
from likewise.datasets.encoder import Category, Number
from likewise.errors import InvalidParameter
from likewise.protocol import Floats


class Term(NamedTuple):
    """Adds ``factor`` times a column of ``X`` to a column of what is read."""

    source: int
    target: int
    factor: float


@dataclass(frozen=True, eq=False)
class Reads:
    """Some columns of ``X``; or, with an ``offset``, the offset and terms of these columns.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0]])
    >>> Reads((2, 0)).of(X).tolist(), Reads((2,), (Term(2, 0, 10.0),), np.array([0.5])).of(X).tolist()
    ([[3.0, 1.0]], [[30.5]])
    """

    columns: tuple[int, ...]
    terms: tuple[Term, ...] = ()
    offset: Floats | None = None

    def of(self, X: Floats) -> Floats:
        """What is read of some people, a row each."""
        if self.offset is None:
            return X[:, list(self.columns)]
        V = np.tile(self.offset, (len(X), 1))
        for source, target, factor in self.terms:  # not a matrix product: the same person gets the same bits anywhere
            V[:, target] += factor * X[:, source]
        return V

    def only(self, kept: list[int]) -> Reads:
        """Some of what is read."""
        if self.offset is None:
            return Reads(tuple(self.columns[j] for j in kept))
        place = {target: position for position, target in enumerate(kept)}
        terms = tuple(Term(s, place[t], factor) for s, t, factor in self.terms if t in place)
        return Reads(tuple(sorted({term.source for term in terms})), terms, self.offset[kept])


def view_from(encoder: Encoder, comparison: Comparison) -> Reads:
    """The comparison's view of people, read from their encoded columns.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30.0, 50.0, None], "home": ["rent", "own", "rent"]})
    >>> encoder, comparison = Encoder.fit(people), Comparison.fit(people, ["home", "income"])
    >>> view = view_from(encoder, comparison).of(encoder.transform(people))
    >>> bool(np.allclose(view, comparison.transform(people)))
    True
    """
    first = np.cumsum([0, *(len(part.names) for part in encoder.parts)])
    places = {part.name: (int(start), part) for start, part in zip(first[:-1], encoder.parts, strict=True)}
    terms: list[Term] = []
    offsets: list[Floats] = []
    target = 0
    for part in comparison.parts:
        source, encoded = places.get(part.name, (0, None))
        offset, added = _number(part, encoded, source) if isinstance(part, ByNumber) else _levels(part, encoded, source)
        terms += [Term(term.source, target + term.target, term.factor) for term in added]
        offsets.append(offset)
        target += part.width
    used = tuple(sorted({term.source for term in terms}))
    return Reads(used, tuple(terms), np.concatenate(offsets))


def _number(part: ByNumber, encoded: Any, first: int) -> tuple[Floats, list[Term]]:
    """weight · x/unit from (x − centre)/spread, and both medians where x is missing."""
    scale, offset = part.weight / part.unit, np.zeros(part.width)
    if encoded is None:  # nobody differs in it
        offset[0] = part.median * scale
        return offset, []
    if not isinstance(encoded, Number):
        raise _unlike(part.name, "a number")
    offset[0] = encoded.centre * scale
    terms = [Term(first, 0, encoded.spread * scale)]
    if encoded.missing:
        terms.append(Term(first + 1, 0, (part.median - encoded.median) * scale))
        terms += [Term(first + 1, 1, part.weight)] * part.missing
    return offset, terms


def _levels(part: ByCategory, encoded: Any, first: int) -> tuple[Floats, list[Term]]:
    """The corner of each level, counted from that of a level that nobody had."""
    corners = _corners(part)
    unseen = corners[-1]
    if encoded is None:
        return corners[0], []
    if not isinstance(encoded, Category):
        raise _unlike(part.name, "a category")
    known = dict(zip(part.levels, corners[:-2], strict=True))
    levels = [*([corners[-2]] if encoded.missing else []), *(known.get(level, unseen) for level in encoded.levels)]
    return unseen, [term for i, corner in enumerate(levels) for term in _steps(first + i, corner - unseen)]


def _corners(part: ByCategory) -> Floats:
    """(levels + 2, width): the view of each level, of what is missing, and of a new level."""
    place = np.arange(len(part.levels) + 2)
    corners = np.zeros((len(place), part.width))
    corners[place, place // 2] = np.where(place % 2 == 0, 0.5, -0.5) * part.weight
    return corners


def _steps(source: int, step: Floats) -> Iterator[Term]:
    return (Term(source, int(j), float(step[j])) for j in np.flatnonzero(step))


def _unlike(name: str, kind: str) -> InvalidParameter:
    return InvalidParameter(
        f"`encoder` must take {name!r} for {kind}, as the comparison does, got another kind; name it in `categories` "
        "for both or for neither."
    )
