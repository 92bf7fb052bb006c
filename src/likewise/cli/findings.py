"""What the look at a file found, in groups of short lines, each with the option that mends it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.options import as_list

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.datasets.doctor import Finding

READING = ("--fix", "--no-header")
"""Options of ``likewise data`` that write a mended copy; all others are options of ``likewise play``."""


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Each group under its heading; nothing if there is nothing to say."""
    from likewise.datasets.doctor import KINDS

    for kind, heading in KINDS.items():
        group = [finding for finding in findings if finding.kind == kind]
        if group:
            console.print(f"[bold]{heading}[/]", highlight=False)
        for finding in group:
            console.print(f"  {finding.sentence}{_mend(finding)}", markup=False, highlight=False, soft_wrap=True)


def _mend(finding: Finding) -> str:
    written = options_of([finding])
    return f" [{written}]" if written else f" [{finding.option}]" if finding.option else ""


def options_of(findings: Sequence[Finding]) -> str:
    """All options for ``likewise play`` together, as one would type them.

    Examples
    --------
    >>> from likewise.datasets.doctor import Finding
    >>> leak = Finding("leak", ("is_recid",), "…", "--drop", ("is_recid",))
    >>> options_of([leak, Finding("leak", ("case no",), "…", "--drop", ("case no",))])
    "--drop 'is_recid,case no'"
    """
    values: dict[str, list[str]] = {}
    for finding in findings:
        if finding.option and finding.option not in READING:
            taken = values.setdefault(finding.option, [])
            # One column says who people are; everything else is a list, and a column is named once.
            single = finding.option in ("--id", "--labels")
            taken += [] if single and taken else [value for value in finding.values if value not in taken]
    return " ".join(f"{option} {shlex.quote(as_list(names))}" for option, names in values.items() if names)


def mending(source: str, findings: Sequence[Finding], encoding: str = "") -> str:
    """The command that writes a mended copy, if that would change anything."""
    wanted = {finding.option for finding in findings} & set(READING)
    if not wanted:
        return ""
    reading = [*(["--encoding", encoding] if encoding else []), *(["--no-header"] if "--no-header" in wanted else [])]
    path = Path(source)
    copy = path.with_name(f"{path.name.split('.')[0]}-mended.csv")
    return shlex.join(["likewise", "data", source, *reading, "--fix", str(copy)])
