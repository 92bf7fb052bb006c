"""What the rules remember: of rounds that have left the state, and of policies and people seen before.

It grows with the log, as a later event may speak of any round or person; so it is packed: a round of four people takes
about 180 bytes, which may stand in a file, and a person 36.
"""

from __future__ import annotations

import hashlib
import marshal
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.protocol import Estimate, Floats
from likewise.service.packed import KEY, Packed, Records
from likewise.service.stream.answers import Outcome
from likewise.service.stream.verdict import Verdict

MISSING = 2
"""Stands for the label that never came; the others are 0 and 1."""


class PastRound(NamedTuple):
    """What later events may still say something about, of a round that is closed."""

    probabilities: Floats
    labels: Floats
    refs: tuple[str, ...] = ()
    decisions: tuple[int, ...] = ()
    returning: frozenset[int] = frozenset()
    estimate: Estimate | None = None
    learned: bool = True
    erased: frozenset[int] = frozenset()
    outcome: Outcome | None = None
    """What it counts as among the rounds learned."""
    clean: float | None = None
    """The probability with which it was drawn, if it was reviewed and found clean."""
    agreed: tuple[tuple[int, int], ...] | None = None
    """The answer that two people stand behind, pairs or none of them; None if there is no such answer, or not now."""
    judged: tuple[str, ...] = ()
    """Who judged it."""
    opened_at: float = 0.0


class PastRounds:
    """Closed rounds by number, each as a few bytes.

    Parameters
    ----------
    records
        Where the bytes are: in memory, if nothing is given.

    Examples
    --------
    >>> rounds = PastRounds()
    >>> rounds[3] = PastRound(np.array([0.25, 0.5]), np.array([1.0, np.nan]), judged=("ann",))
    >>> 2 in rounds, rounds[3].labels.tolist(), rounds[3].judged
    (False, [1.0, nan], ('ann',))
    """

    def __init__(self, records: Records | None = None) -> None:
        self._records = Records() if records is None else records

    def __contains__(self, t: int) -> bool:
        return t in self._records

    def __getitem__(self, t: int) -> PastRound:
        shown, labels, refs, decisions, returning, estimate, *rest = marshal.loads(self._records[t])
        known = np.array([np.nan if label == MISSING else float(label) for label in labels])
        estimated = None if estimate is None else Estimate(*estimate)
        return PastRound(np.frombuffer(shown), known, _read(refs), tuple(decisions), returning, estimated, *rest)

    def get(self, t: int) -> PastRound | None:
        """A round; None if it isn't closed."""
        if t not in self:
            return None
        return self[t]

    def __setitem__(self, t: int, past: PastRound) -> None:
        shown, labels, refs, decisions, returning, estimate, *rest = past
        known = bytes([MISSING if math.isnan(label) else int(label) for label in labels.tolist()])
        estimated = None if estimate is None else tuple(estimate)
        plain: Any = (
            shown.astype(float).tobytes(),
            known,
            _packed(refs),
            bytes(decisions),
            returning,
            estimated,
            *rest,
        )
        self._records[t] = marshal.dumps(plain)


def _packed(refs: tuple[str, ...]) -> bytes | tuple[str, ...]:
    """References, of 32 hexadecimal digits each, in half their length; as they are if they are spelt otherwise."""
    text = "".join(refs)
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return refs
    return data if data.hex() == text and all(len(ref) == 2 * KEY for ref in refs) else refs


def _read(refs: bytes | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(refs, tuple):
        return refs
    return tuple(refs[at : at + KEY].hex() for at in range(0, len(refs), KEY))


class People:
    """Two numbers for each person, whose id stands there by its hash.

    Examples
    --------
    >>> people = People()
    >>> people["Zoe"] = 0.25, 1.0
    >>> people.get("Zoe"), people.get("Ann")
    ((0.25, 1.0), None)
    """

    def __init__(self) -> None:
        self._table = Packed("<dd")

    def get(self, id: str) -> tuple[float, float] | None:
        """The numbers of a person; None if they weren't met."""
        numbers = self._table.get(_key(id))
        return None if numbers is None else (numbers[0], numbers[1])

    def __setitem__(self, id: str, numbers: tuple[float, float]) -> None:
        self._table[_key(id)] = numbers

    def change(self, id: str, to: Callable[[tuple[Any, ...] | None], tuple[float, float]]) -> tuple[Any, ...]:
        """Change the numbers of a person from those of before, None if they weren't met; returns what they are now."""
        return self._table.change(_key(id), to)


def _key(id: str) -> bytes:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:KEY]


@dataclass
class Memory:
    """What was seen so far in a log that is checked event by event.

    Attributes
    ----------
    rounds
        The closed rounds, by number.
    policies
        The hash of each policy that was deployed, by its version and the late labels that were booked before it.
    limits
        For each person the highest probability that was answered with no and the lowest that was answered with yes.
    record
        For each person their probability and decision, as they got them the first time.
    announced
        Kind and round of the event that must come next, where two are written together.
    expected
        Whether the event before announced the one that is looked at.
    adjudicated
        What the event before made of a round that was closed with another outcome.
    known
        What was found out about the event that is looked at, for fields of it that never enter the log.
    """

    rounds: PastRounds = field(default_factory=PastRounds)
    policies: dict[tuple[int, int], str] = field(default_factory=dict)
    limits: People = field(default_factory=People)
    record: People = field(default_factory=People)
    announced: tuple[str, int | None] | None = None
    expected: bool = False
    adjudicated: Verdict | None = None
    known: dict[str, Any] = field(default_factory=dict)

    def erase(self, refs: Collection[str], rounds: Sequence[int]) -> None:
        """Remember who is gone from rounds that are closed."""
        gone = set(refs)
        for t, past in ((t, self.rounds[t]) for t in rounds if t in self.rounds):
            erased = frozenset(i for i, ref in enumerate(past.refs) if ref in gone)
            self.rounds[t] = past._replace(erased=past.erased | erased, agreed=None)
