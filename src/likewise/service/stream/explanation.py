"""Why two people of a round have their probabilities, and what a report of them would change. It only reads.

A probability is split among the features as Shapley values (``likewise.reading.shapley``): against the mean of the
people in the round for each of the two, and against each other for their gap. For policies that add up columns the
split is exact; for others it is exact up to :data:`EXACT` features that differ, and estimated beyond.

What a report would change is one step of the learner that hears of this report and of no label: labels are none of a
reviewer's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.protocol import Floats, Report
from likewise.reading.shapley import exact, over_orders
from likewise.service.stream.learner import Deployed
from likewise.service.stream.state import OpenRound, State

EXACT = 9
"""Features that two people may differ in for all subsets of them to be gone through."""
SAME = 1e-9
"""A policy that gives the two the probabilities they were shown, up to this, is the one of their round."""
Features = Mapping[str, Any]
Values = Callable[[Sequence[Features]], Floats]


class Share(NamedTuple):
    """What one feature does: to the probability of each of the two, and to their gap (positive: the first is ahead)."""

    name: str
    first: float
    second: float
    gap: float


class Explanation(NamedTuple):
    """Why two people have their probabilities.

    Attributes
    ----------
    probabilities
        Of the two, under the policy that is explained.
    then
        Whether that is the policy of their round; otherwise it is the current one.
    mean
        Of the people in the round: where the split of each begins.
    shares
        By feature, what weighs most in the gap first; None where the policy uses features that reviewers never see.
    hidden
        What features that reviewers don't see add up to.
    now, after
        How far apart the two are under the current policy, and would be after a step of the learner with this report.
    """

    probabilities: tuple[float, float]
    then: bool
    mean: float
    shares: list[Share] | None
    hidden: Share | None
    now: float
    after: float


def explain(state: State, round_: OpenRound, people: Mapping[int, Features], two: tuple[int, int]) -> Explanation:
    """Why the people at two positions of an open round have their probabilities.

    Parameters
    ----------
    state, round_
        The stream's state, which knows its learner, and the round.
    people
        The features of the people in the round by position, without those who were erased.
    two
        The positions, whoever is ahead first.
    """
    assert state.policy is not None, "a live stream knows its learner"
    policy, then = _policy_of(state, round_, two)
    model, own = state.stream, [people[i] for i in two]

    def values(mixed: Sequence[Features]) -> Floats:
        return model.probabilities(policy, model.encode(mixed))

    first, second = values(own).tolist()
    shares = [] if _unseen(state) else _shares(values, own, list(people.values()), model.used)
    seen = {feature.name for feature in model.settings.features if feature.visible}
    hidden = [share for share in shares if share.name not in seen]
    rows = round_.rows[list(two)]
    return Explanation(
        (first, second),
        then,
        float(values(list(people.values())).mean()),
        None if _unseen(state) else [share for share in shares if share.name in seen],
        Share("", *(float(sum(part)) for part in list(zip(*hidden, strict=True))[1:])) if hidden else None,
        _gap(state, state.policy, rows),
        _gap(state, _after(state, round_, Report(*two)), rows),
    )


def _policy_of(state: State, round_: OpenRound, two: tuple[int, int]) -> tuple[Deployed, bool]:
    """The policy that was deployed for a round, if it is still known; otherwise the current one."""
    assert state.policy is not None, "a live stream knows its learner"
    shown = round_.probabilities[list(two)]
    for policy in (round_.policy, state.policy):
        if policy is not None:
            again = state.stream.probabilities(policy, round_.rows[list(two)])
            if np.abs(again - shown).max() <= SAME:
                return policy, True
    return state.policy, False


def _unseen(state: State) -> bool:
    """Whether the policy uses a sensitive feature: a split would tell reviewers what they must not know."""
    model = state.stream
    return any(feature.sensitive and feature.name in model.used for feature in model.settings.features)


def _after(state: State, round_: OpenRound, report: Report) -> Deployed:
    """The policy after one step of the learner with this report, and no label."""
    unlabelled = round_.with_lots(np.full(len(round_.refs), np.nan))
    return state.stream.deploy(state.stream.learner.update(state.learner, unlabelled._replace(reports=(report,))))


def _gap(state: State, policy: Deployed, rows: Any) -> float:
    first, second = state.stream.probabilities(policy, rows).tolist()
    return float(first - second)


def _shares(values: Values, own: Sequence[Features], people: Sequence[Features], names: Sequence[str]) -> list[Share]:
    """What each feature does, for two people; what does nothing is left out."""
    each = [_against(values, person, people, names) for person in own]
    gap = _between(values, own[0], own[1], names)
    shares = [Share(name, float(each[0][j]), float(each[1][j]), gap.get(name, 0.0)) for j, name in enumerate(names)]
    mattering = [share for share in shares if max(map(abs, share[1:])) > SAME]
    return sorted(mattering, key=lambda share: (-abs(share.gap), -abs(share.first) - abs(share.second)))


def _against(values: Values, person: Features, people: Sequence[Features], names: Sequence[str]) -> Floats:
    """What each feature adds to somebody's probability, compared with all people of the round."""
    everybody = [person, *people]  # a column holds whose value it is

    def part(mixed: Floats) -> Floats:
        return values(
            [{name: everybody[int(whose)][name] for name, whose in zip(names, row, strict=True)} for row in mixed]
        )

    d = len(names)
    theirs = values(people)
    if d == 1:
        return np.array([values([person])[0] - theirs.mean()])
    others = np.repeat(np.arange(1, len(people) + 1)[:, None], d, axis=1).astype(float)
    return over_orders(part, np.arange(d), np.zeros(d), others, float(values([person])[0]), theirs)


def _between(values: Values, first: Features, second: Features, names: Sequence[str]) -> dict[str, float]:
    """How much of the gap between two people each feature that differs accounts for."""
    differing = [name for name in names if first[name] != second[name]]

    def part(mixed: Floats) -> Floats:
        own = [[name for name, taken in zip(differing, row, strict=True) if taken] for row in mixed]
        return values([{**second, **{name: first[name] for name in taken}} for taken in own])

    d = len(differing)
    if d <= EXACT:
        return dict(zip(differing, exact(part, d).tolist(), strict=True)) if d else {}
    ahead, behind = values([first, second])
    amounts = over_orders(part, np.arange(d), np.ones(d), np.zeros((1, d)), float(ahead), np.array([behind]))
    return dict(zip(differing, amounts.tolist(), strict=True))
