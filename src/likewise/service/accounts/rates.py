"""How often somebody may ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rates:
    """How often everybody asked of late: a bucket for each that fills up again with time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, who: str, a_minute: float) -> float:
        """Count a request; 0 if it may pass, else the seconds until the next one may."""
        now, most = self._clock(), max(1.0, a_minute / 6)  # ten seconds' worth may come at once
        with self._lock:
            left, at = self._buckets.get(who, (most, now))
            left = min(most, left + (now - at) * a_minute / 60)
            passes = left >= 1
            self._buckets[who] = (left - passes, now)
            if len(self._buckets) > 10_000:
                self._forget(now)
        return 0.0 if passes else (1 - left) * 60 / a_minute

    def _forget(self, now: float) -> None:
        """Drop those who have been silent for a minute: their buckets are full again."""
        self._buckets = {who: kept for who, kept in self._buckets.items() if now - kept[1] < 60}
