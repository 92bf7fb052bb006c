"""Loops that numba keeps on disk, found again only as long as nothing that they are made of has changed."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from numba import njit


def cached(loop: Any) -> Any:
    """As ``njit(cache=True)``, for a loop that calls loops of other files.

    numba notices a change of the file that a loop stands in, but not of a loop that it calls from elsewhere. The name
    under which it keeps a loop is made of the loop's own name: a checksum of those files goes there.
    """
    checksum = zlib.crc32(b"".join(Path(file).read_bytes() for file in files_behind(loop)))
    loop.__qualname__ = f"{loop.__qualname__}-{checksum:08x}"
    return njit(cache=True, error_model="numpy")(loop)


def files_behind(loop: Any) -> list[str]:
    """Every other file whose loops the file of this one has imported, and those that they have imported in turn."""
    own, waiting = loop.__code__.co_filename, [loop]
    files: set[str] = set()
    while waiting:
        for imported in waiting.pop().__globals__.values():
            called = getattr(imported, "py_func", None)
            if called is not None and called.__code__.co_filename not in {own, *files}:
                files.add(called.__code__.co_filename)
                waiting.append(called)
    return sorted(files)
