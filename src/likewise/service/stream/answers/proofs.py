"""Answers that an outsider can check: receipts, checkpoints, events of the log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from likewise.service.stream.answers.fields import Key, Plain, Time


class Receipt(TypedDict):
    """The proof that an event is in the log: its place and hash, and how they lead to a signed checkpoint."""

    stream: str
    seq: Annotated[int, Field(description="The number of the event.")]
    hash: str
    key: Key
    proof: Annotated[str, Field(description="The inclusion proof with its checkpoint, as C2SP's tlog-proof writes it.")]


CheckpointNote = Annotated[str, Field(description="A checkpoint of the log: a signed note, as C2SP defines it.")]


class LogCheckpoint(TypedDict):
    """Where a log stands, signed; and what is needed to trust the key."""

    stream: str
    key: Key
    note: CheckpointNote
    cosigned: Annotated[
        str | None, Field(description="The newest checkpoint that witnesses have signed, too; null if there is none.")
    ]
    rotations: Annotated[
        list[str], Field(description="Every change of the key, the oldest first: notes, signed with the old key.")
    ]


class PersonReceipt(TypedDict):
    """The proof that one person's decision followed from their probability, for `likewise verify --person`."""

    key: Key
    opened: Annotated[Plain, Field(description="The event that opened the round, as it is hashed: without people.")]
    proof: Annotated[str, Field(description="That it is in the log.")]
    before: Annotated[Plain, Field(description="The event that committed to the lot, one round before.")]
    before_proof: Annotated[str, Field(description="That this one is in the log.")]
    position: Annotated[int, Field(description="The person's place in the round, from 0.")]
    person: Annotated[Plain, Field(description="What the log holds of the person.")]
    people_proof: Annotated[list[str], Field(description="That they are one of the round's people; base64.")]
    salt: str
    content: Annotated[Plain, Field(description="Their id and features, to which the log commits.")]


class Consistency(TypedDict):
    """The proof that a log only grew between two of its sizes."""

    stream: str
    key: Key
    root: Annotated[str, Field(description="The root of the tree at the old size, in base64.")]
    note: CheckpointNote
    proof: Annotated[list[str], Field(description="The hashes of the consistency proof (RFC 6962), in base64.")]


class LoggedEvent(TypedDict):
    """An event as an export has it, without what is kept beside the log."""

    stream: str
    seq: int
    prev: Annotated[str, Field(description="The hash of the event before.")]
    hash: str
    kind: str
    version: Annotated[int, Field(description="Of the layout of events.")]
    at: Time
    data: Plain


class EventPage(TypedDict):
    """Events, in order."""

    events: list[LoggedEvent]
    next: Annotated[int | None, Field(description="What to send as `after` for the next page; null on the last.")]


class Head(TypedDict):
    """The last event of a log, and the root of the Merkle tree up to it."""

    seq: int
    hash: str
    root: str
