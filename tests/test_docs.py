"""The documentation is true: its code runs, page by page, as it is read; every command and option stands in it.

A ```python block runs in the page's namespace; one with prompts must print what it shows. In a ```sh block every line
runs too: ``likewise …`` in the page's folder, ``likewise serve`` for as long as the page takes, with its address and
token in place of those on the page; what sets a machine up (``make …``, ``pip install …``) must name targets and extras
that exist.
"""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from likewise import cli

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("README.md"), *DOCS.rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """Code of a page: its language, the number of its first line, and itself."""

    language: str
    line: int
    code: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m.group(1), text.count("\n", 0, m.start(2)) + 1, m.group(2)) for m in BLOCK.finditer(text)]


def run_python(page: Path, block: Block, names: dict[str, Any]) -> None:
    if not block.code.lstrip().startswith(">>>"):
        # The padding makes a traceback name the line of the page; this file's __future__ must not leak into it.
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec", dont_inherit=True), names)
        return
    prompts = doctest.DocTestParser().get_doctest(block.code, {}, page.name, str(page), block.line - 1)
    prompts.globs = names
    said: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(prompts, out=said.append, clear_globs=False)
    assert not said, "".join(said)


def run_shell(line: str) -> None:
    command, *words = shlex.split(line, comments=True)
    if command == "likewise":
        with pytest.raises(SystemExit) as done:
            cli.main(words)
        assert done.value.code in (None, 0), line
    elif command == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[0] in targets, line
    elif command == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        wanted = re.findall(r"\.\[([a-z,]+)\]", line)
        assert words[0] == "install", line
        assert "likewise" not in line, f"there is no release to install: {line}"
        assert {extra for names in wanted for extra in names.split(",")} <= set(extras), line
    else:
        raise AssertionError(f"nobody knows how to run {line!r}")


@contextmanager
def served(line: str) -> Iterator[dict[str, str]]:
    """A server that runs while the page does; what stands on the page for its address and its token, and what is so."""
    command = [sys.executable, "-u", "-m", *shlex.split(line), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        assert process.stdout is not None
        while "Serving at" not in said:
            told = process.stdout.readline()
            assert told, f"{line} ended after saying: {said}"
            said += told
        address = re.findall(r"http://[0-9.:]+", said)[-1]
        _wait_until_ready(address)
        yield {"http://127.0.0.1:8321": address, "lw_…": (re.findall(r"lw_[0-9a-f]+", said) or ["lw_…"])[0]}
    finally:
        process.terminate()
        process.communicate(timeout=300)


def _wait_until_ready(address: str) -> None:
    for _ in range(3000):
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=300):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{address} never became ready")


def shell_lines(code: str) -> Iterator[str]:
    """The commands of a block; one may go on over several lines."""
    return (line for line in code.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#"))


LONG = {"docs/gallery/lending.md", "docs/gallery/work.md", "docs/gallery/triage.md", "docs/gallery/release.md"}
"""Pages that tell the same kind of story as another one, which is enough on every change."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if str(page.relative_to(ROOT)) in LONG else page for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
@pytest.mark.filterwarnings("error")
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    instead: dict[str, str] = {}
    with ExitStack() as running:
        for block in blocks(page):
            for shown, real in instead.items():
                block = block._replace(code=block.code.replace(shown, real))
            if block.language == "python":
                run_python(page, block, names)
            elif block.language == "sh":
                for line in shell_lines(block.code):
                    if line.startswith("likewise serve"):
                        instead = running.enter_context(served(line))
                    else:
                        run_shell(line)
            else:
                assert block.language in ("json", "toml", "text"), f"{page}:{block.line}: {block.language}"


def test_blocks_are_found_and_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n```python\nx = 1\n```\n\n```\nnot python\n```\n\n```python\n>>> x\n2\n```\n")
    first, second = blocks(page)
    assert (first.line, second.line) == (4, 12)
    names: dict[str, Any] = {}
    run_python(page, first, names)
    assert names["x"] == 1
    with pytest.raises(AssertionError, match="Expected"):
        run_python(page, second, names)


@pytest.mark.parametrize(
    "line", ["make nothing", 'pip install ".[nothing]"', 'pip install "likewise[data]"', "rm -rf x", "likewise nothing"]
)
def test_a_line_of_shell_that_could_not_work_is_noticed(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        run_shell(line)


def test_nothing_asks_for_a_release_that_does_not_exist() -> None:
    """Whoever else may own the name on an index, it isn't us."""
    files = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.html"), *ROOT.glob("examples/*.py")]
    asking = re.compile(r"pip install[^\n`]*\blikewise\b")
    assert len(files) > 200
    assert [str(file) for file in files if asking.search(file.read_text(encoding="utf-8"))] == []


def commands(group: Any, path: str = "likewise") -> Iterator[tuple[str, Any]]:
    """Every command of a group and of the groups within it, by its full name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands(typer.main.get_command(cli.app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    page = (DOCS / "command.md").read_text(encoding="utf-8")
    assert f"\n## {name}\n" in page
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    for parameter in COMMANDS[name].params:
        for option in [*parameter.opts, *parameter.secondary_opts]:
            if option.startswith("--") and option not in ("--json", "--help"):
                assert f"`{option}`" in section or f"`{option} " in section, f"{name} {option}"


def test_every_page_stands_in_the_navigation_and_every_picture_exists() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert f": {page.relative_to(DOCS)}" in navigation, page
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / picture).is_file(), f"{page}: {picture}"


def route_rows() -> Iterator[str]:
    """The table of the service's routes: who may ask for them, and what they do."""
    from likewise.service.accounts.access import ACCESS
    from likewise.service.accounts.tokens import ROLES
    from likewise.service.api.routes import router

    for route in router.routes:
        (method,) = route.methods  # type: ignore[attr-defined]
        path, endpoint = route.path, route.endpoint  # type: ignore[attr-defined]
        roles = ACCESS[method, path]
        who = "everybody with a token" if roles == ROLES else ", ".join(roles)
        yield f"| `{method} {path.replace(':path', '')}` | {who} | {endpoint.__doc__} |"


def configuration_rows() -> Iterator[str]:
    """The table of the service's configuration."""
    from likewise.service.configuration import Configuration

    for name, field in Configuration.model_fields.items():
        default = "" if field.default is None else field.default
        yield f"| `{name}` | {default} | {field.description} |"


def setting_rows() -> Iterator[str]:
    """The table of a stream's settings, as its request has them."""
    from likewise.service.api.bodies import StreamBody
    from likewise.service.stream.settings import Feature, Review, Waits

    for prefix, model in (("", StreamBody), ("features[].", Feature), ("waits.", Waits), ("review.", Review)):
        for name, schema in model.model_json_schema()["properties"].items():
            default = schema.get("default")
            text = f"`{json.dumps({} if isinstance(default, dict) else default)}`" if "default" in schema else ""
            yield f"| `{prefix}{name}` | {value_of(schema)} | {text} | {schema['description']} |"


def value_of(schema: dict[str, Any]) -> str:
    """What JSON Schema allows, as people write it."""
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(value_of(part) for part in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    names = {
        "string": "text",
        "array": "list",
        "null": "`null`",
        "boolean": "true or false",
        "integer": "whole number",
    }
    name = names.get(schema.get("type", "object"), schema.get("type", "object"))
    low, high = (schema.get(end, schema.get(f"exclusive{end.title()}")) for end in ("minimum", "maximum"))
    if high is not None:
        opening, closing = "(" if "exclusiveMinimum" in schema else "[", ")" if "exclusiveMaximum" in schema else "]"
        return f"{name} in {opening}{low:g}, {high:g}{closing}"
    return name if low is None else f"{name}, at least {low:g}"


@pytest.mark.parametrize("rows", [route_rows, configuration_rows, setting_rows])
def test_the_tables_of_the_service_say_what_is_declared(rows: Callable[[], Iterator[str]]) -> None:
    page = (DOCS / "service.md").read_text(encoding="utf-8")
    declared = list(rows())
    assert "\n".join(declared) in page, "the table must be:\n" + "\n".join(declared)


def test_what_the_service_shows_to_everybody_is_documented() -> None:
    from likewise.service.accounts.access import PUBLIC

    page = (DOCS / "service.md").read_text(encoding="utf-8")
    for path in PUBLIC:
        assert f"`{path}`" in page
