"""The stream itself: created, its waits changed, stopped and resumed; the learner written down, and people erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from likewise.service.canonical import digest
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.events.event import TUPLE, Event, kind
from likewise.service.stream.events.rounds import TOLERANCE
from likewise.service.stream.learner import Model, score_program
from likewise.service.stream.memory import Memory
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State


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
class Stopped(Event):
    """No more decisions, until the stream is resumed."""

    kind: ClassVar[str] = "stopped"
    reason: str
    by: str

    def evolve(self, state: State) -> State:
        """It is stopped."""
        return replace(state, stopped=self.reason)

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
        return replace(state, stopped=None)

    def objection(self, state: State, memory: Memory) -> str:
        """Only a stream that is stopped can be resumed."""
        return "resumes a stream that is not stopped" if state.stopped is None else ""


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerCheckpointed(Event):
    """The learner was written down before people were erased, so that the log can be read on without them.

    Attributes
    ----------
    version
        Of its policy.
    learner
        Its state, with the reports that it keeps frozen: a row of the log could not be erased.
    average
        Σ of the weights deployed so far.
    """

    kind: ClassVar[str] = "learner_checkpointed"
    version: int
    learner: dict[str, Any]
    average: list[float]

    @property
    def announces(self) -> tuple[str, int | None]:
        """That somebody is erased."""
        return PersonErased.kind, None

    def evolve(self, state: State) -> State:
        """The learner is what was written down."""
        model = state.stream
        learner = model.load(self.learner)
        average = np.array(self.average, dtype=float)
        return replace(state, learner=learner, policy=model.deploy(learner), average=average)

    def objection(self, state: State, memory: Memory) -> str:
        """It must be the learner that was reached, if that is known."""
        learned, written = state.totals.learned, state.stream.load(self.learner)
        if self.version != learned:
            return f"should have version {learned}, not {self.version}"
        if written.rounds != self.version:
            return f"holds a learner of version {written.rounds}, not {self.version}"
        if state.learner is None:
            return ""  # what it knew rested on people who were erased since
        reached = state.stream.without_pairs(state.learner)
        if not all(_close(a, b) for a, b in zip(written, reached, strict=True)):
            return "holds a learner's state that does not follow from the log"
        if state.average is not None and not _close(self.average, state.average):
            return "holds an average policy that does not follow from the log"
        return ""


def _close(written: Any, reached: Any) -> bool:
    same_shape = np.shape(written) == np.shape(reached)
    return same_shape and bool(np.allclose(written, reached, rtol=TOLERANCE, atol=TOLERANCE))


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonErased(Event):
    """Everything about a person went, and every remark about their rounds: only references stay."""

    kind: ClassVar[str] = "person_erased"
    alone: ClassVar[bool] = False
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
        return state.counted(erased=1)


def _without(round_: OpenRound, gone: set[str], model: Model) -> OpenRound:
    erased = frozenset(i for i, ref in enumerate(round_.refs) if ref in gone)
    rows = round_.rows.copy()
    rows[list(erased)] = model.neutral(len(erased))
    ids = tuple(None if i in erased else id for i, id in enumerate(round_.ids))
    return replace(round_, rows=rows, ids=ids, erased=round_.erased | erased, lost=round_.lost - erased)
