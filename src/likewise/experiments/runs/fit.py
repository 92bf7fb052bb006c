"""From a dataframe to a policy in one call: what ``likewise play`` does with a file, in memory."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from likewise.auditors import AskAuditor
from likewise.datasets import SHARES, Dataset
from likewise.datasets.doctor import Finding, examined
from likewise.errors import require, require_whole
from likewise.experiments.runs.deployed import deployed
from likewise.experiments.runs.finished_run import FinishedRun
from likewise.experiments.runs.outputs import finished_policy
from likewise.experiments.runs.population import FRAME, of_frame, scorers_of
from likewise.experiments.runs.run import played_in_memory
from likewise.experiments.runs.settings import CLASSES, ROUNDS, Settings, rounds_in_a_part
from likewise.experiments.runs.setup import Setup, assemble
from likewise.protocol import Auditor, Floats

log = logging.getLogger(__name__)


def fit(
    frame: Any,
    *,
    label: str | None = None,
    compare_by: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    positive: Any = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    units: Mapping[str, float] | None = None,
    ids: str | None = None,
    today: str | None = None,
    models: Mapping[str, Any] | None = None,
    distance: Callable[[Floats], Floats] | None = None,
    auditor: Auditor | None = None,
    alpha: float = 0.1,
    rounds: int = ROUNDS,
    k: int = 6,
    split: Sequence[float] = SHARES,
    hypotheses: str = "suggested",
    cuts: int | None = None,
    small: bool = False,
    anchors: str = "people",
    learner: str = "adahedge",
    costs: tuple[float, float] = (1.0, 1.0),
    labels: str = "all",
    seed: int = 0,
    delta: float = 0.05,
) -> FinishedRun:
    """Learn to decide about the people of a dataframe, from a reviewer who points at unfair pairs.

    People are split in three: a class of hypotheses is made for the first part, a learner plays with the second, and
    on the third, who took no part in anything, the policy to deploy is chosen and measured. The numbers are those of
    ``likewise play`` on the same people.

    Parameters
    ----------
    frame
        A pandas or polars dataframe, a pyarrow table, or a ``Dataset``, which has the next nine parameters already.
    label, compare_by, sensitive, positive, drop, categories, units, ids, today, distance
        As ``likewise.datasets.from_frame`` takes them: the column of the right answer, the columns that may justify a
        difference, those that must not, and so on.
    models
        Fitted models and rules as columns, by the names to give these: ``{"risk": pipeline}``. Each takes the columns
        that it was fitted with (``feature_names_in_``), or all but label, id and today's decision. They must have been
        fitted on other people. Nobody can see from here that they were not, and then nothing that is claimed about
        new people holds. The run keeps them, and scores new people itself.
    auditor
        Who points at pairs; by default a simulated one who knows the distance. ``AskAuditor`` is shown the columns to
        compare by as they are written, any other auditor as numbers. Their own measure is not known, so nothing is
        claimed about unfair pairs, and those of the scoreboard are by the distance.
    alpha
        How much more than their distance the probabilities of two people may differ.
    rounds, k
        How many rounds are played, of how many people each.
    split
        Shares of the people, in percent: to fit on, to play with, to hold out.
    hypotheses, cuts
        The class: "suggested", "thresholds", "cells" or "models", and cut-offs per score or column.
    small, anchors
        Of a suggested class, as ``likewise.classes.suggest_scores`` takes them: ``anchors="centres"`` for people whose
        columns to compare by may not be kept with the class.
    learner, costs, labels
        Who learns, what a false positive and a false negative cost, and whether labels are seen of "all" people or of
        "accepted" ones only.
    seed, delta
        Determines every random number; and one minus the confidence of what is claimed about new people.

    Examples
    --------
    >>> import likewise as lw
    >>> people = lw.datasets.synthetic(600)
    >>> frame = people.people.assign(good=people.y.astype(int))
    >>> run = lw.fit(frame, label="good", compare_by=["skill"], rounds=50, hypotheses="thresholds")
    >>> run.transcript.rounds, run.predict_proba(frame[:3]).shape, run.scoreboard.people
    (50, (3, 2), 300)
    """
    require(isinstance(frame, Dataset) or label is not None, "label", "name the column of the right answer", label)
    require_whole(rounds, "rounds")  # the run calls these two T and class
    require(hypotheses in CLASSES, "hypotheses", f"be one of {CLASSES}", hypotheses)
    settings = Settings(
        source=FRAME, label=label, positive=None if positive is None else str(positive), compare_by=_names(compare_by),
        sensitive=tuple(sensitive), drop=tuple(drop), categories=tuple(categories), units=dict(units or {}), id=ids,
        today=today, split=tuple(split), hypotheses=hypotheses, cuts=cuts, small=small, anchors=anchors,
        learner=learner, costs=costs, labels=labels, alpha=alpha, k=k, T=rounds, seed=seed, delta=delta,
        part=rounds_in_a_part(learner, rounds), ask=isinstance(auditor, AskAuditor),
    )  # fmt: skip
    ready = isinstance(frame, Dataset)
    require(not (ready and models), "models", "be left out with a Dataset: add their scores to its people", "some")
    scorers = scorers_of(models, frame, settings) if models else None
    frame = frame if scorers is None else scorers.added(frame)
    data = frame if ready else of_frame(frame, settings, name="Your data", distance=distance)
    setup, findings = assemble(settings, data), () if ready else _looked_at(frame, settings)
    setup = dataclasses.replace(setup, scorers=scorers)
    if auditor is None:
        return finished(setup, setup.simulated(), findings)
    return finished(dataclasses.replace(setup, somebody=True), auditor, findings)


def finished(setup: Setup, auditor: Auditor, findings: tuple[Finding, ...] = ()) -> FinishedRun:
    """Play a run in memory, and choose what to deploy."""
    transcript = played_in_memory(setup, auditor)
    outcome = deployed(setup, transcript)
    return FinishedRun(
        settings=setup.settings,
        transcript=transcript,
        policy=finished_policy(outcome, transcript, setup),
        hypotheses=setup.built.deployed,
        headline=outcome.headline,
        choice=outcome.choice,
        scoreboard=outcome.scoreboard,
        groups=outcome.groups,
        findings=findings,
        setup=setup,
        outcome=outcome,
    )


def _looked_at(frame: Any, s: Settings) -> tuple[Finding, ...]:
    """What there is to say about the dataframe; a column that gives the label away is said aloud."""
    roles = ("label", "positive", "compare_by", "sensitive", "drop", "categories", "today")
    findings = examined(frame, ids=s.id, **{role: getattr(s, role) for role in roles})
    for finding in findings:
        if finding.kind == "leak":
            mend = f" (drop={list(finding.values)})" if finding.option == "--drop" else ""
            log.warning(
                "%s Leave it out if it is known only after the decision%s.", _in_our_words(finding.sentence), mend
            )
    return tuple(findings)


def _in_our_words(sentence: str) -> str:
    """A sentence of the command with the names of parameters in the place of its options."""
    return re.sub("--[a-z-]+", lambda option: option[0][2:].replace("-", "_"), sentence)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)
