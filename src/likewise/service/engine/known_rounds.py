"""Known rounds in the engine: marked by leads, slipped in among the rounds of reviewers, and answered like any other.

A reviewer sees a gold round under the number of a round that waits for nobody and that they have never had in front of
them, so nothing tells it from the others.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import Any, cast

from likewise.service.asides import remark_aside
from likewise.service.engine.core import EngineCore
from likewise.service.live.stream import LiveStream, Outcome
from likewise.service.log import Idempotency
from likewise.service.refusals import Conflict, Unknown
from likewise.service.stream import answers, commands
from likewise.service.stream.events import AuditCorrected, VerdictLate, stamp
from likewise.service.stream.judging import VERDICTS
from likewise.service.stream.known import KnownRound, Look, Use
from likewise.service.stream.readers import audit_view
from likewise.service.stream.state import OpenRound, State

RECENT, TRIES = 100, 20
"""The newest numbers that a gold round may be shown under, and how many of them are tried."""


class KnownRounds(EngineCore):
    """Marks, shows and takes answers to rounds with a known answer."""

    def mark_known(
        self, stream: str, t: int, use: Use | None, by: str, key: Idempotency | None = None
    ) -> answers.KnownMarked:
        """Mark a closed round as gold or practice; None if it isn't used any more."""
        live = self.streams.get(stream)

        def command(state: State) -> commands.MarkKnown:
            past = self.reads.past(live, state, t)
            later = [] if past is None else self.reads.events_of(stream, t)
            spoke = [event for event in later if isinstance(event, AuditCorrected | VerdictLate)]
            against = any(isinstance(event, AuditCorrected) or event.reports for event in spoke)
            return commands.MarkKnown(t, use, by, past, against)

        def reply(outcome: Outcome) -> answers.KnownMarked:
            return {"t": t, "use": use, "receipt": None}

        return self._do(live, command, reply, key)

    # Gold ---------------------------------------------------------------------------------------------------------

    def _gold_waiting(
        self, live: LiveStream, auditor: str, beside: Collection[int], until: float
    ) -> answers.RoundClaimed | None:
        """A gold round that somebody was shown and has not answered."""
        for look in live.current().known.waiting(auditor):
            now = self.clock()
            if look.number not in beside and self.leases.take(live.name, look.number, auditor, now, until):
                return self._gold_claimed(live, look, until)
        return None

    def _gold_due(
        self, live: LiveStream, auditor: str, beside: Collection[int], until: float
    ) -> answers.RoundClaimed | None:
        """A gold round in the place of another, if a lot asked for one and there is one that is new to somebody."""
        state = live.current()
        new = state.known.for_(auditor) if state.known.due else []
        number = self._free_number(live, state, auditor, beside) if new else None
        if number is None:
            return None
        chosen = _some(new)
        try:
            self._do(live, lambda _: commands.ShowKnown(chosen.t, number, auditor), lambda outcome: {})
        except Conflict:  # another request was faster
            return None
        return self._gold_waiting(live, auditor, beside, until)

    def _free_number(self, live: LiveStream, state: State, auditor: str, beside: Collection[int]) -> int | None:
        """The number of a closed round that this auditor has never had in front of them."""
        met = {look.number for look in state.known.looks if look.by == auditor} | set(beside)
        met |= {known.t for known in state.known.rounds} | {dispute.t for dispute in state.disputes}
        recent = range(max(1, state.opened - RECENT), state.opened + 1)
        closed = [t for t in recent if t not in state.rounds and t not in met]
        for t in random.SystemRandom().sample(closed, min(TRIES, len(closed))):
            past = None if self.leases.had(live.name, t, auditor) else self.reads.past(live, state, t)
            if past is not None and auditor not in past.panel.everybody:
                return t
        return None

    def _gold_claimed(self, live: LiveStream, look: Look, until: float) -> answers.RoundClaimed:
        """A gold round as its auditor sees it: everything but number and time is its own."""
        shown = self._known_view(live, look.t)
        opened = self.reads.events_of(live.name, look.number)[0].at
        more = {"t": look.number, "opened_at": opened, "until": stamp(until), "asks": "verdict", "yours": False}
        return cast(answers.RoundClaimed, {**shown, **more})

    def gold_round(self, stream: str, number: int, auditor: str) -> OpenRound | None:
        """The known round that somebody was shown under a number, as it was; None if they weren't."""
        live = self.streams.get(stream)
        state = live.current()
        look = state.known.under(number, auditor)
        return None if look is None else self.reads.past(live, state, look.t)

    def _answer_gold(
        self, live: LiveStream, look: Look, verdict: str, given: dict[str, Any], key: Idempotency | None
    ) -> answers.VerdictTaken:
        return self._answer_known(live, look.t, look.number, "gold", look.by, verdict, given, key)

    def _retract_gold(self, live: LiveStream, look: Look, key: Idempotency | None) -> answers.VerdictRetracted:
        def reply(outcome: Outcome) -> answers.VerdictRetracted:
            return {"t": look.number, "receipt": None}

        return self._do(live, lambda state: commands.RetractKnown(look.t, look.number, look.by), reply, key)

    # Practice -----------------------------------------------------------------------------------------------------

    def practice(self, stream: str, auditor: str) -> answers.PracticeRound | None:
        """The next practice round that is new to somebody, as they would see it; None if there is none."""
        live = self.streams.get(stream)
        left = live.current().known.for_(auditor, "practice")
        if not left:
            return None
        return {**self._known_view(live, left[0].t), "left": len(left)}

    def practise(
        self, stream: str, t: int, verdict: str, by: str, pair: Sequence[str] = (), key: Idempotency | None = None
    ) -> answers.Practised:
        """Take an answer to a practice round, and tell what the known one is."""
        live = self.streams.get(stream)
        marked = live.current().known.mark(t)
        if marked is None or marked.use != "practice":
            raise Unknown(f"Round {t} is not a practice round.")
        self._answer_known(live, t, t, "practice", by, verdict, {"pair": pair}, key)
        return self.practised(stream, t, by)

    def practised(self, stream: str, t: int, by: str) -> answers.Practised:
        """What somebody said of a practice round, and what the known answer is."""
        live = self.streams.get(stream)
        state = live.current()
        look = state.known.look(t, by)
        past = self.reads.past(live, state, t)
        if look is None or past is None or look.use != "practice" or look.outcome is None:
            raise Unknown(f"You have not answered a practice round {t}.")
        known = [[str(past.ids[i]) for i in pair] for pair in look.pairs or ()]
        right = look.right if look.counts else None
        return {"t": t, "verdict": look.outcome, "right": right, "known": known}

    # Both ---------------------------------------------------------------------------------------------------------

    def _known_view(self, live: LiveStream, t: int) -> answers.RoundShown:
        state = live.current()
        past = self.reads.past(live, state, t)
        assert past is not None, "a known round is closed"
        return audit_view(past, self.reads.contents_of(live.name, t), state.stream.settings)

    def _answer_known(
        self,
        live: LiveStream,
        t: int,
        number: int,
        use: Use,
        by: str,
        verdict: str,
        given: dict[str, Any],
        key: Idempotency | None,
    ) -> answers.VerdictTaken:
        """The answer that any verdict gets, in the words and numbers that the reviewer saw."""
        pair = list(given.get("pair", ()))
        remark = remark_aside(t, given.get("reason", ""), given.get("note", ""))
        now = self.clock()

        def command(state: State) -> commands.AnswerKnown:
            past = self.reads.past(live, state, t)
            assert past is not None, "a known round is closed"
            how = given.get("hints"), given.get("seconds")
            return commands.AnswerKnown(t, number, use, verdict, by, past, pair, remark, *how)

        def reply(outcome: Outcome) -> answers.VerdictTaken:
            event: Any = outcome.sealed[0].event if outcome.sealed else None
            reports = () if event is None else event.reports
            hidden = outcome.before.stream.settings.audits == "decisions"
            return {
                "t": number,
                "verdict": cast(answers.Outcome, VERDICTS[verdict]),
                "pair": pair,
                "gap": reports[0].gap if reports and not hidden else None,
                "final_at": stamp(now + outcome.before.waits.grace),
                "disposition": "duplicate" if event is None else "taken",
                "receipt": None,
            }

        return self._do(live, command, reply, key)


def _some(rounds: Sequence[KnownRound]) -> KnownRound:
    """One of some rounds at random; with one half each, one that holds a violation and one that doesn't."""
    lot = random.SystemRandom()
    kinds = [[each for each in rounds if bool(each.pairs) == violates] for violates in (True, False)]
    return lot.choice(lot.choice([kind for kind in kinds if kind]))
