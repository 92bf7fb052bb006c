"""What an auditor promises: valid reports of pairs beyond the level, the same ones whenever asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.checks.promises import SEED, expect, is_json
from likewise.errors import InvalidParameter
from likewise.facts import AuditorFacts
from likewise.protocol import SKIPPED, Auditor, Batch, Key, Report, Role, reports_of


def check_auditor(auditor: Auditor, view: Any, rounds: int = 50, k: int = 5) -> list[str]:
    """Check an auditor on random batches of ``view`` (an array or dataframe of people) with random probabilities.

    One who sees decisions is shown those that a lot makes of the probabilities, and the pairs decided differently.
    """
    rng = np.random.default_rng(SEED)
    expect(isinstance(auditor.facts(), AuditorFacts), "facts are AuditorFacts")
    if len(view) < k:
        raise InvalidParameter(f"`view` must hold at least k = {k} people, got {len(view)}.")
    reports = 0
    for t in range(1, rounds + 1):
        chosen = rng.choice(len(view), size=k, replace=False)
        people = view.iloc[chosen] if hasattr(view, "iloc") else np.asarray(view)[chosen]
        reports += _check_answer(auditor, Batch(np.empty((k, 0)), np.zeros(k), people), rng.random(k), t)
    expect(is_json(asdict(auditor.facts())), "facts are plain JSON values")
    ran = {"levels": reports > 0, "permutation": bool(auditor.facts().exhaustive)}
    return [
        name for name in ("answers", "levels", "repeatable", "inputs", "permutation", "facts") if ran.get(name, True)
    ]


def _check_answer(auditor: Auditor, batch: Batch, p: Any, t: int) -> bool:
    by_decisions = getattr(auditor, "sees", "probabilities") == "decisions"
    shown = (np.random.default_rng([SEED, t]).random() < p).astype(float) if by_decisions else p
    shown_copied, copied = shown.copy(), batch.view.copy()
    answer = _asked_auditor(auditor, batch, shown, t)
    expect(np.array_equal(shown, shown_copied), "audit leaves the probabilities as they were")
    expect(np.array_equal(np.asarray(copied), np.asarray(batch.view)), "audit leaves the view as it was")
    expect(_asked_auditor(auditor, batch, shown, t) == answer, "the same key gives the same answer")
    several = isinstance(answer, tuple) and len(answer) > 0 and all(isinstance(report, Report) for report in answer)
    valid = answer is None or answer is SKIPPED or isinstance(answer, Report) or several
    expect(valid, "an answer is a Report, a tuple of them, None or SKIPPED")
    for report in reports_of(answer):
        inside = 0 <= report.favoured < len(p) and 0 <= report.disfavoured < len(p)
        expect(inside, "a report names two people of the batch")
        gap = shown[report.favoured] - shown[report.disfavoured]
        if by_decisions:
            expect(gap > 0, "a report by decisions names a yes and a no, in this order")
        expect(gap > auditor.alpha - auditor.margin or report.false, "a reported gap exceeds alpha − margin")
    if auditor.facts().exhaustive:
        order = np.random.default_rng(t).permutation(len(p))
        people = batch.view.iloc[order] if hasattr(batch.view, "iloc") else batch.view[order]
        again = _asked_auditor(auditor, batch._replace(view=people), shown[order], t)
        expect((again is None) == (answer is None), "whether a pair is reported doesn't depend on the order of people")
    return bool(reports_of(answer))


def _asked_auditor(auditor: Any, batch: Batch, shown: Any, t: int) -> Any:
    """The answer; one who sees decisions is also given the pairs that were decided differently."""
    key = Key(SEED, Role.AUDITOR, t)
    if getattr(auditor, "sees", "probabilities") == "probabilities":
        return auditor.audit(batch, shown, key)
    return auditor.audit(batch, shown, key, np.argwhere(np.subtract.outer(shown, shown) > 0))
