"""Idempotency: a request that is sent again under the same key is answered again, not carried out again.

The database keeps keys unique, so a key that nobody here has seen is not looked up before its command is decided. What
is kept in memory only says which keys have to be looked up first.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from likewise.service.log import Idempotency, Store
from likewise.service.refusals import KeyReused, Unknown

RECENT = 10_000
"""Keys remembered in memory, so that a request sent again doesn't send back everything decided after it."""


class Answers:
    """What was answered under the keys of one stream's requests.

    Guarded by a lock of its own; nobody waits for anything while holding it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, str], Future[Any]] = {}
        self._recent: dict[tuple[str, str], None] = {}

    def under_way(self, key: Idempotency | None) -> bool:
        """Whether a request under this key has been decided, and is not yet durable."""
        with self._lock:
            return key is not None and key[:2] in self._under_way

    def doubtful(self, key: Idempotency | None) -> bool:
        """Whether the key has to be looked up: it is under way, or was answered not long ago."""
        with self._lock:
            return key is not None and (key[:2] in self._under_way or key[:2] in self._recent)

    def find(self, key: Idempotency | None) -> dict[str, Any] | None:
        """What was answered under this key, waiting for an answer that is on its way; None if nothing was."""
        if key is None:
            return None
        with self._lock:
            writing = self._under_way.get(key[:2])
        if writing is not None:
            writing.exception()  # waits, whatever becomes of it
        kept = self._store.response(key.scope, key.key)
        if kept is None:
            return None
        with self._lock:
            self._remember(key)
        request, response = kept
        if response is None:
            raise Unknown(f"The answer under the idempotency key {key.key!r} has been erased.")
        if request != key.request:
            raise KeyReused(f"The idempotency key {key.key!r} was used for a different request; give this one its own.")
        return dict(response)

    def begin(self, key: Idempotency | None, writing: Future[Any]) -> None:
        """A request under this key was decided; its answer holds once ``writing`` is done."""
        if key is not None:
            with self._lock:
                self._under_way[key[:2]] = writing

    def end(self, key: Idempotency | None, writing: Future[Any]) -> None:
        """``writing`` is done. Saying so twice changes nothing."""
        if key is None:
            return
        answered = writing.exception() is None
        with self._lock:
            if answered:
                self._remember(key)
            if self._under_way.get(key[:2]) is writing:
                del self._under_way[key[:2]]

    def _remember(self, key: Idempotency) -> None:
        self._recent[key[:2]] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
