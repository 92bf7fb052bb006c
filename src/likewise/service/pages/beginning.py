"""A new stream, begun on a page: from a file of people, with the questions that the data doctor has about it.

The file is sent with both steps and is not kept. What can't be said here, such as one's own cuts or a grid of cells, is
said with ``POST /v1/streams``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi.responses import RedirectResponse
from starlette.responses import Response

from likewise.datasets.columns import Column, arrow, opened
from likewise.datasets.delimited import read_text
from likewise.datasets.doctor import examined, likely_yes, possible_labels
from likewise.datasets.doctor.finding import Finding
from likewise.datasets.doctor.lines import of_header, of_nameless
from likewise.datasets.frames import inspected, labels
from likewise.errors import InvalidParameter, LikewiseError, require
from likewise.service.api.bodies import StreamBody
from likewise.service.pages.forms import plainly
from likewise.service.pages.rendering import render, router
from likewise.service.pages.visits import Visit, Visitor
from likewise.service.refusals import Conflict, status_of
from likewise.service.stream.sample import with_scores
from likewise.service.stream.settings import Feature

pages = router()
KINDS = ("number", "category", "leave out")
REVIEWERS = ("compare by it", "see it", "don’t see it", "must not see it: sensitive")
"""What reviewers do with a feature."""
NUMBERS = {"alpha": "Largest difference allowed (α)", "k": "Largest batch"}
"""Numbers that are asked for, as the form calls them."""


class Question(NamedTuple):
    """A column of the file, and what is asked about it: what it is, and what reviewers do with it."""

    name: str
    values: str
    kind: str
    reviewers: str
    findings: list[str]


@pages.get("/streams/new")
def new(visit: Visitor) -> Response:
    """A form for a file."""
    return render("new.html", visit, tab="home", wrong="")


@pages.post("/streams/new")
def begin(visit: Visitor) -> Response:
    """The questions about a file; or, once they are answered, the stream."""
    text = str(visit.sent.get("sample") or visit.sent.get("file") or "")
    try:
        frame = _frame(text)
        if visit.sent.get("step") != "create":
            return _questions(visit, text, frame)
    except LikewiseError as error:
        return render("new.html", visit, status_of(error)[0], tab="home", wrong=plainly(str(error)))
    try:
        name = _created(visit, frame)
    except (InvalidParameter, Conflict) as error:
        return _questions(visit, text, frame, plainly(str(error)), status_of(error)[0])
    return RedirectResponse(f"/streams/{name}/settings", 303)


def _frame(text: str) -> Any:
    """The table that a file holds, with texts as they are."""
    import pandas as pd

    require(bool(text.strip()), "file", "hold lines of people, with a line of names first", "nothing")
    try:
        frame = read_text(text.removeprefix("\ufeff"))
    except InvalidParameter:
        raise
    except (ValueError, pd.errors.ParserError):
        raise InvalidParameter(
            "This file can't be read as a table: it needs a line of names, then one for each person."
        ) from None
    require(len(frame.columns) > 1 and len(frame) > 1, "file", "hold at least two columns and two people", len(frame))
    return frame


def _questions(visit: Visit, text: str, frame: Any, wrong: str = "", status: int = 200) -> Response:
    columns = inspected(frame)
    label = str(visit.sent.get("label") or next((column.name for column in reversed(possible_labels(columns))), ""))
    findings = of_header(frame) + of_nameless(frame)
    findings += examined(frame, label=label if label in frame.columns and frame[label].nunique() == 2 else None)
    yes = [likely_yes(column.values)[0] for column in columns if column.name == label]
    typed: dict[str, Any] = dict(visit.sent) if wrong else {}
    return render(
        "questions.html", visit, status, tab="home", wrong=wrong, typed=typed, sample=text, people=len(frame),
        questions=[_question(column, label, findings) for column in columns], label=label,
        yes="".join(yes), kinds=KINDS, reviewers=REVIEWERS, general=[f.sentence for f in findings if _is_general(f)],
    )  # fmt: skip


def _is_general(finding: Finding) -> bool:
    """Whether it is said once, above the columns: what is about many of them would be read many times."""
    return not 0 < len(finding.columns) <= 2


def _question(column: Column, label: str, findings: Sequence[Finding]) -> Question:
    name = column.name
    about = [finding for finding in findings if name in finding.columns]
    options = {finding.option for finding in about if name in finding.values}
    left = column.kind == "unusable" or name == label or "--drop" in options or "--id" in options
    sensitive = any(finding.kind == "protected" for finding in about)
    said = [finding.sentence for finding in about if not _is_general(finding)]
    if column.kind == "unusable" and not about:
        said.append(f"Left out: {column.reason.partition(';')[0]}.")
    return Question(
        name, (" to " if column.kind == "number" else ", ").join(column.values[:4]),
        "leave out" if left else column.kind, REVIEWERS[3] if sensitive else REVIEWERS[1], said,
    )  # fmt: skip


def _created(visit: Visit, frame: Any) -> str:
    """The stream that the answers describe; its name."""
    service, body = visit.service, _body(visit.sent, frame)
    limits, engine = service.configuration, service.engine
    if body.label is None:
        engine.create(body.settings(limits), visit.identity.name)
        return body.name
    choices, label = body.to_fit(limits)
    engine.created(choices.name)
    scores = service.subprocesses.fit(choices.features, body.sample, label)
    engine.create(with_scores(choices, scores), visit.identity.name, None, scores)
    return body.name


def _body(sent: Mapping[str, Any], frame: Any) -> StreamBody:
    kinds = {str(name): str(sent.get(f"kind-{i}", KINDS[2])) for i, name in enumerate(frame.columns)}
    roles = {str(name): str(sent.get(f"reviewers-{i}", REVIEWERS[1])) for i, name in enumerate(frame.columns)}
    used = [name for name, kind in kinds.items() if kind in KINDS[:2]]
    label = str(sent.get("label", "")) or None
    require(label is None or label in frame.columns, "label", "be a column of the file", label)
    whole = frame.dropna(subset=[*used, *([label] if label else [])])
    features = [Feature(**_feature(whole, name, kinds[name], roles[name])) for name in used]
    rows = [{name: _value(row[name], kinds[name]) for name in used} for row in whole.to_dict("records")]
    if label is not None:
        y = labels(arrow(opened(whole), label), label, str(sent.get("yes", "")))[0]
        rows = [row | {label: int(one)} for row, one in zip(rows, y, strict=True)]
    return StreamBody(
        name=str(sent.get("name", "")).strip(), features=tuple(features), alpha=_number(sent, "alpha"),
        k=int(_number(sent, "k")), sample=tuple(rows), label=label,
    )  # fmt: skip


def _feature(frame: Any, name: str, kind: str, role: str) -> dict[str, Any]:
    levels = sorted({str(value) for value in frame[name]}) if kind == "category" else []
    shown, sensitive = role in REVIEWERS[:2], role == REVIEWERS[3]
    return {
        "name": name, "kind": kind, "levels": levels, "shown": shown, "sensitive": sensitive,
        "compare": role == REVIEWERS[0],
    }  # fmt: skip


def _value(value: Any, kind: str) -> Any:
    if kind == "category":
        return str(value)
    try:
        return float(value)
    except ValueError:
        raise InvalidParameter(
            f"“{str(value)[:40]}” is not a number, but its column was said to hold numbers."
        ) from None


def _number(sent: Mapping[str, Any], name: str) -> float:
    try:
        return float(str(sent.get(name, "")))
    except ValueError:
        raise InvalidParameter(f"“{NUMBERS[name]}” must be a number.") from None
