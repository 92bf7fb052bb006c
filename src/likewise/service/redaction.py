"""What the service's own log may say about an error: its kind and where it happened, never whom it is about.

The message of an error may quote an id, a feature, the row that a database refused, or a token. So messages are left
out, except those that we wrote ourselves or that are about the database alone.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from likewise.service.refusals import BrokenLog


def begin_log() -> None:
    """Write the log of this process to standard error, each line with its time; what is set up already stays."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)


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
