"""``play`` drives a learner, an environment and an auditor through T rounds and keeps the transcript.

A learner is a fold over rounds, π^t = A(h^{t−1}); this module is the loop around that fold. A blind environment
is asked for its batch *before* the learner acts, one that declares ``sees_policy`` after.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from likewise.errors import InvalidParameter, NotSupported, ReportRefused, require
from likewise.game.averages import Averages
from likewise.game.compiled import CHUNK, CompiledPlay
from likewise.game.recorder import Recorder, play_facts
from likewise.game.transcript import Transcript
from likewise.protocol import SKIPPED, Answer, Auditor, Batch, Environment, Floats, Key, Learner, Report, Role, Round

log = logging.getLogger(__name__)
ENVIRONMENT, LEARNER, AUDITOR = Role  # three names, as Python 3.11 is slow to look a member up
Item = TypeVar("Item")


def play(
    learner: Learner,
    environment: Environment,
    auditor: Auditor,
    T: int | None = None,
    *,
    seed: int = 0,
    state: Any = None,
    progress: bool | str = False,
    compiled: bool = True,
) -> Transcript:
    """Play T rounds.

    Parameters
    ----------
    learner, environment, auditor
        The three roles.
    T
        How many rounds; by default what is left of the learner's own horizon.
    seed
        Determines every random number of the play: the same seed gives the same transcript, in any process.
    state
        Continue an earlier play: its transcript, or only its ``transcript.state`` (then an adversary sees no previous
        round at first).
    progress
        Show a progress bar; a string is its title.
    compiled
        Where every part is plain arrays, play in one compiled loop: the same transcript, faster. False always takes
        the loop below.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> learner = lw.AdaHedge(lw.Thresholds([[0.5]]), k=2, alpha=0.1, T=50)
    >>> t = lw.play(learner, lw.IID(X, y, k=2), lw.MetricAuditor("cityblock", alpha=0.1))
    >>> t.rounds, int(t.violations.sum())
    (50, 0)
    """
    for name, role, verb in (
        ("learner", learner, "update"),
        ("environment", environment, "batch"),
        ("auditor", auditor, "audit"),
    ):
        require(callable(getattr(role, verb, None)), name, f"have a method `{verb}`", type(role).__name__)
    previous = state.round(state.rounds - 1) if isinstance(state, Transcript) else None
    state = _starting_state(learner, state.state if isinstance(state, Transcript) else state)
    T = _horizon(learner, environment, T, state.rounds)
    tuned, level = getattr(learner, "alpha", None), auditor.alpha - auditor.margin
    if tuned is not None and not (math.isclose(tuned, level) or math.isclose(tuned, auditor.alpha)):
        log.warning("The learner is tuned for alpha = %g, but the auditor reports at %g.", tuned, level)
    if getattr(learner, "least_gap", 0.0) > level * (1 + 1e-9):
        log.warning("The learner keeps only reports of a gap above %g, but the auditor reports at %g.", tuned, level)
    require(isinstance(seed, Integral) and 0 <= seed < 2**64, "seed", "be a whole number in [0, 2^64)", seed)
    seed = int(seed)
    people = environment.encoded(learner.hypotheses.encode)
    record = Recorder(learner.hypotheses, play_facts(learner, environment, auditor, seed, first=state.rounds + 1))
    fused = CompiledPlay.of(learner, people, auditor) if compiled else None
    half = (learner.T or state.rounds + T) // 2
    averages = Averages(state.rounds, getattr(people, "first_pass", None), half)
    if fused is not None:
        chunks = _chunks(T, [cut - state.rounds for cut in averages.cuts])
        return fused.play(record, averages, state, T, seed, _shown(chunks, progress))
    for t in _shown(range(state.rounds + 1, state.rounds + T + 1), progress):
        policy = learner.act(state, Key(seed, LEARNER, t)) if people.sees_policy else None
        batch = people.batch(Key(seed, ENVIRONMENT, t), previous, policy)
        if batch is None:
            log.warning("The environment ran out of people after %d of %d rounds.", record.rounds, T)
            break
        if policy is None:
            policy = learner.act(state, Key(seed, LEARNER, t))
        if learner.k is not None and len(batch.y) > learner.k:
            raise InvalidParameter(
                f"`k` must be at most the learner's {learner.k} people, got a batch of {len(batch.y)}."
            )
        probabilities = policy.on(batch)
        answer = auditor.audit(batch, probabilities, Key(seed, AUDITOR, t))
        previous = _round(batch, probabilities, answer, auditor)
        record.add(previous, learner.penalty_at(state))
        averages.include(policy)
        state = learner.update(state, previous)
    return record.transcript(state, averages.all_rounds, averages.first_pass, averages.late)


def _starting_state(learner: Learner, state: Any) -> Any:
    fresh = learner.init()
    if state is None:
        return fresh
    fields = state if isinstance(state, Mapping) else getattr(state, "_asdict", dict)()
    if set(fields) == set(fresh._fields):  # as it comes from a saved transcript
        state = type(fresh)(**fields)
    fits = type(state) is type(fresh) and all(_same_shape(a, b) for a, b in zip(fresh, state, strict=True))
    require(fits, "state", f"be a {type(fresh).__name__} of this learner over this class", type(state).__name__)
    return state


def _same_shape(fresh: Any, stored: Any) -> bool:
    """Whether a part of a state has the shape that this learner gives it; one that starts empty may have grown."""
    expected, actual = np.shape(fresh), np.shape(stored)
    return expected == actual or (len(expected) == len(actual) > 0 and expected[0] == 0 and expected[1:] == actual[1:])


def _horizon(learner: Learner, environment: Environment, T: int | None, played: int) -> int:
    """The number of rounds to play; an error, before the first round, where the parts don't fit."""
    if T is None:
        require(learner.T is not None, "T", "be given, as the learner has no horizon", T)
        T = (learner.T or 0) - played
    require(isinstance(T, Integral) and T >= 1, "T", "be a whole number of rounds, at least 1", T)
    if learner.T is not None and played + T > learner.T:
        raise InvalidParameter(f"`T` must be at most the learner's {learner.T} rounds, got {played} + {T}.")
    if learner.k is not None and environment.k is not None and environment.k > learner.k:
        raise InvalidParameter(f"`k` must be at most the learner's {learner.k} people, got {environment.k}.")
    if learner.needs_blind and environment.sees_policy:
        raise NotSupported(
            f"{type(learner).__name__} must not face an environment that sees its policy: its theorem needs the "
            "batch to be chosen without this round's draws. Use AdaHedge, or a blind environment."
        )
    return T


def _round(batch: Batch, probabilities: Floats, answer: Answer, auditor: Auditor) -> Round:
    """The round as it was seen; reports that can't be true are refused."""
    if answer is SKIPPED:
        return Round(batch, probabilities, reviewed=False)
    if answer is None:
        return Round(batch, probabilities)
    reports = (answer,) if isinstance(answer, Report) else _distinct(answer)
    for report in reports:
        _require_possible(report, probabilities, auditor)
    return Round(batch, probabilities, reports)


def _distinct(answer: Any) -> tuple[Report, ...]:
    """The reports of an answer with several."""
    several = isinstance(answer, tuple) and len(answer) > 0 and all(isinstance(report, Report) for report in answer)
    if not several:
        raise ReportRefused(f"An answer must be a report, a tuple of reports, None or SKIPPED, got {answer!r}.")
    if len({frozenset(report[:2]) for report in answer}) < len(answer):
        raise ReportRefused(f"The reports of a round must name different pairs, got {[r[:2] for r in answer]}.")
    return tuple(answer)


def _require_possible(report: Report, probabilities: Floats, auditor: Auditor) -> None:
    k, level = len(probabilities), auditor.alpha - auditor.margin
    favoured, disfavoured = report.favoured, report.disfavoured
    if not (0 <= favoured < k and 0 <= disfavoured < k):
        raise ReportRefused(f"A report must name two of {k} people, got {favoured} and {disfavoured}.")
    gap = probabilities[favoured] - probabilities[disfavoured]
    if gap <= level and not (report.false and getattr(auditor, "marks_false", False)):
        raise ReportRefused(
            f"A reported gap must exceed α − margin = {level:g} to be a violation, got {gap:g} "
            f"for people {favoured} and {disfavoured} (favoured first)."
        )


def _chunks(T: int, cuts: Sequence[int] = ()) -> list[range]:
    """T rounds in parts; a new one begins after each of ``cuts``."""
    starts = sorted({*range(0, T, CHUNK), *(cut for cut in cuts if cut < T)})
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], T], strict=True)]


def _shown(items: Sequence[Item], progress: bool | str) -> Iterable[Item]:
    """The items, with a progress bar if one is wanted."""
    if not progress:
        return items
    from rich.progress import track

    return track(items, description=progress if isinstance(progress, str) else "Playing", update_period=0.2)
