"""The state of a stream: what its log says so far. It does not grow with the rounds learned.

Only rounds that are still open are held, each with what the learner will need of it; the others have left sums and
counts. A state is never changed, only followed by the next one.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.protocol import Batch, Estimate, Floats, Report, Round, Rows
from likewise.service.canonical import atom
from likewise.service.stream.answers import Labelled, Outcome
from likewise.service.stream.brief import Brief
from likewise.service.stream.counting import answer, found_later, joined, one_more
from likewise.service.stream.disputes import MOST as MOST_DISPUTES
from likewise.service.stream.disputes import Dispute, disputed
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.known import Known
from likewise.service.stream.learner import Deployed, Model, person_number
from likewise.service.stream.learner_checkpoint import KeptPair, LastCheckpoint
from likewise.service.stream.memory import PastRound
from likewise.service.stream.panel import Panel
from likewise.service.stream.replacing import replace
from likewise.service.stream.settings import Settings, Waits
from likewise.service.stream.team import Team, added
from likewise.service.stream.verdict import CLOCK, Pair, Verdict
from likewise.theory import Overlap, ReviewCount
from likewise.verdicts import Question

__all__ = ["CLOCK", "OpenRound", "OpenRounds", "Pair", "State", "Totals", "Verdict"]
PAGE = 64
"""Rounds that are copied together when one of them changes."""
NOBODY = Panel()


def shown_hash(t: int, round_: OpenRound | PastRound, settings: Settings) -> str:
    """A hash of what an auditor sees of a round, open or closed, without those who were erased before."""
    features = [feature.name for feature in settings.features if feature.visible]
    numbers = round_.decisions if settings.audits == "decisions" else round_.probabilities.tolist()
    out = round_.returning | round_.erased
    people = [f"[{atom(ref)},{atom(numbers[i])}]" for i, ref in enumerate(round_.refs) if i not in out]
    text = (
        f"[{atom(t)},[{','.join(map(atom, features))}],[{','.join(people)}]]"  # canonical JSON, by hand: it is quicker
    )
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class OpenRound:
    """A round between its opening and its learning.

    Attributes
    ----------
    t, opened_at, version
        Its number, when it was opened (seconds), and the number of the policy that was deployed for it.
    refs, ids
        References and ids of its people; the id of an erased person is None.
    rows, probabilities, decisions
        People as the class needs them, what they were shown, and what they got.
    labels
        0 or 1, NaN while it is missing.
    late
        (position, label) of labels that came after their wait had ended; nothing is learned from them.
    panel
        What was said of it, by whom.
    verdict
        What that comes to; None until the audit is settled or expired.
    retracted_at
        When a verdict was last taken back: the audit is given the grace time to be made again.
    retractions
        How often one was.
    labels_expired
        Whether the wait for labels has ended with some of them missing.
    closed
        Whether the next event is that it is learned.
    correction
        What somebody said later that its verdict should have been: it counts as this, and is learned as it was.
    returning
        Positions of people who already had a decision: they got their first answer again, and don't count.
    estimate
        How labels are estimated, where only those of accepted people come; fixed when the round was opened.
    drawn
        Whether the learner, the auditors or the certificate look at decisions.
    erased, lost
        Positions of people who were erased while the round was open; positions whose features are not there any more
        when the log is read again.
    q
        The probability with which it was drawn for review; 1 where every round is reviewed.
    since
        The counts of the rounds after it, up to the next open one; None if there are none.
    policy
        The policy that was deployed for it, for whoever asks why; None where that would take too much memory, and once
        the state was read from a snapshot.
    """

    t: int
    opened_at: float
    version: int
    refs: tuple[str, ...]
    ids: tuple[str | None, ...]
    rows: Rows
    probabilities: Floats
    decisions: tuple[int, ...]
    labels: Floats
    returning: frozenset[int] = frozenset()
    estimate: Estimate | None = None
    drawn: bool = False
    late: tuple[tuple[int, int], ...] = ()
    verdict: Verdict | None = None
    retracted_at: float = -np.inf
    retractions: int = 0
    labels_expired: bool = False
    closed: bool = False
    correction: Outcome | None = None
    erased: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    q: float = 1.0
    since: ReviewCount | None = None
    panel: Panel = NOBODY
    policy: Deployed | None = field(default=None, compare=False, repr=False)

    @property
    def missing(self) -> int:
        """Labels that are still to come; nobody waits for the label of a person who was erased, or doesn't count."""
        if not (self.erased or self.drawn):
            return sum(map(math.isnan, self.labels.tolist()))
        gone = self.erased | self.unlabelled
        return sum(i not in gone for i in np.flatnonzero(np.isnan(self.labels)).tolist())

    @property
    def unlabelled(self) -> frozenset[int]:
        """Positions of people whose labels nobody takes: those who came before and, if so declared, the refused."""
        if self.estimate is None:
            return self.returning
        return self.returning | {i for i, decision in enumerate(self.decisions) if not decision}

    @property
    def fresh(self) -> list[int]:
        """Positions of people who count, and are still there."""
        return [i for i in range(len(self.refs)) if i not in self.returning and i not in self.erased]

    def asks(self, by: str) -> Question | None:
        """What somebody may be asked about it now: nothing about a pair of which one was erased."""
        return None if self.verdict is not None else self.panel.asks(by, self.erased)

    def _answerable(self, question: Question) -> bool:
        return question.pair is None or self.erased.isdisjoint(question.pair)

    def shown(self, settings: Settings) -> str:
        """A hash of what an auditor sees of it: whom, which of their features, and their probabilities or decisions.

        People stand there by their references, to whose content the event that opened the round commits.
        """
        return shown_hash(self.t, self, settings)

    def needs_nobody(self, settings: Settings) -> bool:
        """Whether no report of it could be accepted, so that no reviewer is asked."""
        if settings.review.ask_all and settings.audits == "probabilities":
            return settings.keeps_record and len(self.fresh) < 2
        return self.largest_gap(settings) <= settings.level

    def largest_gap(self, settings: Settings) -> float:
        """How far apart the two people are who differ most, of those that could be reported together; 0 without any."""
        if settings.audits == "decisions":
            p = self.probabilities
            return max((float(p[i] - p[j]) for i, j in self.reportable(settings.level)), default=0.0)
        shown = self.probabilities.tolist()
        if self.returning or self.erased:
            shown = [shown[i] for i in self.fresh]
        return float(max(shown) - min(shown)) if shown else 0.0

    def reportable(self, level: float) -> list[tuple[int, int]]:
        """The pairs that were decided differently and are too far apart, whoever got the yes first."""
        p, yes, fresh = self.probabilities, self.decisions, self.fresh
        return [(i, j) for i in fresh for j in fresh if yes[i] > yes[j] and p[i] - p[j] > level]

    def candidates(self, settings: Settings) -> int:
        """How many pairs could be reported."""
        if settings.audits == "decisions":
            return len(self.reportable(settings.level))
        shown = self.probabilities.tolist()
        p = sorted([shown[i] for i in self.fresh])
        return sum([bisect_left(p, each - settings.level) for each in p])

    @property
    def known(self) -> Floats:
        """Labels that are known, late ones too; NaN where there is none."""
        known = self.labels.copy()
        for position, label in self.late:
            known[position] = label
        return known

    @property
    def reports_erased(self) -> bool:
        """Whether a report is about somebody who was erased since, so that it can't be learned."""
        pairs = () if self.verdict is None else self.verdict.pairs
        return any(position in self.erased for pair in pairs for position in pair.positions)

    @property
    def counts_as(self) -> Outcome:
        """What it counts as once it is learned: its correction, else its verdict, unless that can't be learned."""
        if self.correction is not None:
            return self.correction
        return "skipped" if self.reports_erased or self.verdict is None else self.verdict.outcome

    @property
    def agreed(self) -> tuple[tuple[int, int], ...] | None:
        """The answer that at least two people stand behind, as ``Panel.agreed`` has it; None with a correction."""
        return None if self.correction is not None else self.panel.agreed(self.verdict)

    @property
    def answer(self) -> str | None:
        """What it is in the counts of all rounds; None while it waits for an answer."""
        verdict = self.verdict
        if verdict is None:
            return None
        needless = verdict.final and not self.panel.said
        own = answer(verdict.outcome, by_nobody=needless, erased=bool(self.erased))
        late = any(pairs for _, _, pairs in self.panel.late)
        return "reported" if own == "clean" and late else own

    @property
    def labelled(self) -> Labelled | None:
        """complete, partial or expired once it is settled, None before."""
        if self.missing == 0:
            return "complete"
        if not self.labels_expired:
            return None
        return "partial" if self.any_label else "expired"

    @property
    def any_label(self) -> bool:
        """Whether a label came in time."""
        return not np.isnan(self.labels).all()

    def seen(self) -> Round:
        """The round as the learner sees it: erased people without label, and without a report about them."""
        labels = self.labels
        if self.erased:
            labels = labels.copy()
            labels[list(self.erased)] = np.nan
        verdict, round_ = self.verdict, self.with_lots(labels)
        if verdict is None or not verdict.reviewed or self.reports_erased:
            return round_._replace(reviewed=False)
        return round_._replace(reports=tuple(Report(*pair.positions) for pair in verdict.pairs))

    def with_lots(self, labels: Floats) -> Round:
        """The round with these labels and, where somebody looks at them, its decisions; nothing of its audit."""
        round_ = Round(Batch(self.rows, labels, None, weight=self._weight()), self.probabilities)
        if not self.drawn:
            return round_
        decisions = np.array(self.decisions, dtype=bool)
        unseen = None if self.estimate is None else ~decisions
        return round_._replace(decisions=decisions, unseen=unseen, estimate=self.estimate)

    def with_people(self, seen: Round) -> Round:
        """What the learner sees of it, with who its people are, and whose probabilities were compared."""
        people = np.array([person_number(id) for id in self.ids], dtype=np.int64)
        compared = np.array([i in self.fresh for i in range(len(self.refs))]) if self.returning else None
        return seen._replace(batch=seen.batch._replace(person=people), compared=compared)

    def _weight(self) -> Floats | None:
        """0 for people who don't count; an estimate would take the erased for somebody."""
        out = self.returning | (self.erased if self.estimate is not None else frozenset())
        if not out:
            return None
        return np.array([0.0 if i in out else 1.0 for i in range(len(self.refs))])

    def settled_at(self, waits: Waits) -> float:
        """When its verdict is final: after the grace time; an expired audit is final at once."""
        if self.verdict is None:
            return np.inf
        return self.verdict.at + (0.0 if self.verdict.final else waits.grace)

    def audit_due(self, waits: Waits) -> float:
        """When its audit expires, if nobody makes it: at once if all that is left to ask is about somebody erased."""
        if self.verdict is not None:
            return np.inf
        if self.erased and not any(self._answerable(question) for question in self.panel.questions):
            return self.opened_at
        if waits.audit is None:
            return np.inf
        return max(self.opened_at + waits.audit, self.retracted_at + waits.grace)

    def labels_due(self, waits: Waits) -> float:
        """When its missing labels expire."""
        return np.inf if waits.label is None or self.labelled is not None else self.opened_at + waits.label

    def due(self, waits: Waits) -> float:
        """When time alone changes something about it, in seconds; infinite if never."""
        closing = np.inf if self.labelled is None else self.settled_at(waits)
        return min(self.audit_due(waits), self.labels_due(waits), closing)

    def may_close(self, waits: Waits, now: float) -> bool:
        """Whether audit and labels are both settled."""
        return self.labelled is not None and self.settled_at(waits) <= now

    def teaches(self, waits: Waits) -> bool:
        """Whether the learner learns from it when it closes; a wait that ended may say that it is discarded."""
        expired = self.verdict is not None and self.verdict.outcome == "expired"
        unaudited = expired and waits.audit_end == "discard"
        return not unaudited and (waits.label_end != "discard" or self.labelled == "complete")


class OpenRounds(Mapping[int, OpenRound]):
    """The open rounds by number, in the order of opening; changing one copies a page of them, not all.

    Examples
    --------
    >>> rounds = OpenRounds()
    >>> len(rounds), 3 in rounds
    (0, False)
    """

    def __init__(self, pages: dict[int, dict[int, OpenRound]] | None = None, size: int = 0) -> None:
        self._pages = {} if pages is None else pages
        self._size = size

    def __getitem__(self, t: int) -> OpenRound:
        return self._pages[t // PAGE][t]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        # Pages come in order: a new round has the largest number so far, so its page is the last.
        return (t for page in self._pages.values() for t in page)

    def put(self, round_: OpenRound) -> OpenRounds:
        """The same rounds with this one added, or in place of the one with its number."""
        t, number = round_.t, round_.t // PAGE
        page = self._pages.get(number, {})
        return OpenRounds(self._pages | {number: page | {t: round_}}, self._size + (t not in page))

    def without(self, t: int) -> OpenRounds:
        """The same rounds without this one."""
        page = {number: round_ for number, round_ in self._pages[t // PAGE].items() if number != t}
        pages = {number: rounds for number, rounds in self._pages.items() if number != t // PAGE or page}
        return OpenRounds(pages | {t // PAGE: page} if page else pages, self._size - 1)

    def before(self, t: int) -> OpenRound | None:
        """The last one before a round, if there is one."""
        page = [number for number in self._pages.get(t // PAGE, ()) if number < t]
        if page:
            return self[max(page)]
        earlier = [number for number in self._pages if number < t // PAGE]
        return self[max(self._pages[max(earlier)])] if earlier else None


class Totals(NamedTuple):
    """Sums over what has left the state.

    Attributes
    ----------
    learned, discarded
        Rounds closed, by what became of them.
    reported, cleared, skipped, expired, undrawn
        Verdicts of the rounds learned, as they were corrected since.
    people, missing, ones
        People in the rounds learned, how many labels of theirs never came, and how many were 1. People who came before
        don't count. Where only labels of accepted people come, ``missing`` are accepted people.
    errors, charged, penalties
        Σ Err(π^t), Σ_t Σ_i s_i π^t(x_i) and Σ C_t over reports, each of the policy that was deployed for its round.
        Where only labels of accepted people come, each is an estimate: see ``likewise.reduction.estimated_weights``,
        and for errors the sum over accepted people with a label of (what they cost)/π̃.
    refused, returned, booked
        People who got a no, people who came again, and late labels of accepted people that the learner heard of.
    estimated, zeros_weighed, ones_weighed
        Where only labels of accepted people come: the label part of ``charged``, and Σ 1/π̃ over labels 0 and 1.
    unseen
        Σ 1/gap over the reports of auditors who see decisions: it estimates violations, seen or not.
    delay_sum, delay_max
        Of the rounds learned: how many rounds were learned between a round's opening and its own learning.
    late, corrected, erased
        Labels that came too late, audits corrected after closing, people erased.
    added, withdrawn
        Corrections of rounds learned that report a pair, and those that take a report back or replace it.
    """

    learned: int = 0
    discarded: int = 0
    reported: int = 0
    cleared: int = 0
    skipped: int = 0
    expired: int = 0
    people: int = 0
    missing: int = 0
    ones: int = 0
    errors: float = 0.0
    charged: float = 0.0
    penalties: float = 0.0
    delay_sum: int = 0
    delay_max: int = 0
    late: int = 0
    corrected: int = 0
    erased: int = 0
    refused: int = 0
    returned: int = 0
    booked: int = 0
    estimated: float = 0.0
    zeros_weighed: float = 0.0
    ones_weighed: float = 0.0
    unseen: float = 0.0
    added: int = 0
    withdrawn: int = 0
    undrawn: int = 0

    def plus(self, **more: float) -> Totals:
        """The same with something added."""
        return self._replace(**{name: getattr(self, name) + by for name, by in more.items()})

    def corrected_to(self, outcome: Outcome, before: Outcome | None) -> Totals:
        """The same after a correction; ``before`` is what its round counted as, None if it was not learned."""
        totals = self.plus(corrected=1)
        if before is None:
            return totals
        reports = {"added": int(outcome == "reported"), "withdrawn": int(before == "reported")}
        return totals.plus(**{before: -1}).plus(**{outcome: 1}).plus(**reports)


NOTHING = Totals()
NO_LOTS = Drawing()
NOT_JUDGED_TWICE = Overlap()
NO_BRIEF = Brief()
NO_KNOWN = Known()
NO_TEAM = Team()


NO_CHECKPOINT = LastCheckpoint()


@dataclass(frozen=True)
class State:
    """What the log of a stream says so far.

    Attributes
    ----------
    model
        The settings with their class and learner; None before the stream is created.
    learner
        The learner's state; None while the log is being read again and the features it needs were erased.
    policy
        What is deployed for the next round; None with ``learner``.
    opened
        How many rounds were opened.
    rounds
        Those that are still open.
    average, floors
        Σ over opened rounds of the weights deployed, less the floors, and of the floors.
    lot
        The commitment to the nonce of the next round's lot, if rounds have one.
    stopped
        Why the stream is stopped; None while it runs.
    stop_ref
        Where that reason is kept, if it can be erased.
    totals
        Sums over the rounds that are closed.
    drawing
        What the next lot of a review needs to know.
    counted_rounds
        The counts of the rounds before the first open one; None if there are none.
    overlap, upheld
        How two blind verdicts on the same round compare; the same with reports that counted in the end.
    hinted
        The part of ``overlap`` where one of the two had asked why people got their probabilities.
    pairs
        Whom the reports that the learner keeps are about; and some that it doesn't keep any more.
    checkpoint
        Where the learner was written down in the log the last time.
    key
        The public key that signs, if it was changed; None as long as it is the first one.
    brief, brief_version
        What reviewers are told before they judge; version 0 says nothing.
    known
        Rounds whose answer is known, and who met them.
    team
        What each reviewer answered, and how they agree.
    disputes
        Rounds that were closed while a pair was still in dispute.
    """

    model: Model | None = None
    learner: Any = None
    policy: Deployed | None = None
    opened: int = 0
    rounds: OpenRounds = field(default_factory=OpenRounds)
    average: Floats | None = None
    floors: float = 0.0
    lot: str | None = None
    stopped: str | None = None
    stop_ref: str | None = None
    totals: Totals = NOTHING
    drawing: Drawing = NO_LOTS
    counted_rounds: ReviewCount | None = None
    overlap: Overlap = NOT_JUDGED_TWICE
    upheld: Overlap = NOT_JUDGED_TWICE
    hinted: Overlap = NOT_JUDGED_TWICE
    pairs: tuple[KeptPair, ...] = ()
    checkpoint: LastCheckpoint = NO_CHECKPOINT
    key: str | None = None
    brief: Brief = NO_BRIEF
    brief_version: int = 0
    known: Known = NO_KNOWN
    team: Team = NO_TEAM
    disputes: tuple[Dispute, ...] = ()

    @property
    def stream(self) -> Model:
        """The model of a stream that exists."""
        assert self.model is not None, "the first event of a log is stream_created"
        return self.model

    @property
    def waits(self) -> Waits:
        """How long rounds wait."""
        return self.stream.settings.waits

    @property
    def outstanding(self) -> int:
        """Rounds opened and not yet closed."""
        return len(self.rounds)

    def needs_checkpoint(self, refs: Collection[str], rounds: Collection[int]) -> bool:
        """Whether the learner can't be known without people of these rounds, unless it is written down now."""
        gone, since = set(refs), self.checkpoint.since
        met = any(t >= since and t not in self.rounds for t in rounds)
        return met or any(ref in gone for pair in self.pairs for ref in pair.refs)

    def with_round(self, round_: OpenRound) -> State:
        """The same state with a round added or changed."""
        return replace(self, rounds=self.rounds.put(round_))

    def without_round(self, t: int) -> State:
        """The same state without a round, which counts with those before it from now on."""
        round_, before, rounds = self.rounds[t], self.rounds.before(t), self.rounds.without(t)
        outcome = round_.answer or "unanswered"
        own = one_more(self._counts_at(t), self.drawing.floor, round_.q, outcome, twice=round_.panel.twice)
        counts = joined(own, round_.since)
        if before is None:
            state = replace(self, rounds=rounds, counted_rounds=counts)
        else:
            state = replace(self, rounds=rounds.put(replace(before, since=counts)))
        state = state._with_overlap(round_.panel) if round_.panel.wanted == 2 else state
        if not round_.panel.said:
            return state
        dispute = disputed(t, round_.panel, round_.verdict)
        if dispute is not None and round_.correction is None and not round_.erased:
            state = replace(state, disputes=(*state.disputes, dispute)[-MOST_DISPUTES:])
        timed = any(verdict.seconds for verdict in round_.panel.said)  # only a pace asks how much there was to look at
        candidates = round_.candidates(self.stream.settings) if timed else 0
        return replace(state, team=self.team.with_round(round_.panel, candidates))

    def _with_overlap(self, panel: Panel) -> State:
        """The same with the two verdicts of one more round compared."""
        named, upheld = panel.overlap(upheld=False), panel.overlap(upheld=True)
        hinted = added(self.hinted, named) if panel.hinted else self.hinted
        return replace(self, overlap=added(self.overlap, named), upheld=added(self.upheld, upheld), hinted=hinted)

    def dispute(self, t: int) -> Dispute | None:
        """A closed round with a question left, if it is one."""
        return next((each for each in self.disputes if each.t == t), None)

    def with_dispute(self, t: int, dispute: Dispute | None) -> State:
        """The same with a dispute as it is now; without it if it is over."""
        if self.dispute(t) is None:
            return self
        changed = [dispute if each.t == t else each for each in self.disputes]
        return replace(self, disputes=tuple(each for each in changed if each is not None))

    def found_later(self, t: int, q: float) -> State:
        """The same state after a closed round that was found clean, drawn with probability q, was reported."""
        part = self._counts_at(t)
        assert part is not None, "a closed round is counted"
        return self._with_counts_at(t, found_later(part, q))

    def _counts_at(self, t: int) -> ReviewCount | None:
        """The counts that a closed round is, or will be, part of."""
        before = self.rounds.before(t)
        return self.counted_rounds if before is None else before.since

    def _with_counts_at(self, t: int, counts: ReviewCount | None) -> State:
        before = self.rounds.before(t)
        if before is None:
            return replace(self, counted_rounds=counts)
        return self.with_round(replace(before, since=counts))

    def counted(self, **more: float) -> State:
        """The same state with something added to its totals."""
        return replace(self, totals=self.totals.plus(**more))
