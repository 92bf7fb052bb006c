"""A stranger finds the tests of a module by its name: ``test_<module>.py``, or ``test_<folder>.py``."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "likewise"
FILES = {path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")}
TOO_WIDE = {"service", "experiments"}
"""Folders that are too large for a file of tests of their own."""
ELSEWHERE = {
    "service/asides": "engine",
    "service/configuration": "serve",
    "service/cosigning": "witness",
    "service/live": "replay",
    "service/log": "store",
    "service/proof/drawn": "bank",
    "service/proof/script": "chain",
    "service/proof/signed_log": "transparency",
    "service/proof/spelling": "canonical",
    "service/proof/stamps": "timestamps",
    "service/readiness": "lost_logs",
    "service/run/app": "api",
    "service/run/temporary": "backup",
    "service/stream": "decide",
    "service/timestamping": "timestamps",
}
"""Modules and folders whose tests are named after what they promise; keep it short."""


def names(module: Path) -> list[str]:
    """A module's own name and those of its folders, as far as they say something."""
    return [part for part in module.with_suffix("").parts if part not in TOO_WIDE]


def listed(module: Path) -> str | None:
    """The file that the table names for a module or for a folder that it is in."""
    inside = [module.with_suffix(""), *module.parents]
    return next((ELSEWHERE[path.as_posix()] for path in inside if path.as_posix() in ELSEWHERE), None)


MODULES = [
    path.relative_to(SOURCE)
    for path in sorted(SOURCE.rglob("*.py"))
    if not path.stem.startswith("__") and "versions" not in path.parts
]


def test_every_module_has_tests_that_are_found_by_its_name():
    assert len(MODULES) > 100
    missing = [str(one) for one in MODULES if not FILES & {*names(one), listed(one)}]
    assert missing == [], "write test_<name>.py, or add to ELSEWHERE what is tested under another name"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_table_names_only_modules_without_a_file_of_their_own_and_files_that_exist(name):
    covered = [one for one in MODULES if one.with_suffix("").as_posix().startswith(name)]
    assert covered, "there is no such module"
    assert any(not FILES & set(names(one)) for one in covered), "it has a file of its own, so it need not be listed"
    assert len(list(TESTS.rglob(f"test_{ELSEWHERE[name]}.py"))) == 1, "there is no such file of tests"


PURE = {"numpy", "pydantic", "pydantic_core", "typing_extensions", "likewise"}
PLAIN = {
    "__future__", "abc", "base64", "bisect", "collections", "dataclasses", "datetime", "difflib", "functools",
    "hashlib", "hmac", "itertools", "marshal", "math", "numbers", "re", "textwrap", "typing", "unicodedata", "zlib",
}  # fmt: skip
"""Of the standard library: nothing that knows a clock, a disk, a network or a thread."""


def test_what_a_round_is_needs_no_clock_disk_network_or_threads():
    """``service/stream`` is pure; ``datetime`` only spells times that it is given."""
    imported = {}
    for path in sorted((SOURCE / "service" / "stream").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            imported |= dict.fromkeys(names, path.name)
    tops = {name.partition(".")[0]: file for name, file in imported.items()}
    assert len(tops) > 5
    assert {name: file for name, file in tops.items() if name not in PURE | PLAIN} == {}
    ours = [name for name in imported if name.startswith("likewise.service.")]
    assert all(name.split(".")[2] in ("stream", "canonical", "packed", "refusals") for name in ours)


def test_importing_the_library_loads_nothing_that_takes_longer_than_itself():
    slow = ("matplotlib", "pandas", "scipy.interpolate", "scipy.optimize", "scipy.special", "sklearn")
    code = f"import sys, likewise; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
