"""Archives: the log of a stream up to a signed checkpoint, in one file that verifies by itself.

An archive is an export that was checked before it got its name. It goes from the first event to the newest, or goes on
where an earlier archive ended; archives in a row are checked together as one log. People are left out unless they are
asked for: an archive is kept for long, and nobody can be erased from it. Nothing is removed from the database, so that
everything else works as before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from likewise.errors import InvalidParameter, require
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.connections import require_there
from likewise.service.log.keys import current_signer
from likewise.service.proof.replay import verify
from likewise.service.proof.signed_log import checkpoint_of, read_note
from likewise.service.proof.standalone import read_lines
from likewise.service.refusals import BrokenLog
from likewise.service.run.temporary import private_folder
from likewise.transparency.merkle import Frontier


class Archived(NamedTuple):
    """What is in an archive: its first and its last event, and the public key that signed it."""

    first: int
    last: int
    key: str


def archive(
    configuration: Configuration, stream: str, path: Path, earlier: Path | None = None, *, people: bool = False
) -> Archived:
    """Write the log of a stream to a new file, from where the ``earlier`` archive ended; while services run, too."""
    require(not path.exists(), "file", "be a file that does not exist yet", str(path))
    require(path.parent.is_dir(), "file", "be in a folder that exists", str(path))
    require_there(configuration.database)
    signer = current_signer(configuration.key_file, **configuration.key_source)
    engine = Engine(Store(configuration.database), signer, CheckpointFile(configuration.checkpoint_file))
    try:
        engine.store.migrate()
        after = 0 if earlier is None else _end(engine, stream, earlier)
        with private_folder(path.parent) as folder:
            written = folder / "archive"
            _write(written, engine, stream, after, people=people)
            found = verify(written, key=signer.public_key, replay=False)
            if found.first is not None:
                raise BrokenLog(f"No archive was written, as it would not verify. {found.first[1]}")
            os.link(written, path)  # refuses, unlike a rename, if somebody else was faster
    finally:
        engine.store.close()
    return Archived(after + 1, found.findings.events, signer.public_key)


def _write(path: Path, engine: Engine, stream: str, after: int, *, people: bool) -> None:
    """The file is whole and on disk when this returns."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        path.chmod(0o600)
        file.writelines(engine.export_text(stream, people=people, after=after))
        file.flush()
        os.fsync(file.fileno())


def _end(engine: Engine, stream: str, earlier: Path) -> int:
    """The last event of an earlier archive, which must be the beginning of this log."""
    require(earlier.is_file(), "after", "be an archive made by `likewise archive`", str(earlier))
    notes = [read_note(line["note"]) for line in read_lines(str(earlier)) if line.get("line") == "checkpoint"]
    points = sorted(checkpoint_of(note) for note in notes)
    if not points:
        raise InvalidParameter(f"{earlier} is not an archive made by `likewise archive`.")
    origin, size, root = points[-1]
    live = engine.streams.get(stream)
    live.current()
    tree = live.durable.tree
    known = live.tree.consistency(size, tree.size, tree)[0] if size <= tree.size else Frontier()
    if origin != engine.signer.origin(stream) or known.root != root:
        raise InvalidParameter(f"{earlier} is not the beginning of the log of {stream!r}.")
    require(size < tree.size, "after", f"end before event {tree.size}, the newest: nothing is new since then", size)
    return size
