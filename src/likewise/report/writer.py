"""The report of a play: what was decided, who reviewed, what happened, what is proved, and how to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise import figures, hindsight
from likewise.certificates import Certificate, certify
from likewise.drawing import caption, svg
from likewise.errors import require
from likewise.game import Transcript
from likewise.hindsight import Frontier
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Learner
from likewise.report import words
from likewise.report.html import document, picture, table, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Told:
    """Everything that a report tells of."""

    t: Transcript
    learner: Learner | None
    certificate: Certificate
    title: str
    data: str
    decision: str
    compare_by: Sequence[str]
    parameters: Mapping[str, Any]
    frontier: Frontier | None
    distance: Distance | str | None
    again: str


def write_report(
    path: str | Path,
    transcript: Transcript,
    *,
    learner: Learner | None = None,
    certificate: Certificate | None = None,
    title: str = "Report of a play",
    data: str = "",
    decision: str = "",
    compare_by: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    distance: Distance | str | None = None,
    frontier: Frontier | None = None,
    again: str = "",
) -> Path:
    """Write ``report.html``: one file, with every picture inside, that opens offline and needs no other.

    Parameters
    ----------
    path
        A folder, in which ``report.html`` is written, or a file name that ends with ``.html``.
    transcript
        The play.
    learner
        The play's own learner: its theorem's lines are drawn, and reported pairs are looked at again. Without it the
        report says that it could not.
    certificate
        Of this play; by default it is computed here.
    title
        The heading of the page.
    data
        Who the people are, in sentences.
    decision
        What a probability is a probability of: "a loan", "a yes".
    compare_by
        The columns that the reviewer compares people by.
    parameters
        Everything that was chosen, by name; may be nested.
    distance
        The reviewer's distance, where one is written: from the view of k people to their (k, k) distances, or the
        name of a SciPy metric. The play is then compared with the best fair policies in hindsight.
    frontier
        Those policies (:func:`likewise.frontier`), if they are there already; otherwise they are computed here.
    again
        The command that repeats the play.

    Returns
    -------
    Where the page is.
    """
    require(isinstance(transcript, Transcript), "transcript", "be what `play` returns", type(transcript).__name__)
    require(frontier is None or distance is not None, "distance", "be given with `frontier`", distance)
    if frontier is None and distance is not None and isinstance(transcript.hypotheses, EnumerableClass):
        frontier = hindsight.frontier(transcript, distance, _levels(transcript.alpha))
    told = Told(
        transcript, learner, certify(transcript) if certificate is None else certificate, title, data, decision,
        tuple(compare_by), dict(parameters or {}), frontier, distance, again,
    )  # fmt: skip
    path = Path(path)
    path = path if path.suffix.lower() in (".html", ".htm") else path / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(told), encoding="utf-8")
    return path


def _levels(alpha: float) -> list[float]:
    """From exactly fair over the play's own level to lenient."""
    return sorted({0.0, alpha / 2, alpha, *(level for level in (0.2, 0.3, 0.5, 0.7) if level > alpha)})


def page(told: Told) -> str:
    """The whole page."""
    sections = (_opening, _decided, _happened, _round, _helped, _cost, _proved, _assumptions, _parameters)
    return document(told.title, *(section(told) for section in sections))


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _drawn(figure: Figure) -> str:
    return picture(svg(figure), caption(figure))


def _opening(told: Told) -> str:
    lead = escape(words.summary(told.t, told.decision))
    return f'<header><h1>{escape(told.title)}</h1><p class="lead">{lead}</p></header>'


def _decided(told: Told) -> str:
    t = told.t
    columns = (
        f"Only these columns count for likeness: {', '.join(map(str, told.compare_by))}." if told.compare_by else ""
    )
    return "<h2>What was decided, and who looked on</h2>" + _paragraphs(
        told.data,
        words.source(t.facts["environment"]),
        f"Every policy is a mixture of {words.rules(t.hypotheses)}.",
        words.reviewer(t.facts["auditor"]),
        columns,
        words.violation(t),
    )


def _happened(told: Told) -> str:
    headings = ("rounds", "people", words.unit(told.t), "reports", "violations", "not reviewed")
    best = None
    if told.frontier is not None:
        best = next((p for p in told.frontier.points if p.alpha == told.t.alpha), None)
    drawn = figures.violations_and_regret(told.t, told.learner, hindsight=best)
    return "<h2>What happened</h2>" + table(headings, words.quarters(told.t)) + _drawn(drawn)


def _round(told: Told) -> str:
    return "<h2>One round, up close</h2>" + _drawn(figures.one_round(told.t))


def _helped(told: Told) -> str:
    heading = "<h2>Did the reports help?</h2>"
    if told.learner is None:
        return heading + _paragraphs("The learner was not given to this report, so its later policies are not known.")
    if told.t.facts["first"] != 1:
        return heading + _paragraphs("This is the later part of a play, so its policies can't be computed again.")
    return heading + _drawn(figures.did_reports_help(told.t, told.learner))


def _cost(told: Told) -> str:
    heading = "<h2>What fairness costs here</h2>"
    if not isinstance(told.t.hypotheses, EnumerableClass):
        return heading + _paragraphs(
            "The rules can be reached only by fitting, so the best fair policy in hindsight can't be computed exactly."
        )
    if told.frontier is None or told.distance is None:
        return heading + _paragraphs(
            "The best fair policy in hindsight needs a written distance, and none was given: only the reviewer knows "
            "who is like whom. What is proved below needs none."
        )
    points = figures.frontier_points(told.frontier, told.t, told.distance)
    return heading + _drawn(figures.plane({"this play": told.t}, points))


def _proved(told: Told) -> str:
    # The letter's last part lists the assumptions; here they have a table of their own.
    *letter, _ = str(told.certificate).split("\n\n")
    return "<h2>What is proved</h2>" + _paragraphs(*letter) + _drawn(figures.certificate_curve(told.certificate))


def _assumptions(told: Told) -> str:
    head = "<th></th><th>assumption</th><th>needed for</th><th>how we know</th>"
    rows = []
    for a in told.certificate.assumptions:
        kind = a.status.name.lower()
        needed = "; ".join(a.needed_for) or "the sharper limits on new people"
        cells = "".join(f"<td>{escape(text)}</td>" for text in (a.name, needed, a.detail))
        rows.append(f'<tr><td><span class="status {kind}">{a.status}</span></td>{cells}</tr>')
    return "<h2>What this rests on</h2>" + wrapped(head, "".join(rows))


def _parameters(told: Told) -> str:
    lines = words.flattened(told.parameters) + words.flattened(told.t.facts)
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in lines)
    made = f"Written by likewise {version('likewise')} with Python {platform.python_version()}."
    command = f"<p>To repeat it:</p><pre>{escape(told.again)}</pre>" if told.again else ""
    return (
        "<h2>Parameters, and how to repeat it</h2>"
        f"{command}{wrapped('<th>parameter</th><th>value</th>', rows)}<p class='note'>{escape(made)}</p>"
    )
