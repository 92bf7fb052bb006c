"""Runs the notebooks of the documentation, and writes down what they show: ``python docs/notebooks/write.py``.

A notebook is a page of Markdown with blocks of Python. This runs its blocks in order, puts what each shows below it,
and writes the same as a Jupyter notebook (.ipynb) beside it. The tests do the same and compare.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n<!-- shown -->\n.*?<!-- end -->\n)?", re.MULTILINE | re.DOTALL)
LINK = "[This page as a Jupyter notebook]({name}.ipynb)"


class Shown(NamedTuple):
    """What a block shows: printed text, and its last value as text and as HTML, if it has them."""

    printed: str
    text: str
    html: str


def pages() -> list[Path]:
    """The notebooks, as pages."""
    return sorted(HERE.glob("*.md"))


def run(code: str, names: dict[str, Any], where: str) -> Shown:
    """Run a block as a notebook does: the value of a last expression is shown."""
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec", dont_inherit=True), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval", dont_inherit=True), names)
    html = getattr(value, "_repr_html_", lambda: "")() if value is not None else ""
    # Neither styles nor empty lines: in a page of Markdown an empty line ends HTML, except in a text of its own.
    html = re.sub(r"<style.*?</style>", "", html or "", flags=re.DOTALL)
    html = html if html.startswith("<pre") else "\n".join(line for line in html.splitlines() if line.strip())
    return Shown(printed.getvalue(), "" if value is None else repr(value), html)


def executed(page: Path) -> Iterator[tuple[str, str, Shown | None]]:
    """The parts of a page in order: words, or code with what it shows. Runs in a folder of its own."""
    text, names, at = page.read_text(encoding="utf-8"), {"__name__": "__main__"}, 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(text):
                yield "words", text[at : block.start()], None
                yield "code", block[1], run(block[1], names, page.name)
                at = block.end()
        finally:
            os.chdir(before)
    yield "words", text[at:], None


def as_page(parts: list[tuple[str, str, Shown | None]]) -> str:
    """The page, with what its blocks show below them."""
    written = []
    for kind, text, shown in parts:
        written.append(text if kind == "words" else f"```python\n{text}```\n{_below(shown)}")
    return "".join(written)


def _below(shown: Shown | None) -> str:
    if shown is None or not any(shown):
        return ""
    printed = f"```text\n{shown.printed.rstrip()}\n```\n" if shown.printed.strip() else ""
    value = f"{shown.html}\n" if shown.html else f"```text\n{shown.text}\n```\n" if shown.text else ""
    between = "\n" if printed and value else ""
    return f"\n<!-- shown -->\n{printed}{between}{value}<!-- end -->\n"


def as_notebook(parts: list[tuple[str, str, Shown | None]], name: str) -> str:
    """The same as a Jupyter notebook."""
    cells: list[dict[str, Any]] = []
    for kind, text, shown in parts:
        words = text.replace(LINK.format(name=name), "").strip() if kind == "words" else text.rstrip("\n")
        if not words:
            continue
        cell: dict[str, Any] = {
            "id": f"cell-{len(cells) + 1}",
            "metadata": {},
            "source": words.splitlines(keepends=True),
        }
        if kind == "words":
            cells.append({"cell_type": "markdown"} | cell)
        else:
            count = 1 + sum(other["cell_type"] == "code" for other in cells)
            cells.append({"cell_type": "code", "execution_count": count, "outputs": _outputs(shown, count)} | cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    meta = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return (
        json.dumps({"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
        + "\n"
    )


def _outputs(shown: Shown | None, count: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if shown is not None and shown.printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": shown.printed.splitlines(keepends=True)})
    if shown is not None and shown.text:
        data = {"text/plain": shown.text.splitlines(keepends=True)}
        data |= {"text/html": shown.html.splitlines(keepends=True)} if shown.html else {}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def main() -> None:
    """Write all of them again."""
    for page in pages():
        parts = list(executed(page))
        page.write_text(as_page(parts), encoding="utf-8")
        page.with_suffix(".ipynb").write_text(as_notebook(parts, page.stem), encoding="utf-8")


if __name__ == "__main__":
    main()
