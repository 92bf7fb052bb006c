"""Notices as pages to print: one HTML file, each person on a sheet of their own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from likewise.report.html import document
from likewise.report.notice import Notice
from likewise.storage import write_whole


def notice_page(*notices: Notice, title: str = "Notice about a decision") -> str:
    """The page.

    Examples
    --------
    >>> from likewise import Mixture, Thresholds
    >>> from likewise.report.notice import notice
    >>> import numpy as np
    >>> policy = Mixture(Thresholds([[18]], names=["age"]), np.array([0.0, 0.4, 0.6, 0.0]))
    >>> "The probability of a yes was 0.400" in notice_page(notice(policy, [[17.0]], about="Ada"))
    True
    """
    return document(title, *(_sheet(notice) for notice in notices))


def write_notices(path: str | Path, notices: Iterable[Notice]) -> Path:
    """Write the page of some notices, whole or not at all."""
    return write_whole(Path(path), notice_page(*notices))


def _sheet(notice: Notice) -> str:
    heading = f"Notice about {notice.about}" if notice.about else "Notice about a decision"
    parts = [f'<article style="break-after: page"><h1>{escape(heading)}</h1>']
    for name, text, lines in notice.parts():
        paragraph = f"<p>{escape(text)}</p>" if text else ""
        listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
        parts.append(f'<h2 class="flow">{escape(name)}</h2>{paragraph}' + (f"<ul>{listed}</ul>" if listed else ""))
    return "".join([*parts, "</article>"])
