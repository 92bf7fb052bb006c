"""The kernels in a process that does nothing else: with less of numba and LLVM in memory.

Of what is in memory once kernels are loaded, more than half was needed only to load them. numba imports SciPy's linear
algebra and a parser of C to see whether there is one, which no kernel asks for; and the code of LLVM stays mapped,
which nobody calls any more. All of it is right for a program in which people compile loops of their own, so only a
command of ours does this.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from likewise import kernels

MAPS = Path("/proc/self/smaps")
"""What is in memory, where the system says so (Linux)."""
DONT_NEED = 4
"""MADV_DONTNEED of Linux: pages of a file that was not written to are read again when somebody asks for them."""
MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (r-.p) .*libllvmlite", re.MULTILINE)


UNUSED = ("scipy.linalg", "cffi")
"""What numba looks for at its start, and can do without."""


def load() -> None:
    """Start numba, and call a first kernel, as if SciPy's linear algebra and cffi were not installed."""
    with ExitStack() as hidden:
        for module in UNUSED:
            hidden.enter_context(_hidden(module))
        kernels.gibbs(np.zeros(1), 1.0, np.empty(1))


def when_needed() -> None:
    """The same, but not before somebody asks for a kernel: a process that needs none doesn't wait for numba."""
    kernels.at_first = load


@contextmanager
def _hidden(module: str) -> Iterator[None]:
    """Make whoever imports a module believe that it isn't there, unless it was imported before."""
    before = module in sys.modules
    if not before:
        sys.modules[module] = None  # type: ignore[assignment]  # None is how Python marks a module that is not there
    try:
        yield
    finally:
        if not before:
            del sys.modules[module]


class CompilerPages:
    """The pages of LLVM's code and constants, as far as nobody can have written to them.

    Examples
    --------
    >>> CompilerPages().give_back()
    """

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._loaded = False
        self._system: Any = None

    def give_back(self) -> None:
        """Take them out of memory; a page that is called once more is mapped again from its file."""
        if not self._loaded:
            self._loaded = "llvmlite" in sys.modules
            self._ranges = list(_untouched()) if self._loaded and MAPS.exists() else []
            # Made once: each leaves circles behind, which a command without a garbage collector keeps.
            self._system = ctypes.CDLL(None) if self._ranges else None
        for start, size in self._ranges:
            self._system.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), DONT_NEED)


def _untouched() -> Iterator[tuple[int, int]]:
    """Start and size of each mapping of LLVM's library that can't be written to, and holds only what its file holds."""
    for mapping in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", MAPS.read_text(), flags=re.MULTILINE):
        place, anonymous = MAPPING.match(mapping), re.search(r"^Anonymous:\s+(\d+)", mapping, re.MULTILINE)
        if place and anonymous and anonymous[1] == "0":
            start, end = int(place[1], 16), int(place[2], 16)
            yield start, end - start
