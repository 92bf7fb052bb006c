"""The report of a play, for a reader who knows neither the paper nor the code.

The conclusion comes first, then how good the policy is, what is proved, what happened, who was reported, and how it was
made. Everything else is an appendix.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import figures, hindsight
from likewise.certificates import Certificate, certify
from likewise.certificates.shown import MostUnfair, ShownPeople
from likewise.classes import Contributions, Suggestion
from likewise.drawing import caption, svg
from likewise.errors import require
from likewise.figures.regret import promise
from likewise.figures.reports import Helped, helped_figure, reports_helped
from likewise.game import Transcript
from likewise.hindsight import Frontier
from likewise.hypotheses import EnumerableClass
from likewise.protocol import Distance, Learner
from likewise.report import class_parts, made_of, proved, reported_people, words
from likewise.report.html import document, picture, table, wrapped
from likewise.report.made_of import ReadPolicy
from likewise.report.scores import by_group, scores
from likewise.scoreboard import Groups, Scoreboard

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
    people: ShownPeople
    unfair: MostUnfair | None
    scoreboard: Scoreboard | None
    groups: Groups | None
    sensitive: str
    split: str
    fitted_on: int | None
    helped: Helped | None
    read: ReadPolicy | None
    because: tuple[str, ...]
    suggestion: Suggestion | None
    brought: Contributions | None


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
    people: ShownPeople | None = None,
    unfair: MostUnfair | None = None,
    scoreboard: Scoreboard | None = None,
    groups: Groups | None = None,
    sensitive: str = "",
    split: str = "",
    fitted_on: int | None = None,
    read: ReadPolicy | None = None,
    because: Sequence[str] = (),
    suggestion: Suggestion | None = None,
    brought: Contributions | None = None,
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
        Those policies (``likewise.frontier``), if they are there already; otherwise they are computed here.
    again
        The command that repeats the play.
    people
        The people as a reader may see them; by default what the reviewer saw.
    unfair
        The held-out pairs and people whom the policy treats most unfairly, by their places in ``people``.
    scoreboard
        The policy beside one answer for everybody and beside the best that is possible.
    groups
        How groups fare under the policy.
    sensitive
        Whether rules may use the sensitive columns, in a sentence.
    split
        How many people were fitted on, played with and held out, in words.
    fitted_on
        How many people the rules were fitted on.
    read
        The policy in the units of its file, and the people who were held out.
    because
        What sets the two of each pair of ``unfair`` apart, a sentence each.
    suggestion
        The class, if it was suggested for these people: a table says what it is made of.
    brought
        What each of its parts brings to the best fair policy in hindsight; the page says so if that is not known.

    Returns
    -------
    Where the page is.
    """
    require(isinstance(transcript, Transcript), "transcript", "be what `play` returns", type(transcript).__name__)
    require(frontier is None or distance is not None, "distance", "be given with `frontier`", distance)
    if frontier is None and distance is not None and not _incomparable(transcript):
        frontier = hindsight.frontier(transcript, distance, _levels(transcript.alpha))
    facts = Told(
        transcript, learner, certify(transcript) if certificate is None else certificate, title, data, decision,
        tuple(compare_by), dict(parameters or {}), frontier, distance, again,
        ShownPeople.seen(transcript, compare_by) if people is None else people, unfair, scoreboard, groups, sensitive,
        split, fitted_on,
        None if learner is None or transcript.first != 1 else reports_helped(transcript, learner, distance),
        read, tuple(because), suggestion, brought,
    )  # fmt: skip
    path = Path(path)
    path = path if path.suffix.lower() in (".html", ".htm") else path / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(facts), encoding="utf-8")
    return path


def _incomparable(t: Transcript) -> str:
    """Why there may be no best fair policy to compare a play with; empty if there is one."""
    if not isinstance(t.hypotheses, EnumerableClass):
        return (
            "The rules can be reached only by fitting, so the best fair policy in hindsight can't be computed exactly."
        )
    return (
        "" if t.hypotheses.constants else "There is no rule that treats everybody the same, so perhaps no fair policy."
    )


def _levels(alpha: float) -> list[float]:
    """From exactly fair over the play's own level to lenient."""
    return sorted({0.0, alpha / 2, alpha, *(level for level in (0.2, 0.3, 0.5, 0.7) if level > alpha)})


def page(told: Told) -> str:
    """The whole page."""
    sections = (
        _opening, _scores, _groups, _proved, _made_of, _happened, _helped, _reported, _unfair, _round, _cost,
        _class_parts, _made, _appendix, _assumptions, _silent, _words, _parameters,
    )  # fmt: skip
    return document(told.title, *(section(told) for section in sections))


def _section(heading: str, *texts: str) -> str:
    return f'<h2 class="flow">{escape(heading)}</h2>' + "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _drawn(figure: Figure) -> str:
    return picture(svg(figure), caption(figure), 5.75 * figure.get_figwidth())


def _opening(told: Told) -> str:
    conclusion = words.conclusion(told.certificate, told.scoreboard)
    return (
        f'<header><h1>{escape(told.title)}</h1><p class="lead">{escape(conclusion)}</p>'
        f"<p>{escape(words.summary(told.t, told.decision))}</p></header>"
    )


def _scores(told: Told) -> str:
    if told.scoreboard is None:
        return ""
    text = "One table: the policy beside giving everybody the same answer, and beside the best that is possible."
    return _section("How good is it?", text) + scores(told.scoreboard)


def _groups(told: Told) -> str:
    if told.groups is None:
        return ""
    text = (
        f"{words.which_policy(told.certificate.choice)}Beside individual fairness, and never instead of it: the same "
        f"policy, group by group. {told.sensitive}"
    )
    return _section("How do groups fare?", text) + by_group(told.groups)


def _proved(told: Told) -> str:
    return _section("What is proved") + proved.letter(told.certificate)


def _made_of(told: Told) -> str:
    listed = "" if told.read is None else made_of.as_page(told.read)
    if told.read is None or not listed:
        return ""
    text = f"{words.which_policy(told.certificate.choice)}{made_of.introduction(told.read)}"
    return _section("What it is made of", text) + listed


def _class_parts(told: Told) -> str:
    if told.suggestion is None:
        return ""
    text = class_parts.introduction(told.suggestion, told.brought)
    return _section("What the class of rules is made of", text) + class_parts.as_page(told.suggestion, told.brought)


def _made(told: Told) -> str:
    t, names = told.t, ", ".join(map(str, told.compare_by))
    split = f" {told.split}." if told.split else ""
    return _section(
        "How it was made",
        f"{told.data}{split} {words.source(t.facts.environment)}".strip(),
        words.learning(t, told.fitted_on),
        f"{words.reviewer(t.facts.auditor)}{f' People were compared by: {names}.' if names else ''}",
        words.violation(t),
    )


def _happened(told: Told) -> str:
    t = told.t
    headings = ("rounds", words.counted_as(t), words.unit(t), "reports", "violations", "not reviewed")
    best = None
    if told.frontier is not None:
        best = next((point for point in told.frontier.points if point.alpha == t.alpha), None)
    drawn = figures.violations_and_regret(t, told.learner, hindsight=best)
    text = "The play in four parts. If the reports are learned from, there are fewer violations later than early."
    theorem = f"<p>{escape(_theorem(told))}</p>"
    return _section("What happened", text) + table(headings, words.quarters(t)) + theorem + _drawn(drawn)


def _theorem(told: Told) -> str:
    t, learner = told.t, told.learner
    if learner is None:
        return "The learner was not given to this report, so no theorem's line is drawn."
    if t.first != 1:
        return "This is the later part of a play, and the learner's theorem is about the whole of it: no line is drawn."
    lines = (
        "The dashed lines are proved for this learner, after every round, from what had been seen by then, for any "
        "people in any order and any reports; the one on violations needs each reported gap to be above the level "
        "reported at. "
    )
    promised = words.promise(promise(t, learner), t.rounds, len(t.y))
    return promised if learner.observed_bound(t.state) is None else lines + promised


def _round(told: Told) -> str:
    text = "What the reviewer looks at: the people of one round and their probabilities. This round has the widest gap."
    if not told.t.reported.any():
        text = "What the reviewer looks at: the people of one round and their probabilities. This is the last round."
    return _section("One round, up close", text) + _drawn(figures.one_round(told.t))


def _helped(told: Told) -> str:
    heading = "Did the reports help?"
    if told.learner is None:
        return _section(heading, "The learner was not given to this report, so its later policies are not known.")
    if told.helped is None:
        return _section(heading, "This is the later part of a play, so its policies can't be computed again.")
    text = (
        "Every reported pair, shown again to the policies that came after. A policy is one for everybody, so a report "
        "also moves other pairs, and other reports and the labels may move a pair back."
    )
    return _section(heading, told.helped.answer, text) + _drawn(helped_figure(told.helped))


def _reported(told: Told) -> str:
    if not len(told.t.pairs):
        return ""
    text = f"{reported_people.counted(len(told.t.pairs))} What differs between the two is marked. {told.people.where}"
    return _section("Who was reported", text) + reported_people.reported(told.t, told.people, told.helped)


def _unfair(told: Told) -> str:
    heading, unfair = "Who is treated most unfairly?", told.unfair
    if unfair is None:
        return ""
    among = f"{unfair.compared:,} held-out people"
    if not unfair.pairs:
        return _section(
            heading, f"Nobody: of {among}, no two are further apart than their distance plus the tolerance."
        )
    text = (
        f"{words.which_policy(told.certificate.choice)}Among {among}, these pairs are furthest beyond their distance. "
        f"Look at them before you use the policy. Nobody is in two of them. {told.people.where}"
    )
    behind = (
        "And these people are behind the most others: each of those others has a probability that is higher by more "
        "than the distance between the two and the tolerance."
    )
    return (
        _section(heading, text)
        + reported_people.unfair_pairs(unfair, told.people, told.because)
        + f"<p>{escape(behind)}</p>"
        + reported_people.unfair_people(unfair, told.people)
    )


def _cost(told: Told) -> str:
    heading = "What fairness costs here"
    if told.frontier is None and (why := _incomparable(told.t)):
        return _section(heading, why)
    if told.frontier is None or told.distance is None:
        why = (
            "The best fair policy in hindsight needs a written distance, and none was given: only the reviewer knows "
            "who is like whom. What is proved below needs none."
        )
        return _section(heading, why)
    text = (
        "The reviewer's distance is written down here, so the play can be held against the best fixed policies that "
        "somebody could have chosen afterwards, who knows every label and every distance. They are computed exactly."
    )
    points = figures.frontier_points(told.frontier, told.t, told.distance)
    return _section(heading, text) + _drawn(figures.plane({"This play": told.t}, points))


def _appendix(told: Told) -> str:
    figure = figures.certificate_curve(told.certificate)
    return _section("Appendix: every limit") + proved.appendix(told.certificate) + _drawn(figure)


def _assumptions(told: Told) -> str:
    text = (
        "Every claim above holds only as far as what it assumes. A claim that rests on a broken assumption was left "
        "out, or says so; what is not checkable, the reader has to vouch for."
    )
    return _section("What this rests on", text) + proved.assumptions(told.certificate)


def _silent(told: Told) -> str:
    lines = "".join(f"<li>{escape(limit)}</li>" for limit in words.LIMITS)
    return f"{_section('What this page can’t say')}<ul>{lines}</ul>"


def _words(told: Told) -> str:
    lines = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in words.WORDS.items())
    return f"{_section('Words on this page')}<dl>{lines}</dl>"


def _parameters(told: Told) -> str:
    made = f"Written by likewise {version('likewise')}, Python {platform.python_version()}, NumPy {np.__version__}."
    command = f"<p>This command repeats the play:</p><pre>{escape(told.again)}</pre>" if told.again else ""
    seed = f"The seed {told.t.seed} determines every random number of the play."
    chosen = f"<h3>What was chosen</h3>{_listed(told.parameters)}" if told.parameters else ""
    return (
        f"{_section('Parameters, and how to repeat it', seed)}{command}{chosen}"
        f"<h3>What the play recorded</h3>{_listed(told.t.facts.to_dict())}<p class='note'>{escape(made)}</p>"
    )


def _listed(values: Mapping[str, Any]) -> str:
    lines = [f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in words.flattened(values)]
    return wrapped("<th>parameter</th><th>value</th>", "".join(lines))
