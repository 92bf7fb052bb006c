"""How things show themselves, in a terminal and in a notebook: short, and nothing that was not computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def short(kind: str, *facts: str) -> str:
    """One line about a thing; facts that are empty are left out.

    Examples
    --------
    >>> short("Thresholds", "98 hypotheses", "", "on 6 columns")
    'Thresholds(98 hypotheses, on 6 columns)'
    """
    return f"{kind}({', '.join(fact for fact in facts if fact)})"


def some(names: Sequence[object], most: int = 4) -> str:
    """The first few names.

    Examples
    --------
    >>> some(["age", "debt"]), some(range(9), 3)
    ('age, debt', '0, 1, 2, …')
    """
    return ", ".join([*map(str, names[:most]), *(["…"] if len(names) > most else [])])


def facts_html(title: str, facts: Iterable[tuple[str, str]], note: str = "") -> str:
    """A small table for a notebook: what, and how much."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<div><strong>{escape(title)}</strong><table>{rows}</table>{below}</div>"


def table_html(header: Sequence[str], rows: Iterable[tuple[Sequence[str], bool]], notes: Iterable[str] = ()) -> str:
    """A table with a header for a notebook; rows come with whether they are bold."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in header)
    body = "".join(
        f'<tr style="font-weight:{"bold" if bold else "normal"}">'
        + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for cells, bold in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<div><table><tr>{titles}</tr>{body}</table>{below}</div>"


def text_html(text: str) -> str:
    """A text for a notebook, with its own lines."""
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'
