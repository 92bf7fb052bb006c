"""The key of a service, from a file, a setting or a command; held against what was signed before.

A key is never replaced in silence: a new one beside old checkpoints would sign a log that nobody can check any more,
not with the old public key, and not with the new one.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from likewise.errors import InvalidParameter, require
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import ORIGIN, Signer

PATIENCE = 60
"""Seconds that a command has to print the key."""


def signer_at(
    file: Path,
    checkpoints: CheckpointFile,
    pem: str | None = None,
    command: str | None = None,
    origin: str = ORIGIN,
    *,
    begun: bool = False,
) -> Signer:
    """The signer whose key is given as PEM, is printed by a command, or is in a file.

    A file is made only where nothing was signed yet: there are no checkpoints, and no log was ``begun``.
    """
    signed_by = checkpoints.last_key()
    _require_finished(file, signed_by)
    if pem is not None:
        return _same(_read(pem.encode(), "key_pem", origin), "key in `key_pem`", signed_by, checkpoints)
    if command is not None:
        return _same(_read(_printed(command), "key_command", origin), "key from `key_command`", signed_by, checkpoints)
    if signed_by is not None and not file.exists():
        raise InvalidParameter(
            f"There is no key at {file}, but {checkpoints.path} holds checkpoints that were signed with one: put the "
            f"key back, which a backup holds too; if it is lost, move {checkpoints.path} away, and a new one is made."
        )
    if begun and not file.exists():
        raise InvalidParameter(
            f"There is no key at {file}, but the database has streams, whose receipts were signed with one: put the "
            "key back, which a backup holds too; if it is lost, `likewise key new` makes another one."
        )
    return _same(Signer.at(file, origin), f"key at {file}", signed_by, checkpoints)


def new_key(file: Path, checkpoints: CheckpointFile) -> str:
    """Make a key where the last one is lost for good, and say its public half; refused where there may be one."""
    signed_by = checkpoints.last_key()
    if signed_by is not None:
        raise InvalidParameter(
            f"{checkpoints.path} holds checkpoints that were signed with the key {signed_by}: put that key back; if it "
            f"is lost, move {checkpoints.path} away first."
        )
    require(not file.exists(), "key", "be a file that isn't there yet", str(file))
    return Signer.at(file).public_key


def current_signer(file: Path, pem: str | None = None, command: str | None = None, origin: str = ORIGIN) -> Signer:
    """The signer with the key of today, whatever was signed last; no key is made."""
    if pem is not None:
        return _read(pem.encode(), "key_pem", origin)
    if command is not None:
        return _read(_printed(command), "key_command", origin)
    require(file.is_file(), "key", "be the file of the key", str(file))
    return Signer.at(file, origin)


def next_key(file: Path) -> Path:
    """Where a new key waits until every log says that it counts, and somebody has heard of it."""
    return file.with_name(file.name + ".next")


def _require_finished(file: Path, signed_by: str | None) -> None:
    """A change of the key that was begun and killed has to be finished first."""
    waiting = next_key(file)
    if signed_by is not None and waiting.exists() and not (file.exists() and waiting.read_bytes() == file.read_bytes()):
        raise InvalidParameter(
            f"A change of the key was begun and not finished, as {waiting} is still there: run `likewise key rotate` "
            "again."
        )


def _same(signer: Signer, what: str, signed_by: str | None, checkpoints: CheckpointFile) -> Signer:
    if signed_by not in (None, signer.public_key):
        raise InvalidParameter(
            f"The {what} is not the one that signed the newest checkpoint in {checkpoints.path}: put that one "
            f"back, whose public key is {signed_by}; if it is lost, move {checkpoints.path} away."
        )
    return signer


def _read(pem: bytes, name: str, origin: str) -> Signer:
    signer = Signer.read(pem, origin)
    if signer is None:  # what was given isn't quoted: it may be half a key
        raise InvalidParameter(f"`{name}` must give an Ed25519 private key in PEM without password.")
    return signer


def _printed(command: str) -> bytes:
    """What a command prints; no shell reads it."""
    try:
        return subprocess.run(shlex.split(command), stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise InvalidParameter(f"`key_command` must print the key, but it failed: {type(error).__name__}.") from None
