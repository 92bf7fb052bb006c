"""What the service's own log may say about an error: its kind and where it happened, never whom it is about.

The message of an error may quote an id, a feature, the row that a database refused, or a token. So messages are left
out, except those that we wrote ourselves or that are about the database alone.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from likewise.service.refusals import BrokenLog

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered."""


def begin_log(format: str = "text") -> None:
    """Write the log of this process to standard error, each line with its time; what is set up already stays."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    if format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())


class JsonLines(logging.Formatter):
    """A log record as one JSON object: time, level, logger, message, the id of its request, and what else it holds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        more = {"request_id": REQUEST_ID.get(), **getattr(record, "fields", {})}
        return json.dumps(fields | {name: value for name, value in more.items() if value is not None})


def redacted(error: BaseException) -> str:
    """An error and those behind it, the first cause first, each with its kind and where it was raised.

    Examples
    --------
    >>> redacted(ValueError("ann is 41"))
    'ValueError'
    """
    return "\nThen: ".join(_with_frames(part) for part in reversed(list(_chain(error))))


def error_kind(error: BaseException) -> str:
    """The kind of an error, with its message only where that names nobody.

    Examples
    --------
    >>> error_kind(BrokenLog("The log of 'loans' is broken before event 7."))
    "BrokenLog: The log of 'loans' is broken before event 7."
    """
    name = type(error).__name__
    if isinstance(error, BrokenLog):
        return f"{name}: {error}"
    if isinstance(error, DBAPIError) and error.orig is not None:
        name += f" ({type(error.orig).__name__})"
        if isinstance(error, (OperationalError, InterfaceError)):
            # The first line says what is the matter with the database; PostgreSQL's later ones may quote a row.
            return f"{name}: {str(error.orig).strip().partition(chr(10))[0]}"
    return name


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _with_frames(error: BaseException) -> str:
    # Frames show our own lines of code, which hold names of variables and not what is in them.
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"{error_kind(error)}\n{frames}" if frames else error_kind(error)
