"""What a class of hypotheses promises: its losses, probabilities and minimisers agree with its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.checks.promises import SEED, close, expect, is_json, passed
from likewise.hypotheses import Cube, EnumerableClass
from likewise.hypotheses.base import LISTABLE


def check_hypothesis_class(F: Any, X: Any) -> list[str]:
    """Check an enumerable class on people ``X`` (a few dozen are enough)."""
    expect(isinstance(F, EnumerableClass), "an enumerable class derives from likewise.EnumerableClass")
    rng = np.random.default_rng(SEED)
    rows = F.encode(X)
    s = rng.normal(size=(3, len(rows)))
    table = F.predict_rows(rows).astype(float) if F.size <= LISTABLE // 16 else None
    return passed(
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
            ("to_dict", lambda: expect(is_json(F.to_dict()), "to_dict gives plain JSON values")),
        ]
    )


def _check_encode(F: EnumerableClass, X: Any, rows: Any) -> bool:
    copied = X.copy() if hasattr(X, "copy") else list(X)
    F.encode(X)
    expect(np.array_equal(np.asarray(copied), np.asarray(X)), "encode leaves the people as they were")
    expect(len(rows) == len(X), "encode gives one row per person")
    half = X.iloc[: len(X) // 2] if hasattr(X, "iloc") else X[: len(X) // 2]
    return expect(np.array_equal(F.encode(half), rows[: len(half)]), "encoding some people is part of encoding all")


def _check_losses(F: EnumerableClass, rows: Any, s: Any) -> bool:
    together = F.losses(rows, s)
    expect(together.shape == (len(s), F.geometry.dim), "losses of (E, people) weights have shape (E, dim)")
    expect(close(together, [F.losses(rows, row) for row in s]), "losses of E weights are E times the losses of one")
    order = np.random.default_rng(SEED).permutation(len(rows))
    expect(close(F.losses(rows[order], s[:, order]), together), "losses don't depend on the order of people")
    start = together[0]
    return expect(close(F.added(start, rows, s[0]), start + F.losses(rows, s[0])), "added is losses plus the round's")


def _check_predictions(F: EnumerableClass, rows: Any, s: Any, table: Any) -> bool:
    """Against every hypothesis, one by one."""
    if table is None:
        return False
    listed, losses = s @ table.T, F.losses(rows, s)
    spans = np.array([F.geometry.span(row) for row in losses])
    expect(close(spans, np.c_[listed.min(axis=1), listed.max(axis=1)]), "losses agree with predictions")
    p = F.probability(F.geometry.gibbs(losses[0], 0.3), rows)
    return expect(close(p, _listed_gibbs(listed[0], 0.3) @ table), "π is the mixture of predictions")


def _listed_gibbs(listed: Any, eta: float) -> Any:
    weights = np.exp(-eta * (listed - listed.min()))
    return weights / weights.sum()


def _check_probability(F: EnumerableClass, rows: Any, rng: np.random.Generator) -> bool:
    weights = F.geometry.gibbs(rng.normal(size=F.geometry.dim), 1.0)
    copied = weights.copy()
    p = F.probability(weights, rows)
    expect(np.array_equal(weights, copied), "probability does not change the weights")
    expect(p.shape == (len(rows),) and (p >= 0).all() and (p <= 1).all(), "probabilities lie in [0, 1]")
    s = rng.normal(size=len(rows))
    return expect(close(F.losses(rows, s) @ weights, s @ p), "Σ s π is the weights times the losses")


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
        expect(close(F.mix_gap(*arguments), twin), "the mix gap is its definition")
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
        expect(close(F.shrunk(start, people, signed, base, rate), twin), "shrunk multiplies by 1 − rate (base + Σ s f)")
    return True


def _check_minimisers(F: EnumerableClass, rows: Any, s: Any) -> bool:
    start = np.random.default_rng(SEED + 1).normal(size=F.geometry.dim)
    leaders = F.minimisers(start, rows, s)
    for e, row in enumerate(s):
        total = start + F.losses(rows, row)
        weights = F.geometry.mixture(leaders[e : e + 1])
        expect(close(total @ weights, F.geometry.minimum(total)), "a minimiser has the smallest loss")
    return True


def _check_contrast(F: EnumerableClass, rows: Any) -> bool:
    """What a class keeps of two people is the difference of their predictions, and nothing else."""
    start, fits = np.random.default_rng(SEED + 2).normal(size=F.geometry.dim), F.no_contrasts
    for i in range(0, len(rows) - 1, 2):
        pair = rows[[i, i + 1]]
        contrast = F.contrast(pair)
        expect(contrast.shape == fits.shape[1:] and contrast.dtype == fits.dtype, "no_contrasts has room for contrasts")
        twin = start + 1.7 * F.losses(pair, np.array([1.0, -1.0]))
        expect(close(F.tilted(start, contrast, 1.7), twin), "tilted adds the contrast of two people")
    return True


def _check_constants(F: EnumerableClass, rows: Any) -> bool:
    expect(set(F.constants) <= {0, 1}, "constants is a subset of (0, 1)")
    for value in F.constants:
        same = (F.probability(F.constant(value), rows) == value).all()
        expect(same, f"constant({value}) gives the weights of the constant {value}; a listed class puts it first")
    return len(F.constants) > 0


def _check_separator(F: EnumerableClass) -> bool:
    if F.separator is None:
        return False
    if isinstance(F.geometry, Cube):
        return expect(len(np.unique(F.separator)) == F.geometry.dim, "the separator reaches every cell")
    if F.size > LISTABLE // 16:
        return False
    table = F.predict_rows(F.separator)
    return expect(len(np.unique(table, axis=0)) == F.size, "any two hypotheses differ on the separator")
