"""Sentences about a play in plain words: who decided, who reviewed, what counts. Text, not HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.certificates import Certificate, Choice
from likewise.facts import AuditorFacts, EnvironmentFacts
from likewise.game import Transcript
from likewise.hypotheses import Cells, EstimatorClass, Thresholds
from likewise.scoreboard import Scoreboard
from likewise.theory import Bound
from likewise.wording import at_most, plural

REVIEWERS = {
    "MetricAuditor": "The reviewer was simulated: a program with a written measure of how unlike two people are, which "
    "the learner was never shown.",
    "DriftingAuditor": "The reviewer was simulated: a program with a written measure of how unlike two people are, "
    "which changed from round to round and which the learner was never shown.",
    "Panel": "The reviewer was a panel of {members} members, with a rule for when they report together.",
    "NoisyAuditor": "The reviewer was simulated, with mistakes: a pair was overlooked with probability {misses:g} and "
    "made up with probability {false_reports:g}.",
    "ScriptedAuditor": "The reviewer's answers were recorded beforehand and read from a list.",
    "AskAuditor": "The reviewer was a person at the terminal, who saw each round's people with their probabilities.",
}
SOURCES = {
    "IID": "In every round they were drawn again, at random, from the same {population:,} rows.",
    "passes": "The people of {population:,} rows came in a random order, and when all had come, in a new one.",
    "Stream": "They came one round after another, in the order of their source.",
    "Adversary": "They were chosen round by round by a program that may want the learner to fail.",
}
MODELS = {
    "GaussianNB": "naive Bayes",
    "HistGradientBoostingClassifier": "gradient boosting",
    "KNeighborsClassifier": "nearest neighbours",
}
"""Models whose class does not say what they are."""
LIMITS = (
    "It speaks of likeness as this reviewer sees it. Another reviewer may see other pairs.",
    "What is proved is about pairs of people. Treating similar people alike doesn't make groups equal.",
    "An error is a difference from the label on record. If labels carry past unfairness, so does this count.",
    "A certificate is a statement about numbers under assumptions. It is no verdict that a decision is fair or lawful.",
)
WORDS = {
    "round": "a few people who get their decisions together",
    "rule, or hypothesis": "says yes or no to any person",
    "policy": "a mixture of rules: gives each person a probability, the weight of the rules that say yes",
    "distance": "how unlike two people are in the reviewer's eyes: 0 is alike, 1 or more is not comparable",
    "report": "the reviewer points at two people of a round who were treated too differently",
    "violation": "two people whose probabilities are further apart than their distance plus the tolerance α",
    "regret": "how much more it cost than the best fixed choice that somebody could have made in hindsight",
    "penalty, C": "what a report counts in the learner's eyes, in errors, for a pair treated as differently as can be",
    "certificate": "what is proved of a play, from what was observed, with what the proof assumes",
}


class Part(NamedTuple):
    """A quarter of the play."""

    rounds: str
    people: int
    error: float
    reports: int
    violations: int
    unreviewed: int


def reviewer(facts: AuditorFacts) -> str:
    """Who audited."""
    words = REVIEWERS.get(facts.name)
    return words.format(**facts.details) if words else f"The reviewer was {facts.name}."


def source(facts: EnvironmentFacts) -> str:
    """Where the people came from."""
    words = SOURCES.get("passes" if facts.drawn == "passes" else facts.name)
    return words.format(population=facts.population) if words else f"They came from {facts.name}."


def conclusion(certificate: Certificate, scoreboard: Scoreboard | None = None) -> str:
    """The first paragraph: whether to use the policy, and how good it is."""
    c = certificate
    parts = [c.choice.headline if c.choice is not None else _against_a_constant(c)]
    if scoreboard is not None:
        parts.append(_gain(scoreboard, "It" if _learned(c.choice) else "What was learned"))
    return " ".join(filter(None, parts))


def _gain(scoreboard: Scoreboard, who: str) -> str:
    """How much of what is possible was reached."""
    share, people = scoreboard.share_of_gain, f"{scoreboard.limit_people:,} people"
    if share is None:
        return f"No share of the possible gain is given: {scoreboard.no_share}." if scoreboard.no_share else ""
    if share < 0:
        more = "err more" if scoreboard.unit == "error" else "cost more"
        return f"{who} is expected to {more} than one answer for everybody, on {people}."
    best = "what the best fair policy of any kind would gain over one answer for everybody"
    return f"{who} reaches {share:.0%} of {best}, on {people}."


def _learned(choice: Choice | None) -> bool:
    """Whether something learned is recommended, or at least nothing else."""
    return choice is None or choice.recommended in {candidate.name for candidate in choice.candidates}


def which_policy(choice: Choice | None) -> str:
    """Where one answer for everybody is recommended: that something else is being looked at."""
    if _learned(choice):
        return ""
    return "What we recommend treats everybody the same. This is about the best policy that was learned instead. "


def _against_a_constant(c: Certificate) -> str:
    """The play beside one answer for everybody, on the same people: a fact, not a claim about others."""
    if not c.draws:
        return "No label is known, so nothing can be said about errors."
    ours, theirs = c.error / c.draws, c.constant_error / c.draws
    unit = f"{'errors' if c.counts_errors else 'cost of errors'} per {c.per}"
    if ours >= theirs:
        return (
            f"Giving everybody the same answer would have been as good or better in this play: {theirs:.3f} {unit}, "
            f"and {ours:.3f} as it was. It is also fair to everybody."
        )
    return (
        f"In this play the policies had {ours:.3f} {unit}, and one answer for everybody would have had {theirs:.3f}. "
        "What is known about new people is listed under “What is proved”."
    )


def rules(hypotheses: Any, fitted_on: int | None = None) -> str:
    """What a policy is made of, and on how many people it was fitted."""
    fitted = "" if fitted_on is None else f", fitted on {fitted_on:,} people who took no further part"
    if isinstance(hypotheses, Thresholds) and hypotheses.models:
        names = [model_name(model) for model in hypotheses.models]
        return f"{plural(hypotheses.size, 'yes-or-no rule')}: cut-offs on the scores of {listed(names)}{fitted}"
    if isinstance(hypotheses, EstimatorClass):
        return f"yes-or-no rules, each a fitted {type(hypotheses.estimator).__name__}"
    if isinstance(hypotheses, Cells):
        cells = hypotheses.geometry.dim
        return f"the 2^{cells} ways to say yes or no to each of {plural(cells, 'group')} of people"
    kind = (
        ", most of which compare one number about a person with a cut-off" if isinstance(hypotheses, Thresholds) else ""
    )
    return f"{plural(hypotheses.size, 'yes-or-no rule')}{kind}{fitted}"


def model_name(model: Any) -> str:
    """What a fitted model is, in words; the last step of a pipeline.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model_name(LogisticRegression())
    'logistic regression'
    """
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    named = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(last).__name__.removesuffix("Classifier"))
    return MODELS.get(type(last).__name__, named.lower())


def listed(names: Sequence[str]) -> str:
    """Several names in a sentence.

    Examples
    --------
    >>> listed(["a tree", "a forest", "a tree"])
    'a tree, a forest and a tree'
    """
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def learning(t: Transcript, fitted_on: int | None = None) -> str:
    """How the policies came about, and what a report weighed."""
    start = (
        f"Every policy was a mixture of {rules(t.hypotheses, fitted_on)}. After each round the learner, "
        f"{t.facts.learner.name}, moved weight away from rules that erred and from rules that set the reported "
        "pair apart."
    )
    weights = t.penalties[t.reported] if t.reported.any() else t.penalties
    low, high = float(weights.min()), float(weights.max())
    if high == 0:
        return f"{start} Reports weighed nothing: this learner never hears the reviewer."
    each = f"{high:,.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"between {low:,.3g} and {high:,.3g}"
    what = "A report" if t.report_counts.max() < 2 else "The reports of a round together"
    return f"{start} {what} weighed as much as {each} errors."


def violation(t: Transcript) -> str:
    """What counts as a violation in this play."""
    early = (
        f" To learn from early signs, the reviewer reported already from {t.level:g} on; a report between the two is "
        "no violation."
        if t.margin > 0
        else ""
    )
    unknown = bool((t.violates < 0).any())
    trust = " Nobody can check a person's sense of likeness, so each report is taken at its word." if unknown else ""
    return (
        "Two people of one round are treated too differently if their probabilities are further apart than the two "
        f"people themselves, in the reviewer's eyes, by more than a tolerance of α = {t.alpha:g}. The reviewer may "
        "point at such a pair: a report. A round with a report that is right counts as one with a violation."
        f"{early}{trust}"
    )


def unit(t: Transcript) -> str:
    """What errors are counted in."""
    return f"{'errors' if t.costs == (1.0, 1.0) else 'cost of errors'} per {'draw' if _again(t) else 'person'}"


def counted_as(t: Transcript) -> str:
    """What everybody who comes is called: a draw, where the same people come again."""
    return "draws" if _again(t) else "people"


def _again(t: Transcript) -> bool:
    return t.person is not None and len(np.unique(t.person)) < len(t.person)


def quarters(t: Transcript) -> list[Part]:
    """The play, quarter by quarter; a play of fewer than four rounds, round by round."""
    first, parts = t.first, []
    for part in np.array_split(np.arange(t.rounds), min(4, t.rounds)):
        people = slice(int(t.starts[part[0]]), int(t.starts[part[-1] + 1]))
        labelled = int(np.isfinite(t.y[people]).sum())
        error = float(t.errors[part].sum() / labelled) if labelled else float("nan")
        counts = (int(t.reported[part].sum()), int(t.violations[part].sum()), int((~t.reviewed[part]).sum()))
        name = f"{first + part[0]:,}" if len(part) == 1 else f"{first + part[0]:,} to {first + part[-1]:,}"
        parts.append(Part(name, people.stop - people.start, error, *counts))
    return parts


def summary(t: Transcript, decision: str = "") -> str:
    """The play in a few sentences."""
    parts, labelled, unseen = quarters(t), np.isfinite(t.y).any(), int((~t.reviewed).sum())
    when = ""
    if len(parts) == 4:
        when = f": {parts[0].violations:,} in the first quarter, {parts[-1].violations:,} in the last"
    errors = f"The policies made {t.error_per_person:.3f} {unit(t)}." if labelled else "No label is known."
    blind = f" Nobody reviewed {plural(unseen, 'round')}." if unseen else ""
    if t.drawn is not None:
        cleared = f"; in {plural(int(t.cleared.sum()), 'round')} no pair could violate" if t.cleared.any() else ""
        blind = f" {plural(int(t.drawn.sum()), 'round was', 'rounds were')} drawn for review by lot{cleared}."
    return (
        f"In {plural(t.rounds, 'round')} a policy gave each person a probability of {decision or 'a yes'}, "
        f"{_count(t)} in all. A reviewer, who looked at the people of a round side by side, pointed at two "
        f"who were treated too differently in {plural(int(t.reported.sum()), 'round')}; "
        f"{int(t.violations.sum()):,} of them count as violations{when}.{blind} {errors}"
    )


def _count(t: Transcript) -> str:
    """How many people came; if some came again, how often."""
    draws, people = len(t.y), len(t.y) if t.person is None else len(np.unique(t.person))
    return f"{draws:,}" if people == draws else f"{draws:,} draws of {people:,} people"


def promise(bound: Bound | None, T: int, people: int) -> str:
    """What was promised before the first round, and on which assumptions."""
    if bound is None:
        return "Before the first round no theorem promised anything, for this learner and a play of this length."
    theorem, *assumed = bound.theorem.split("; ")
    parts = []
    if bound.violations < T:
        parts.append(f"at most {at_most(bound.violations)} rounds with a violation")
    if bound.error_regret < people:
        fair = "α" if bound.epsilon == 0 else f"α − {bound.epsilon:.3g}"
        parts.append(f"at most {at_most(bound.error_regret)} errors more than any fixed policy that is fair at {fair}")
    promised = " and ".join(parts) or f"nothing that means something for a play of only {plural(T, 'round')}"
    terms = f" Its terms: {'; '.join(assumed)} (V are the violations)." if assumed and parts else ""
    return f"Before the first round its theorem ({theorem}) promised {promised}.{terms}"


def flattened(values: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested parameters as lines of name and value.

    Examples
    --------
    >>> flattened({"T": 10, "learner": {"k": 2, "costs": [1, 1]}})
    [('T', '10'), ('learner.k', '2'), ('learner.costs', '1, 1')]
    """
    if isinstance(values, Mapping):
        parts = [flattened(value, f"{name}.{key}" if name else str(key)) for key, value in values.items()]
        return [line for part in parts for line in part]
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [(name, ", ".join(str(value) for value in values))]
    return [(name, "not given" if values is None else str(values))]
