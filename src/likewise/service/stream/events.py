"""Events: facts of a stream, in the past tense, as they were. The log of them is the only truth.

An event has a kind, data that are plain JSON values, and a time. What may have to be erased one day (who a person is,
their features, an auditor's free words) never enters the log: it is an ``Aside``, kept beside it under a random
reference, and the event holds a salted commitment to it.

Kinds and what their data hold, besides ``by`` (who) where somebody acted:

=====================  ===========================================================================================
stream_created         settings (resolved: every cut is a number), secret (commitment to the secret of decisions)
round_opened           round, version and policy (hash) deployed, outstanding (rounds not yet learned before this one),
                       people: [{ref, commitment, probability, decision}]
labels_received        round, labels: [[position, 0 or 1]]
labels_expired         round, outcome: "partial" or "expired", missing: how many
labels_late            round, labels: came after the labels were settled; recorded, never learned
audited                round, verdict: reported | cleared | skipped | expired; with a report pair: [favoured,
                       disfavoured] and gap; remark: {ref, commitment} where the auditor gave a reason or a note
audit_retracted        round
audit_corrected        round, verdict, pair, remark: what an auditor says later; recorded, never silently unlearned
round_closed           round, audit, labels, learns: whether the learner will learn from it
learned                round, version (after it), penalty, delay (rounds learned since the policy was deployed),
                       outstanding (rounds left), waited (seconds since opening), dropped (a report that erasure took)
settings_changed       changes: the waits that are different from now on
stopped / resumed      reason
learner_checkpointed   version, learner (its whole state), average (Σ of the weights deployed)
person_erased          refs, rounds
=====================  ===========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from likewise.service.canonical import commitment

VERSION = 2
"""Of the layout of events; an event carries the one it was written in."""


@dataclass(frozen=True, slots=True)
class Aside:
    """What is kept beside the log, so that it can be erased.

    Attributes
    ----------
    ref
        A random reference; the only name that the log knows.
    kind
        "person" (content: id and features) or "remark" (content: an auditor's reason and note).
    round
        Where it belongs.
    salt
        32 random bytes, in hexadecimal digits.
    content
        Plain JSON values.
    """

    ref: str
    kind: str
    round: int
    salt: str
    content: dict[str, Any]

    @property
    def commitment(self) -> str:
        """What the log holds of it: binding, and silent once the salt is gone."""
        return commitment(self.salt, self.content)

    @property
    def person(self) -> str | None:
        """The id of the person, where it is about one."""
        return str(self.content["id"]) if self.kind == "person" else None

    def promise(self) -> dict[str, str]:
        """The part of an event that stands for it."""
        return {"ref": self.ref, "commitment": self.commitment}


@dataclass(frozen=True, slots=True)
class Event:
    """A fact.

    Attributes
    ----------
    kind, data, at, version
        As they stand in the log; ``at`` is UTC, ISO 8601, to the microsecond.
    asides
        What the event commits to, as far as it is still there.
    """

    kind: str
    data: dict[str, Any]
    at: str
    version: int = VERSION
    asides: tuple[Aside, ...] = field(default=(), compare=False)

    @property
    def round(self) -> int | None:
        """The round that it is about, if it is about one."""
        return self.data.get("round")

    @property
    def refs(self) -> list[str]:
        """The references of everything that the event commits to."""
        remark = self.data.get("remark")
        return [person["ref"] for person in self.data.get("people", ())] + ([remark["ref"]] if remark else [])

    @property
    def time(self) -> float:
        """Seconds since 1970."""
        return datetime.fromisoformat(self.at).timestamp()


def stamp(now: float) -> str:
    """A time of the clock as it stands in the log.

    Examples
    --------
    >>> stamp(0.25)
    '1970-01-01T00:00:00.250000+00:00'
    """
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")
