"""The public conformance suite: what a class, a learner or an auditor promises, checked on yours.

Everything in Likewise is run through these checks in our own tests; run them on what you bring:

>>> import likewise as lw, numpy as np
>>> X = np.random.default_rng(0).normal(size=(60, 2))
>>> F = lw.Thresholds.quantiles(X, cuts=4)
>>> lw.checks.check_hypothesis_class(F, X)
['encode', 'losses', 'probability', 'minimisers', 'constants', 'separator', 'to_dict']

Each check raises ``likewise.errors.CheckFailed`` with one sentence; the names of those passed come back.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.errors import CheckFailed, InvalidParameter
from likewise.facts import AuditorFacts
from likewise.game import Transcript, play
from likewise.hypotheses import Cube, EnumerableClass
from likewise.hypotheses.base import LISTABLE
from likewise.protocol import (
    SKIPPED,
    Auditor,
    Batch,
    Environment,
    Key,
    Learner,
    Report,
    Role,
    Round,
    reports_of,
)

SEED = 20200205


def _expect(holds: Any, promise: str) -> None:
    if not holds:
        raise CheckFailed(f"Broken promise: {promise}.")


def _close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))


def _passed(checks: list[tuple[str, Callable[[], None]]]) -> list[str]:
    for _, check in checks:
        check()
    return [name for name, _ in checks]


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
            ("losses", lambda: _check_losses(F, rows, s, table)),
            ("probability", lambda: _check_probability(F, rows, rng, table)),
            ("minimisers", lambda: _check_minimisers(F, rows, s)),
            ("constants", lambda: _check_constants(F, rows)),
            ("separator", lambda: _check_separator(F)),
            ("to_dict", lambda: _check_json(F)),
        ]
    )


def _check_encode(F: EnumerableClass, X: Any, rows: Any) -> None:
    kept = X.copy() if hasattr(X, "copy") else list(X)
    F.encode(X)
    _expect(np.array_equal(np.asarray(kept), np.asarray(X)), "encode leaves the people as they were")
    _expect(len(rows) == len(X), "encode gives one row per person")
    half = X.iloc[: len(X) // 2] if hasattr(X, "iloc") else X[: len(X) // 2]
    _expect(np.array_equal(F.encode(half), rows[: len(half)]), "encoding some people is part of encoding all")


def _check_losses(F: EnumerableClass, rows: Any, s: Any, table: Any) -> None:
    together = F.losses(rows, s)
    _expect(together.shape == (len(s), F.geometry.dim), "losses of (E, people) weights have shape (E, dim)")
    _expect(_close(together, [F.losses(rows, row) for row in s]), "losses of E weights are E times the losses of one")
    order = np.random.default_rng(SEED).permutation(len(rows))
    _expect(_close(F.losses(rows[order], s[:, order]), together), "losses don't depend on the order of people")
    start = together[0]
    _expect(_close(F.added(start, rows, s[0]), start + F.losses(rows, s[0])), "added is losses plus the round's")
    batch = Batch(rows, (s[0] > 0).astype(float), rows)
    seen = Round(batch, np.full(len(rows), 0.5), (Report(len(rows) - 1, 0),) if len(rows) > 1 else ())
    update = (start, seen, 3.0, (1.0, 2.0), 0.1 / (6.0 + 2.0 * len(rows)))
    _expect(
        _close(F.log_updated(*update), EnumerableClass.log_updated(F, *update)), "log_updated is the paper's update"
    )
    if table is not None:
        listed = s @ table.T
        found = np.array([F.geometry.span(row) for row in together])
        _expect(_close(found, np.c_[listed.min(axis=1), listed.max(axis=1)]), "losses agree with predictions")


def _check_probability(F: EnumerableClass, rows: Any, rng: np.random.Generator, table: Any) -> None:
    losses = rng.normal(size=F.geometry.dim)
    weights = F.geometry.gibbs(losses, 1.0)
    kept = weights.copy()
    p = F.probability(weights, rows)
    _expect(np.array_equal(weights, kept), "probability does not change the weights")
    _expect(p.shape == (len(rows),) and (p >= 0).all() and (p <= 1).all(), "probabilities lie in [0, 1]")
    s = rng.normal(size=len(rows))
    _expect(_close(F.losses(rows, s) @ weights, s @ p), "Σ s π is the weights times the losses")
    twin = EnumerableClass.mix_gap(F, weights, losses, rows, s, p, 1.0)
    _expect(_close(F.mix_gap(weights, losses, rows, s, p, 1.0), twin), "the mix gap is its definition")
    if table is not None and not isinstance(F.geometry, Cube):
        _expect(_close(p, weights @ table), "π is the mixture of predictions")


def _check_minimisers(F: EnumerableClass, rows: Any, s: Any) -> None:
    start = np.random.default_rng(SEED + 1).normal(size=F.geometry.dim)
    found = F.minimisers(start, rows, s)
    for e, row in enumerate(s):
        total = start + F.losses(rows, row)
        weights = F.geometry.mixture(found[e : e + 1])
        _expect(_close(total @ weights, F.geometry.minimum(total)), "a minimiser has the smallest loss")


def _check_constants(F: EnumerableClass, rows: Any) -> None:
    _expect(set(F.constants) <= {0, 1}, "constants is a part of (0, 1)")
    for value in F.constants:
        same = (F.probability(F.constant(value), rows) == value).all()
        _expect(same, f"constant({value}) gives the weights of the constant {value}; a listed class puts it first")


def _check_separator(F: EnumerableClass) -> None:
    if F.separator is None:
        return
    if isinstance(F.geometry, Cube):
        _expect(len(np.unique(F.separator)) == F.geometry.dim, "the separator reaches every cell")
    elif F.size <= LISTABLE // 16:
        table = F.predict_rows(F.separator)
        _expect(len(np.unique(table, axis=0)) == F.size, "any two hypotheses differ on the separator")


def _check_json(F: EnumerableClass) -> None:
    _expect(_is_json(F.to_dict()), "to_dict gives plain JSON values")


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
    whole = play(learner, environment, auditor, T, seed=seed)
    return _passed(
        [
            ("init", lambda: _expect(_same(learner.init(), learner.init()), "init gives the same state again")),
            ("pure", lambda: _check_pure(learner, whole, seed)),
            ("any order", lambda: _check_any_order(learner, whole, seed)),
            ("permutation", lambda: _check_permutation(learner, whole, seed)),
            ("gaps in the feedback", lambda: _check_missing(learner, whole)),
            ("several reports", lambda: _check_several(learner, whole)),
            ("storage", lambda: _check_storage(learner, environment, auditor, whole, seed)),
            ("another process", lambda: _check_process(learner, environment, auditor, whole, seed)),
            ("parameters", lambda: _check_parameters(learner)),
        ]
    )


def _states(learner: Learner, transcript: Transcript) -> list[Any]:
    states = [learner.init()]
    for seen in transcript:
        states.append(learner.update(states[-1], seen))
    return states


def _key(seed: int, i: int) -> Key:
    return Key(seed, Role.LEARNER, i + 1)


def _copied(state: Any) -> dict[str, Any]:
    return {name: np.array(value, copy=True) for name, value in state._asdict().items()}


def _check_pure(learner: Learner, whole: Transcript, seed: int) -> None:
    state = learner.init()
    for i, seen in enumerate(whole):
        before, arrays = _copied(state), [np.array(a, copy=True) for a in (*seen.batch[:2], seen.probabilities)]
        policy = learner.act(state, _key(seed, i))
        _expect(np.array_equal(policy.at(seen.batch.rows), seen.probabilities), "act gives the same policy again")
        after = learner.update(state, seen)
        _expect(_same(learner.update(state, seen), after), "update gives the same state again")
        _expect(_same(before, state), "act and update leave the state as it was")
        unchanged = [
            np.array_equal(a, b, equal_nan=True)
            for a, b in zip(arrays, (*seen.batch[:2], seen.probabilities), strict=True)
        ]
        _expect(all(unchanged), "update leaves the round as it was")
        _expect(after.rounds == state.rounds + 1, "update counts the round")
        state = after
    _expect(_same(state, whole.state), "folding update over the rounds gives the play's last state")


def _check_any_order(learner: Learner, whole: Transcript, seed: int) -> None:
    states = _states(learner, whole)
    for i in reversed(range(whole.rounds)):
        seen = whole.round(i)
        shown = learner.act(states[i], _key(seed, i)).at(seen.batch.rows)
        _expect(np.array_equal(shown, seen.probabilities), "act can be called in any order of rounds")


def _check_permutation(learner: Learner, whole: Transcript, seed: int) -> None:
    state = learner.init()
    rng = np.random.default_rng(SEED)
    for i, seen in enumerate(whole):
        order = rng.permutation(len(seen.probabilities))
        policy = learner.act(state, _key(seed, i))
        _expect(
            _close(policy.at(seen.batch.rows[order]), seen.probabilities[order]), "permuting people permutes the answer"
        )
        place = {int(old): new for new, old in enumerate(order)}
        reports = tuple(
            report._replace(favoured=place[report.favoured], disfavoured=place[report.disfavoured])
            for report in seen.reports
        )
        view = seen.batch.view.iloc[order] if hasattr(seen.batch.view, "iloc") else seen.batch.view[order]
        batch = Batch(seen.batch.rows[order], seen.batch.y[order], view)
        permuted = learner.update(state, Round(batch, seen.probabilities[order], reports, seen.reviewed))
        state = learner.update(state, seen)
        probe = whole.rows
        same = _close(
            learner.act(permuted, _key(seed, i + 1)).at(probe), learner.act(state, _key(seed, i + 1)).at(probe)
        )
        _expect(same, "the order of people in a batch teaches nothing")


def _check_missing(learner: Learner, whole: Transcript) -> None:
    seen = whole.round(0)
    unlabelled = seen.batch._replace(y=np.full(len(seen.batch.y), np.nan))
    state = learner.update(learner.init(), Round(unlabelled, seen.probabilities, reviewed=False))
    p = learner.act(state, _key(SEED, 1)).at(seen.batch.rows)
    _expect(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "a round without labels and audit is harmless")


def _check_several(learner: Learner, whole: Transcript) -> None:
    seen = whole.round(int(whole.sizes.argmax()))
    reports = tuple(Report(i, 0) for i in range(1, min(3, len(seen.probabilities))))
    start, several = learner.init(), seen._replace(reports=reports, reviewed=True)
    state = learner.update(start, several)
    _expect(state.rounds == start.rounds + 1, "several reports in a round are learned as one round")
    turned = learner.update(start, several._replace(reports=reports[::-1]))
    p, q = (learner.act(after, _key(SEED, 1)).at(whole.rows) for after in (state, turned))
    _expect(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "several reports in a round are harmless")
    _expect(_close(p, q), "the order of the reports of a round teaches nothing")


def _check_storage(learner: Learner, environment: Environment, auditor: Auditor, whole: Transcript, seed: int) -> None:
    half = whole.rounds // 2
    state = _states(learner, whole)[half]
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state._asdict().items()}
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        loaded = {name: value.item() if value.ndim == 0 else value for name, value in stored.items()}
    rest = play(learner, environment, auditor, whole.rounds - half, seed=seed, state=loaded)
    _expect(_same(rest.state, whole.state), "a play goes on from a stored state as if it had never stopped")


def _check_process(learner: Learner, environment: Environment, auditor: Auditor, whole: Transcript, seed: int) -> None:
    from joblib import Parallel, delayed

    # Two tasks, because joblib runs a single one in this very process.
    tasks = [delayed(_probabilities)(learner, environment, auditor, whole.rounds, seed) for _ in range(2)]
    for shown in Parallel(n_jobs=2, backend="loky")(tasks):
        _expect(np.array_equal(shown, whole.shown), "the same seed gives the same transcript in another process")


def _probabilities(learner: Learner, environment: Environment, auditor: Auditor, T: int, seed: int) -> Any:
    return play(learner, environment, auditor, T, seed=seed).shown


def _check_parameters(learner: Learner) -> None:
    _expect(_is_json(learner.parameters()), "parameters are plain JSON values")


# Auditors ---------------------------------------------------------------------------------------------------


def check_auditor(auditor: Auditor, view: Any, rounds: int = 50, k: int = 5) -> list[str]:
    """Check an auditor on random batches of ``view`` (an array or dataframe of people) with random probabilities."""
    rng = np.random.default_rng(SEED)
    _expect(isinstance(auditor.facts(), AuditorFacts), "facts are AuditorFacts")
    if len(view) < k:
        raise InvalidParameter(f"`view` must hold at least k = {k} people, got {len(view)}.")
    for t in range(1, rounds + 1):
        chosen = rng.choice(len(view), size=k, replace=False)
        people = view.iloc[chosen] if hasattr(view, "iloc") else np.asarray(view)[chosen]
        _check_answer(auditor, Batch(np.empty((k, 0)), np.zeros(k), people), rng.random(k), t)
    _expect(_is_json(asdict(auditor.facts())), "facts are plain JSON values")
    return ["answers", "levels", "repeatable", "inputs", "permutation", "facts"]


def _check_answer(auditor: Auditor, batch: Batch, p: Any, t: int) -> None:
    key, kept, seen = Key(SEED, Role.AUDITOR, t), p.copy(), batch.view.copy()
    answer = auditor.audit(batch, p, key)
    _expect(np.array_equal(p, kept), "audit leaves the probabilities as they were")
    _expect(np.array_equal(np.asarray(seen), np.asarray(batch.view)), "audit leaves the view as it was")
    _expect(auditor.audit(batch, p, key) == answer, "the same key gives the same answer")
    several = isinstance(answer, tuple) and len(answer) > 0 and all(isinstance(one, Report) for one in answer)
    known = answer is None or answer is SKIPPED or isinstance(answer, Report) or several
    _expect(known, "an answer is a Report, a tuple of them, None or SKIPPED")
    for report in reports_of(answer):
        inside = 0 <= report.favoured < len(p) and 0 <= report.disfavoured < len(p)
        _expect(inside, "a report names two people of the batch")
        gap = p[report.favoured] - p[report.disfavoured]
        _expect(gap > auditor.alpha - auditor.margin or report.false, "a reported gap exceeds alpha − margin")
    if auditor.facts().exhaustive:
        order = np.random.default_rng(t).permutation(len(p))
        people = batch.view.iloc[order] if hasattr(batch.view, "iloc") else batch.view[order]
        again = auditor.audit(batch._replace(view=people), p[order], key)
        _expect((again is None) == (answer is None), "whether a pair is reported doesn't depend on the order of people")
