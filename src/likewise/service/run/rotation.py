"""A new key for a service: every log says so in an event that the old key has signed, and checkers follow it.

The new key is written first, the events next, then new seals of the answers that somebody may ask for again and a
checkpoint of every stream by the new key; the file of the old key is replaced last. If it is killed, run it again: it
goes on with the same new key. That key stays beside the other one until somebody has heard that all is done
(``heard``): whoever was killed just before that gets the same answer, not another key. A service that runs meanwhile
notices the event, and signs nothing more until it is started again.
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
from likewise.service.stream.events import KeyRotated, stamp
from likewise.storage import write_whole


class Rotated(NamedTuple):
    """What was done: both public keys, the streams that say so, and where the new key is.

    ``before`` says that all of it had been done before, and nobody had heard of it.
    """

    old: str
    new: str
    streams: list[str]
    key: Path
    before: bool = False


def rotate(configuration: Configuration, to: Path | None = None, by: str = "key rotate") -> Rotated:
    """Change the key; ``to`` is where the new one goes if the old one is in no file of the service's own."""
    require_there(configuration.database)
    apart = configuration.key_pem is not None or configuration.key_command is not None
    require(apart == (to is not None), "to", "be given if, and only if, the key is a setting or a command", str(to))
    place = configuration.key_file
    old = current_signer(place, **configuration.key_source)
    draft = to or next_key(place)
    new = Signer.at(draft, configuration.origin)
    if new.public_key == old.public_key:  # killed when everything was done, or told so with another key in the settings
        return _known(configuration, new, to or place)
    file = CheckpointFile(configuration.checkpoint_file)
    engine = Engine(Store(configuration.database), old, file)
    try:
        names = _changed(engine, new, file, by)
    finally:
        engine.store.close()
    if to is None:
        write_whole(place, new.pem(), private=True)
    return Rotated(old.public_key, new.public_key, names, to or place)


def heard(configuration: Configuration) -> None:
    """Somebody knows that the key was changed: the next time there will be another one."""
    next_key(configuration.key_file).unlink(missing_ok=True)


def _known(configuration: Configuration, new: Signer, key: Path) -> Rotated:
    """What the logs say of a change that was done before."""
    with Store(configuration.database) as store:
        changes = [each for name in store.streams() for each in store.events(name, kind=KeyRotated.kind)[-1:]]
    old = {each.stream: each.event.old for each in changes
           if isinstance(each.event, KeyRotated) and each.event.new == new.public_key}  # fmt: skip
    return Rotated(next(iter(old.values()), new.public_key), new.public_key, list(old), key, before=True)


def _changed(engine: Engine, new: Signer, file: CheckpointFile, by: str) -> list[str]:
    """Write the event into every log that doesn't have it, and sign all of them with the new key."""
    engine.store.migrate()
    names = engine.streams.names()
    for name in names:
        engine.rotate_key(name, new, by)
    engine.store.seal_responses_again(engine.signer.keyed_hash, new.keyed_hash)
    trees = {name: engine.streams.get(name).durable.tree for name in names}
    at = stamp(engine.clock())
    file.write([point(name, at, new.public_key, new.checkpoint(name, tree)) for name, tree in trees.items()])
    return names
