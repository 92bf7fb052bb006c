"""The checker for outsiders as one file: a few modules that need only the standard library, put together."""

from __future__ import annotations

import re
from importlib.resources import files

PROOF = ("signed_log", "spelling", "commitments", "drawn", "reviews", "person", "certificates", "standalone")
PARTS = ("packed", *(f"proof/{name}" for name in PROOF))
"""In the order in which they need each other."""
OURS = re.compile(r"from likewise\.service\.(?:proof\.)?\w+ import (?:\([^)]*\)|[^\n]*)\n")
FUTURE = "from __future__ import annotations\n"


def script() -> str:
    """The text of the file: the docstring of the checker, then each part without its own."""
    texts = {name: files("likewise.service").joinpath(f"{name}.py").read_text(encoding="utf-8") for name in PARTS}
    docstring = texts[PARTS[-1]].partition(FUTURE)[0]
    bodies = (OURS.sub("", texts[name].partition(FUTURE)[2]) for name in PARTS)
    return docstring + FUTURE + "\n".join(bodies)
