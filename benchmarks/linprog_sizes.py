"""How far SciPy's linprog on all rows gets: one process per size, until one is beyond the limits.

``python benchmarks/linprog_sizes.py`` takes some minutes and writes linprog_sizes.json, from which ``make bench``
takes the largest size that was managed and what happened at the next one.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from peers import linprog_hindsight
from rows import audited

FOUND = Path(__file__).parent / "linprog_sizes.json"
SIZES = (5000, 10_000, 15_000, 20_000)
CUTS = 50
MOST_SECONDS, MOST_GIB = 120, 8
PATIENCE = 600


def one(T: int) -> dict[str, Any]:
    """Processor seconds of linprog at T rounds, and the largest memory of the process."""
    t, near = audited(T, CUTS)
    start = time.process_time()
    linprog_hindsight(t, near, 0.1)
    taken = time.process_time() - start
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fits = taken <= MOST_SECONDS and gib <= MOST_GIB
    return {"T": T, "N": t.hypotheses.size, "seconds": round(taken), "gib": round(gib, 1), "managed": fits}


def in_a_process(T: int) -> dict[str, Any]:
    """The same in a process of its own; without seconds if it broke or had to be stopped."""
    try:
        said = subprocess.run([sys.executable, __file__, str(T)], check=True, timeout=PATIENCE, capture_output=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return {"T": T, "managed": False}
    return dict(json.loads(said.stdout))


def main() -> None:
    """Larger and larger, until it is too much."""
    sizes: list[dict[str, Any]] = []
    for T in SIZES:
        sizes.append(in_a_process(T))
        sys.stdout.write(f"{sizes[-1]}\n")
        if not sizes[-1]["managed"]:
            break
    FOUND.write_text(
        json.dumps({"seconds": MOST_SECONDS, "gib": MOST_GIB, "cuts": CUTS, "sizes": sizes}, indent=1) + "\n"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(one(int(sys.argv[1]))))
    else:
        main()
