"""What the service's own log may say of an error: where it happened and what kind it is, never about whom.

The words of an error may hold what it stumbled over: an id, a feature, the row that a database refused, a token. So
they are left out, except where they are known to be ours or to be about the database alone.
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


def told(error: BaseException) -> str:
    """An error and those behind it, the first cause first, each with its kind and where it was raised.

    Examples
    --------
    >>> told(ValueError("ann is 41"))
    'ValueError'
    """
    return "\nThen: ".join(_one(one) for one in reversed(list(_chain(error))))


def kind(error: BaseException) -> str:
    """The kind of an error, with its words only where they name nobody.

    Examples
    --------
    >>> kind(BrokenLog("The log of 'loans' is broken before event 7."))
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
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _one(error: BaseException) -> str:
    # Frames show our own lines of code, which hold names of variables and not what is in them.
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"{kind(error)}\n{frames}" if frames else kind(error)
