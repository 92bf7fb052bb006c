"""How each stream is doing: what has waited for too long, and what can't go on.

Everything is in memory: whoever asks may do so because the database doesn't answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from likewise.service.live.broken import BrokenStreams
from likewise.service.live.heads import Heads
from likewise.service.live.streams import Streams
from likewise.service.monitoring import StreamHealth


def health(streams: Streams, heads: Heads, broken: BrokenStreams, now: float) -> Iterator[StreamHealth]:
    """The health of every stream, of those too that are broken and were never read."""
    names = sorted(broken)
    yield from (StreamHealth(name, broken=True) for name in names)
    for live in streams.loaded():
        if live.name not in names:
            state = live.durable.state
            oldest = next(iter(state.rounds.values()), None)
            yield StreamHealth(
                live.name,
                oldest_unsigned=heads.unsigned_for(live, now),
                oldest_open_round=0.0 if oldest is None else max(0.0, now - oldest.opened_at),
                overdue=live.overdue(now),
                outstanding=state.outstanding,
            )
