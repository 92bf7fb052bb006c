"""Loops that numba keeps on disk, found again only as long as nothing that they are made of has changed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit


def cached(*files: ModuleType) -> Callable[[Any], Any]:
    """As ``njit(cache=True)``, for a loop that calls loops of other files.

    numba notices a change of the file that a loop stands in, but not of a loop that it calls from elsewhere. The name
    under which it keeps a loop is made of the loop's own name: a checksum of those files goes there.
    """
    checksum = zlib.crc32(b"".join(Path(str(file.__file__)).read_bytes() for file in files))

    def compiled(loop: Any) -> Any:
        loop.__qualname__ = f"{loop.__qualname__}-{checksum:08x}"
        return njit(cache=True, error_model="numpy")(loop)

    return compiled
