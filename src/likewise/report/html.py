"""Pages: one HTML file with everything inside, readable offline, on a phone and on paper.

Nothing is fetched: styles are in the page and figures are images in it. Whoever writes a section escapes what came from
outside (``html.escape``); ``typeset`` and ``table`` do so themselves.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CSS = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.35rem; margin-top: 3rem; padding-top: .8rem; border-top: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p, li, figcaption { max-width: 48rem; }
.lead { font-size: 1.15rem; }
figure { margin: 1.4rem 0; break-inside: avoid; }
figure img { width: 100%; height: auto; }
figcaption { font-size: .95rem; color: #333; border-left: 3px solid #0072B2; padding-left: .8rem; margin-top: .4rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: .3rem 0 1rem; font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; border-bottom: 1.5px solid #555; padding: .25rem .9rem .25rem 0; }
td { vertical-align: top; border-bottom: 1px solid #e6e6e6; padding: .2rem .9rem .2rem 0; }
td.number, th.number { text-align: right; }
.holds { color: #00664b; } .failed { color: #fff; background: #b30000; font-weight: bold; padding: .1rem .4rem; }
tr.bad td { background: #ffe5e0; }
nav li { margin: .1rem 0; }
.letter { border-left: 4px solid #0072B2; background: #f6f9fc; padding: .4rem 1.2rem .6rem; max-width: 46rem; }
.letter ol { margin: .2rem 0 .8rem; padding-left: 1.6rem; } .letter li { margin: .3rem 0; }
.scores table { font-size: .95rem; } .scores th { text-align: left; } .scores td, .scores thead th:not(:first-child) {
  text-align: right; } .scores tbody th { border-bottom: 1px solid #e6e6e6; font-weight: normal; vertical-align: top; }
.scores .note { margin: .25rem 0; } .scores td { white-space: nowrap; } @media (min-width: 60rem) {
  .scores tbody th { white-space: nowrap; } } @media (max-width: 40rem) { .scores table { font-size: .7rem; }
  .scores :is(td, th) { padding-right: .3rem; } .scores :is(td, th):last-child { display: none; } }
.scores tr.this th, .scores tr.this td { font-weight: bold; background: #eef5fb; } .scores tr.limit { color: #555; }
.deck { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); gap: 1rem;
  margin: 1rem 0; }
.card { border: 1px solid #d5d5d5; border-radius: 6px; padding: .6rem .9rem; break-inside: avoid; }
.card h3 { margin: 0 0 .4rem; } .card .note { margin: .3rem 0 0; }
.pair { width: 100%; margin: 0; } .pair td, .pair thead th { text-align: right; padding-right: .4rem; }
.pair tbody th { font-weight: normal; border-bottom: 1px solid #e6e6e6; padding: .2rem .4rem .2rem 0; color: #444; }
.pair tr.given td { font-weight: bold; } .pair tr.differs td { background: #fff1cf; font-weight: bold; }
a { color: #005a8c; }
.note { font-size: .95rem; color: #333; }
.status { white-space: nowrap; font-weight: bold; } .status.kept { color: #00664b; } .status.broken { color: #b30000; }
.status.unchecked { color: #6b5200; }
dl { max-width: 48rem; } dt { font-weight: bold; } dd { margin: 0 0 .4rem 1.2rem; }
pre { background: #f4f4f4; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
td, p, li, figcaption, h1 { overflow-wrap: anywhere; }
details summary { cursor: pointer; font-size: .95rem; }
@media print { body { font-size: 11pt; max-width: none; margin: 0; } h2:not(.flow) { break-before: page; }
  h2, h3 { break-after: avoid; } tr { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: .7rem; } }
"""


def document(title: str, *parts: str) -> str:
    """A whole page from its parts, which are HTML already."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head><body>"
    )
    return "\n".join([head, *parts, "</body></html>"])


def picture(svg: bytes, caption: str, rem: float | None = None) -> str:
    """A figure as an image in the page, at most ``rem`` wide; several bare SVGs in one page would share their ids."""
    source = base64.b64encode(svg).decode()
    width = "" if rem is None else f' style="max-width:{rem:g}rem"'
    return (
        f'<figure><img{width} alt="{escape(caption, quote=True)}" src="data:image/svg+xml;base64,{source}">'
        f"<figcaption>{typeset(caption)}</figcaption></figure>"
    )


def typeset(text: str) -> str:
    """Plain text as HTML, with its indices and powers raised and lowered.

    Examples
    --------
    >>> typeset("T^{7/9} < Q_α"), typeset("T^0.86. Err(f, R_C(z))")
    ('T<sup>7/9</sup> &lt; Q<sub>α</sub>', 'T<sup>0.86</sup>. Err(f, R<sub>C</sub>(z))')
    """
    text = re.sub(r"\b(Q|R|L|C)_(?:\{([^}]*)\}|(\d+(?:\.\d+)?|[αaCj]))", r"\1<sub>\2\3</sub>", escape(text))
    text = re.sub(r"(?<![\w.])(-?\d(?:\.\d+)?)e([+-])0*(\d+)\b", _scientific, text)
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    return re.sub(r"\b([Tπp2k])\^(?:\{([^}]*)\}|(\d+(?:\.\d+)?|[¾⅔⅓½¼t]))", r"\1<sup>\2\3</sup>", text)


def _scientific(match: re.Match[str]) -> str:
    """1.8e-16 as people write it."""
    digits, sign, power = match.groups()
    return f"{digits} × 10<sup>{'−' if sign == '-' else ''}{power}</sup>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; columns with numbers in them are set to the right."""
    rows = list(rows)
    numeric = [any(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    head = "".join(
        f"<th{' class=number' if right else ''}>{typeset(name)}</th>"
        for name, right in zip(columns, numeric, strict=True)
    )
    body = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>" for row in rows)
    return wrapped(head, body)


def wrapped(head: str, body: str) -> str:
    """A table from its HTML, which scrolls sideways where the page is too narrow."""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(value: Any) -> str:
    """One cell: a number to the right, anything else as text."""
    value = value.item() if hasattr(value, "item") else value
    if not _is_number(value):
        return f"<td>{typeset(str(value))}</td>"
    return f'<td class="number">{number(value)}</td>'


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value: float) -> str:
    """A number as a person would write it.

    Examples
    --------
    >>> [number(x) for x in (12345, 1234.5, 0.12345, 1e-12, float("nan"), -3.0)]
    ['12,345', '1,234', '0.123', '1.0 × 10<sup>−12</sup>', '–', '−3.00']
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    size = abs(value)
    if isinstance(value, int) or size >= 100:
        text = f"{value:,.0f}"
    elif size == 0:
        text = "0"
    elif size < 1e-3:
        text = typeset(f"{value:.1e}")
    else:
        text = f"{value:.3f}" if size < 1 else f"{value:.2f}" if size < 10 else f"{value:.1f}"
    return text.replace("-", "−", 1) if text.startswith("-") else text
