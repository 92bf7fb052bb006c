"""The page: one HTML file with every figure inside, readable offline and on paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from likewise.experiments.reproduce.result import Assumed, Check, Experiment
from likewise.report.html import cell, document, picture, table, typeset, wrapped


def page(experiments: Sequence[Experiment], facts: Iterable[str], folder: Path) -> str:
    """The whole page; ``folder`` is where the experiments' figures were saved."""
    title = "Likewise: the paper reproduced"
    return document(title, _opening(experiments, facts), *(_section(e, folder) for e in experiments))


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
    parts += [picture((folder / f"{e.number}-{p.name}.svg").read_bytes(), p.caption) for p in e.pictures]
    parts += [f'<p class="note">{typeset(note)}</p>' for note in e.notes]
    parts += [f"<h3>{typeset(t.title)}</h3>{table(t.columns, t.rows)}" for t in tables]
    if e.bounds:
        parts += ["<h3>The bounds, and what they assume</h3>", _bounds(e.bounds)]
    if e.checks:
        parts += ["<h3>Checks of the theorems</h3>", _checks(e.checks)]
    parts += [f"<details open><summary>{typeset(t.title)}</summary>{table(t.columns, t.rows)}</details>" for t in long]
    parts += [f'<p class="note">This experiment took {e.seconds:.0f} seconds.</p></section>']
    return "\n".join(parts)


def _bounds(bounds: Sequence[Assumed]) -> str:
    return table(("bound", "theorem", "assumes"), bounds)


def _checks(checks: Sequence[Check]) -> str:
    rows = []
    for c in checks:
        verdict = (
            "<span class='holds'>holds</span>" if c.holds else f"<span class='failed'>FAILED {c.failures:,}×</span>"
        )
        cells = (cell(c.claim), cell(c.checked), f"<td>{verdict}</td>", cell(c.slack), cell(c.assumes))
        rows.append(f"<tr{'' if c.holds else ' class=bad'}>{''.join(cells)}</tr>")
    headings = ("claim", "checked", "", "smallest slack", "assumes")
    return wrapped("".join(f"<th>{heading}</th>" for heading in headings), "".join(rows))
