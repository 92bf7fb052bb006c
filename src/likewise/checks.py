"""The public conformance suite: what a class, a learner, an auditor or an environment promises, checked on yours.

Everything in Likewise is run through these checks in our own tests; run them on what you bring:

>>> import likewise as lw, numpy as np
>>> X = np.random.default_rng(0).normal(size=(60, 2))
>>> F = lw.Thresholds.quantiles(X, cuts=4)
>>> lw.checks.check_hypothesis_class(F, X)
['encode', 'losses', 'predictions', 'probability', 'mix gap', 'shrunk', 'minimisers', 'contrast', 'constants',
 'separator', 'to_dict']

Each check raises ``likewise.errors.CheckFailed`` with one sentence. The names of those that ran and passed come back. A
check that finds nothing to check (no separator, a class too large to list, no report) is not among them.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict
from numbers import Real
from typing import Any

import numpy as np

from likewise.errors import CheckFailed, InvalidParameter
from likewise.facts import AuditorFacts, EnvironmentFacts
from likewise.game import Transcript, play
from likewise.hypotheses import Cube, EnumerableClass
from likewise.hypotheses.base import LISTABLE
from likewise.policies import Mixture
from likewise.protocol import (
    SKIPPED,
    Auditor,
    Batch,
    Environment,
    Estimate,
    Key,
    Learner,
    Report,
    Role,
    Round,
    reports_of,
)
from likewise.reduction import estimated_weights, penalised, signed_weights
from likewise.theory import Bound

SEED = 20200205
DELAY = 3
"""Rounds that a late policy doesn't know yet."""


def _expect(holds: Any, promise: str) -> bool:
    if not holds:
        raise CheckFailed(f"Broken promise: {promise}.")
    return True


def _close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))


def _passed(checks: list[tuple[str, Callable[[], bool]]]) -> list[str]:
    """The names of the checks that ran: a check says whether there was anything to check."""
    return [name for name, check in checks if check()]


def _same(a: Any, b: Any) -> bool:
    """Two states (NamedTuples or mappings of arrays and numbers) hold the same numbers, bit for bit."""
    first, second = (dict(s) if isinstance(s, dict) else s._asdict() for s in (a, b))
    return first.keys() == second.keys() and all(np.array_equal(first[n], second[n]) for n in first)


# Classes of hypotheses --------------------------------------------------------------------------------------


def check_hypothesis_class(F: Any, X: Any) -> list[str]:
    """Check an enumerable class on people ``X`` (a few dozen are enough)."""
    _expect(isinstance(F, EnumerableClass), "an enumerable class derives from likewise.EnumerableClass")
    rng = np.random.default_rng(SEED)
    rows = F.encode(X)
    s = rng.normal(size=(3, len(rows)))
    table = F.predict_rows(rows).astype(float) if F.size <= LISTABLE // 16 else None
    return _passed(
        [
            ("encode", lambda: _check_encode(F, X, rows)),
            ("losses", lambda: _check_losses(F, rows, s)),
            ("predictions", lambda: _check_predictions(F, rows, s, table)),
            ("probability", lambda: _check_probability(F, rows, rng)),
            ("mix gap", lambda: _check_mix_gap(F, rows, s, table)),
            ("shrunk", lambda: _check_shrunk(F, rows, s, table)),
            ("minimisers", lambda: _check_minimisers(F, rows, s)),
            ("contrast", lambda: _check_contrast(F, rows)),
            ("constants", lambda: _check_constants(F, rows)),
            ("separator", lambda: _check_separator(F)),
            ("to_dict", lambda: _expect(_is_json(F.to_dict()), "to_dict gives plain JSON values")),
        ]
    )


def _check_encode(F: EnumerableClass, X: Any, rows: Any) -> bool:
    copied = X.copy() if hasattr(X, "copy") else list(X)
    F.encode(X)
    _expect(np.array_equal(np.asarray(copied), np.asarray(X)), "encode leaves the people as they were")
    _expect(len(rows) == len(X), "encode gives one row per person")
    half = X.iloc[: len(X) // 2] if hasattr(X, "iloc") else X[: len(X) // 2]
    return _expect(np.array_equal(F.encode(half), rows[: len(half)]), "encoding some people is part of encoding all")


def _check_losses(F: EnumerableClass, rows: Any, s: Any) -> bool:
    together = F.losses(rows, s)
    _expect(together.shape == (len(s), F.geometry.dim), "losses of (E, people) weights have shape (E, dim)")
    _expect(_close(together, [F.losses(rows, row) for row in s]), "losses of E weights are E times the losses of one")
    order = np.random.default_rng(SEED).permutation(len(rows))
    _expect(_close(F.losses(rows[order], s[:, order]), together), "losses don't depend on the order of people")
    start = together[0]
    return _expect(_close(F.added(start, rows, s[0]), start + F.losses(rows, s[0])), "added is losses plus the round's")


def _check_predictions(F: EnumerableClass, rows: Any, s: Any, table: Any) -> bool:
    """Against every hypothesis, one by one."""
    if table is None:
        return False
    listed, losses = s @ table.T, F.losses(rows, s)
    spans = np.array([F.geometry.span(row) for row in losses])
    _expect(_close(spans, np.c_[listed.min(axis=1), listed.max(axis=1)]), "losses agree with predictions")
    p = F.probability(F.geometry.gibbs(losses[0], 0.3), rows)
    return _expect(_close(p, _listed_gibbs(listed[0], 0.3) @ table), "π is the mixture of predictions")


def _listed_gibbs(listed: Any, eta: float) -> Any:
    weights = np.exp(-eta * (listed - listed.min()))
    return weights / weights.sum()


def _check_probability(F: EnumerableClass, rows: Any, rng: np.random.Generator) -> bool:
    weights = F.geometry.gibbs(rng.normal(size=F.geometry.dim), 1.0)
    copied = weights.copy()
    p = F.probability(weights, rows)
    _expect(np.array_equal(weights, copied), "probability does not change the weights")
    _expect(p.shape == (len(rows),) and (p >= 0).all() and (p <= 1).all(), "probabilities lie in [0, 1]")
    s = rng.normal(size=len(rows))
    return _expect(_close(F.losses(rows, s) @ weights, s @ p), "Σ s π is the weights times the losses")


def _check_mix_gap(F: EnumerableClass, rows: Any, s: Any, table: Any) -> bool:
    """Against δ = p·ℓ + (1/η) ln Σ_f p_f exp(−η ℓ_f) over listed hypotheses; otherwise against the free energies."""
    if table is None and type(F).mix_gap is EnumerableClass.mix_gap:
        return False
    few, eta = slice(0, 4), 0.7  # as many people as in a round: some classes have another way for those
    for chosen in (few, slice(None)):
        people, before, signed = rows[chosen], F.losses(rows, s[0]), s[1, chosen]
        weights = F.geometry.gibbs(before, eta)
        p, after = F.probability(weights, people), F.added(before, people, signed)
        arguments = (weights, before, after, people, signed, p, eta)
        if table is None:
            twin = EnumerableClass.mix_gap(F, *arguments)
        else:
            listed, lost = _listed_gibbs(s[0] @ table.T, eta), signed @ table.T[chosen]
            twin = listed @ lost + np.log(listed @ np.exp(-eta * (lost - lost.min()))) / eta - lost.min()
        _expect(_close(F.mix_gap(*arguments), twin), "the mix gap is its definition")
    return True


def _check_shrunk(F: EnumerableClass, rows: Any, s: Any, table: Any) -> bool:
    """Only listed weights shrink one by one; against predictions, or the class's own losses."""
    if isinstance(F.geometry, Cube) or (table is None and type(F).shrunk is EnumerableClass.shrunk):
        return False
    for chosen in (slice(0, 4), slice(None)):
        people, signed, start = rows[chosen], s[1, chosen], F.losses(rows, s[0])
        base, rate = 2.0 + np.abs(signed).sum(), 0.1 / (3.0 + 2 * np.abs(signed).sum())
        lost = F.losses(people, signed) if table is None else signed @ table.T[chosen]
        twin = start + np.log1p(-rate * (base + lost))
        _expect(
            _close(F.shrunk(start, people, signed, base, rate), twin), "shrunk multiplies by 1 − rate (base + Σ s f)"
        )
    return True


def _check_minimisers(F: EnumerableClass, rows: Any, s: Any) -> bool:
    start = np.random.default_rng(SEED + 1).normal(size=F.geometry.dim)
    leaders = F.minimisers(start, rows, s)
    for e, row in enumerate(s):
        total = start + F.losses(rows, row)
        weights = F.geometry.mixture(leaders[e : e + 1])
        _expect(_close(total @ weights, F.geometry.minimum(total)), "a minimiser has the smallest loss")
    return True


def _check_contrast(F: EnumerableClass, rows: Any) -> bool:
    """What a class keeps of two people is the difference of their predictions, and nothing else."""
    start, fits = np.random.default_rng(SEED + 2).normal(size=F.geometry.dim), F.no_contrasts
    for i in range(0, len(rows) - 1, 2):
        pair = rows[[i, i + 1]]
        contrast = F.contrast(pair)
        _expect(
            contrast.shape == fits.shape[1:] and contrast.dtype == fits.dtype, "no_contrasts has room for contrasts"
        )
        twin = start + 1.7 * F.losses(pair, np.array([1.0, -1.0]))
        _expect(_close(F.tilted(start, contrast, 1.7), twin), "tilted adds the contrast of two people")
    return True


def _check_constants(F: EnumerableClass, rows: Any) -> bool:
    _expect(set(F.constants) <= {0, 1}, "constants is a subset of (0, 1)")
    for value in F.constants:
        same = (F.probability(F.constant(value), rows) == value).all()
        _expect(same, f"constant({value}) gives the weights of the constant {value}; a listed class puts it first")
    return len(F.constants) > 0


def _check_separator(F: EnumerableClass) -> bool:
    if F.separator is None:
        return False
    if isinstance(F.geometry, Cube):
        return _expect(len(np.unique(F.separator)) == F.geometry.dim, "the separator reaches every cell")
    if F.size > LISTABLE // 16:
        return False
    table = F.predict_rows(F.separator)
    return _expect(len(np.unique(table, axis=0)) == F.size, "any two hypotheses differ on the separator")


def _is_json(data: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(data)) == data)
    except TypeError:
        return False


# Learners ---------------------------------------------------------------------------------------------------


def check_learner(
    learner: Learner, environment: Environment, auditor: Auditor, T: int = 12, seed: int = SEED
) -> list[str]:
    """Check a learner on a short play.

    ``environment`` and ``auditor`` must answer a key the same way whenever asked (``IID`` and ``MetricAuditor`` do).
    """
    transcript = play(learner, environment, auditor, T, seed=seed)
    return _passed(
        [
            ("init", lambda: _expect(_same(learner.init(), learner.init()), "init gives the same state again")),
            ("pure", lambda: _check_pure(learner, transcript, seed)),
            ("any order", lambda: _check_any_order(learner, transcript, seed)),
            ("permutation", lambda: _check_permutation(learner, transcript, seed)),
            ("gaps in the feedback", lambda: _check_missing(learner, transcript)),
            ("several reports", lambda: _check_several(learner, transcript)),
            ("unseen labels", lambda: _check_unseen(learner, transcript)),
            ("storage", lambda: _check_storage(learner, environment, auditor, transcript, seed)),
            ("another process", lambda: _check_process(learner, environment, auditor, transcript, seed)),
            ("parameters", lambda: _expect(_is_json(learner.parameters()), "parameters are plain JSON values")),
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
        _expect(np.array_equal(policy.on(round_.batch), round_.probabilities), "act gives the same policy again")
        after = learner.update(state, round_)
        _expect(_same(learner.update(state, round_), after), "update gives the same state again")
        _expect(_same(before, state), "act and update leave the state as it was")
        unchanged = [
            np.array_equal(a, b, equal_nan=True)
            for a, b in zip(arrays, (*round_.batch[:2], round_.probabilities), strict=True)
        ]
        _expect(all(unchanged), "update leaves the round as it was")
        _expect(after.rounds == state.rounds + 1, "update counts the round")
        state = after
    return _expect(_same(state, transcript.state), "folding update over the rounds gives the play's last state")


def _check_any_order(learner: Learner, transcript: Transcript, seed: int) -> bool:
    states = _states(learner, transcript)
    for i in reversed(range(transcript.rounds)):
        round_ = transcript.round(i)
        shown = learner.act(states[i], _key(seed, i)).on(round_.batch)
        _expect(np.array_equal(shown, round_.probabilities), "act can be called in any order of rounds")
    return True


def _check_permutation(learner: Learner, transcript: Transcript, seed: int) -> bool:
    state = learner.init()
    rng = np.random.default_rng(SEED)
    for i, round_ in enumerate(transcript):
        order = rng.permutation(len(round_.probabilities))
        policy = learner.act(state, _key(seed, i))
        turned = _permuted(round_, order)
        _expect(_close(policy.on(turned.batch), turned.probabilities), "permuting people permutes the answer")
        permuted = learner.update(state, turned)
        state = learner.update(state, round_)
        probe = _everybody(transcript)
        same = _close(
            learner.act(permuted, _key(seed, i + 1)).on(probe), learner.act(state, _key(seed, i + 1)).on(probe)
        )
        _expect(same, "the order of people in a batch teaches nothing")
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
    return _expect(inside, "a round without labels or audit is harmless")


def _check_several(learner: Learner, transcript: Transcript) -> bool:
    round_ = transcript.round(int(transcript.sizes.argmax()))
    reports = tuple(Report(i, 0) for i in range(1, min(3, len(round_.probabilities))))
    start, several = learner.init(), round_._replace(reports=reports, reviewed=True)
    state = learner.update(start, several)
    _expect(state.rounds == start.rounds + 1, "several reports in a round are learned as one round")
    turned = learner.update(start, several._replace(reports=reports[::-1]))
    p, q = (learner.act(after, _key(SEED, 1)).on(_everybody(transcript)) for after in (state, turned))
    _expect(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "several reports in a round are harmless")
    return _expect(_close(p, q), "the order of the reports of a round teaches nothing")


def _check_unseen(learner: Learner, transcript: Transcript) -> bool:
    """Of a learner that estimates labels: what a refused person's label would have been teaches nothing."""
    if transcript.unseen is None or not transcript.unseen.any() or not hasattr(learner, "estimate"):
        return False
    state = learner.init()
    for round_ in transcript:
        after = learner.update(state, round_)
        for label in (0.0, 1.0):
            y = np.where(np.asarray(round_.unseen), label, round_.batch.y)
            told = learner.update(state, round_._replace(batch=round_.batch._replace(y=y)))
            _expect(_same(told, after), "a label that is unseen teaches nothing")
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
    return _expect(
        _same(continued.state, transcript.state), "a play continues from a stored state as if it had never stopped"
    )


def _check_process(
    learner: Learner, environment: Environment, auditor: Auditor, transcript: Transcript, seed: int
) -> bool:
    from joblib import Parallel, delayed

    # Two tasks, because joblib runs a single one in this very process.
    tasks = [delayed(_probabilities)(learner, environment, auditor, transcript.rounds, seed) for _ in range(2)]
    for shown in Parallel(n_jobs=2, backend="loky")(tasks):
        _expect(np.array_equal(shown, transcript.shown), "the same seed gives the same transcript in another process")
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
    _expect(isinstance(bound, Bound) and 0 <= bound.violations <= T, "a bound has at most as many violations as rounds")
    if learner.T is not None:
        _expect(learner.bound(alpha, learner.T) == learner.bound(alpha), "a bound is for the learner's own horizon")
        try:
            learner.bound(alpha, learner.T + 1)
        except InvalidParameter:
            return True
        _expect(False, "a bound beyond the learner's own horizon is refused")
    return True


def _check_observed_bound(learner: Learner, transcript: Transcript) -> bool:
    limit = learner.observed_bound(transcript.state)
    if limit is None:
        return False
    return _expect(_regret(transcript) <= limit + 1e-9, "the Lagrangian regret is at most the observed bound")


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
    _expect(isinstance(learner.bound_survives_delay, bool), "bound_survives_delay is True or False")
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
    return _expect(limit is not None and regret <= limit + 1e-9, "the observed bound survives delay")


# Auditors ---------------------------------------------------------------------------------------------------


def check_auditor(auditor: Auditor, view: Any, rounds: int = 50, k: int = 5) -> list[str]:
    """Check an auditor on random batches of ``view`` (an array or dataframe of people) with random probabilities.

    One who sees decisions is shown those that a lot makes of the probabilities, and the pairs decided differently.
    """
    rng = np.random.default_rng(SEED)
    _expect(isinstance(auditor.facts(), AuditorFacts), "facts are AuditorFacts")
    if len(view) < k:
        raise InvalidParameter(f"`view` must hold at least k = {k} people, got {len(view)}.")
    reports = 0
    for t in range(1, rounds + 1):
        chosen = rng.choice(len(view), size=k, replace=False)
        people = view.iloc[chosen] if hasattr(view, "iloc") else np.asarray(view)[chosen]
        reports += _check_answer(auditor, Batch(np.empty((k, 0)), np.zeros(k), people), rng.random(k), t)
    _expect(_is_json(asdict(auditor.facts())), "facts are plain JSON values")
    ran = {"levels": reports > 0, "permutation": bool(auditor.facts().exhaustive)}
    return [
        name for name in ("answers", "levels", "repeatable", "inputs", "permutation", "facts") if ran.get(name, True)
    ]


def _check_answer(auditor: Auditor, batch: Batch, p: Any, t: int) -> bool:
    by_decisions = getattr(auditor, "sees", "probabilities") == "decisions"
    shown = (np.random.default_rng([SEED, t]).random() < p).astype(float) if by_decisions else p
    shown_copied, copied = shown.copy(), batch.view.copy()
    answer = _asked_auditor(auditor, batch, shown, t)
    _expect(np.array_equal(shown, shown_copied), "audit leaves the probabilities as they were")
    _expect(np.array_equal(np.asarray(copied), np.asarray(batch.view)), "audit leaves the view as it was")
    _expect(_asked_auditor(auditor, batch, shown, t) == answer, "the same key gives the same answer")
    several = isinstance(answer, tuple) and len(answer) > 0 and all(isinstance(report, Report) for report in answer)
    valid = answer is None or answer is SKIPPED or isinstance(answer, Report) or several
    _expect(valid, "an answer is a Report, a tuple of them, None or SKIPPED")
    for report in reports_of(answer):
        inside = 0 <= report.favoured < len(p) and 0 <= report.disfavoured < len(p)
        _expect(inside, "a report names two people of the batch")
        gap = shown[report.favoured] - shown[report.disfavoured]
        if by_decisions:
            _expect(gap > 0, "a report by decisions names a yes and a no, in this order")
        _expect(gap > auditor.alpha - auditor.margin or report.false, "a reported gap exceeds alpha − margin")
    if auditor.facts().exhaustive:
        order = np.random.default_rng(t).permutation(len(p))
        people = batch.view.iloc[order] if hasattr(batch.view, "iloc") else batch.view[order]
        again = _asked_auditor(auditor, batch._replace(view=people), shown[order], t)
        _expect((again is None) == (answer is None), "whether a pair is reported doesn't depend on the order of people")
    return bool(reports_of(answer))


def _asked_auditor(auditor: Any, batch: Batch, shown: Any, t: int) -> Any:
    """The answer; one who sees decisions is also given the pairs that were decided differently."""
    key = Key(SEED, Role.AUDITOR, t)
    if getattr(auditor, "sees", "probabilities") == "probabilities":
        return auditor.audit(batch, shown, key)
    return auditor.audit(batch, shown, key, np.argwhere(np.subtract.outer(shown, shown) > 0))


# Environments -----------------------------------------------------------------------------------------------


def check_environment(fresh: Callable[[], Environment], F: EnumerableClass, rounds: int = 20) -> list[str]:
    """Check an environment on its first rounds; ``fresh`` makes it, as a stream can be read only once.

    Policies of ``F`` are shown to an environment that sees them.

    >>> import likewise as lw
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> check_environment(lambda: lw.IID(X, y, k=2), lw.Thresholds([[0.5]]))
    ['sizes', 'labels', 'repeatable', 'blind', 'encoded', 'facts']
    """
    batches = _asked(fresh().encoded(F.encode), F, rounds)
    _expect(len(batches) > 0, "an environment has people for at least one round")
    return _passed(
        [
            ("sizes", lambda: _check_sizes(batches, fresh().k)),
            ("labels", lambda: _check_labels(batches)),
            (
                "repeatable",
                lambda: _check_again(batches, _asked(fresh().encoded(F.encode), F, rounds), "the same keys"),
            ),
            ("blind", lambda: _check_blind(fresh, F, batches, rounds)),
            ("encoded", lambda: _check_encoded(fresh, F, rounds)),
            ("facts", lambda: _check_environment_facts(fresh())),
        ]
    )


def _asked(environment: Environment, F: EnumerableClass, rounds: int, hidden: Any = None) -> list[Batch]:
    """The batches of some rounds, with made-up policies and history. A blind environment is given ``hidden``."""
    batches: list[Batch] = []
    previous: Round | None = None
    for t in range(1, rounds + 1):
        rng = np.random.default_rng([SEED, t])
        shown = Mixture(F, F.geometry.gibbs(rng.normal(size=F.geometry.dim), 1.0))
        batch = environment.batch(
            Key(SEED, Role.ENVIRONMENT, t), previous, shown if environment.sees_policy else hidden
        )
        if batch is None:
            break
        batches.append(batch)
        reports = (Report(1, 0),) if t % 3 == 0 and len(batch.y) > 1 else ()
        previous = Round(batch, rng.random(len(batch.y)), reports)
    return batches


def _same_people(a: Batch, b: Batch) -> bool:
    """The same labels and view, whatever the rows."""
    same_labels = np.array_equal(a.y, b.y, equal_nan=True)
    return same_labels and np.asarray(a.view).tolist() == np.asarray(b.view).tolist()


def _check_sizes(batches: list[Batch], k: int | None) -> bool:
    for batch in batches:
        people = len(batch.y)
        _expect(len(batch.rows) == people == len(batch.view), "a batch has a row, a label and a view for each person")
        _expect(people >= 1 and (k is None or people <= k), "a batch holds 1 to k people")
    return True


def _check_labels(batches: list[Batch]) -> bool:
    labels = np.concatenate([batch.y for batch in batches])
    return _expect(np.isin(labels[~np.isnan(labels)], (0.0, 1.0)).all(), "labels are 0, 1 or missing (NaN)")


def _check_again(batches: list[Batch], again: list[Batch], when: str) -> bool:
    same = len(batches) == len(again) and all(
        _same_people(a, b) and np.array_equal(a.rows, b.rows) for a, b in zip(batches, again, strict=True)
    )
    return _expect(same, f"{when} give the same people")


class _Hidden:
    """Takes the place of a policy, and notices any look at it."""

    def __getattr__(self, name: str) -> Any:
        raise CheckFailed(
            f"Broken promise: a blind environment never looks at the policy; this one asked for `{name}`."
        )


def _check_blind(fresh: Callable[[], Environment], F: EnumerableClass, batches: list[Batch], rounds: int) -> bool:
    environment = fresh().encoded(F.encode)
    if environment.sees_policy:
        return False
    return _check_again(batches, _asked(environment, F, rounds, _Hidden()), "a policy that must not matter and none")


def _check_encoded(fresh: Callable[[], Environment], F: EnumerableClass, rounds: int) -> bool:
    """Whether a code for each person is the code of the person who came; a source of ready batches encodes itself."""
    plain, coded = _asked(fresh(), F, rounds), _asked(fresh().encoded(_codes), F, rounds)
    _expect(len(plain) == len(coded), "an encoded environment has as many rounds")
    for a, b in zip(plain, coded, strict=True):
        _expect(_same_people(a, b), "encoding changes neither labels nor view")
        ready = np.array_equal(a.rows, b.rows)
        _expect(
            ready or np.array_equal(_codes(a.rows), b.rows), "an encoded environment gives the same people, encoded"
        )
    return True


def _codes(X: Any) -> Any:
    people = np.asarray(X, dtype=object)
    return np.array([zlib.crc32(repr([_number(v) for v in np.ravel(person)]).encode()) for person in people])


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Real) else str(value)


def _check_environment_facts(environment: Environment) -> bool:
    facts = environment.facts()
    _expect(isinstance(facts, EnvironmentFacts), "facts are EnvironmentFacts")
    independent = not (environment.sees_policy and facts.iid)
    _expect(independent, "an environment that chooses people by the policy does not draw them i.i.d.")
    return _expect(_is_json(asdict(facts)), "facts are plain JSON values")
