"""What follows an erasure, tried again until it is done: rows leave the database's files, and the erasure is listed.

The person is gone for every reader as soon as the erasure is in the log; this is about disks and about old backups.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from likewise.service.log import Store
from likewise.service.log.chain import Sealed
from likewise.service.log.checkpoints import LineFile
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import PersonErased

LATELY = 86_400.0
"""Seconds for which a service that starts takes it that an erasure may not have left the database's files."""


class ErasureFile(LineFile):
    """What was erased: the stream and hash of the event that says so, and references, which name nobody.

    A backup that is older than an erasure still holds the person; restoring it erases again what is listed here.
    """

    def begin(self) -> None:
        """Make the file if it isn't there: an empty list says that nobody was erased, a missing one says nothing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def refs(self, stream: str) -> list[str]:
        """Every reference of a stream that was ever erased."""
        return [ref for fact in self.read(stream) for ref in fact["refs"]]


class ErasureCleanup:
    """Cleans up after erasures, and keeps in mind what is still to be done.

    Parameters
    ----------
    store
        Where the logs are.
    file
        Where erasures are listed, if anywhere.
    clock
        Seconds since 1970.
    require
        Refuses events of a stream that are not those that were written.
    guard
        Does something for a stream; what is wrong with one stream stops no other.
    """

    def __init__(
        self,
        store: Store,
        file: ErasureFile | None,
        clock: Callable[[], float],
        require: Callable[[str, Sequence[Sealed]], None],
        guard: Callable[[str, Callable[[], None]], None],
    ) -> None:
        self._store = store
        self._file = file
        self._clock = clock
        self._require = require
        self._guard = guard
        self.unscrubbed = False
        """Whether something that was erased may still be in the database's files."""
        self._unlisted: set[str] = set()
        self._listed: dict[str, int] = {}
        """Up to which event the erasures of a stream were listed."""

    def begin(self, streams: Iterable[str]) -> None:
        """Take up what a process may have left undone that died after an erasure."""
        if self._file is not None:
            self._file.begin()
        self._unlisted |= set(streams) & set(self._store.streams(holding=PersonErased.kind))
        for stream in self._unlisted:
            self._guard(stream, functools.partial(self._look_for_recent, stream))
        self._list_all()

    def erased(self, stream: str) -> None:
        """Somebody was erased just now."""
        self.unscrubbed = not self._store.scrub(again=True)
        self._unlisted.add(stream)
        with suppress(OSError, BrokenLog):  # they are erased; the clock tries again to list them
            self._list(stream)

    def retry(self) -> None:
        """Do what is left, as far as it can be done now."""
        if self.unscrubbed:
            self.unscrubbed = not self._store.scrub()
        self._list_all()

    def _look_for_recent(self, stream: str) -> None:
        since = self._clock() - LATELY
        self.unscrubbed = self.unscrubbed or any(each.event.time > since for each in self._erasures(stream))

    def _list_all(self) -> None:
        failed: list[OSError] = []

        def listed(stream: str) -> None:
            try:
                self._list(stream)
            except OSError as error:  # the file is that of all streams
                failed.append(error)

        for stream in list(self._unlisted):
            self._guard(stream, functools.partial(listed, stream))
        if failed:
            raise failed[0]

    def _list(self, stream: str) -> None:
        """Add the erasures of a log to their file, as far as they aren't in it."""
        if self._file is not None:
            known = {fact["hash"] for fact in self._file.read(stream)} if stream not in self._listed else set()
            erasures = self._erasures(stream, self._listed.get(stream, 0))
            new = [each for each in erasures if each.hash not in known]
            self._require(stream, new)  # whoever is listed is erased again when a backup is restored
            self._file.write({"stream": stream, "hash": each.hash, "refs": _refs(each)} for each in new)
            self._listed[stream] = max([self._listed.get(stream, 0), *(each.seq for each in erasures)])
        self._unlisted.discard(stream)

    def _erasures(self, stream: str, after: int = 0) -> list[Sealed]:
        """The erasures of a stream after an event."""
        return self._store.events(stream, after, kind=PersonErased.kind)


def _refs(sealed: Sealed) -> tuple[str, ...]:
    assert isinstance(sealed.event, PersonErased)
    return sealed.event.erased
