"""Who the rows are, and what is known of their labels: ids, too few people, few of one label, labels of some only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.columns import ID_NAME, Column, codes, levels
from likewise.datasets.doctor.finding import Finding
from likewise.protocol import Floats
from likewise.wording import plural

PEOPLE = 200
"""Half of them are held out by default, and with fewer than 100 people held out nothing is claimed."""
FEWEST = 50
"""Of either label: of 25 held out, an error rate is known to about 20 percentage points."""
UNLABELLED = 0.99
"""Labels are selective if a value of another column says of this part of the people whether they have one."""
REFUSED = 10
"""Of fewer people without a label, a rare value may be the reason by chance."""
ANSWERS = 10
"""At most this many different values has a column that holds a decision."""


def of_ids(columns: Sequence[Column], rows: int, ids: str | None) -> list[Finding]:
    """Columns that seem to say who each row is, unless that is settled."""
    if ids is not None:
        return []
    named = [column for column in columns if _is_id(column, rows)]
    return [
        Finding("id", (column.name,), f"{column.name} seems to say who each row is{_repeats(column, rows)}.", "--id",
                (column.name,))
        for column in named[:1]
    ]  # fmt: skip


def _is_id(column: Column, rows: int) -> bool:
    """By its name, with no gap and many different values; or a different whole number in every row."""
    if column.missing:
        return False
    return column.reason.startswith("it is an id") or bool(
        ID_NAME.search(column.name) and column.different > max(20, rows / 4)
    )


def _repeats(column: Column, rows: int) -> str:
    again = rows - column.different
    return f"; {plural(again, 'row')} repeat another's" if again and column.different else ""


def of_people(person: NDArray[np.intp], named: bool) -> list[Finding]:
    """Too few people for any claim, and rows that may be one person."""
    rows, people = len(person), len(np.unique(person))
    findings = []
    if people < PEOPLE:
        sentence = (
            f"Only {plural(people, 'different person has', 'different people have')} a label, fewer than {PEOPLE}. "
            "Half are held out, too few to claim anything about new people."
        )
        findings.append(Finding("people", (), sentence))
    if people < rows and not named:
        sentence = (
            f"{plural(rows - people, 'row is', 'rows are')} the same as another in every column and may be one person; "
            "this option says that each row is a person of its own."
        )
        findings.append(Finding("people", (), sentence, "--id", ("each-row",), noted=True))
    return findings


def of_label(label: str, y: Floats, others: Sequence[tuple[Column, Any]]) -> list[Finding]:
    """Few people of one label, and labels that only some people have."""
    absent = np.isnan(y)
    findings = []
    for value in (1, 0):
        count = int((y == value).sum())
        if 0 < count < FEWEST:
            word = "a yes" if value else "a no"
            who = plural(count, "person has", "people have")
            sentence = f"Only {who} {word} in {label}: with fewer than {FEWEST}, errors among them are hardly known."
            findings.append(Finding("label", (label,), sentence))
    if absent.any():
        findings.append(_unlabelled(label, absent, others))
    return findings


def _unlabelled(label: str, absent: NDArray[np.bool_], others: Sequence[tuple[Column, Any]]) -> Finding:
    count = f"{plural(int(absent.sum()), 'row')} of {len(absent):,} {'has' if absent.sum() == 1 else 'have'}"
    decision = _decision(absent, others)
    if decision is None:
        left_out = "is left out" if absent.sum() == 1 else "are left out"
        why = "if it is missing for a reason, those who remain are not typical"
        return Finding("label", (label,), f"{count} no {label} and {left_out}; {why}.", noted=True)
    name, value = decision
    sentence = (
        f"{count} no {label}, nearly all with {name} = {value}. They are left out, and no play on this file can "
        "say how they would have done. --labels accepted plays among the others, and sees an outcome only of whom it "
        "accepts; used for new decisions, it also learns about people who are refused today."
    )
    return Finding("label", (label, name), sentence, "--labels", ("accepted",))


def _decision(absent: NDArray[np.bool_], others: Sequence[tuple[Column, Any]]) -> tuple[str, str] | None:
    """The column and the value of it that go with a missing label, if there is one."""
    for column, values in others if absent.sum() >= REFUSED else ():
        if column.kind == "unusable" or not 1 < column.different <= ANSWERS:
            continue
        distinct = levels(values)
        place = codes(values, distinct)
        for code, level in enumerate(distinct):
            if ((place == code) == absent).mean() >= UNLABELLED and (place == code)[absent].mean() >= 0.9:
                return column.name, level
    return None
