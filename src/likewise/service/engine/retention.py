"""Retention: people are erased once they were kept for as long as their stream's waits say, and never before.

Who is still needed stays: whoever is in an open round or in one with a question left, so that grace times and reviews
can end, and whatever no signed checkpoint covers yet. Where people who come again get their first answer, they stay
until their last visit is as long ago. An operator may set a floor that the law asks for. It is an erasure like any
other: commitments stay, and the log verifies.
"""

from __future__ import annotations

import time
from contextlib import suppress

from likewise.service.engine.for_administrators import ForAdministrators
from likewise.service.live.stream import LiveStream
from likewise.service.live.verified import Remarks
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.stream.events import Aside
from likewise.service.stream.events.lifecycle import DAY
from likewise.service.stream.state import CLOCK, State

TOGETHER = 50
"""Rounds from which people are erased by one event."""
A_TICK = 0.25
"""Seconds that a stream's erasures may take at once: other streams wait meanwhile."""


class Retention(ForAdministrators):
    """Erases people whose time is over."""

    def retain(self, at_least: float = 0.0) -> int:
        """Erase people of closed rounds who were kept long enough, for a moment; from how many rounds.

        Parameters
        ----------
        at_least
            Days for which people are kept whatever a stream says.
        """
        streams = [live for live in self.streams.loaded() if live.durable.state.waits.keep is not None]
        erased = 0
        for live in streams:
            erased += self.broken.guard(live.name, lambda: self._retain(live, at_least)) or 0  # noqa: B023
        return erased

    def _retain(self, live: LiveStream, at_least: float) -> int:
        until, erased, keep = time.monotonic() + A_TICK, 0, live.current().waits.keep
        if keep is None or not self._heads.owns(live.durable.state.key):
            return 0
        before = self.clock() - max(keep, at_least) * DAY
        # From where the last look stopped, and then from the start: some stayed that may go now.
        for after in dict.fromkeys((self._retained.pop(live.name, 0), 0)):
            while rounds := self._over(live, after, before):
                erased, after = erased + self._erase_kept(live, rounds), rounds[-1]
                if time.monotonic() > until:
                    self._retained[live.name] = after
                    return erased
        return erased

    def _erase_kept(self, live: LiveStream, rounds: list[int]) -> int:
        """Erase what is kept of some rounds; of how many that was something."""
        said = self.reads.remarks(live, rounds)
        touched = {aside.t for aside in self._kept(live, rounds, said)}
        with suppress(Unknown):  # another process may have been faster
            if touched:
                self._erase_person(live, lambda: self._kept(live, rounds, said), CLOCK, said=said)
        return len(touched)

    def _over(self, live: LiveStream, after: int, before: float) -> list[int]:
        """The next rounds with people that are closed, signed, and were opened before a time; none if there are none.

        Rounds are opened one after another, so the first that is too young ends the search.
        """
        over: list[int] = []
        while len(over) < TOGETHER and (some := self.store.rounds_with_people(live.name, after, TOGETHER)):
            after, needed = some[-1], _needed(live.durable.state)
            closed = [t for t in some if t not in needed]
            opened, last = self.reads.opened(live.name, closed), self.reads.last_events(live.name, closed)
            for t in closed:
                if t not in opened:
                    raise BrokenLog(f"The event that opened round {t} of {live.name!r} is not where it was filed.")
                if opened[t].time > before:
                    return over
                if last[t] <= self._heads.signed(live):
                    over.append(t)
        return over

    def _kept(self, live: LiveStream, rounds: list[int], said: Remarks) -> list[Aside]:
        """What is kept of some rounds, but for people whose first answer still counts for a later visit."""
        opened = self.reads.opened(live.name, rounds)
        people = [aside for t in rounds for aside in opened[t].asides]
        if live.durable.state.stream.settings.keeps_record:
            ids = sorted({str(aside.person) for aside in people})
            later = {aside.person for aside in self.reads.asides_of(live, ids) if aside.t > rounds[-1]}
            people = [aside for aside in people if aside.person not in later]
        return people + self.reads.remarks(live, rounds, said).asides


def _needed(state: State) -> set[int]:
    """The rounds that somebody still has to answer a question about, or to label; or that can still be taken back."""
    return {*state.rounds, *(dispute.t for dispute in state.disputes)}
