"""A check-up of a service: its key, its clock, its disk, its checkpoints, and whether a backup can be restored.

Nothing is changed: the drill restores into a folder of its own, which is deleted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError

from likewise.errors import LikewiseError
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.chain import NOTHING
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.connections import address, require_there
from likewise.service.log.keys import signer_at
from likewise.service.log.signing import Signer
from likewise.service.redaction import error_kind
from likewise.service.run.backup import backup, restore
from likewise.service.run.temporary import private_folder
from likewise.service.stream.events import seconds

FREE = 1 << 30
"""Bytes that should be free on the disk of the database, at least."""
AHEAD = 60.0
"""Seconds by which the newest event may be ahead of the clock."""


class Finding(NamedTuple):
    """What one check found."""

    check: str
    well: bool
    sentence: str


def check_up(configuration: Configuration, *, drill: bool = True) -> list[Finding]:
    """All checks, one after another; one that fails doesn't stop those after it."""
    require_there(configuration.database)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("key", lambda: _key(configuration)),
        ("clock", lambda: _clock(configuration)),
        ("disk", lambda: _disk(configuration)),
        ("checkpoints", lambda: _checkpoints(configuration)),
        ("hosts", lambda: _hosts(configuration)),
    ]
    if drill:
        checks.append(("restore", lambda: _drill(configuration)))
    return list(_done(checks))


class Unwell(LikewiseError):
    """A check found something."""


def _done(checks: list[tuple[str, Callable[[], str]]]) -> Iterator[Finding]:
    for name, check in checks:
        try:
            yield Finding(name, True, check())
        except (LikewiseError, OSError) as error:
            yield Finding(name, False, str(error))
        except DBAPIError as error:  # away, or what is copied isn't what the tables take; its words may quote a row
            yield Finding(name, False, f"The database refuses: {error_kind(error).rstrip('.')}.")


def _signer(configuration: Configuration) -> Signer:
    held = configuration.key_pem or configuration.key_command or configuration.key_file.exists()
    if not held:
        raise Unwell(f"There is no key at {configuration.key_file}: nothing can be signed or checked.")
    return signer_at(
        configuration.key_file, CheckpointFile(configuration.checkpoint_file), **configuration.key_source
    )  # fmt: skip


def _key(configuration: Configuration) -> str:
    """It is there, signed the newest checkpoint, and nobody else can read it."""
    signer = _signer(configuration)
    if not (configuration.key_pem or configuration.key_command):
        mode = configuration.key_file.stat().st_mode & 0o077
        if mode:
            raise Unwell(f"Others may read the key at {configuration.key_file}: chmod 600 it.")
    return f"The key is there; its public key is {signer.public_key}."


def _clock(configuration: Configuration) -> str:
    """No event lies in the future, and the machine's clock is set by a time server, where the system tells."""
    state = synchronised()
    if state is False:
        raise Unwell("This machine's clock is not set by a time server: it may be ahead or behind.")
    with Store(configuration.database) as store:
        for stream, head in store.heads().items():
            for sealed in store.events(stream, head.seq - 1, 1):
                ahead = seconds(sealed.event.at) - time.time()
                if ahead > AHEAD:
                    raise Unwell(
                        f"The newest event of {stream!r} is {ahead:.0f} seconds ahead of this machine's clock."
                    )
    unknown = "" if state else " Whether a time server sets it, this system doesn't say."
    return f"No event is ahead of this machine's clock.{unknown}"


def synchronised() -> bool | None:
    """Whether a time server sets the clock; None where systemd, which knows, isn't there."""
    asked = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return {"yes": True, "no": False}.get(said)


def _disk(configuration: Configuration) -> str:
    """There is room, and files can be written where checkpoints go."""
    url = address(configuration.database)
    database = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
    folders = {configuration.checkpoint_file.absolute().parent, *([database.absolute().parent] if database else [])}
    for folder in folders:
        free = shutil.disk_usage(folder).free
        size = database.stat().st_size if database is not None and folder == database.absolute().parent else 0
        if free < max(FREE, size):
            raise Unwell(f"Only {free / 2**30:.1f} GiB are free in {folder}: make room before the disk is full.")
        if not os.access(folder, os.W_OK):
            raise Unwell(f"{folder} can't be written to.")
    return "There is room for the log to double." if database else "There is room for checkpoints."


def _hosts(configuration: Configuration) -> str:
    """Links are made, and pages answered, for names that are the service's own."""
    if configuration.behind_proxy and not configuration.allowed_hosts:
        raise Unwell(
            "The service is behind a proxy and answers for any host: set `hosts` to the names that people use for it."
        )
    return f"It answers for {', '.join(configuration.allowed_hosts) or 'any host, as no proxy is in front of it'}."


def _checkpoints(configuration: Configuration) -> str:
    """Every log is what was signed."""
    with Store(configuration.database) as store:
        engine = Engine(store, _signer(configuration), CheckpointFile(configuration.checkpoint_file))
        engine.start()
        broken = sorted(engine.broken)
        if broken:
            raise Unwell(f"These streams can't go on: {', '.join(broken)}. The log of this command says why.")
        return f"Every log is what was signed: {len(engine.streams.loaded())} streams."


def _drill(configuration: Configuration) -> str:
    """A backup that is taken now can be restored, and has the same heads."""
    with private_folder() as folder:
        backup(configuration, folder / "backup")
        beside = {name: folder / name for name in ("key", "checkpoints", "erasures")}
        beside["erasures"].touch()  # nobody was erased since the backup was taken
        there = configuration.model_copy(update={"database": str(folder / "restored.db"), **beside})
        restore(there, folder / "backup")
        with Store(configuration.database) as source, Store(there.database) as target:
            live, restored = source.heads(), target.heads()
        late = {name for name, head in restored.items() if live.get(name, NOTHING).seq < head.seq}
        if live.keys() - restored.keys() or late:
            raise Unwell("A backup that was restored does not have the same streams.")
    events = sum(head.seq for head in restored.values())
    return f"A backup was taken and restored: {len(restored)} streams, {events:,} events."
