"""The stream itself: created, its waits changed, stopped and resumed; the learner written down, and people erased."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.service.canonical import digest
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.events.event import IN_MEMORY, PAIRS, REMARK, TUPLE, Event, Promise, kind
from likewise.service.stream.events.rounds import SLACK, TOLERANCE
from likewise.service.stream.learner import Model, score_program
from likewise.service.stream.learner_checkpoint import (
    ROWS_LAST,
    KeptPair,
    LastCheckpoint,
    kept_rows,
    packed,
    pairs_of,
    read,
    to_freeze,
    unpacked,
    written,
)
from likewise.service.stream.memory import Memory
from likewise.service.stream.replacing import replace
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import CLOCK, OpenRound, State

DAY = 86_400.0
"""Seconds."""
REASON_ERASED = "the reason was erased"
"""Why a stream is stopped, once nobody may know."""

__all__ = [
    "KeyRotated",
    "LearnerCheckpointed",
    "PersonErased",
    "Resumed",
    "SettingsChanged",
    "Stopped",
    "StreamCreated",
]


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCreated(Event):
    """A stream began.

    Attributes
    ----------
    settings
        Resolved: every cut is a number.
    learner_version
        Of the learners when it was created: a stream keeps the one that it began with.
    secret
        A commitment to the secret behind its decisions.
    lot
        A commitment to the nonce of the first round, where a round has one lot.
    review
        A commitment to the nonce of the first lot that is drawn for a review.
    scores
        Plain numbers from which the scores of people follow, if the class was fitted to a sample; the settings hold
        their hash. Nothing of this can be erased, so it must not hold anybody's row.
    """

    kind: ClassVar[str] = "stream_created"
    why_missing: ClassVar[Mapping[str, str]] = {
        "learner_version": "The event that created this stream does not say which version of the learner it began "
        "with, so this release can't go on with it: use the one that wrote its log."
    }
    settings: dict[str, Any]
    learner_version: int
    secret: str
    by: str
    lot: str | None = None
    scores: dict[str, Any] | None = None
    review: str | None = None
    may_lack: ClassVar[tuple[str, ...]] = ("lot", "scores", "review")

    def evolve(self, state: State) -> State:
        """The class and the learner are there, and have learned nothing."""
        settings = Settings.from_dict(self.settings)
        model = Model(settings, self.learner_version, score_program(settings, self.scores))
        learner = model.learner.init()
        average = np.zeros(model.hypotheses.geometry.dim)
        policy = model.deploy(learner)
        drawing = Drawing(next=self.review)
        return replace(
            state, model=model, learner=learner, policy=policy, average=average, lot=self.lot, drawing=drawing
        )  # fmt: skip

    def objection(self, state: State, memory: Memory) -> str:
        """The scores must be those whose hash the settings hold, and the first lot be committed to if there is one."""
        if (self.lot is not None) != (self.settings.get("lot") == "round"):
            return "commits to a nonce, or does not, against its settings"
        if self.review is None and Settings.from_dict(self.settings).review.by_lot:
            return "plans lots of reviews without a nonce"
        held = None if self.scores is None else digest(self.scores)
        return "" if held == self.settings.get("scores") else "holds scores that don't match the hash in its settings"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChanged(Event):
    """The waits named here are different from now on."""

    kind: ClassVar[str] = "settings_changed"
    changes: dict[str, Any]
    by: str

    def evolve(self, state: State) -> State:
        """The same stream with other waits."""
        model = state.stream
        return replace(state, model=Model(model.settings.with_waits(self.changes), model.version, model.program))


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotated(Event):
    """The service signs with another key from now on, this event included.

    Attributes
    ----------
    old, new
        Both public keys.
    note
        The old key's word for the new one: a signed note.
    """

    kind: ClassVar[str] = "key_rotated"
    old: str
    new: str
    note: str
    by: str

    def evolve(self, state: State) -> State:
        """Whoever has another key must not go on."""
        return replace(state, key=self.new)

    def objection(self, state: State, memory: Memory) -> str:
        """The key is changed by the one who had it; who signed that is for the checker of signatures."""
        return "" if state.key in (None, self.old) else "changes a key that was changed before"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Event):
    """No more decisions, until the stream is resumed.

    Attributes
    ----------
    remark
        A promise of the reason, which can be erased.
    reason
        The reason itself, in logs of earlier releases.
    """

    kind: ClassVar[str] = "stopped"
    may_lack: ClassVar[tuple[str, ...]] = ("reason", "remark")
    by: str
    remark: Promise | None = field(default=None, metadata=REMARK)
    reason: str | None = None

    @property
    def refs(self) -> list[str]:
        """The reference of the reason."""
        return [] if self.remark is None else [self.remark.ref]

    @property
    def promised(self) -> Mapping[str, str]:
        """The commitment to the reason."""
        return {} if self.remark is None else {self.remark.ref: self.remark.commitment}

    def evolve(self, state: State) -> State:
        """It is stopped."""
        reason = self.asides[0].content["reason"] if self.asides else self.reason
        ref = None if self.remark is None else self.remark.ref
        return replace(state, stopped=reason or REASON_ERASED, stop_ref=ref)

    def objection(self, state: State, memory: Memory) -> str:
        """Only a stream that runs can be stopped."""
        return "" if state.stopped is None else "stops a stream that is already stopped"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(Event):
    """Decisions again."""

    kind: ClassVar[str] = "resumed"
    by: str

    def evolve(self, state: State) -> State:
        """It runs."""
        return replace(state, stopped=None, stop_ref=None)

    def objection(self, state: State, memory: Memory) -> str:
        """Only a stream that is stopped can be resumed."""
        return "resumes a stream that is not stopped" if state.stopped is None else ""


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerCheckpointed(Event):
    """The learner was written down, so that the log can be read on from here without people who are gone.

    That happens every so many rounds, and before somebody is erased whom the learner has met since.

    Attributes
    ----------
    version
        Of its policy.
    learner, average
        Its state, and Σ of the weights deployed so far, packed (``likewise.service.stream.learner_checkpoint``).
    pairs
        The references of the two people of each report that it keeps. Old reports are frozen first, and so are those
        about whoever is erased next: a row of the log could not be erased.
    erasing
        Whether the next event erases somebody.
    state
        The learner itself, where whoever made the event knows it.
    """

    kind: ClassVar[str] = "learner_checkpointed"
    names: ClassVar[Literal["person", "remark"]] = "person"
    version: int
    learner: dict[str, Any]
    average: str
    pairs: tuple[tuple[str, str], ...] = field(metadata=PAIRS)
    erasing: bool
    state: Any = field(default=None, compare=False, metadata=IN_MEMORY)

    @classmethod
    def of(cls, state: State, at: str, gone: Collection[str] = ()) -> LearnerCheckpointed:
        """The learner of a live stream, before those under the references ``gone`` are erased, if there are any."""
        learner = state.learner
        pairs: list[tuple[str, str]] = []
        if state.stream.keeps_reports:
            about = pairs_of(learner, state.pairs)
            frozen = to_freeze(learner, about, gone)
            learner = state.stream.frozen(learner, frozen)
            pairs = [row[0].refs for row, out in zip(about, frozen.tolist(), strict=True) if not out]
        average = np.empty(0) if state.average is None else state.average
        return cls(
            at=at,
            version=int(learner.rounds),
            learner=written(state.stream, learner),
            average=packed(average),
            pairs=tuple(pairs),
            erasing=bool(gone),
            state=learner,
        )

    @property
    def refs(self) -> list[str]:
        """The people whom kept reports are about, to whom their rounds committed."""
        return [ref for pair in self.pairs for ref in pair]

    @property
    def announces(self) -> tuple[str, int | None] | None:
        """That somebody is erased, if that is why."""
        return (PersonErased.kind, None) if self.erasing else None

    def evolve(self, state: State) -> State:
        """The learner is what was written down; it stays unknown if a report that it keeps is about somebody erased."""
        since = next(iter(state.rounds), state.opened + 1)
        state = replace(state, checkpoint=LastCheckpoint(self.version, len(self.text), since), pairs=())
        model, learner = state.stream, self._read(state)
        if learner is None:
            return replace(state, learner=None, policy=None)
        pairs: tuple[KeptPair, ...] = ()
        if self.pairs:
            pairs = tuple(KeptPair(*row, refs) for row, refs in zip(kept_rows(learner), self.pairs, strict=True))
        average = unpacked(self.average, np.empty(0))
        return replace(state, learner=learner, policy=model.deploy(learner), average=average, pairs=pairs)

    def _read(self, state: State) -> Any:
        """The learner, as long as the people of all its reports are there; None otherwise."""
        if self.state is not None:
            return self.state
        features = {aside.ref: aside.content["features"] for aside in self.asides}
        if not all(ref in features for ref in self.refs):
            return None
        model = state.stream
        person = model.settings.person
        rows = [model.encode([person(features[ref]) for ref in pair]) for pair in self.pairs]
        ids = {aside.ref: aside.person for aside in self.asides}
        return read(model, self.learner, rows, [[ids[ref] for ref in pair] for pair in self.pairs])

    def objection(self, state: State, memory: Memory) -> str:
        """It must be the learner that was reached, if that is known."""
        learned = state.totals.learned
        if self.version != learned:
            return f"should have version {learned}, not {self.version}"
        if state.learner is None:
            holds = int(self.learner.get("rounds", -1))  # what it knew rested on people who were erased since
            return "" if holds == self.version else f"holds a learner of version {holds}, not {self.version}"
        written_down = self._read(state)
        if written_down is None:
            return "keeps reports about people who are not shown"
        memory.known = {"state": written_down}
        reached = state.learner
        if state.stream.keeps_reports:
            frozen = _frozen(reached, written_down)
            if not self.erasing and (reached.made[frozen] > reached.rounds - ROWS_LAST).any():
                return "freezes a report that is not old"
            reached = state.stream.frozen(reached, frozen)
        if not all(_close(a, b) for a, b in zip(written_down, reached, strict=True)):
            return "holds a learner's state that does not follow from the log"
        if state.average is not None and not _close(unpacked(self.average, np.empty(0)), state.average):
            return "holds an average policy that does not follow from the log"
        return ""


def _frozen(reached: Any, kept: Any) -> NDArray[np.bool_]:
    """Which rows of one learner's state another one doesn't have any more."""
    left, frozen = kept_rows(kept), np.ones(len(reached.made), dtype=bool)
    for j, row in enumerate(kept_rows(reached)):
        if left and left[0] == row:
            frozen[j] = False
            left.pop(0)
    return frozen


def _close(written: Any, reached: Any) -> bool:
    if np.array_equal(written, reached):  # on the machine that wrote it
        return True
    same_shape = np.shape(written) == np.shape(reached)
    return same_shape and bool(np.allclose(written, reached, rtol=TOLERANCE, atol=TOLERANCE))


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonErased(Event):
    """Everything about a person went, and every remark about their rounds: only references stay.

    By the clock, it is everybody in some rounds who was kept for as long as the stream's waits say. Of round 0, which
    stands for the stream itself, it is the reasons of its stops.
    """

    kind: ClassVar[str] = "person_erased"
    erased: tuple[str, ...] = field(metadata=TUPLE)
    rounds: tuple[int, ...] = field(metadata=TUPLE)
    by: str

    @property
    def touches(self) -> Sequence[int]:
        """The rounds that the person was in."""
        return self.rounds

    def evolve(self, state: State) -> State:
        """Open rounds go on without them."""
        gone = set(self.erased)
        for t in self.rounds:
            round_ = state.rounds.get(t)
            if round_ is not None:
                state = state.with_round(_without(round_, gone, state.stream))
        if state.stop_ref in gone:
            state = replace(state, stopped=REASON_ERASED, stop_ref=None)
        # Whoever is shown a round without them can't be held against what was known of it.
        left = tuple(each for each in state.disputes if each.t not in self.rounds)
        return replace(state.counted(erased=1), known=state.known.erased(self.rounds), disputes=left)

    def objection(self, state: State, memory: Memory) -> str:
        """The learner was written down first, if it has met them since it was written down the last time."""
        if self.by == CLOCK and not self._kept_long_enough(state, memory):
            return "erases people whom the stream was to keep for longer"
        memory.erase(self.erased, self.rounds)
        unknown = not memory.expected and state.needs_checkpoint(self.erased, self.rounds)
        return "erases somebody whom the learner has met since it was written down" if unknown else ""

    def _kept_long_enough(self, state: State, memory: Memory) -> bool:
        """Whether all rounds are closed, and were opened as long ago as the stream keeps people."""
        keep, past = state.waits.keep, [memory.rounds.get(t) for t in self.rounds]
        if keep is None:
            return False
        before = self.time - keep * DAY + SLACK
        return all(round_ is not None and round_.opened_at <= before for round_ in past)


def _without(round_: OpenRound, gone: set[str], model: Model) -> OpenRound:
    erased = frozenset(i for i, ref in enumerate(round_.refs) if ref in gone)
    rows = round_.rows.copy()
    rows[list(erased)] = model.neutral(len(erased))
    ids = tuple(None if i in erased else id for i, id in enumerate(round_.ids))
    return replace(round_, rows=rows, ids=ids, erased=round_.erased | erased, lost=round_.lost - erased)
