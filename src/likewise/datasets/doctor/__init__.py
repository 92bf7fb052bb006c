"""A look at a file before the play, as a careful colleague would: findings, each with what would mend it.

Pure functions of a dataframe and of what its columns are for. Nothing is changed and nothing is refused: a finding may
be wrong, and only its reader knows what a column means. Printing them is the command's part.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.datasets.columns import Column, arrow, inspect, levels, opened
from likewise.datasets.doctor.finding import KINDS, Finding
from likewise.datasets.doctor.leaks import of_leaks
from likewise.datasets.doctor.lines import of_file
from likewise.datasets.doctor.protected import of_protected, protected
from likewise.datasets.doctor.rows import of_ids, of_label, of_people
from likewise.datasets.doctor.spellings import of_codes, of_spellings
from likewise.datasets.doctor.twins import of_twins
from likewise.datasets.doctor.values import mended, of_values, separator_of
from likewise.datasets.frames import labels
from likewise.datasets.roles import OBVIOUS, persons
from likewise.errors import InvalidParameter
from likewise.protocol import Floats

__all__ = ["KINDS", "Finding", "examined", "likely_yes", "mended", "of_file", "possible_labels", "protected"]

OUTCOMES = re.findall(
    "[a-z]+",
    "label target outcome y class approve approved accept accepted grant granted default defaulted "
    "repaid paid hired admitted admit recid decision result churn success income survived readmitted status",
)
"""Words in the name of a column that is likely to be a label."""
REFUSALS = ("reject", "rejected", "refused", "denied", "declined")


def examined(
    frame: Any,
    *,
    label: str | None = None,
    positive: Any = None,
    ids: str | None = None,
    compare_by: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    today: str | None = None,
) -> list[Finding]:
    """What there is to say about a file of people, in the order of ``KINDS``.

    Without a label, what depends on it is left out. The other parameters are those of
    :func:`likewise.datasets.from_frame`; columns that they settle are not mentioned again.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": range(400), "reject": [1, 0, 0, 0] * 100, "approve": [0, 1, 1, 1] * 100})
    >>> [finding.sentence for finding in examined(people, label="approve") if finding.kind == "leak"]
    ['reject is the opposite of approve, in every row.']
    """
    table = opened(frame)
    names = [name for name in table.columns if name not in drop]
    columns = [(inspect(table, name, category=name in categories), arrow(table, name)) for name in names]
    about = [column for column, _ in columns]
    undecided = [pair for pair in columns if pair[0].name not in categories]
    findings = (
        of_values(undecided, len(table), separator_of(frame)) + of_codes(undecided, len(table)) + of_spellings(columns)
    )
    if label is not None:
        findings += _about_label(table, columns, label, positive, ids, today)
    findings += of_protected(about, label, (*compare_by, *sensitive)) + of_twins(columns, label)
    findings += of_ids([column for column in about if column.name != label], len(table), ids)
    leaks = {name for finding in findings if finding.kind == "leak" for name in finding.columns}
    kept = [finding for finding in findings if finding.kind != "twins" or not leaks & set(finding.values)]
    return sorted((_possible(finding, compare_by) for finding in kept), key=lambda f: list(KINDS).index(f.kind))


def _possible(finding: Finding, compare_by: Sequence[str]) -> Finding:
    """The finding without an option that the other options rule out: what is compared by can't be dropped."""
    if finding.option != "--drop" or not set(finding.values) & set(compare_by):
        return finding
    sentence = f"{finding.sentence} People are compared by it: take it out of --compare-by first."
    return dataclasses.replace(finding, sentence=sentence, option="", values=())


def _about_label(
    table: Any, columns: list[tuple[Column, Any]], label: str, positive: Any, ids: str | None, today: str | None
) -> list[Finding]:
    y = _zero_one(arrow(table, label), label, positive)
    if y is None:
        return []
    labelled = ~np.isnan(y)
    others = [(column, values) for column, values in columns if column.name not in (label, ids)]
    person, named = persons(table.filter(labelled.tolist()).to_pandas(), ids)
    usable = [
        (column, values.filter(labelled)) for column, values in others
        if column.kind != "unusable" and column.name != today
    ]  # fmt: skip
    return of_leaks(usable, label, y[labelled], person) + of_label(label, y, others) + of_people(person, named)


def _zero_one(values: Any, label: str, positive: Any) -> Floats | None:
    """The labels as 0, 1 and NaN; None if they are not two, and the play will say so."""
    distinct = levels(values, label)
    if positive is None and len(distinct) == 2:
        lower = tuple(level.strip().lower() for level in distinct)
        yes = next((lower.index(yes) for no, yes in OBVIOUS if {no, yes} == set(lower)), 1)
        return labels(values, label, distinct[yes])[0]
    try:
        return labels(values, label, positive)[0]
    except InvalidParameter:
        return None


def likely_yes(values: Sequence[str]) -> tuple[str, bool]:
    """The value of a label that seems to be its yes, and whether the values say so by themselves.

    Examples
    --------
    >>> likely_yes(["no", "Yes"]), likely_yes(["accepted", "refused"]), likely_yes(["1", "2"])
    (('Yes', True), ('accepted', False), ('2', False))
    """
    by_lower = {value.strip().lower(): value for value in values}
    yes = next((by_lower[yes] for no, yes in OBVIOUS if set(by_lower) == {no, yes}), None)
    if yes is not None:
        return yes, True
    wished = [value for lower, value in by_lower.items() if lower not in REFUSALS]
    return (wished or [*values, ""])[-1], False


def possible_labels(columns: Sequence[Column]) -> list[Column]:
    """Columns with two values that are not protected, the likeliest label last."""
    two = [
        column for column in columns if column.kind != "unusable" and column.different == 2 and not protected(column)
    ]
    return sorted(two, key=_rank)


def _rank(column: Column) -> tuple[int, bool]:
    """By its name; of two outcomes the one with gaps: a decision is known of everybody, what came of it is not."""
    likely = max(map(_likely, _words(column.name)), default=0)
    return likely, likely > 0 and column.missing > 0


def _likely(word: str) -> int:
    """How likely a column with this word in its name is the label; rather a yes than the no that is its opposite."""
    return 2 if word in OUTCOMES else int(word in REFUSALS)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
