"""The scoreboard as a table of the page."""

from __future__ import annotations

from html import escape

from likewise.report.html import wrapped
from likewise.scoreboard import Scoreboard


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


def _below(cell: str) -> str:
    """An interval goes below its number: the table must fit on a page."""
    value, bracket, interval = cell.partition(" (")
    return escape(value) + (f"<br><small>({escape(interval)}</small>" if bracket else "")
