"""Every ```python block of README.md and docs/ runs, page by page, in the order in which it is read."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page: Path) -> list[tuple[int, str]]:
    """The page's Python blocks, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in BLOCK.finditer(text)]


def run(page: Path, line: int, code: str, names: dict[str, Any]) -> None:
    """One block in the page's namespace; a block with prompts must also print what it shows."""
    if not code.lstrip().startswith(">>>"):
        # The padding makes a traceback name the line of the page; this file's __future__ must not leak into it.
        exec(compile("\n" * (line - 1) + code, str(page), "exec", dont_inherit=True), names)
        return
    prompts = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line - 1)
    prompts.globs = names
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(prompts, out=said.append, clear_globs=False)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("error")
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, code in blocks(page):
        run(page, line, code, names)


def test_blocks_are_found_and_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n```python\nx = 1\n```\n\n```\nnot python\n```\n\n```python\n>>> x\n2\n```\n")
    (first, code), (second, prompts) = blocks(page)
    assert (first, second) == (4, 12)
    names: dict[str, Any] = {}
    run(page, first, code, names)
    assert names["x"] == 1
    with pytest.raises(AssertionError, match="Expected"):
        run(page, second, prompts, names)
