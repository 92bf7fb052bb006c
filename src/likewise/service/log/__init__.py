"""The log on disk, on SQLite or PostgreSQL, with what is kept beside it.

The key (stream, seq) refuses two events in one place; a trigger refuses gaps, and events that don't carry the hash of
the one before; others refuse any change. Writes go through one ``likewise.service.log.writer.Writer`` and are
on disk when they return. Reads never wait for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.service.log.append import Append, Idempotency, KeyTaken
    from likewise.service.log.store import Store

__all__ = ["Append", "Idempotency", "KeyTaken", "Store"]


def __getattr__(name: str) -> Any:
    """Whoever only checks an export needs no database, whose library takes as much memory as all the rest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'store' if name == 'Store' else 'append'}"), name)
