"""A new key for a service: every log says so in an event that the old key has signed, and checkers follow it.

The new key is written first, the events next, then a checkpoint of every stream by the new key; the file of the old key
is replaced last. If it is killed, run it again: it goes on with the same new key. A service that runs meanwhile notices
the event, and signs nothing more until it is started again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from likewise.errors import require
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile, point
from likewise.service.log.connections import require_there
from likewise.service.log.keys import current_signer, next_key
from likewise.service.log.signing import Signer
from likewise.service.stream.events import stamp


class Rotated(NamedTuple):
    """What was done: both public keys, the streams that say so, and where the new key is."""

    old: str
    new: str
    streams: list[str]
    key: Path


def rotate(configuration: Configuration, to: Path | None = None, by: str = "key rotate") -> Rotated:
    """Change the key; ``to`` is where the new one goes if the old one is in no file of the service's own."""
    require_there(configuration.database)
    apart = configuration.key_pem is not None or configuration.key_command is not None
    require(apart == (to is not None), "to", "be given if, and only if, the key is a setting or a command", str(to))
    place = configuration.key_file
    old = current_signer(place, **configuration.key_source)
    draft = to or next_key(place)
    new = Signer.at(draft, configuration.origin)
    if new.public_key == old.public_key:  # killed when everything was done
        return Rotated(old.public_key, new.public_key, [], draft)
    file = CheckpointFile(configuration.checkpoint_file)
    engine = Engine(Store(configuration.database), old, file)
    try:
        names = _changed(engine, new, file, by)
    finally:
        engine.store.close()
    if to is None:
        draft.replace(place)
    return Rotated(old.public_key, new.public_key, names, to or place)


def _changed(engine: Engine, new: Signer, file: CheckpointFile, by: str) -> list[str]:
    """Write the event into every log that doesn't have it, and sign all of them with the new key."""
    engine.store.migrate()
    names = engine.streams.names()
    for name in names:
        engine.rotate_key(name, new, by)
    trees = {name: engine.streams.get(name).durable.tree for name in names}
    at = stamp(engine.clock())
    file.write([point(name, at, new.public_key, new.checkpoint(name, tree)) for name, tree in trees.items()])
    return names
