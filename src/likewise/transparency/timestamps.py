"""Timestamps of checkpoints (RFC 3161): an authority outside signs that a text was there at a time.

The imprint is SHA-256 of the three lines of a checkpoint, without signatures. So whoever has the checkpoint, the
authority's answer and its certificates can tell by when the log had so many events, whatever its own clock says. The
extra ``timestamps`` brings the package that reads and checks answers.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


def _package() -> Any:
    try:
        import rfc3161_client
    except ModuleNotFoundError as error:
        extra = 'the extra "timestamps" of likewise brings it (in a clone: pip install ".[service,timestamps]")'
        raise NotSupported(f"Timestamps need {error.name}, which is not installed; {extra}.") from None
    return rfc3161_client


class Question:
    """What an authority is asked: to stamp a text, and to name a number that nobody could foresee.

    Parameters
    ----------
    text
        The three lines of a checkpoint.
    """

    def __init__(self, text: str) -> None:
        package = _package()
        builder = package.TimestampRequestBuilder().data(text.encode())
        self._request = builder.hash_algorithm(package.HashAlgorithm.SHA256).build()

    def to_bytes(self) -> bytes:
        """As it is sent."""
        return bytes(self._request.as_bytes())

    def require_answered(self, answer: bytes) -> None:
        """Refuse what is no stamp of this text, or is one that was made before."""
        info = _read(answer).tst_info
        same = info.message_imprint.message == self._request.message_imprint.message
        if not same or info.nonce != self._request.nonce:
            raise InvalidParameter("The authority stamped something else.")


def certificates(path: str | Path) -> list[Certificate]:
    """The certificates of an authority, up to one that is trusted, in PEM."""
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(Path(path).read_bytes())
    except (OSError, ValueError):
        raise InvalidParameter(f"`authority` must be a file of certificates in PEM, got {str(path)!r}.") from None


def stamped_at(text: str, answer: bytes, trusted: list[Certificate]) -> datetime:
    """When an authority stamped a text; refused if it did not, or if it is not the one that is trusted."""
    package = _package()
    response = _read(answer)
    try:
        verifier = package.VerifierBuilder(roots=list(trusted)).build()
        verifier.verify(response, hashlib.sha256(text.encode()).digest())
    except (package.VerificationError, ValueError) as error:
        raise InvalidParameter(f"The timestamp doesn't hold: {error}.") from error
    at: datetime = response.tst_info.gen_time
    return at


def _read(answer: bytes) -> Any:
    try:
        response = _package().decode_timestamp_response(answer)
        granted = response.status == 0
    except ValueError:
        raise InvalidParameter("The answer is no timestamp.") from None
    if not granted:
        raise InvalidParameter(f"The authority refused: status {response.status}.")
    return response
