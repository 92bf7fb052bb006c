"""Refusals that a caller can do something about; each knows the HTTP status that says so.

``InvalidParameter`` (422) and ``ReportRefused`` (422) come from ``likewise.errors``; ``status_of`` knows
them too.
"""

from __future__ import annotations

from typing import ClassVar

from likewise.errors import InvalidParameter, LikewiseError, ReportRefused


class ServiceProblem(LikewiseError):
    """Base of what the service refuses to do."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "Refused"


class Unknown(ServiceProblem):
    """There is no such stream, round or person."""

    status = 404
    title = "Not found"


class Conflict(ServiceProblem):
    """What is asked contradicts what is already a fact."""

    status = 409
    title = "Conflict"


class StreamStopped(ServiceProblem):
    """The stream was stopped: no decisions until it is resumed."""

    status = 503
    title = "Stopped"


class KeyReused(ServiceProblem):
    """An idempotency key came back with a different request."""

    status = 422
    title = "Idempotency key reused"


class SequenceConflict(LikewiseError):
    """Somebody else wrote this place in the log first; the store refuses, the engine looks again."""


class BrokenLog(ServiceProblem):
    """Events of a log don't follow each other: somebody changed the database."""

    status = 500
    title = "Broken log"


class AlteredRows(ServiceProblem):
    """Rows that are computed from a log are not those that this service wrote: they are computed again."""

    status = 500
    title = "Altered rows"


class Unavailable(ServiceProblem):
    """The database did not accept the write; nothing was done."""

    status = 503
    title = "Unavailable"


def status_of(error: LikewiseError) -> tuple[int, str]:
    """The HTTP status and title of an error.

    Examples
    --------
    >>> status_of(Conflict("Round 3 is closed."))
    (409, 'Conflict')
    """
    if isinstance(error, ServiceProblem):
        return error.status, error.title
    if isinstance(error, ReportRefused):
        return 422, "Report refused"
    if isinstance(error, InvalidParameter):
        return 422, "Invalid parameter"
    return 500, "Internal error"
