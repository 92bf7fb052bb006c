"""What a learner promises: it is a fold, learns nothing that it must not, and its bounds hold on a short play."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from likewise.checks.promises import SEED, close, expect, is_json, passed, same
from likewise.errors import InvalidParameter
from likewise.game import Transcript, play
from likewise.protocol import Auditor, Batch, Environment, Estimate, Key, Learner, Report, Role, Round
from likewise.reduction import estimated_weights, penalised, signed_weights
from likewise.theory import Bound

DELAY = 3
"""Rounds that a late policy doesn't know yet."""


def check_learner(
    learner: Learner, environment: Environment, auditor: Auditor, T: int = 12, seed: int = SEED
) -> list[str]:
    """Check a learner on a short play.

    ``environment`` and ``auditor`` must answer a key the same way whenever asked (``IID`` and ``MetricAuditor`` do).
    """
    transcript = play(learner, environment, auditor, T, seed=seed)
    return passed(
        [
            ("init", lambda: expect(same(learner.init(), learner.init()), "init gives the same state again")),
            ("pure", lambda: _check_pure(learner, transcript, seed)),
            ("any order", lambda: _check_any_order(learner, transcript, seed)),
            ("permutation", lambda: _check_permutation(learner, transcript, seed)),
            ("gaps in the feedback", lambda: _check_missing(learner, transcript)),
            ("several reports", lambda: _check_several(learner, transcript)),
            ("unseen labels", lambda: _check_unseen(learner, transcript)),
            ("storage", lambda: _check_storage(learner, environment, auditor, transcript, seed)),
            ("another process", lambda: _check_process(learner, environment, auditor, transcript, seed)),
            ("parameters", lambda: expect(is_json(learner.parameters()), "parameters are plain JSON values")),
            ("bound", lambda: _check_bound(learner, auditor.alpha - auditor.margin, T)),
            ("observed bound", lambda: _check_observed_bound(learner, transcript)),
            ("delay", lambda: _check_delay(learner, transcript, seed)),
        ]
    )


def _states(learner: Learner, transcript: Transcript) -> list[Any]:
    states = [learner.init()]
    for round_ in transcript:
        states.append(learner.update(states[-1], round_))
    return states


def _key(seed: int, i: int) -> Key:
    return Key(seed, Role.LEARNER, i + 1)


def _copied(state: Any) -> dict[str, Any]:
    return {name: np.array(value, copy=True) for name, value in state._asdict().items()}


def _everybody(transcript: Transcript) -> Batch:
    """The people of all rounds as one batch, to see what a policy makes of them."""
    return Batch(transcript.rows, transcript.y, transcript.view)


def _check_pure(learner: Learner, transcript: Transcript, seed: int) -> bool:
    state = learner.init()
    for i, round_ in enumerate(transcript):
        before, arrays = _copied(state), [np.array(a, copy=True) for a in (*round_.batch[:2], round_.probabilities)]
        policy = learner.act(state, _key(seed, i))
        expect(np.array_equal(policy.on(round_.batch), round_.probabilities), "act gives the same policy again")
        after = learner.update(state, round_)
        expect(same(learner.update(state, round_), after), "update gives the same state again")
        expect(same(before, state), "act and update leave the state as it was")
        unchanged = [
            np.array_equal(a, b, equal_nan=True)
            for a, b in zip(arrays, (*round_.batch[:2], round_.probabilities), strict=True)
        ]
        expect(all(unchanged), "update leaves the round as it was")
        expect(after.rounds == state.rounds + 1, "update counts the round")
        state = after
    return expect(same(state, transcript.state), "folding update over the rounds gives the play's last state")


def _check_any_order(learner: Learner, transcript: Transcript, seed: int) -> bool:
    states = _states(learner, transcript)
    for i in reversed(range(transcript.rounds)):
        round_ = transcript.round(i)
        shown = learner.act(states[i], _key(seed, i)).on(round_.batch)
        expect(np.array_equal(shown, round_.probabilities), "act can be called in any order of rounds")
    return True


def _check_permutation(learner: Learner, transcript: Transcript, seed: int) -> bool:
    state = learner.init()
    rng = np.random.default_rng(SEED)
    for i, round_ in enumerate(transcript):
        order = rng.permutation(len(round_.probabilities))
        policy = learner.act(state, _key(seed, i))
        turned = _permuted(round_, order)
        expect(close(policy.on(turned.batch), turned.probabilities), "permuting people permutes the answer")
        permuted = learner.update(state, turned)
        state = learner.update(state, round_)
        probe = _everybody(transcript)
        same = close(
            learner.act(permuted, _key(seed, i + 1)).on(probe), learner.act(state, _key(seed, i + 1)).on(probe)
        )
        expect(same, "the order of people in a batch teaches nothing")
    return True


def _permuted(round_: Round, order: Any) -> Round:
    """The round with its people in another order."""
    place = {int(old): new for new, old in enumerate(order)}
    batch, arrays = round_.batch, ("probabilities", "decisions", "unseen", "compared")
    view = batch.view.iloc[order] if hasattr(batch.view, "iloc") else batch.view[order]
    weight = None if batch.weight is None else batch.weight[order]
    parts = {name: part[order] for name in arrays if (part := getattr(round_, name)) is not None}
    reports = tuple(
        report._replace(favoured=place[report.favoured], disfavoured=place[report.disfavoured])
        for report in round_.reports
    )
    people = Batch(batch.rows[order], batch.y[order], view, weight=weight)
    return round_._replace(batch=people, reports=reports, **parts)


def _check_missing(learner: Learner, transcript: Transcript) -> bool:
    round_ = transcript.round(0)
    unlabelled = round_.batch._replace(y=np.full(len(round_.batch.y), np.nan))
    state = learner.update(learner.init(), round_._replace(batch=unlabelled, reports=(), reviewed=False))
    p = learner.act(state, _key(SEED, 1)).on(round_.batch)
    inside = np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all()
    return expect(inside, "a round without labels or audit is harmless")


def _check_several(learner: Learner, transcript: Transcript) -> bool:
    round_ = transcript.round(int(transcript.sizes.argmax()))
    reports = tuple(Report(i, 0) for i in range(1, min(3, len(round_.probabilities))))
    start, several = learner.init(), round_._replace(reports=reports, reviewed=True)
    state = learner.update(start, several)
    expect(state.rounds == start.rounds + 1, "several reports in a round are learned as one round")
    turned = learner.update(start, several._replace(reports=reports[::-1]))
    p, q = (learner.act(after, _key(SEED, 1)).on(_everybody(transcript)) for after in (state, turned))
    expect(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "several reports in a round are harmless")
    return expect(close(p, q), "the order of the reports of a round teaches nothing")


def _check_unseen(learner: Learner, transcript: Transcript) -> bool:
    """Of a learner that estimates labels: what a refused person's label would have been teaches nothing."""
    if transcript.unseen is None or not transcript.unseen.any() or not hasattr(learner, "estimate"):
        return False
    state = learner.init()
    for round_ in transcript:
        after = learner.update(state, round_)
        for label in (0.0, 1.0):
            y = np.where(np.asarray(round_.unseen), label, round_.batch.y)
            relearned = learner.update(state, round_._replace(batch=round_.batch._replace(y=y)))
            expect(same(relearned, after), "a label that is unseen teaches nothing")
        state = after
    return True


def _check_storage(
    learner: Learner, environment: Environment, auditor: Auditor, transcript: Transcript, seed: int
) -> bool:
    half = transcript.rounds // 2
    state = _states(learner, transcript)[half]
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state._asdict().items()}
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        loaded = {name: value.item() if value.ndim == 0 else value for name, value in stored.items()}
    continued = play(learner, environment, auditor, transcript.rounds - half, seed=seed, state=loaded)
    return expect(
        same(continued.state, transcript.state), "a play continues from a stored state as if it had never stopped"
    )


def _check_process(
    learner: Learner, environment: Environment, auditor: Auditor, transcript: Transcript, seed: int
) -> bool:
    from joblib import Parallel, delayed

    # Two tasks, because joblib runs a single one in this very process.
    tasks = [delayed(_probabilities)(learner, environment, auditor, transcript.rounds, seed) for _ in range(2)]
    for shown in Parallel(n_jobs=2, backend="loky")(tasks):
        expect(np.array_equal(shown, transcript.shown), "the same seed gives the same transcript in another process")
    return True


def _probabilities(learner: Learner, environment: Environment, auditor: Auditor, T: int, seed: int) -> Any:
    return play(learner, environment, auditor, T, seed=seed).shown


def _check_bound(learner: Learner, alpha: float, T: int) -> bool:
    try:
        bound = learner.bound(alpha, T)
    except InvalidParameter:  # no k, no constant hypothesis, a level of 0: the theorem has no number then
        return False
    if bound is None:
        return False
    expect(isinstance(bound, Bound) and 0 <= bound.violations <= T, "a bound has at most as many violations as rounds")
    if learner.T is not None:
        expect(learner.bound(alpha, learner.T) == learner.bound(alpha), "a bound is for the learner's own horizon")
        try:
            learner.bound(alpha, learner.T + 1)
        except InvalidParameter:
            return True
        expect(False, "a bound beyond the learner's own horizon is refused")
    return True


def _check_observed_bound(learner: Learner, transcript: Transcript) -> bool:
    limit = learner.observed_bound(transcript.state)
    if limit is None:
        return False
    return expect(_regret(transcript) <= limit + 1e-9, "the Lagrangian regret is at most the observed bound")


def _regret(t: Transcript) -> float:
    """The Lagrangian regret; the estimated one, of the learner's own probabilities, where labels were estimated."""
    if t.estimates is None:
        return t.lagrangian_regret
    F, played, total = t.hypotheses, 0.0, np.zeros(t.hypotheses.geometry.dim)
    for round_, C in zip(t, t.penalties.tolist(), strict=True):
        batch, decisions, estimate = round_.batch, np.asarray(round_.decisions), round_.estimate or Estimate()
        labels = estimated_weights(batch.y, decisions, round_.probabilities, estimate, t.costs, batch.weight)
        s = penalised(labels, round_.reports, C)
        played += float(s @ round_.own)
        total = F.added(total, batch.rows, s)
    return played - float(F.geometry.minimum(total))


def _check_delay(learner: Learner, transcript: Transcript, seed: int) -> bool:
    """The play again, with policies that don't know the last few rounds yet."""
    expect(isinstance(learner.bound_survives_delay, bool), "bound_survives_delay is True or False")
    if not learner.bound_survives_delay:
        return False
    F: Any = learner.hypotheses  # a learner whose bound survives delay has a class with losses
    states, charged = [learner.init()], 0.0
    total = np.zeros_like(states[0].losses)
    for i, round_ in enumerate(transcript):
        p = learner.act(states[max(0, i - DELAY)], _key(seed, i)).on(round_.batch)
        s = signed_weights(round_.batch.y, round_.reports, learner.penalty_at(states[-1]), learner.costs)
        charged += float(s @ p)
        total = F.added(total, round_.batch.rows, s)
        states.append(learner.update(states[-1], round_._replace(probabilities=p)))
    limit = learner.observed_bound(states[-1])
    regret = charged - F.geometry.minimum(total)
    return expect(limit is not None and regret <= limit + 1e-9, "the observed bound survives delay")
