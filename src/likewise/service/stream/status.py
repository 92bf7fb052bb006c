"""Where a stream stands: its counts, its delay, and which bounds still hold beside them.

Delay is the number of rounds that were learned between a round's opening and its own learning. The observed Lagrangian
regret, Σ_t Σ_i s_i π^t(x_i) − min_f Σ_t Σ_i s_i f(x_i), charges every round to the probabilities that were shown in it,
so it is what it is under any delay. Of the bounds:

* what a learner promises before the first round assumes that each policy knows all rounds before it, so any delay
  voids it;
* a learner's observed bound stands where ``bound_survives_delay`` says so. AdaHedge's does (the proof is there), as the
  service gives it the probabilities that were shown; with those of the current weights instead, it would fall;
* Hedge's observed bound counts rounds and reports, not what happened: delay voids it too.

A learner that keeps reports revises their prices, so no sum of fixed penalties is what it keeps small. Of its errors
Lemma 3 proves a limit from what was observed: against every policy that is fair at the level less ε, if the reports are
true, with the probabilities that were shown, whoever chose them and however late they were learned.

Where only labels of accepted people come, it is a limit of *estimated* errors, late labels among them: weak duality
holds for whatever losses the learner was fed, and each estimate is right on average given what was before its lot.
"""

from __future__ import annotations

import math
from typing import cast

from likewise import theory
from likewise.learners import AdaHedge, Cuts
from likewise.service.stream.answers import ClassPart, Delay, MadeOf, Promise, Regret, StreamStatus
from likewise.service.stream.claims import claim
from likewise.service.stream.learner import Model
from likewise.service.stream.state import State

OUTCOMES = ("reported", "cleared", "skipped", "expired", "undrawn")
"""What audits come to."""


def status(state: State) -> StreamStatus:
    """Settings, counts, delay, and what can be said of the regret; no weights."""
    settings, totals = state.stream.settings, state.totals
    return {
        "stream": settings.name,
        "settings": settings.to_dict(),
        "stopped": state.stopped,
        "rounds": state.opened,
        "learned": totals.learned,
        "discarded": totals.discarded,
        "outstanding": state.outstanding,
        "delay": delay(state),
        "audits": {name: getattr(totals, name) for name in OUTCOMES},
        "people": totals.people,
        "labels_missing": totals.missing,
        "labels_late": totals.late,
        "labels_booked": totals.booked,
        "corrected": totals.corrected,
        "erased": totals.erased,
        "refused": totals.refused,
        "returned": totals.returned,
        "outcome_unknown": totals.missing if settings.labels == "accepted" else None,
        "unseen_violations": totals.unseen if settings.audits == "decisions" else None,
        "errors": totals.errors,
        "better_constant": constant_error(state),
        "estimated": settings.labels == "accepted",
        "penalties": totals.penalties,
        "regret": regret(state),
        "reviews": claim(state),
        "made_of": made_of(state.stream),
    }


def made_of(model: Model) -> MadeOf:
    """What the class of a stream is made of, in words."""
    if model.program is not None:
        data = model.program.data
        fitted = [cast(ClassPart, part._asdict()) for part in model.program.made_of()]
        return {"parts": fitted, "people": data["people"], "notes": data["notes"], "holds": data["holds"]}
    cells = model.settings.hypotheses == "cells"
    words = "The cells of a grid over these features." if cells else "Cut-offs on single features."
    cuts = sum(len(feature.levels) if column is None else len(column) for feature, column in model.columns)
    part: ClassPart = {"name": "features", "described": words, "scores": [], "features": model.used, "cuts": cuts}
    return {"parts": [part], "people": None, "notes": [], "holds": []}


def delay(state: State) -> Delay:
    """The largest and the mean delay of the rounds learned."""
    totals = state.totals
    return {"largest": totals.delay_max, "mean": totals.delay_sum / totals.learned if totals.learned else 0.0}


def regret(state: State) -> Regret:
    """The observed Lagrangian regret and the bounds that still hold, in numbers and in a sentence.

    ``promised`` is the learner's theorem for the rounds learned, ``proved`` its observed bound; each is None where it
    doesn't hold.
    """
    totals = state.totals
    # What is proved or promised against fair policies rests on the reports that were learned.
    void = totals.delay_max > 0 or totals.learned == 0 or totals.withdrawn > 0
    proved = _proved(state) if totals.learned > 0 and totals.withdrawn == 0 else None
    kept = state.stream.keeps_reports
    return {
        "observed": None if kept else observed_regret(state),
        "promised": None if void else _promised(state),
        "proved": proved,
        "fair_at": fair_at(state) if kept else None,
        "sentence": _in_words(state, proved),
    }


def _proved(state: State) -> float | None:
    """The limit that is proved from what happened, if one still holds."""
    learner, totals, settings = state.stream.learner, state.totals, state.stream.settings
    if state.stream.keeps_reports:
        one_sided = settings.labels == "accepted"
        above_always_no = totals.estimated if one_sided else totals.errors - settings.costs[1] * totals.ones
        return float(learner.regret_limit(state.learner, above_always_no))
    in_time = totals.delay_max == 0 and totals.booked == 0
    bound = learner.observed_bound(state.learner) if in_time or learner.bound_survives_delay else None
    return None if bound is None else float(bound)


def fair_at(state: State) -> float:
    """The level less ε: a learner that keeps reports is compared with policies that are fair at it."""
    return state.stream.settings.level - cast(Cuts, cast(AdaHedge, state.stream.inside).rule).epsilon


def _in_words(state: State, proved: float | None) -> str:
    totals = state.totals
    if totals.learned == 0:
        return "No round has been learned yet."
    if totals.withdrawn > 0:
        return (
            f"Corrections took back or replaced {totals.withdrawn} reports after they were learned. Limits rest on "
            f"true reports, so none holds here. Rounds still outstanding: {state.outstanding}."
        )
    if totals.delay_max == 0:
        return f"Every round was learned before the next was opened. Rounds still outstanding: {state.outstanding}."
    return (
        f"Rounds were learned up to {totals.delay_max} rounds late. Rounds still outstanding: {state.outstanding}. The "
        "bound promised before the first round assumes that each policy knows all rounds before it, so it does not "
        f"hold here. {_instead(state, proved)}"
    )


def _instead(state: State, proved: float | None) -> str:
    if state.stream.keeps_reports:
        return "Look at the limit that is proved from what happened instead."
    if state.stream.settings.labels == "accepted":
        return "Nor is any limit of estimated errors proved then."
    return "Look at the observed regret instead" + (", and at the limit proved from it." if proved is not None else ".")


def violations_limit(state: State) -> float | None:
    """The most rounds with a report that the regret leaves room for, whoever the auditor is, and under any delay.

    ``likewise.theory.violations_limit`` with what a report weighed; before the first one, with what it would weigh.
    The regret is the limit proved of it, or else what was observed. None without a penalty, at a level of 0, and where
    reports are kept: their prices change, so nothing like it follows. None, too, once a correction added or took back a
    report.
    """
    settings, totals = state.stream.settings, state.totals
    if totals.added or totals.withdrawn:  # the regret was charged with other reports than there are
        return None
    weight = totals.penalties / totals.reported if totals.reported else state.stream.learner.penalty_at(state.learner)
    limits = regret(state)
    most = limits["observed"] if limits["proved"] is None else limits["proved"]
    if totals.learned == 0 or settings.level <= 0 or weight <= 0 or limits["observed"] is None or most is None:
        return None
    if settings.labels == "accepted":  # the errors are estimated in one way, and the regret in another
        return None
    return float(theory.violations_limit(most, constant_error(state), totals.errors, settings.level, weight))


def constant_error(state: State) -> float:
    """What one answer for everybody would have cost in the rounds learned: the better of the two.

    An estimate where only labels of accepted people come: each stands for 1/π̃ people.
    """
    if state.stream.settings.labels == "accepted":
        false_positive, false_negative = state.stream.settings.costs
        return min(false_positive * state.totals.zeros_weighed, false_negative * state.totals.ones_weighed)
    ones, labelled = state.totals.ones, state.totals.people - state.totals.missing
    return float(theory.constant_error(labelled - ones, ones, state.stream.settings.costs, constants=(0, 1)))


def observed_regret(state: State) -> float:
    """Σ_t L(π^t) − min_f Σ_t L(f), each round charged to the policy that was deployed for it."""
    return state.totals.charged - state.stream.hypotheses.geometry.minimum(state.learner.losses)


def _promised(state: State) -> Promise | None:
    """The theorem's numbers at the rounds learned, or at T where the learner is tuned for it.

    None for a number of which the theorem says nothing, as for a penalty that grows faster than it allows.
    """
    settings, learner, rounds = state.stream.settings, state.stream.learner, state.totals.learned
    if settings.T is not None and rounds > settings.T:
        return None
    bound = learner.bound(settings.level, settings.T or rounds)
    if bound is None:
        return None
    numbers = {name: None if value == math.inf else value for name, value in bound._asdict().items()}
    return cast(Promise, {"rounds": settings.T or rounds} | numbers)
