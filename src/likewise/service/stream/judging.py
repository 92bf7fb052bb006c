"""What follows from what auditors say: verdicts, answers about pairs, what is taken back, and what is corrected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import ReportRefused, require, require_number
from likewise.service.refusals import Conflict
from likewise.service.stream.closing import close
from likewise.service.stream.commands import AnswerKnown, Audit, CorrectAudit, JudgePair, RetractAudit
from likewise.service.stream.decision import Decision, require_past
from likewise.service.stream.events import AuditCorrected, Audited, AuditRetracted, PairJudged, VerdictLate
from likewise.service.stream.events.audits import OUTCOMES
from likewise.service.stream.settings import LONGEST, Settings
from likewise.service.stream.state import CLOCK, OpenRound, Pair, State
from likewise.verdicts import Opinion, Question

VERDICTS = dict(zip(("pair", "none", "skip"), OUTCOMES, strict=True))
"""What auditors answer, and what the log calls it."""
RETRACTIONS = 10
"""So often verdicts on one round can be retracted: enough for every slip."""


def audit(decision: Decision, command: Audit) -> None:
    """Every verdict is recorded: as one that the round waits for, or as late. The same thing said again is nothing."""
    state, round_ = decision.after, decision.after.rounds.get(command.t)
    of = round_ or command.past
    if of is None:
        require_past(state, command.t)
    assert of is not None, "whoever asks about a past round brings it"
    answer = answer_of(command, of, state.stream.settings)
    if of.panel.knows(command.by, answer["verdict"], answer["reports"]):
        return
    question = of.panel.asks(command.by) if round_ is not None and of.verdict is None else None
    shown = of.shown(state.stream.settings)
    if question is not None and question.what == "verdict":
        decision.add(Audited(at=decision.at, t=command.t, shown=shown, **answer, **looked(command)))
        close(decision, command.t)
        return
    opinion = _as_opinion(command, of, answer, question)
    if opinion is not None:
        if opinion not in of.panel.opinions:
            fields = opinion._asdict() | looked(command)
            decision.add(PairJudged(at=decision.at, t=command.t, shown=shown, **fields))
            close(decision, command.t)
        return
    found = command.clean if answer["reports"] else None
    decision.add(VerdictLate(at=decision.at, t=command.t, shown=shown, found=found, **answer, **looked(command)))


def looked(command: Audit | JudgePair | AnswerKnown) -> dict[str, Any]:
    """How an answer came about, as far as that is known."""
    hints, took = command.hints, command.seconds
    require(hints is None or isinstance(hints, bool), "hints", "be true or false", type(hints).__name__)
    if took is not None:
        require_number(took, "seconds", 0, LONGEST)
    return {"hints": hints, "seconds": None if took is None else float(took)}


def _as_opinion(command: Audit, of: OpenRound, answer: Mapping[str, Any], question: Question | None) -> Opinion | None:
    """A third person's verdict as their answer about the pair in question: to name it is a yes, "none" a no.

    None if it answers no such question, asked now or answered before.
    """
    pairs = tuple(pair.positions for pair in answer["reports"])
    before = [opinion.pair for opinion in of.panel.opinions if opinion.by == command.by]
    about = before[-1] if question is None and before else None if question is None else question.pair
    if about is None or of.panel.of(command.by) is not None or (pairs and about not in pairs):
        return None
    opinion = Opinion(command.by, about, {"reported": True, "cleared": False}.get(answer["verdict"]))
    return opinion if question is not None or opinion in of.panel.opinions else None


def judge(decision: Decision, command: JudgePair) -> None:
    """An answer about a pair that somebody else named, of somebody who is asked."""
    if decision.after.dispute(command.t) is not None and command.past is not None:
        _adjudicate(decision, command, command.past)
        return
    round_ = open_round(decision.after, command.t)
    ids, panel = round_.ids, round_.panel
    asked = [question for question in panel.questions if question.what == "opinion" and round_.verdict is None]
    about = [
        question
        for question in asked
        if question.pair is not None and {ids[i] for i in question.pair} == set(command.pair)
    ]
    due = [
        question
        for question in about
        if question.of == command.by or (question.of is None and command.by not in question.but)
    ]
    if not due or due[0].pair is None:
        raise Conflict(f"Nobody asks you about this pair of round {command.t}.")
    opinion = Opinion(command.by, due[0].pair, command.objects)._asdict()
    shown = round_.shown(decision.after.stream.settings)
    decision.add(PairJudged(at=decision.at, t=command.t, shown=shown, **opinion, **looked(command)))
    close(decision, command.t)


def _adjudicate(decision: Decision, command: JudgePair, past: OpenRound) -> None:
    """An answer about a pair of a round that is closed; a correction follows if it overturns what was learned."""
    state = decision.after
    dispute, ids = state.dispute(command.t), past.ids
    assert dispute is not None, "whoever asks has looked"
    named = [question.pair for question in dispute.panel.questions if question.pair is not None]
    pairs = [pair for pair in named if {ids[i] for i in pair} == set(command.pair)]
    if not pairs or dispute.question(command.by, pairs[0]) is None:
        raise Conflict(f"Nobody asks you about this pair of round {command.t}.")
    shown, opinion = past.shown(state.stream.settings), Opinion(command.by, pairs[0], command.objects)
    judged = PairJudged(at=decision.at, t=command.t, shown=shown, **opinion._asdict(), **looked(command))
    decision.add(judged)
    verdict = dispute._replace(panel=judged.hear(dispute.panel)).overturned
    if verdict is not None:
        decision.add(
            AuditCorrected(
                at=decision.at,
                t=command.t,
                verdict=verdict.outcome,
                reports=verdict.pairs,
                remark=None,
                by=CLOCK,
                replaces=command.counts_as,
                shown=shown,
            )
        )


def retract(decision: Decision, command: RetractAudit) -> None:
    """A verdict is taken back while its round is open, and the time for its audit is not over."""
    round_ = open_round(decision.after, command.t)
    verdicts, final = round_.panel.said, round_.verdict is not None and round_.verdict.final
    if not verdicts or final:
        raise Conflict(f"Round {command.t} has no verdict to retract.")
    whose = command.by if round_.panel.of(command.by) is not None else verdicts[-1].by
    if whose != command.by and not command.anybodys:
        raise Conflict(f"Somebody else gave the verdict on round {command.t}.")
    # Each retraction gives the audit more time: without an end, somebody could keep a round open for ever.
    waits, over = decision.after.waits, ""
    if waits.audit is not None and decision.now > round_.opened_at + waits.audit + waits.grace:
        over = "the time for its audit is over"
    elif round_.retractions >= RETRACTIONS:
        over = f"verdicts on it were retracted {RETRACTIONS} times"
    if over:
        why = f"The verdict on round {command.t} can't be retracted any more: {over}."
        raise Conflict(f"{why} Correct it once the round is closed.")
    of = None if whose == command.by else whose
    decision.add(AuditRetracted(at=decision.at, t=command.t, by=command.by, of=of))


def correct(decision: Decision, command: CorrectAudit) -> None:
    """What an audit should have been is recorded, once it can't be made or taken back any more."""
    state, round_ = decision.after, decision.after.rounds.get(command.t)
    if round_ is not None and (round_.verdict is None or not round_.verdict.final):
        raise Conflict(f"Round {command.t} is still open: audit it, or retract its verdict.")
    of = round_ or command.past
    if of is None:
        require_past(state, command.t)
    assert of is not None, "whoever asks about a past round brings it"
    answer = answer_of(command, of, state.stream.settings)
    found = command.clean if answer["reports"] else None
    shown, counted = of.shown(state.stream.settings), command.counts_as
    decision.add(AuditCorrected(at=decision.at, t=command.t, replaces=counted, found=found, shown=shown, **answer))


def answer_of(command: Audit | CorrectAudit | AnswerKnown, round_: OpenRound, settings: Settings) -> dict[str, Any]:
    """The fields of an event that holds an auditor's answer."""
    require(command.verdict in VERDICTS, "verdict", f"be one of {list(VERDICTS)}", command.verdict)
    reports: tuple[Pair, ...] = ()
    if command.verdict == "pair":
        reports = (_pair(command, round_, settings),)
    else:
        require(len(command.pair) == 0, "pair", f"be left out with the verdict {command.verdict!r}", command.pair)
    return {
        "verdict": VERDICTS[command.verdict],
        "reports": reports,
        "remark": None if command.remark is None else command.remark.promise(),
        "asides": () if command.remark is None else (command.remark,),
        "by": command.by,
    }


def _pair(command: Audit | CorrectAudit | AnswerKnown, round_: OpenRound, settings: Settings) -> Pair:
    """The reported pair, ordered by the probabilities that were shown, or by the decisions."""
    ids, probabilities, level = round_.ids, round_.probabilities, settings.level
    two = len(command.pair) == 2 and command.pair[0] != command.pair[1]
    known = two and set(command.pair) <= set(ids) - {None}
    number = command.number if isinstance(command, AnswerKnown) else command.t
    require(known, "pair", f"name two people of round {number}", command.pair)
    first, second = (ids.index(id) for id in command.pair)
    _require_new(round_, first, second)
    decisions = settings.audits == "decisions"
    ranks = round_.decisions if decisions else probabilities
    if decisions and ranks[first] == ranks[second]:
        raise ReportRefused("These two got the same answer, so neither was favoured.")
    favoured, disfavoured = (first, second) if ranks[first] >= ranks[second] else (second, first)
    gap = float(probabilities[favoured] - probabilities[disfavoured])
    if gap <= level and decisions:
        raise ReportRefused("These two can't have been treated too differently: the gap is within the tolerance.")
    if gap <= level:
        # Without their gap: whoever has not claimed the round could read everybody's probabilities from refusals.
        raise ReportRefused(
            f"These two can't have been treated too differently: a gap of up to α − margin = {level:g} is allowed for "
            "any two people, and theirs is no larger."
        )
    return Pair(favoured, disfavoured, gap)


def _require_new(round_: OpenRound, *positions: int) -> None:
    if any(position in round_.returning for position in positions):
        raise ReportRefused(
            "One of these two already had a decision and got the same answer again, so they can't be reported for this "
            "round."
        )


def open_round(state: State, t: int) -> OpenRound:
    """A round that is still open, or the reason why it isn't."""
    if t not in state.rounds:
        require_past(state, t)
        raise Conflict(f"Round {t} is closed; its verdict can only be corrected now.")
    return state.rounds[t]
