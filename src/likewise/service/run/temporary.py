"""A folder for people and keys that is gone when its process is, even if that one is killed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REMOVE = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"
"""What a second process does: it waits until the first has ended, however it ends, and removes the folder."""


@contextmanager
def private_folder(beside: Path | None = None) -> Iterator[Path]:
    """A folder that only its owner can enter; a process of its own removes it if this one can't any more."""
    folder = Path(tempfile.mkdtemp(prefix=".likewise-", dir=beside))  # for its owner only
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", REMOVE, str(folder.absolute())],
        stdin=subprocess.PIPE,
        start_new_session=True,  # a signal to the whole group must not end it first
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        guard.communicate()
