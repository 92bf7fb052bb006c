"""Commands: what somebody asks of a stream. ``decide`` turns each into events, or refuses.

Whatever is random or private about a command (references, salts, thresholds of decisions) was drawn by the engine
before, so that deciding stays a pure function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from likewise.protocol import Floats
from likewise.service.stream.answers import Outcome
from likewise.service.stream.events import Aside
from likewise.service.stream.known import Use
from likewise.service.stream.lots import Lot
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound


@dataclass(frozen=True)
class CreateStream:
    """Begin a stream.

    ``secret`` is a commitment to the secret behind its decisions, ``lot`` one to the nonce of the first round,
    ``scores`` what was fitted to a sample, if anything, and ``review`` a commitment to the nonce of the first review.
    """

    settings: Settings
    by: str
    secret: str
    lot: str | None = None
    scores: dict[str, Any] | None = None
    review: str | None = None


@dataclass(frozen=True)
class RequestDecisions:
    """Ask for decisions. ``people`` are asides with id and features; ``thresholds`` are HMAC(secret, id) in [0, 1).

    ``lot`` is the round's, where it has one for everybody. ``record`` holds what people who come again got the first
    time, probability and decision, where that counts. ``review`` is the next lot of a review.
    """

    people: Sequence[Aside]
    thresholds: Floats
    by: str
    lot: Lot | None = None
    record: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    review: Lot | None = None


@dataclass(frozen=True)
class ReceiveLabels:
    """Labels 0 or 1 by the ids of people. ``past`` is the round as it was, if it is no longer in the state.

    ``learned`` says whether the learner learned from it then.
    """

    t: int
    labels: Mapping[str, int]
    by: str
    past: OpenRound | None = None
    learned: bool = False


@dataclass(frozen=True)
class Audit:
    """An auditor's answer: ``verdict`` "pair" (with the ids of two people), "none" or "skip".

    ``remark`` keeps their reason and note outside the log. If the round is no longer in the state, the command brings
    it, as ``past``, and the probability with which it was drawn if it still counts as found clean. ``hints`` says
    whether they had asked why people got their probabilities, ``seconds`` how long they looked; None if nobody knows.
    """

    t: int
    verdict: str
    by: str
    pair: Sequence[str] = ()
    remark: Aside | None = None
    past: OpenRound | None = None
    clean: float | None = None
    hints: bool | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class JudgePair:
    """An answer about a pair that somebody else named: too different (true), not (false), or a skip (None).

    ``hints`` and ``seconds`` say how it came about, as in ``Audit``. A round that was closed while the pair was in
    dispute is brought as ``past``, with what it counts as.
    """

    t: int
    pair: Sequence[str]
    objects: bool | None
    by: str
    hints: bool | None = None
    seconds: float | None = None
    past: OpenRound | None = None
    counts_as: Outcome | None = None


@dataclass(frozen=True)
class RetractAudit:
    """Take back a verdict before its round is closed: one's own, or with ``anybodys`` another's."""

    t: int
    by: str
    anybodys: bool = False


@dataclass(frozen=True)
class CorrectAudit:
    """Say later what an audit should have been: recorded, never silently unlearned.

    If the round is no longer in the state, the command brings it from the log, as ``past``, with what it counts as
    among the rounds learned, and the probability with which it was drawn if it still counts as found clean.
    """

    t: int
    verdict: str
    by: str
    pair: Sequence[str] = ()
    remark: Aside | None = None
    past: OpenRound | None = None
    counts_as: Outcome | None = None
    clean: float | None = None


@dataclass(frozen=True)
class MarkKnown:
    """Mark a closed round as known, for ``use`` as gold or practice; None if it isn't used any more.

    ``past`` is the round as it was; ``overturned`` says that a correction or a late report spoke against it.
    """

    t: int
    use: Use | None
    by: str
    past: OpenRound | None = None
    overturned: bool = False


@dataclass(frozen=True)
class ShowKnown:
    """Show a gold round to somebody, under the number of a round that waits for nobody."""

    t: int
    number: int
    by: str


@dataclass(frozen=True)
class AnswerKnown:
    """An answer to a known round, as in ``Audit``; ``number`` is the one that the reviewer saw, ``past`` the round."""

    t: int
    number: int
    use: Use
    verdict: str
    by: str
    past: OpenRound
    pair: Sequence[str] = ()
    remark: Aside | None = None
    hints: bool | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class RetractKnown:
    """Take back the answer to a gold round, in time."""

    t: int
    number: int
    by: str


@dataclass(frozen=True)
class Advance:
    """Time has passed for a round: what was due expires, and the round closes if it may."""

    t: int


@dataclass(frozen=True)
class ChangeWaits:
    """Change how long rounds wait, open ones too."""

    changes: Mapping[str, Any]
    by: str


@dataclass(frozen=True)
class ChangePlan:
    """Change which rounds are reviewed, from the next one on."""

    changes: Mapping[str, Any]
    by: str


@dataclass(frozen=True)
class ChangeBrief:
    """Tell reviewers something else from now on; all of it, as a part that is not named is empty."""

    brief: Mapping[str, Any]
    by: str


@dataclass(frozen=True)
class RotateKey:
    """Sign with another key from now on; ``note`` is the old key's word for it."""

    old: str
    new: str
    note: str
    by: str


@dataclass(frozen=True)
class Stop:
    """No more decisions until ``Resume``; the reason is kept outside the log."""

    reason: Aside
    by: str


@dataclass(frozen=True)
class Resume:
    """Decide again."""

    by: str


@dataclass(frozen=True)
class Erase:
    """Erase a person: ``refs`` are all of theirs, in ``rounds``, with the remarks made about those rounds.

    Round 0 is the stream itself: the reasons of its stops.
    """

    refs: Sequence[str]
    rounds: Sequence[int]
    by: str


Command: TypeAlias = (
    CreateStream
    | RequestDecisions
    | ReceiveLabels
    | Audit
    | JudgePair
    | RetractAudit
    | CorrectAudit
    | MarkKnown
    | ShowKnown
    | AnswerKnown
    | RetractKnown
    | Advance
    | ChangeWaits
    | ChangePlan
    | ChangeBrief
    | RotateKey
    | Stop
    | Resume
    | Erase
)
