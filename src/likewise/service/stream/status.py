"""Where a stream stands: its counts, its delay, and which bounds still hold beside them.

Delay is the number of rounds that were learned between a round's opening and its own learning. The observed Lagrangian
regret, Σ_t Σ_i s_i π^t(x_i) − min_f Σ_t Σ_i s_i f(x_i), charges every round to the probabilities that were shown in it,
so it is what it is under any delay. Of the bounds:

* what a learner promises before the first round assumes that each policy knows all rounds before it, so any delay
  voids it;
* AdaHedge's observed bound 2Δ_T − Δ_0 stands. The mix losses m_t are those of the weights in the order of learning, so
  Σ m_t ≤ min_f L_f + ln N/η_T = min_f L_f + Δ_{T−1} whatever was deployed; and Δ grows in each round by at least
  h_t − m_t with h_t = Σ_i s_i π^t(x_i) of the policy that *was* deployed. Adding up, Σ h_t − min_f L_f ≤ 2Δ_T − Δ_0.
  (With h_t of the current weights instead, it would fall.) How large Δ becomes under delay, nobody promises;
* Hedge's observed bound counts rounds and reports, not what happened: delay voids it too.
"""

from __future__ import annotations

import math
from typing import Any, cast

from likewise.learners import AdaHedge
from likewise.service.stream.answers import Delay, Promise, Regret, StreamStanding
from likewise.service.stream.state import State


def standing(state: State) -> StreamStanding:
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
        "audits": {name: getattr(totals, name) for name in ("reported", "cleared", "skipped", "expired")},
        "people": totals.people,
        "labels_missing": totals.missing,
        "labels_late": totals.late,
        "corrected": totals.corrected,
        "erased": totals.erased,
        "errors": totals.errors,
        "penalties": totals.penalties,
        "regret": regret(state),
    }


def delay(state: State) -> Delay:
    """The largest and the mean delay of the rounds learned."""
    totals = state.totals
    return {"largest": totals.delay_max, "mean": totals.delay_sum / totals.learned if totals.learned else 0.0}


def regret(state: State) -> Regret:
    """The observed Lagrangian regret and the bounds that still hold, in numbers and in a sentence.

    ``promised`` is the learner's theorem for the rounds learned, ``proved`` its observed bound; each is None where it
    doesn't hold.
    """
    learner, totals = state.stream.learner, state.totals
    late = totals.delay_max > 0
    proves = totals.learned > 0 and (not late or isinstance(learner, AdaHedge))
    proved = learner.observed_bound(state.learner) if proves else None
    return {
        "observed": observed_regret(state),
        "promised": None if late or totals.learned == 0 else _promised(state),
        "proved": proved,
        "sentence": _in_words(state, proved),
    }


def _in_words(state: State, proved: float | None) -> str:
    totals = state.totals
    if totals.learned == 0:
        return "No round was learned yet."
    if totals.delay_max == 0:
        return f"Every round was learned before the next was opened; {state.outstanding} are outstanding."
    return (
        f"Rounds were learned up to {totals.delay_max} rounds late, and {state.outstanding} are outstanding: what "
        "the learner promises before the first round assumes that each policy knows all rounds before it, so it "
        "doesn't hold here. The observed regret stands in its place"
        + (", and so does the limit proved from it." if proved is not None else ".")
    )


def violations_limit(state: State) -> float | None:
    """The most rounds with a report that the regret leaves room for, whoever the auditor is, and under any delay.

    level · Σ_{reports} C ≤ Σ C gap ≤ regret + Err(best constant) − Err, divided by what a report weighed; before the
    first one, by what it would weigh. The regret is the limit proved of it, or else what was observed. None without a
    penalty, and at a level of 0.
    """
    settings, totals, F = state.stream.settings, state.totals, state.stream.hypotheses
    weight = totals.penalties / totals.reported if totals.reported else state.stream.learner.penalty_at(state.learner)
    if totals.learned == 0 or settings.level <= 0 or weight <= 0 or set(F.constants) != {0, 1}:
        return None
    limits = regret(state)
    # The penalties of a report cancel on a constant: what always saying 1 lost tells how many labels were 1.
    always = float(state.learner.losses @ F.constant(1))
    false_positive, false_negative = settings.costs
    both = false_positive + false_negative
    ones = (false_positive * (totals.people - totals.missing) - always) / both if both else 0.0
    constant = false_negative * ones + min(0.0, always)
    room = (limits["observed"] if limits["proved"] is None else limits["proved"]) + constant - totals.errors
    return float(max(0.0, room) / (settings.level * weight))


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
    T: dict[str, Any] = {} if settings.T is not None else {"T": rounds}
    bound = learner.bound(settings.level, **T)
    if bound is None:
        return None
    numbers = {name: None if value == math.inf else value for name, value in bound._asdict().items()}
    return cast(Promise, {"rounds": settings.T or rounds} | numbers)
