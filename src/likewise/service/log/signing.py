"""Signed checkpoints: the service's word that a log stood at this event with this hash.

A chain of hashes shows any change to the log, unless somebody recomputes it from the start. A checkpoint, signed with
Ed25519 and kept elsewhere (a file that is copied away, the receipt in a decider's hands), shows that too. The key lives
in a file of its own, made on the first start; its public half belongs with whoever will check.
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from likewise.errors import InvalidParameter
from likewise.service.canonical import signed_bytes
from likewise.service.log.chain import Sealed
from likewise.storage import write_whole


class Signer:
    """Signs checkpoints with one Ed25519 key.

    Examples
    --------
    >>> from likewise.service.proof.standalone import verify_signature
    >>> signer = Signer.generate()
    >>> receipt = signer.sign("loans", 7, "ab" * 32, "2026-01-01T00:00:00.000000+00:00")
    >>> verify_signature(bytes.fromhex(signer.public_key), bytes.fromhex(receipt["signature"]), signed_bytes(receipt))
    True
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public_key = key.public_key().public_bytes_raw().hex()
        """64 hexadecimal digits."""

    @classmethod
    def generate(cls) -> Signer:
        """A signer with a new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def at(cls, path: str | Path) -> Signer:
        """The signer whose key is in a file, which is made, for its owner's eyes only, if it isn't there."""
        path = Path(path)
        if not path.exists():
            with suppress(FileExistsError):  # if another worker was faster, its key stays
                write_whole(path, cls.generate()._pem(), new=True, private=True)
        signer = cls.read(path.read_bytes())
        if signer is None:
            raise InvalidParameter(f"`key` must be the file of an Ed25519 private key without password, got {path}.")
        return signer

    @classmethod
    def read(cls, pem: bytes) -> Signer | None:
        """The signer of a key in PEM; None if it is not an Ed25519 private key without password."""
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a password
            return None
        return cls(key) if isinstance(key, Ed25519PrivateKey) else None

    def _pem(self) -> bytes:
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, stream: str, seq: int, hash: str, at: str) -> dict[str, Any]:
        """A checkpoint: the log of ``stream`` stood at event ``seq`` with this hash."""
        checkpoint = {"stream": stream, "seq": seq, "hash": hash, "at": at}
        signature = self._key.sign(signed_bytes(checkpoint)).hex()
        return checkpoint | {"key": self.public_key, "signature": signature}

    @cached_property
    def _secret(self) -> bytes:
        """A signature of Ed25519 is deterministic, so that of a fixed text is a secret that all workers share."""
        return self._key.sign(b"likewise: keyed hashes")

    def keyed_hash(self, content: bytes) -> str:
        """A hash that nobody without the key can compare a guess with."""
        return hmac.digest(self._secret, content, "sha256").hex()

    def receipt(self, sealed: Sealed) -> dict[str, Any]:
        """The checkpoint at an event, for whoever caused it."""
        return self.sign(sealed.stream, sealed.seq, sealed.hash, sealed.event.at)
