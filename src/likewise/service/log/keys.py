"""The key of a service, held against what was signed before: a key is never replaced in silence."""

from __future__ import annotations

from pathlib import Path

from likewise.errors import InvalidParameter
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer


def signer_at(key: Path, checkpoints: CheckpointFile) -> Signer:
    """The signer whose key is in a file; one is made only where nothing was signed yet.

    A new key beside old checkpoints would sign a log that nobody can check any more: not with the old public key, and
    not with the new one.
    """
    signed_by = checkpoints.last_key()
    if signed_by is not None and not key.exists():
        raise InvalidParameter(
            f"There is no key at {key}, but {checkpoints.path} holds checkpoints that were signed with one: put the "
            f"key back, which a backup holds too; if it is lost, move {checkpoints.path} away, and a new one is made."
        )
    signer = Signer.at(key)
    if signed_by not in (None, signer.public_key):
        raise InvalidParameter(
            f"The key at {key} is not the one that signed the newest checkpoint in {checkpoints.path}: put that one "
            f"back, whose public key is {signed_by}; if it is lost, move {checkpoints.path} away."
        )
    return signer
