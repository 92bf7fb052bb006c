"""The one spelling of a JSON value, and the hashes that are taken of it.

The standalone checker (``likewise.service.proof.standalone``) has its own copy of these few functions, so that an
outsider needs nothing of ours; a test holds the two together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

EXPORT_FORMAT = 1
"""Of exports."""
GENESIS = "0" * 64
"""What the first event of a stream carries for the hash of the one before."""
PURPOSE = b"likewise checkpoint 1\n"
"""Signed together with every checkpoint, so that a signature can't be passed off as one of something else."""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value.

    Examples
    --------
    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return _ENCODER.encode(value).encode()


def dumps(value: Any) -> str:
    """Canonical JSON, as text."""
    return canonical(value).decode()


def loads(text: str) -> Any:
    """JSON values from text that ``dumps`` wrote; floats come back bit by bit."""
    return json.loads(text)


def event_hash(event: Mapping[str, Any]) -> str:
    """SHA-256 of an event as exported, with the hash of the one before it and without its own."""
    return hashlib.sha256(canonical({name: value for name, value in event.items() if name != "hash"})).hexdigest()


def commitment(salt: str, content: Mapping[str, Any]) -> str:
    """SHA-256 of a secret salt and the content: binds to the content, and says nothing once the salt is gone."""
    return hashlib.sha256(bytes.fromhex(salt) + canonical(content)).hexdigest()


def signed_bytes(checkpoint: Mapping[str, Any]) -> bytes:
    """What the signature of a checkpoint is a signature of."""
    return PURPOSE + canonical({name: checkpoint[name] for name in ("stream", "seq", "hash", "at")})
