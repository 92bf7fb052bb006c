"""Events: facts of a stream, in the past tense, as they were. The log of them is the only truth.

One class for each kind, which says what stands in the log, what it does to the state, what it adds to the view of a
round, and when it may follow: ``lifecycle`` (of the stream), ``rounds``, ``labels``, ``reviews`` (who looks),
``audits``, ``known`` (rounds with a known answer). What they share, and the table of kinds, stands in ``event``.
"""

from likewise.service.stream.events.audits import AuditCorrected, Audited, AuditRetracted, PairJudged, VerdictLate
from likewise.service.stream.events.event import KINDS, Aside, Event, Promise, read_event, seconds, stamp
from likewise.service.stream.events.known import KnownAnswered, KnownMarked, KnownRetracted, KnownShown
from likewise.service.stream.events.labels import LabelsBooked, LabelsExpired, LabelsLate, LabelsReceived
from likewise.service.stream.events.lifecycle import (
    KeyRotated,
    LearnerCheckpointed,
    PersonErased,
    Resumed,
    SettingsChanged,
    Stopped,
    StreamCreated,
)
from likewise.service.stream.events.reviews import BriefChanged, ClearedByArithmetic, PlanChanged, ReviewDrawn
from likewise.service.stream.events.rounds import Decided, Learned, RoundClosed, RoundOpened

__all__ = [
    "KINDS",
    "Aside",
    "AuditCorrected",
    "AuditRetracted",
    "Audited",
    "BriefChanged",
    "ClearedByArithmetic",
    "Decided",
    "Event",
    "KeyRotated",
    "KnownAnswered",
    "KnownMarked",
    "KnownRetracted",
    "KnownShown",
    "LabelsBooked",
    "LabelsExpired",
    "LabelsLate",
    "LabelsReceived",
    "Learned",
    "LearnerCheckpointed",
    "PairJudged",
    "PersonErased",
    "PlanChanged",
    "Promise",
    "Resumed",
    "ReviewDrawn",
    "RoundClosed",
    "RoundOpened",
    "SettingsChanged",
    "Stopped",
    "StreamCreated",
    "VerdictLate",
    "read_event",
    "seconds",
    "stamp",
]
