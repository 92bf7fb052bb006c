"""What a policy is made of, and what sets two people apart: in the units of the file, as text and on the page.

Policies that have no columns to name (fitted committees, functions) are left out quietly: the page says how they were
made elsewhere.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise import figures
from likewise.certificates.letter import WIDTH
from likewise.drawing import caption, svg
from likewise.errors import InvalidParameter, NotSupported
from likewise.hypotheses import Cells
from likewise.policies import DeployablePolicy
from likewise.reading import Rule
from likewise.report.html import picture, table
from likewise.wording import joined, plural

SHOWN = 8
"""Rules that are listed, the heaviest first."""
COMPARED = 100
"""People whose mean a gap is explained against."""
MOST_COLUMNS = 14
"""Beyond this many columns the split of models' scores takes too long for a page."""


@dataclass(frozen=True, eq=False)
class ReadPolicy:
    """A policy, and people of the file who took no part in learning: its cut-offs are written to separate them.

    Attributes
    ----------
    policy
        With an encoder it is read in the units of its file.
    people
        A table with the columns that the policy takes; None if nobody was held out.
    """

    policy: DeployablePolicy
    people: Any = None

    @cached_property
    def every_rule(self) -> list[Rule]:
        """All rules, the heaviest first; none where the policy can't be read."""
        try:
            return self.policy.rules(top=None, people=self.people)
        except NotSupported:
            return []


def rules(read: ReadPolicy) -> tuple[list[Rule], str]:
    """The heaviest rules, and a sentence about the others; no rules where the policy can't be read.

    Examples
    --------
    >>> from likewise import Mixture, Thresholds
    >>> F = Thresholds([[18, 65]], names=["age"])
    >>> listed, _ = rules(ReadPolicy(Mixture(F, np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3])), None))
    >>> [str(rule) for rule in listed]
    ['0.600  age ≥ 18', '0.300  age < 65', '0.100  always yes']
    """
    every = read.every_rule
    left = every[SHOWN:]
    if not left:
        return every, ""
    if _in_cells(read):
        return every[:SHOWN], f"There are {plural(len(left), 'more group')} with smaller probabilities."
    weight = sum(rule.weight for rule in left)
    return every[:SHOWN], f"{plural(len(left), 'lighter rule weighs', 'lighter rules weigh')} {weight:.3f} together."


def introduction(read: ReadPolicy) -> str:
    """What the numbers beside the rules mean."""
    apart = "Cut-offs have as few digits as separate the held-out people in the same way."
    apart = "" if read.people is None else apart
    if _in_cells(read):
        return f"Everybody in a group has the same probability. {apart}".strip()
    return f"A person's probability of a yes is the sum of the weights of all rules that they meet. {apart}".strip()


def as_text(read: ReadPolicy) -> str:
    """The rules as lines for a terminal; empty where the policy can't be read."""
    listed, rest = rules(read)
    if not listed:
        return ""
    lines = [textwrap.fill(str(rule), WIDTH, initial_indent="  ", subsequent_indent=" " * 9) for rule in listed]
    head = textwrap.fill(f"What it is made of. {introduction(read)}", WIDTH)
    return "\n".join([head, *lines, *([f"  {rest}"] if rest else [])])


def as_page(read: ReadPolicy) -> str:
    """The rules as a table, and the scorecard where cut-offs are on columns; empty where the policy can't be read."""
    listed, rest = rules(read)
    if not listed:
        return ""
    heads = ("probability", "group") if _in_cells(read) else ("weight", "rule")
    shown = table(heads, [(round(rule.weight, 3), rule.text) for rule in listed])
    return shown + (f"<p>{rest}</p>" if rest else "") + _scorecard(read)


def _scorecard(read: ReadPolicy) -> str:
    try:
        figure = figures.scorecard(read.policy)
    except NotSupported:
        return ""
    return picture(svg(figure), caption(figure), 5.75 * figure.get_figwidth())


def sets_apart(read: ReadPolicy, pair: Any, top: int = 3) -> str:
    """Which columns make the gap between two people, in a sentence; empty where that can't be said, or not quickly."""
    try:
        reading = read.policy.reading()
        if reading.on_scores and len(reading.columns) > MOST_COLUMNS:
            return ""
        others = None if read.people is None else read.people[:COMPARED]
        reasons = read.policy.reasons(pair, compared_with=others)
    except (NotSupported, InvalidParameter):  # models' scores are split only against somebody
        return ""
    gap = reasons.amounts[0] - reasons.amounts[1]
    most = [j for j in np.argsort(-gap, kind="stable")[:top] if gap[j] >= 0.005]
    if not most or reasons.columns == ("cell",):
        return ""
    parts = joined([f"{gap[j]:.2f} from {reasons.columns[j]}" for j in most])
    return f"Of the gap come {parts}{' (estimated)' if reasons.estimated else ''}."


def _in_cells(read: ReadPolicy) -> bool:
    return isinstance(read.policy.hypotheses, Cells)
