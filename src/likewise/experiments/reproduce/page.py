"""The page: one HTML file with every figure inside, readable offline and on paper."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from likewise.experiments.reproduce.result import Assumed, Check, Experiment, Picture

CSS = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.35rem; margin-top: 3rem; padding-top: .8rem; border-top: 1px solid #ccc; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p, li, figcaption { max-width: 48rem; }
.lead { font-size: 1.1rem; color: #444; }
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
a { color: #005a8c; }
.note { font-size: .95rem; color: #333; }
details summary { cursor: pointer; font-size: .95rem; }
@media print { body { font-size: 11pt; max-width: none; margin: 0; } h2 { break-before: page; }
  .wide { overflow: visible; } table { font-size: .7rem; } }
"""


def page(experiments: Sequence[Experiment], facts: Iterable[str], folder: Path) -> str:
    """The whole page; ``folder`` is where the experiments' figures were saved."""
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Likewise: the paper reproduced</title><style>{CSS}</style></head><body>"
    )
    parts = [head, _opening(experiments, facts), *(_section(e, folder) for e in experiments), "</body></html>"]
    return "\n".join(parts)


def _opening(experiments: Sequence[Experiment], facts: Iterable[str]) -> str:
    failed = sum(c.failures for e in experiments for c in e.checks)
    checked = sum(c.checked for e in experiments for c in e.checks)
    verdict = (
        f'<p><span class="failed">{failed:,} of {checked:,} checks of theorems FAILED.</span> Marked below.</p>'
        if failed
        else f'<p class="holds">All {checked:,} checks of theorems hold.</p>'
    )
    links = "".join(f'<li><a href="#e{e.number}">{e.number}. {typeset(e.title)}</a></li>' for e in experiments)
    return (
        "<header><h1>Metric-free individual fairness in online learning, reproduced</h1>"
        '<p class="lead">The results of Bechavod, Jung and Wu, and the sharper ones of Likewise, played and measured. '
        f"Every number on this page was computed by the run that wrote it.</p>{verdict}"
        f"<p class='note'>{' '.join(escape(fact) for fact in facts)}</p></header>"
        f"<nav><ol style='list-style:none;padding-left:0'>{links}</ol></nav>{_glossary()}"
    )


def _glossary() -> str:
    return (
        "<p class='note'>In a round the learner gives each person of a batch a probability; the auditor, who knows a "
        "distance d, may point at one pair whose probabilities differ by more than d + α: a <b>violation</b>. "
        "<b>Error regret</b> is the learner's total error less that of the best fixed policy, in hindsight, that is "
        "fair on every pair of every batch (Q<sub>α</sub>: within d + α), computed exactly by a linear program; "
        "in experiment 4, by its closed form (1 − a) a round. "
        "T is the number of rounds, k the people in a round, N the number of hypotheses, C what a report weighs.</p>"
    )


def _section(e: Experiment, folder: Path) -> str:
    tables = [t for t in e.tables if len(t.rows) <= 14]
    long = [t for t in e.tables if len(t.rows) > 14]
    parts = [f'<section id="e{e.number}"><h2>{e.number}. {typeset(e.title)}</h2><p>{typeset(e.question)}</p>']
    parts += [_figure(picture, folder / f"{e.number}-{picture.name}.svg") for picture in e.pictures]
    parts += [f'<p class="note">{typeset(note)}</p>' for note in e.notes]
    parts += [f"<h3>{typeset(t.title)}</h3>{_table(t.columns, t.rows)}" for t in tables]
    if e.bounds:
        parts += ["<h3>The bounds, and what they assume</h3>", _bounds(e.bounds)]
    if e.checks:
        parts += ["<h3>Checks of the theorems</h3>", _checks(e.checks)]
    parts += [f"<details open><summary>{typeset(t.title)}</summary>{_table(t.columns, t.rows)}</details>" for t in long]
    parts += [f'<p class="note">This experiment took {e.seconds:.0f} seconds.</p></section>']
    return "\n".join(parts)


def _figure(picture: Picture, drawn: Path) -> str:
    """A figure as an image inside the page: several SVGs in one document would share their ids."""
    source = base64.b64encode(drawn.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(picture.caption, quote=True)}" src="data:image/svg+xml;base64,{source}">'
        f"<figcaption>{typeset(picture.caption)}</figcaption></figure>"
    )


def _bounds(bounds: Sequence[Assumed]) -> str:
    return _table(("bound", "theorem", "assumes"), bounds)


def _checks(checks: Sequence[Check]) -> str:
    rows = []
    for c in checks:
        verdict = (
            "<span class='holds'>holds</span>" if c.holds else f"<span class='failed'>FAILED {c.failures:,}×</span>"
        )
        cells = (_cell(c.claim), _cell(c.checked), f"<td>{verdict}</td>", _cell(c.slack), _cell(c.assumes))
        rows.append(f"<tr{'' if c.holds else ' class=bad'}>{''.join(cells)}</tr>")
    headings = ("claim", "checked", "", "smallest slack", "assumes")
    return _wrapped("".join(f"<th>{heading}</th>" for heading in headings), "".join(rows))


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


def _scientific(found: re.Match[str]) -> str:
    """1.8e-16 as people write it."""
    digits, sign, power = found.groups()
    return f"{digits} × 10<sup>{'−' if sign == '-' else ''}{power}</sup>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    rows = list(rows)
    numeric = [any(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    head = "".join(
        f"<th{' class=number' if right else ''}>{typeset(name)}</th>"
        for name, right in zip(columns, numeric, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    return _wrapped(head, body)


def _wrapped(head: str, body: str) -> str:
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    if not _is_number(value):
        return f"<td>{typeset(str(value))}</td>"
    return f'<td class="number">{number(value)}</td>'


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
