"""A certificate that somebody was handed: is it what the service signed, and on how much of the log does it rest?

For the standalone checker: the standard library is enough.
"""

from __future__ import annotations

import hashlib
from typing import Any

from likewise.service.proof.signed_log import read_note, signed_by
from likewise.service.proof.spelling import canonical, unhex

BESIDE = ("key", "note")
"""What stands beside the claims: they are signed without it."""


def check_certificate(certificate: dict[str, Any], key: str | None = None) -> list[str]:
    """What the signature of a certificate proves, in sentences; ValueError if it proves nothing."""
    key = certificate["key"] if key is None else key
    origin, head = certificate["origin"], certificate["head"]
    claims = {name: value for name, value in certificate.items() if name not in BESIDE}
    note = read_note(certificate["note"])
    digest = hashlib.sha256(canonical(claims)).hexdigest()
    if note[0] != f"likewise certificate 1\n{origin}\n{digest}\n":
        raise ValueError("The claims are not those that were signed.")
    if not signed_by(note, origin, unhex(key)):
        raise ValueError(f"The certificate is not signed with the key {key}.")
    return [
        f"The certificate of {origin} is what was signed with the key {key}.",
        f"It rests on the log up to event {head['seq']}, whose hash is {head['hash']}. An export that has this event "
        "can be checked and run again: likewise verify export.jsonl.",
    ]
