"""What auditors ask of the engine: a round to look at, an explanation, and to take their verdict."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Literal, cast

from likewise.errors import require, require_number
from likewise.service.asides import remark_aside
from likewise.service.engine.known_rounds import KnownRounds
from likewise.service.live.stream import LiveStream, Outcome
from likewise.service.log import Idempotency
from likewise.service.refusals import Conflict
from likewise.service.stream import answers, commands
from likewise.service.stream.decide import VERDICTS, require_past
from likewise.service.stream.events import AuditCorrected, Audited, VerdictLate, stamp
from likewise.service.stream.explanation import Explanation, explain
from likewise.service.stream.readers import audit_view, clean_probability, counts_as
from likewise.service.stream.state import OpenRound, State
from likewise.verdicts import Question


class ForAuditors(KnownRounds):
    """Leases rounds, shows and explains them, takes verdicts and what becomes of them."""

    def claim(
        self,
        stream: str,
        auditor: str,
        seconds: float = 600.0,
        beside: Collection[int] = (),
        *,
        opinions: bool = True,
    ) -> answers.RoundClaimed | None:
        """The oldest round that waits for an audit, leased to ``auditor``; None if there is none.

        An auditor who holds a lease gets the same round again, with the lease renewed; but none of the rounds
        ``beside`` which another is wanted, so that the next one can be fetched while one is looked at. Without
        ``opinions``, nobody is asked about a pair of a round that they have judged already.
        """
        require_number(seconds, "seconds", 0, open_at="low")
        live, now = self.streams.get(stream), self.clock()
        state = live.current()
        shown = self._gold_waiting(live, auditor, beside, now + seconds)
        if shown is not None:
            return shown
        taken = self.leases.current(stream, now)
        held = [t for t, lease in sorted(taken.items()) if lease.holder == auditor and t in state.rounds]
        for round_ in (state.rounds[t] for t in itertools.chain(held, state.rounds) if t not in beside):
            question = round_.asks(auditor) if round_.audit_due(state.waits) > now else None
            if question is None or (question.of is not None and not opinions):
                continue
            free = round_.t not in taken or taken[round_.t].holder == auditor
            if question.pair is None and round_.t not in held:
                shown = self._gold_due(live, auditor, beside, now + seconds)
                if shown is not None:
                    return shown
            # What only they are asked can't go to anybody else: it needs no lease, and nobody's lease is in its way.
            if question.of or (free and self.leases.take(stream, round_.t, auditor, now, now + seconds)):
                return self._claimed(stream, round_, question, now + seconds)
        return self._dispute_claimed(live, auditor, beside, now + seconds)

    def _dispute_claimed(
        self, live: LiveStream, auditor: str, beside: Collection[int], until: float
    ) -> answers.RoundClaimed | None:
        """A question that was left when its round was closed, once nothing else waits."""
        state, now = live.current(), self.clock()
        for dispute in (each for each in state.disputes if each.t not in beside):
            met = state.known.under(dispute.t, auditor) is not None  # under this number they know another round
            if met or dispute.panel.asks(auditor) is None:
                continue
            past = self.reads.past(live, state, dispute.t)
            assert past is not None, "a dispute is of a closed round"
            gone = frozenset(i for i, id in enumerate(past.ids) if id is None)
            question = dispute.panel.asks(auditor, gone)
            if question is not None and self.leases.take(live.name, dispute.t, auditor, now, until):
                return self._claimed(live.name, past, question, until)
        return None

    def _claimed(self, stream: str, round_: OpenRound, question: Question, until: float) -> answers.RoundClaimed:
        """A round as somebody sees it, and what they are asked about it."""
        asks: Literal["verdict", "opinion"] = "verdict" if question.pair is None else "opinion"
        shown = self.audit_view(stream, round_)
        claimed = {**shown, "until": stamp(until), "asks": asks, "yours": question.of is not None}
        pair = {} if question.pair is None else {"pair": [str(round_.ids[position]) for position in question.pair]}
        return cast(answers.RoundClaimed, claimed | pair)

    def renew(self, stream: str, t: int, auditor: str, seconds: float = 600.0) -> answers.Lease:
        """Keep a round for longer, also one whose lease ended, if nobody else took it; one never claimed is refused."""
        require_number(seconds, "seconds", 0, open_at="low")
        now, state = self.clock(), self.streams.get(stream).current()
        if state.known.under(t, auditor) is not None or self._asked_later(state, stream, t, auditor):
            if not self.leases.take(stream, t, auditor, now, now + seconds):
                raise Conflict(f"Somebody else is auditing round {t}.")
            return {"t": t, "until": stamp(now + seconds)}
        if t not in state.rounds:
            require_past(state, t)
            raise Conflict(f"Round {t} is closed.")
        question = state.rounds[t].asks(auditor)
        yours = question is not None and question.of is not None
        if not yours and not self.leases.renew(stream, t, auditor, now + seconds):
            again = question is not None and self.leases.had(stream, t, auditor)
            if not again and t not in self.leases.current(stream, now):
                raise Conflict(f"You have not claimed round {t}; claim a round first.")
            if not again or not self.leases.take(stream, t, auditor, now, now + seconds):
                raise Conflict(f"Somebody else is auditing round {t}.")
        return {"t": t, "until": stamp(now + seconds)}

    def _asked_later(self, state: State, stream: str, t: int, auditor: str) -> bool:
        """Whether somebody was given the question that was left when a round was closed, and is still asked."""
        dispute = state.dispute(t)
        asked = dispute is not None and dispute.panel.asks(auditor) is not None
        return asked and self.leases.had(stream, t, auditor)

    def require_claimed(self, stream: str, t: int, auditor: str) -> None:
        """Refuse an auditor who never had a round in front of them, open or closed: they can't have looked at it."""
        live = self.streams.get(stream)
        state = live.current()
        if not 1 <= t <= state.opened or state.known.under(t, auditor) or self.leases.had(stream, t, auditor):
            return
        round_ = state.rounds.get(t) or self.reads.past(live, state, t)
        if round_ is None or auditor not in round_.panel.everybody:
            raise Conflict(f"You have not claimed round {t}; claim a round first.")

    def audit_view(self, stream: str, round_: OpenRound) -> answers.RoundShown:
        """A round as its auditor sees it."""
        settings = self.streams.get(stream).latest.state.stream.settings
        return audit_view(round_, self.reads.contents_of(stream, round_.t), settings)

    def explain(self, stream: str, t: int, auditor: str, pair: Sequence[str]) -> Explanation:
        """Why two people of a claimed round have their probabilities, whoever is ahead first, and what a report does.

        Refused where auditors see decisions only.
        """
        self.require_claimed(stream, t, auditor)
        state = self.streams.get(stream).current()
        round_ = self.gold_round(stream, t, auditor) or state.rounds.get(t)
        if round_ is None:
            raise Conflict(f"Round {t} is closed.")
        if state.stream.settings.audits == "decisions":
            raise Conflict("Reviewers of this stream see decisions only, so no probability is explained to them.")
        kept = {ref: content["features"] for ref, content in self.reads.contents_of(stream, round_.t).items()}
        people = {i: kept[round_.refs[i]] for i in round_.fresh if round_.refs[i] in kept}
        places = [i for i in people if round_.ids[i] in pair]
        require(len(places) == 2 == len(pair), "pair", f"name two people of round {t} who are still there", len(places))
        ahead, behind = sorted(places, key=lambda i: -round_.probabilities[i])
        return explain(state, round_, people, (ahead, behind))

    def audit(
        self,
        stream: str,
        t: int,
        verdict: str,
        by: str,
        *,
        pair: Sequence[str] = (),
        reason: str = "",
        note: str = "",
        hints: bool | None = None,
        seconds: float | None = None,
        key: Idempotency | None = None,
    ) -> answers.VerdictTaken:
        """Take a verdict: "pair", "none" or "skip". None is dropped: one that comes too late is recorded as late."""
        live, now = self.streams.get(stream), self.clock()
        look = live.current().known.under(t, by)
        if look is not None:
            given = {"pair": pair, "reason": reason, "note": note, "hints": hints, "seconds": seconds}
            return self._answer_gold(live, look, verdict, given, key)
        lease = self.leases.current(stream, now).get(t)
        if lease is not None and lease.holder != by and not self.leases.had(stream, t, by):
            raise Conflict(f"Somebody else is auditing round {t}.")
        remark = remark_aside(t, reason, note)

        def command(state: State) -> commands.Audit:
            past = self.reads.past(live, state, t)
            events = [] if past is None else self.reads.events_of(stream, t)
            return commands.Audit(t, verdict, by, pair, remark, past, clean_probability(events), hints, seconds)

        def reply(outcome: Outcome) -> answers.VerdictTaken:
            event = outcome.sealed[0].event if outcome.sealed else None
            reports = event.reports if isinstance(event, Audited | VerdictLate) else ()
            hidden = outcome.before.stream.settings.audits == "decisions"
            round_ = outcome.before.rounds.get(t)
            ids = () if round_ is None else round_.ids
            named = [str(ids[position]) for report in reports for position in report.positions] if ids else list(pair)
            return {
                "t": t,
                "verdict": cast(answers.Outcome, VERDICTS[verdict]),
                "pair": named if reports else list(pair),
                "gap": reports[0].gap if reports and not hidden else None,
                "final_at": stamp(now + outcome.before.waits.grace),
                "disposition": "duplicate" if event is None else "late" if isinstance(event, VerdictLate) else "taken",
                "receipt": None,
            }

        answer = self._do(live, command, reply, key)
        self._hand_on(live, t, by)
        return answer

    def judge_pair(
        self,
        stream: str,
        t: int,
        pair: Sequence[str],
        objects: bool | None,
        by: str,
        key: Idempotency | None = None,
        *,
        hints: bool | None = None,
        seconds: float | None = None,
    ) -> answers.OpinionTaken:
        """Take an answer about a pair that somebody else named: too different, not, or None for a skip."""
        live = self.streams.get(stream)

        def reply(outcome: Outcome) -> answers.OpinionTaken:
            return {"t": t, "objects": objects, "receipt": None}

        def command(state: State) -> commands.JudgePair:
            past = self.reads.past(live, state, t) if state.dispute(t) is not None else None
            counted = None if past is None else counts_as(self.reads.events_of(stream, t))
            return commands.JudgePair(t, pair, objects, by, hints, seconds, past, counted)

        answer = self._do(live, command, reply, key)
        self._hand_on(live, t, by)
        return answer

    def _hand_on(self, live: LiveStream, t: int, by: str) -> None:
        """Let a colleague have a round that still has a question, now that this auditor has answered."""
        state = live.latest.state
        round_ = state.rounds.get(t)
        if state.dispute(t) is not None or (round_ is not None and round_.verdict is None and round_.panel.said):
            self.leases.release(live.name, t, by)

    def retract(
        self, stream: str, t: int, by: str, key: Idempotency | None = None, *, anybodys: bool = False
    ) -> answers.VerdictRetracted:
        """Retract a verdict before its round is closed. The learner never hears of it."""
        look = self.streams.get(stream).current().known.under(t, by)
        if look is not None:
            return self._retract_gold(self.streams.get(stream), look, key)

        def reply(outcome: Outcome) -> answers.VerdictRetracted:
            return {"t": t, "receipt": None}

        return self._do(self.streams.get(stream), lambda state: commands.RetractAudit(t, by, anybodys), reply, key)

    def correct(
        self,
        stream: str,
        t: int,
        verdict: str,
        by: str,
        *,
        pair: Sequence[str] = (),
        reason: str = "",
        note: str = "",
        key: Idempotency | None = None,
    ) -> answers.VerdictCorrected:
        """Correct the verdict of a closed round. It is recorded; nothing is unlearned."""
        live = self.streams.get(stream)
        look = live.current().known.under(t, by)
        if look is not None:  # recorded; only the first answer to a gold round counts
            taken = self._answer_gold(live, look, verdict, {"pair": pair, "reason": reason, "note": note}, key)
            return {"t": t, "verdict": taken["verdict"], "receipt": taken["receipt"]}
        remark = remark_aside(t, reason, note)

        def command(state: State) -> commands.CorrectAudit:
            past = self.reads.past(live, state, t)
            events = [] if past is None else self.reads.events_of(stream, t)
            counted = counts_as(events) if events else None
            return commands.CorrectAudit(t, verdict, by, pair, remark, past, counted, clean_probability(events))

        def reply(outcome: Outcome) -> answers.VerdictCorrected:
            return {"t": t, "verdict": outcome.event(AuditCorrected).verdict, "receipt": None}

        return self._do(live, command, reply, key)
