"""What the events of a log commit to, and what is shown or erased of it, for the standalone checker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from likewise.service.packed import KEY, Packed
from likewise.service.proof.spelling import unhex

SALT = 32
"""Bytes of a salt. Of a fixed length, so that no byte can be moved between it and what it salts."""
NO_ROUND = 2**32 - 1
"""Stands for the round of something that an unknown event committed to."""


FIELDS = {"ref", "kind", "t", "salt", "content"}
"""What a line that shows something holds."""


class Promise(NamedTuple):
    """What an event says of something that is kept beside the log."""

    seq: int
    t: int
    kind: str
    commitment: str


class Commitments:
    """Everything that a log committed to. Only what is neither shown nor erased yet is kept whole.

    Parameters
    ----------
    wrong
        Is told the event and the sentence, where something is wrong.
    """

    def __init__(self, wrong: Callable[[int, str], None]) -> None:
        self.opened = self.erased = 0
        """How many were shown, and how many were erased."""
        self._wrong = wrong
        self._part, self._events, self._people = 0, -1, False
        self._promises: dict[str, Promise] = {}
        """What was committed to, and neither shown nor erased so far, by reference."""
        self._settled = Packed("<IIH")
        """Of all else: its round, the event that erased it, and the part of the log that shows it; 0 for none."""

    def begin(self, events: int, people: bool) -> None:
        """A part of the log, which says how many events it has and whether people are shown."""
        self._part, self._events, self._people = self._part + 1, events, people

    def promise(self, ref: str, promise: Promise) -> None:
        """What is committed to will be shown or erased, unless nobody is shown."""
        if ref in self._promises or self._settled.get(_key(ref)) is not None:
            self._wrong(promise.seq, f"Event {promise.seq} commits to {ref} a second time.")
        if self._people:
            self._promises[ref] = promise
        else:
            self._settle(ref, promise.t)

    def show(self, aside: dict[str, Any], content: bytes, after: int) -> bool:
        """What is shown, after some events, is what was committed to; returns whether somebody awaited it."""
        ref = aside["ref"]
        promise = self._promises.pop(ref, None)
        if promise is None:
            self._wrong(*self._not_awaited(ref, after))
            return False
        same = aside.keys() == FIELDS and (aside["kind"], aside["t"]) == (promise.kind, promise.t)
        salt = unhex(aside["salt"])
        if not same or len(salt) != SALT or hashlib.sha256(salt + content).hexdigest() != promise.commitment:
            self._wrong(promise.seq, f"What is shown for {ref} is not what event {promise.seq} committed to.")
        self._settle(ref, promise.t, part=self._part)
        self.opened += 1
        return True

    def erase(self, seq: int, refs: list[str], rounds: list[int], unknown: bool) -> None:
        """What is erased was committed to before, in the very rounds that the event names.

        ``unknown`` says whether events before the first one that was seen may have done so.
        """
        found = {self._erase(ref, seq) for ref in refs}
        known = found - {NO_ROUND}
        if (known != found or sorted(known) != rounds) and not (unknown and known <= set(rounds)):
            self._wrong(seq, f"Event {seq} erases something that no earlier event committed to in the rounds it names.")

    def neither(self) -> list[int]:
        """Events that commit to something that is neither shown nor erased."""
        return sorted({promise.seq for promise in self._promises.values()})

    def _settle(self, ref: str, t: int, erased: int = 0, part: int = 0) -> None:
        if not (isinstance(t, int) and 0 <= t <= NO_ROUND):
            raise ValueError(f"{t!r} is not the number of a round")
        self._settled[_key(ref)] = t, erased, part

    def _erase(self, ref: str, seq: int) -> int:
        """Note that something is erased; returns its round."""
        promise = self._promises.pop(ref, None)
        t, erased, part = self._settled.get(_key(ref)) or (NO_ROUND if promise is None else promise.t, 0, 0)
        # Whoever is erased while an export is written may stand in it already.
        if part and part == self._part and seq <= self._events:
            self._wrong(seq, f"Event {seq} erased {ref}, which is still shown.")
        self._settle(ref, t, seq, part)
        self.erased += not erased
        return int(t)

    def _not_awaited(self, ref: str, after: int) -> tuple[int, str]:
        if not self._people:
            return 0, "The export says that it was made without people, but it shows some."
        t, erased, part = self._settled.get(_key(ref)) or (NO_ROUND, 0, 0)
        if erased and not part:
            return erased, f"Event {erased} erased {ref}, which is still shown."
        said = "belongs to no event before it" if t == NO_ROUND else "is shown twice"
        return after + 1, f"The reference {ref} {said}."


def _key(ref: str) -> bytes:
    """A reference, which is 32 hexadecimal digits, in few bytes; the hash of one that is spelt in another way."""
    data = unhex(ref)
    return data if len(data) == KEY else hashlib.sha256(ref.encode("utf-8", "surrogatepass")).digest()[:KEY]
