"""The scoreboard and the groups as tables of the page."""

from __future__ import annotations

from html import escape

from likewise.report.html import table, wrapped
from likewise.scoreboard import Groups, GroupTable, Scoreboard


def scores(scoreboard: Scoreboard) -> str:
    """The table, with the policy that it is about in bold, and its notes below."""
    head = "".join(f"<th>{escape(name)}</th>" for name in scoreboard.header())
    rows = []
    for row, cells in zip(scoreboard.rows, scoreboard.cells(), strict=True):
        first, *others = cells
        line = f"<th>{escape(first)}</th>" + "".join(f"<td>{_below(cell)}</td>" for cell in others)
        rows.append(f"<tr class='{'this' if row.bold else 'limit' if row.exact else 'other'}'>{line}</tr>")
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in scoreboard.notes)
    return f"<div class='scores'>{wrapped(head, ''.join(rows))}<p>{escape(scoreboard.gain)}</p>{notes}</div>"


def by_group(groups: Groups) -> str:
    """A table for each column, what it comes to, and the calibration of each group."""
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in groups.notes)
    return f"<div class='scores'>{''.join(_of_column(table) for table in groups.tables)}{notes}</div>"


def _of_column(groups: GroupTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in groups.header())
    rows = [
        f"<tr><th>{escape(first)}</th>{''.join(f'<td>{_below(cell)}</td>' for cell in others)}</tr>"
        for first, *others in groups.cells()
    ]
    drawn = wrapped(head, "".join(rows)) if rows else ""
    return f"{drawn}<p>{escape(groups.sentence)}</p>{_calibration(groups)}"


def _calibration(groups: GroupTable) -> str:
    """Labels beside probabilities, band by band."""
    rows = [
        (group.name, f"{band.low:.1f} to {band.high:.1f}", band.people, band.probability, band.label)
        for group in groups.groups
        for band in group.bands
    ]
    names = (groups.column, "probability of a yes", "people", "mean probability", "with label 1")
    if not rows:
        return ""
    summary = f"<summary>Labels beside probabilities, by {escape(groups.column)}</summary>"
    return f"<details>{summary}{table(names, rows)}</details>"


def _below(cell: str) -> str:
    """An interval goes below its number: the table must fit on a page."""
    value, bracket, interval = cell.partition(" (")
    return escape(value) + (f"<br><small>({escape(interval)}</small>" if bracket else "")
