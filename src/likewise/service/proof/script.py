"""The checker for outsiders as one file: two modules that need only the standard library, put together."""

from __future__ import annotations

import re
from importlib.resources import files

IMPORT = re.compile(r"from likewise\.service\.proof\.signed_log import \([^)]*\)\n")


def script() -> str:
    """The text of the file."""
    folder = files("likewise.service.proof")
    main, part = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("standalone.py", "signed_log.py"))
    body = part[part.index("import base64\n") :]
    return IMPORT.sub(lambda _: body, main)
