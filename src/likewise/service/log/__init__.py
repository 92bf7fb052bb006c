"""The log on disk, on SQLite or PostgreSQL, with what is kept beside it.

The key (stream, seq) refuses two events in one place; a trigger refuses gaps, and events that don't carry the hash of
the one before; others refuse any change. Writes go through one ``likewise.service.log.writer.Writer`` and are
on disk when they return. Reads never wait for them.
"""

from likewise.service.log.append import Append, Idempotency, KeyTaken
from likewise.service.log.store import Store

__all__ = ["Append", "Idempotency", "KeyTaken", "Store"]
