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

from likewise.errors import InvalidParameter, NotSupported, require
from likewise.game.averages import Averages
from likewise.game.compiled import CHUNK, CompiledPlay
from likewise.game.recorder import Recorder, play_facts
from likewise.game.rounds import World, world_of
from likewise.game.transcript import Transcript
from likewise.protocol import Auditor, AuditorOfDecisions, Environment, Key, Learner, Role

log = logging.getLogger(__name__)
ENVIRONMENT, LEARNER = Role.ENVIRONMENT, Role.LEARNER  # Python 3.11 is slow to look a member up
Item = TypeVar("Item")


def play(
    learner: Learner,
    environment: Environment,
    auditor: Auditor | AuditorOfDecisions,
    T: int | None = None,
    *,
    seed: int = 0,
    state: Any = None,
    progress: bool | str = False,
    compiled: bool = True,
    lot: str | None = None,
    labels: str | None = None,
    returning: str = "new",
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
    lot
        Draw decisions: ``"round"`` with one number for the whole batch, so that equal people get the same answer and
        two people get different ones with probability exactly their gap; ``"person"`` with a number for each. By
        default nothing is drawn, unless labels or auditor need it; then it is one lot a round.
    labels
        ``"all"``, or ``"accepted"``: the labels of refused people stay hidden from the learner. By default what the
        learner is made for.
    returning
        ``"new"``: every visit is a new person. ``"record"``: people are known by ``batch.person``, and one who returns
        is served from the record, with the first decision, and left out of learning and audits.

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
    earlier = state if isinstance(state, Transcript) else None
    previous = None if earlier is None else earlier.round(earlier.rounds - 1)
    state = _starting_state(learner, state if earlier is None else earlier.state)
    T = _horizon(learner, environment, T, state.rounds)
    seed = _seed(seed)
    world = world_of(auditor, seed, lot, labels, returning, learner)
    _remember(world, earlier, state.rounds)
    tuned, level = getattr(learner, "alpha", None), auditor.alpha - auditor.margin
    if tuned is not None and not (math.isclose(tuned, level) or math.isclose(tuned, auditor.alpha)):
        log.warning("The learner is tuned for alpha = %g, but the auditor reports at %g.", tuned, level)
    if getattr(learner, "least_gap", 0.0) > level * (1 + 1e-9):
        log.warning("The learner keeps only reports of a gap above %g, but the auditor reports at %g.", tuned, level)
    people = environment.encoded(learner.hypotheses.encode)
    record = Recorder(learner.hypotheses, play_facts(learner, environment, world, first=state.rounds + 1))
    fused = CompiledPlay.of(learner, people, world) if compiled else None
    half = (learner.T or state.rounds + T) // 2
    averages = Averages(state.rounds, getattr(people, "first_pass", None), half)
    if fused is not None:
        chunks = _chunks(T, [cut - state.rounds for cut in averages.cuts])
        return fused.play(record, averages, state, T, seed, _shown(chunks, progress))
    estimate = getattr(learner, "estimate", None)
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
        played = world.played(t, batch, policy.on(batch), estimate(state) if estimate else None)
        record.add(played.seen, learner.penalty_at(state), *played[1:])
        averages.include(policy)
        previous = played.seen
        state = learner.update(state, previous)
    return record.transcript(state, averages.all_rounds, averages.first_pass, averages.late)


def _seed(seed: Any) -> int:
    require(isinstance(seed, Integral) and 0 <= int(seed) < 2**64, "seed", "be a whole number in [0, 2^64)", seed)
    return int(seed)


def _remember(world: World, earlier: Transcript | None, played: int) -> None:
    """Fill the record of a play that continues with the people of the earlier rounds, and the memory of its lots."""
    if hasattr(world.auditor, "recall") and earlier is not None and earlier.largest_gaps is not None:
        uncleared = np.flatnonzero(~earlier.cleared & np.isfinite(earlier.largest_gaps))
        world.auditor.recall(zip((earlier.first + uncleared).tolist(), earlier.largest_gaps[uncleared], strict=True))
    if world.record is None or played == 0:
        return
    whole = earlier if earlier is not None and earlier.first == 1 else None
    if whole is None or whole.person is None or whole.decisions is None:
        must = "be the whole transcript of a play with lots, for people to be known again"
        raise InvalidParameter(f"`state` must {must}, got {played!r}.")
    world.record.keep(whole.person, whole.shown, whole.decisions)


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


def _horizon(learner: Learner, environment: Environment, T: Any, played: int) -> int:
    """The number of rounds to play; an error, before the first round, where the parts don't fit."""
    if T is None:
        require(learner.T is not None, "T", "be given, as the learner has no horizon", T)
        T = (learner.T or 0) - played
    require(isinstance(T, Integral) and int(T) >= 1, "T", "be a whole number of rounds, at least 1", T)
    if learner.T is not None and played + T > learner.T:
        raise InvalidParameter(f"`T` must be at most the learner's {learner.T} rounds, got {played} + {T}.")
    if learner.k is not None and environment.k is not None and environment.k > learner.k:
        raise InvalidParameter(f"`k` must be at most the learner's {learner.k} people, got {environment.k}.")
    if learner.needs_blind and environment.sees_policy:
        raise NotSupported(
            f"{type(learner).__name__} must not face an environment that sees its policy: its theorem needs the "
            "batch to be chosen without this round's draws. Use AdaHedge, or a blind environment."
        )
    return int(T)


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
