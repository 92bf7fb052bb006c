"""Draws decisions again from the lots of a log, for the standalone checker."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from typing import Any

from likewise.service.proof.spelling import canonical, unhex


def lot(nonce: bytes, stream: str, t: int, probabilities: Iterable[float], purpose: str = "decide") -> float:
    """The number of a round in [0, 1): whoever is new in it gets a yes if their probability is larger.

    >>> 0 <= lot(bytes(32), "loans", 1, [0.5, 0.25]) < 1
    True
    """
    return lot_of(nonce, stream, t, drawn_from(probabilities), purpose)


def drawn_from(probabilities: Iterable[float]) -> str:
    """What a lot is drawn from, besides its nonce: SHA-256 of the probabilities in ascending order."""
    return hashlib.sha256(canonical(sorted(probabilities))).hexdigest()


def lot_of(nonce: bytes, stream: str, t: int, people: str, purpose: str = "decide") -> float:
    """The same, from the hash of the probabilities."""
    digest = hmac.digest(nonce, canonical([purpose, stream, t, people]), "sha256")
    return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


class Lots:
    """Draws the decisions of a stream again, round by round, and remembers who was in which."""

    def __init__(self, created: dict[str, Any]) -> None:
        settings = created["settings"]
        self._stream, self._next = settings["name"], created.get("lot")
        self._one = settings.get("lot") == "round"
        accepted, decisions = settings.get("labels") == "accepted", settings.get("audits") == "decisions"
        self.record = self._one or accepted or decisions
        self._visits: list[tuple[int, str, tuple[float, int], bool]] = []

    def wrong(self, seq: int, opened: dict[str, Any]) -> str:
        """What is wrong with the decisions of a round; nothing if they follow from its nonce."""
        returning, people = set(opened.get("returning", ())), opened["people"]
        if self.record:
            for i, person in enumerate(people):
                answer = person["probability"], person["decision"]
                self._visits.append((seq, person["ref"], answer, i in returning))
        elif returning:
            return "serves people from a record that the stream does not keep"
        return self._drawn(opened, [person for i, person in enumerate(people) if i not in returning])

    def _drawn(self, opened: dict[str, Any], new: list[dict[str, Any]]) -> str:
        if not self._one:
            return "has a lot, but the stream's rounds have none" if "lot" in opened else ""
        nonce, committed = unhex(opened["lot"]["nonce"]), self._next
        self._next = opened["lot"]["next"]
        if hashlib.sha256(nonce).hexdigest() != committed:
            return "opens a nonce that is not the one committed to"
        if opened.get("drawn_from") != drawn_from([person["probability"] for person in new]):
            return "does not say which probabilities its lot is drawn from"
        number = lot(nonce, self._stream, opened["t"], [person["probability"] for person in new])
        follow = all(person["decision"] == int(number < person["probability"]) for person in new)
        return "" if follow else f"has a decision that does not follow from its lot, {number}"

    def unlike(self, ids: dict[str, str]) -> Iterator[tuple[int, str]]:
        """Events in which somebody who came again did not get their first answer; ``ids`` are those known, by ref."""
        first: dict[str, tuple[float, int]] = {}
        for seq, ref, answer, returning in self._visits:
            if ref not in ids:
                continue
            if (ids[ref] in first) != returning:
                yield seq, f"Event {seq} says of {ref} that they {'came' if returning else 'did not come'} before."
            elif first.setdefault(ids[ref], answer) != answer:
                yield seq, f"Event {seq} gives {ref}, who came before, another answer."
