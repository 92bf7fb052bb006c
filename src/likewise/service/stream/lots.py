"""The lots of a round: numbers that nobody can foresee and everybody can check later.

    U_t = HMAC-SHA256(nonce_t, [purpose, stream, t, SHA-256 of the probabilities]), 53 bits of it, in [0, 1)

One number for everybody in a round says what is decided ("decide"); others say whether the round is reviewed
("review"), and a second time ("second").

The nonce was committed to one lot before and is opened in the round's own event. It is derived from the stream's
secret: whoever is killed, restored or faster draws the same one again. The hash is of probabilities alone, in ascending
order. References, salts and the order of people could be tried until the lot suits; probabilities follow from who came.

Who has the stream's secret, the operator, can foresee every lot as soon as the people of a round are known, and can't
change one. Lots of reviews have a secret of their own, derived from the stream's, so that what opens one kind of lot
says nothing of the other.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import NamedTuple

from likewise.service.canonical import canonical

PURPOSE = b"likewise nonce 1\n"
"""What a nonce is derived with, besides its stream and round; no id of a person has a line feed."""
REVIEWS = b"likewise reviews 1\n"
"""What the secret behind reviews is derived with."""


class Lot(NamedTuple):
    """What an event says of its round's lot: the nonce, opened, and a commitment to the next one."""

    nonce: str
    next: str

    @classmethod
    def of(cls, secret: bytes, stream: str, t: int) -> Lot:
        """The lot of round t."""
        return cls(_nonce(secret, stream, t).hex(), commitment(secret, stream, t + 1))

    @property
    def committed(self) -> str:
        """What the event before must have said of this nonce."""
        return hashlib.sha256(bytes.fromhex(self.nonce)).hexdigest()

    def number(self, stream: str, t: int, probabilities: Iterable[float], purpose: str = "decide") -> float:
        """U_t; for decisions, of the people who are new in the round, else of all.

        Examples
        --------
        >>> lot = Lot.of(bytes(32), "loans", 1)
        >>> lot.number("loans", 1, [0.2, 0.9]) == lot.number("loans", 1, [0.9, 0.2]) != lot.number("loans", 1, [0.9])
        True
        >>> lot.committed == commitment(bytes(32), "loans", 1)
        True
        """
        people = drawn_from(probabilities)
        digest = hmac.digest(bytes.fromhex(self.nonce), canonical([purpose, stream, t, people]), "sha256")
        return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


def drawn_from(probabilities: Iterable[float]) -> str:
    """What a lot is drawn from, besides its nonce: SHA-256 of the probabilities in ascending order."""
    return hashlib.sha256(canonical(sorted(probabilities))).hexdigest()


def review_secret(secret: bytes) -> bytes:
    """What the nonces of reviews are derived from."""
    return hmac.digest(secret, REVIEWS, "sha256")


def commitment(secret: bytes, stream: str, t: int) -> str:
    """SHA-256 of the nonce of round t."""
    return hashlib.sha256(_nonce(secret, stream, t)).hexdigest()


def _nonce(secret: bytes, stream: str, t: int) -> bytes:
    return hmac.digest(secret, PURPOSE + canonical([stream, t]), "sha256")
