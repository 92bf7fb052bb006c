"""The notebooks run, show what is written below their blocks, and say nothing about the machine they ran on."""

from __future__ import annotations

import getpass
import importlib.util
import json
import re
import socket
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
spec = importlib.util.spec_from_file_location("write_notebooks", FOLDER / "write.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)
PAGES = notebooks.pages()


def test_there_are_five_of_them() -> None:
    assert [page.stem for page in PAGES] == ["first_steps", "one_sided", "own_learner", "reviewer", "your_own_file"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs_and_shows_what_is_written(page: Path) -> None:
    parts = list(notebooks.executed(page))
    assert notebooks.as_page(parts) == page.read_text(encoding="utf-8"), "run make notebooks"
    written = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert notebooks.as_notebook(parts, page.stem) == written, "run make notebooks"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_is_one_that_jupyter_opens(page: Path) -> None:
    notebook = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"]) > 5
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in code) >= 3
    for cell in notebook["cells"]:
        needed = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == needed | ({"execution_count", "outputs"} if cell["cell_type"] == "code" else set())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_says_nothing_of_the_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8") + page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert not re.findall(r"(?:/(?:home|root|tmp|work|Users|usr)/\S+|[A-Z]:\\\S+| at 0x[0-9a-f]+)", text)
    assert socket.gethostname() not in text
    user = getpass.getuser()
    assert f"/{user}/" not in text


def test_a_wrong_number_below_a_block_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Words.\n\n```python\nprint(1 + 1)\n```\n\n<!-- shown -->\n```text\n3\n```\n<!-- end -->\n\nMore.\n"
    )
    again = notebooks.as_page(list(notebooks.executed(page)))
    assert again == page.read_text().replace("3", "2")
    page.write_text(again)
    assert notebooks.as_page(list(notebooks.executed(page))) == again, "written again, it stays the same"
