"""Streams that can't go on: a log that somebody changed, or that this release can't read. The others go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from likewise.service.redaction import redacted
from likewise.service.refusals import Unavailable

log = logging.getLogger(__name__)
Result = TypeVar("Result")
AGAIN = 60.0
"""Seconds until a broken stream is tried again: reading a long log all the time would slow down the others."""


class BrokenStreams:
    """Which streams can't go on. No lock guards it: only the clock's thread tries them.

    Parameters
    ----------
    monotonic
        Seconds.
    away
        Whether the database is, asked once it has failed.

    Examples
    --------
    >>> broken = BrokenStreams()
    >>> broken.guard("loans", lambda: 3), "loans" in broken, len(broken)
    (3, False, 0)
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, away: Callable[[], bool] = lambda: True
    ) -> None:
        self._monotonic = monotonic
        self._away = away
        self._since: dict[str, float] = {}
        self._logged: dict[str, float] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._since

    def __len__(self) -> int:
        return len(self._since)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._since))

    def guard(self, name: str, work: Callable[[], Result]) -> Result | None:
        """Do something for a stream; None if it can't be done, which is said in the service's log, once in a while.

        A database that is away is nobody's own fault: that is raised. If it is there and refuses this stream alone, the
        stream is not broken: it is tried again with the next look, and the others go on.
        """
        if self._monotonic() < self._since.get(name, -AGAIN) + AGAIN:
            return None
        try:
            result = work()
        except (DBAPIError, OSError, Unavailable) as error:
            if self._away():
                raise
            self._put_off(name, error)
            return None
        except Exception as error:
            self._since[name] = self._monotonic()
            log.error("The stream %r can't go on, the others do: %s", name, redacted(error))
            return None
        self._since.pop(name, None)
        return result

    def _put_off(self, name: str, error: Exception) -> None:
        now = self._monotonic()
        if now >= self._logged.get(name, -AGAIN) + AGAIN:
            self._logged[name] = now
            log.error("Work for the stream %r failed and is tried again, the others go on: %s", name, redacted(error))
