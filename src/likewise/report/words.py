"""Sentences about a play in plain words: who decided, who reviewed, what counts. Text, not HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.game import Transcript
from likewise.hypotheses import Cells, EstimatorClass, Thresholds

REVIEWERS = {
    "MetricAuditor": "The reviewer was simulated: a program with a written measure of how unlike two people are, which "
    "the learner was never shown.",
    "DriftingAuditor": "The reviewer was simulated: a program with a written measure of how unlike two people are, "
    "which changed from round to round and which the learner was never shown.",
    "Panel": "The reviewer was a panel of {members} simulated members with a rule for when they report together.",
    "NoisyAuditor": "The reviewer was simulated, with noise: it overlooked a pair with chance {misses:g} and made one "
    "up with chance {false_reports:g}.",
    "ScriptedAuditor": "The reviewer's answers were recorded beforehand and read from a list.",
    "AskAuditor": "The reviewer was a person at the terminal, who saw each round's people with their probabilities.",
}
SOURCES = {
    "IID": "In every round they were drawn anew, at random, from the same {population:,} people.",
    "Stream": "They came one batch after another, in the order of their source.",
    "Adversary": "They were chosen round by round by a program that may want the learner to fail.",
}


def counted(number: int, thing: str, things: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "round"), counted(2000, "round"), counted(1, "person", "people")
    ('1 round', '2,000 rounds', '1 person')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def reviewer(facts: dict[str, Any]) -> str:
    """Who audited."""
    words = REVIEWERS.get(facts["name"])
    return words.format(**facts) if words else f"The reviewer was {facts['name']}."


def source(facts: dict[str, Any]) -> str:
    """Where the people came from."""
    words = SOURCES.get(facts["name"])
    return words.format(**facts) if words else f"They came from {facts['name']}."


def rules(hypotheses: Any) -> str:
    """What a policy is made of."""
    if isinstance(hypotheses, EstimatorClass):
        return f"yes-or-no rules that a {type(hypotheses.estimator).__name__} can be fitted to"
    if isinstance(hypotheses, Cells):
        cells = hypotheses.geometry.dim
        return f"the 2^{cells} ways to answer yes or no for each of {counted(cells, 'group')} of people"
    kind = (
        ", each of which compares one number about a person with a cut-off"
        if isinstance(hypotheses, Thresholds)
        else ""
    )
    return f"{counted(hypotheses.size, 'yes-or-no rule')}{kind}"


def violation(t: Transcript) -> str:
    """What counts as a violation in this play."""
    margin = float(t.facts["margin"])
    early = (
        f" The reviewer was asked to point at a pair already from {t.alpha - margin:g} beyond the difference on, so "
        f"some reports are no violations; those count from {t.alpha:g} on."
        if margin > 0
        else ""
    )
    unknown = bool((t.violates[t.reported] < 0).any())
    word = " Nobody can check a person's sense of likeness, so each report is taken at its word." if unknown else ""
    return (
        "Two people of one round are treated too differently if their probabilities are further apart than the two "
        f"people are, in the reviewer's eyes, by more than a tolerance of α = {t.alpha:g}. A round in which the "
        f"reviewer points at such a pair is a round with a violation.{early}{word}"
    )


def unit(t: Transcript) -> str:
    """What errors are counted in."""
    return "errors per person" if t.costs == (1.0, 1.0) else "cost of errors per person"


def quarters(t: Transcript) -> list[tuple[str, int, float, int, int, int]]:
    """Rounds, people, error per person, reports, violations and unreviewed rounds, quarter by quarter."""
    first, lines = int(t.facts["first"]), []
    for part in np.array_split(np.arange(t.rounds), min(4, t.rounds)):
        people = slice(int(t.starts[part[0]]), int(t.starts[part[-1] + 1]))
        labelled = int(np.isfinite(t.y[people]).sum())
        error = float(t.errors[part].sum() / labelled) if labelled else float("nan")
        counts = (int(t.reported[part].sum()), int(t.violations[part].sum()), int((~t.reviewed[part]).sum()))
        name = f"{first + part[0]:,}" if len(part) == 1 else f"{first + part[0]:,} to {first + part[-1]:,}"
        lines.append((name, people.stop - people.start, error, *counts))
    return lines


def summary(t: Transcript, decision: str = "") -> str:
    """The play in three sentences."""
    lines, people = quarters(t), counted(int(t.starts[-1]), "person", "people")
    late = f", {lines[0][4]:,} in the first quarter and {lines[-1][4]:,} in the last" if len(lines) == 4 else ""
    known = int(np.isfinite(t.y).sum())
    errors = (
        f"The policies made {t.error_per_person:.3f} {unit(t)}." if known else "No label is known, so errors are not."
    )
    return (
        f"In {counted(t.rounds, 'round')} each of {people} was given a probability of {decision or 'a yes'}. "
        f"A reviewer pointed at two people treated too differently in {counted(int(t.reported.sum()), 'round')}; "
        f"{counted(int(t.violations.sum()), 'round')} count as violations{late}. {errors}"
    )


def flattened(values: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested parameters as lines of name and value.

    Examples
    --------
    >>> flattened({"T": 10, "learner": {"k": 2, "costs": [1, 1]}})
    [('T', '10'), ('learner.k', '2'), ('learner.costs', '1, 1')]
    """
    if isinstance(values, dict):
        parts = [flattened(value, f"{name}.{key}" if name else str(key)) for key, value in values.items()]
        return [line for part in parts for line in part]
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [(name, ", ".join(str(value) for value in values))]
    return [(name, "not given" if values is None else str(values))]
