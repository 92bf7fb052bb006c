"""Which rounds and events somebody wants to see: by reviewer, by reason, by date, by person.

Reasons and people are sent in a form and never stand in an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, false, or_, select
from sqlalchemy.sql import Select

from likewise.service.accounts.staff import Staff
from likewise.service.canonical import dumps
from likewise.service.log.tables import asides, events

AUDITS = ("audited", "audit_corrected", "audit_retracted")


class Filters(NamedTuple):
    """What was typed into the form; an empty text lets everything through."""

    reviewer: str = ""
    reason: str = ""
    person: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def sent(cls, sent: Mapping[str, Any], staff: Staff) -> Filters:
        """From the fields of a form; the log may know a reviewer by an alias."""
        typed = cls(**{name: str(sent.get(name, "")).strip()[:200] for name in cls._fields})
        return typed._replace(reviewer=typed.reviewer and staff.known_as(typed.reviewer))

    @property
    def days(self) -> tuple[str | None, str | None]:
        """From when until when, as the log writes times; None where there is no limit.

        Examples
        --------
        >>> Filters(since="2026-03-01", until="2026-03-02").days
        ('2026-03-01T00:00:00', '2026-03-03T00:00:00')
        """
        first, last = _day(self.since), _day(self.until)
        after = None if last is None else last + timedelta(days=1)
        return _start(first), _start(after)

    def rounds(self, stream: str, column: Any) -> list[ColumnElement[bool]]:
        """Conditions on the number of a round."""
        return [column.in_(query) for query in self._queries(stream)]

    def events(self, stream: str) -> list[ColumnElement[bool]]:
        """Conditions on events; of a reviewer's, only what they did themselves."""
        log, (since, until) = events.c, self.days
        conditions = self._replace(reviewer="").rounds(stream, log.round)
        if self.reviewer:
            conditions.append(log.data.contains(_by(self.reviewer), autoescape=True))
        conditions += [log.at >= since] if since else []
        return conditions + ([log.at < until] if until else [])

    def _queries(self, stream: str) -> list[Select[Any]]:
        log, aside, found = events.c, asides.c, []
        if self.reviewer:
            theirs = and_(log.kind.in_(AUDITS), log.data.contains(_by(self.reviewer), autoescape=True))
            found.append(select(log.round).where(log.stream == stream, theirs))
        if self.reason:
            # The content is JSON: a text stands in it as JSON spells it.
            words = [aside.content.contains(text, autoescape=True) for text in {self.reason, dumps(self.reason)[1:-1]}]
            found.append(select(aside.round).where(aside.stream == stream, aside.kind == "remark", or_(*words)))
        if self.person:
            found.append(select(aside.round).where(aside.stream == stream, aside.person == self.person))
        if (self.since and _day(self.since) is None) or (self.until and _day(self.until) is None):
            found.append(select(log.round).where(false()))
        return found


def _by(name: str) -> str:
    """The log is canonical JSON: a name stands there in one way only."""
    return f'"by":{dumps(name)}'


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _start(day: date | None) -> str | None:
    return None if day is None else datetime.combine(day, time()).isoformat()
