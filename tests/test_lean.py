"""Kernels in a process that does nothing else: the same numbers, with less in memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from likewise.kernels.lean import MAPS

CHILD = """
import json, sys
import numpy as np
from likewise import kernels
from likewise.kernels import lean

def resident():
    return sum(int(line.split()[1]) for line in open("/proc/self/smaps") if line.startswith("Rss:"))

lean.when_needed()
idle = "numba" not in sys.modules
kernels.gibbs
hidden = idle and "numba" in sys.modules and not {"scipy.linalg", "cffi"} & set(sys.modules)
before, pages = resident(), lean.CompilerPages()
pages.give_back()
after = resident()
weights, shares = np.empty(50), np.empty(50)
kernels.gibbs(np.arange(50.0), 0.5, weights)
kernels.leaders(np.arange(50.0), shares)  # loaded now, by the compiler whose pages were given back
pages.give_back()
kernels.gibbs(np.arange(50.0), 0.5, shares)
import scipy.linalg
print(json.dumps([hidden, before, after, weights.tolist(), shares.tolist()]))
"""


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux says what is in memory")
def test_kernels_go_on_with_less_in_memory_and_nothing_stays_hidden():
    answer = subprocess.run([sys.executable, "-c", CHILD], check=True, capture_output=True, text=True).stdout
    hidden, before, after, weights, again = json.loads(answer)
    assert hidden
    assert after < before - 1000  # kilobytes
    assert weights == again
    assert weights[0] > weights[1] > 0
