"""The beginning and the end of a round: opened with its decisions, closed, and learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from likewise.learners.kept import who
from likewise.protocol import Estimate, Round, Rows
from likewise.service.canonical import dumps, in_place_of_people, people_root
from likewise.service.stream.answers import Labelled, Outcome, PersonDecided, RoundRecord
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.events.event import IN_MEMORY, NO_PAIR, NUMBER, TUPLE, RoundEvent, each, kind
from likewise.service.stream.events.sums import sums
from likewise.service.stream.learner import Deployed, Model
from likewise.service.stream.learner_checkpoint import KeptPair
from likewise.service.stream.lots import Lot, drawn_from
from likewise.service.stream.memory import Memory, PastRound
from likewise.service.stream.replacing import replace
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State, Totals

__all__ = ["Decided", "Learned", "RoundClosed", "RoundOpened"]

SLACK = 1e-3
"""Seconds by which a time in the log may differ from the clock's, which it rounds."""
TOLERANCE = 1e-9
"""How far probabilities and penalties may be from those of another machine."""
NOBODY: frozenset[int] = frozenset()
"""One for all rounds: an empty set takes 216 bytes."""
REMEMBERED = 4_000_000
"""Weights of the policies of open rounds that are kept in memory, at most."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One person of a round: a commitment to their identity, their probability, and the decision drawn from it."""

    ref: str
    commitment: str
    probability: float
    decision: int

    @property
    def text(self) -> str:
        """Canonical JSON. Spelt by hand where that is plain: there is nothing that is spelt more often."""
        ref, promise, p, yes = self.ref, self.commitment, self.probability, self.decision
        numbers = type(p) is float and 1e-4 <= p < 1 and type(yes) is int
        if numbers and type(ref) is type(promise) is str and (names := ref + promise).isalnum() and names.isascii():
            return f'{{"commitment":"{promise}","decision":{yes},"probability":{p!r},"ref":"{ref}"}}'
        return dumps({"ref": ref, "commitment": promise, "probability": p, "decision": yes})


def _estimate(data: dict[str, Any]) -> Estimate:
    """An estimate from the log, where a whole float is an int."""
    return Estimate(**{name: float(value) for name, value in data.items()})


ESTIMATE = {"read": _estimate}
LOT = {"read": lambda data: Lot(**data)}


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOpened(RoundEvent):
    """Somebody asked for decisions about a batch of people, and got them.

    Attributes
    ----------
    version, policy
        Number and hash of the policy that was deployed.
    outstanding
        Rounds that were open before this one.
    people
        The batch.
    returning
        Positions of people who already had a decision: they got the same again, and don't count.
    estimate
        How unseen labels are estimated, where only those of accepted people come.
    lot
        The nonce behind the round's lot, and a commitment to the next one, where a round has one lot.
    drawn_from
        A hash of the probabilities that the lot is drawn from, so that one person can check it without the others.
    rows
        The people as the class of hypotheses needs them, where whoever made the event has encoded them already.
    """

    kind: ClassVar[str] = "round_opened"
    names: ClassVar[Literal["person", "remark"]] = "person"
    may_lack: ClassVar[tuple[str, ...]] = ("returning", "estimate", "lot", "drawn_from")
    version: int
    policy: str
    outstanding: int
    people: tuple[Decided, ...] = field(metadata=each(Decided))
    by: str
    returning: tuple[int, ...] = field(default=(), metadata=TUPLE)
    estimate: Estimate | None = field(default=None, metadata=ESTIMATE)
    lot: Lot | None = field(default=None, metadata=LOT)
    drawn_from: str | None = None
    rows: Rows | None = field(default=None, compare=False, metadata=IN_MEMORY)

    @property
    def refs(self) -> list[str]:
        """The references of its people."""
        return [person.ref for person in self.people]

    @property
    def promised(self) -> Mapping[str, str]:
        """The commitments to its people."""
        return {person.ref: person.commitment for person in self.people}

    def _spell(self) -> Sequence[str]:
        """With its people, and with the root of a tree in their place."""
        people = [person.text for person in self.people]
        root = people_root(people)
        hashed = dumps({**self._data_without("people"), "people": root})
        return hashed.replace(in_place_of_people(root), f'"people":[{",".join(people)}]', 1), hashed

    def evolve(self, state: State) -> State:
        """The round is open, and the policy deployed for it counts in the average."""
        shown = {aside.ref: aside for aside in self.asides}
        refs = tuple(self.refs)
        round_ = OpenRound(
            t=self.t,
            opened_at=self.time,
            version=self.version,
            refs=refs,
            ids=tuple([shown[ref].person if ref in shown else None for ref in refs]),
            rows=self._encoded(state) if self.rows is None else self.rows,
            probabilities=np.array([person.probability for person in self.people], dtype=float),
            decisions=tuple([person.decision for person in self.people]),
            returning=frozenset(self.returning),
            estimate=self.estimate,
            drawn=state.stream.settings.keeps_record,
            policy=self._remembered(state),
            labels=np.array([math.nan] * len(refs)),
            lost=frozenset([i for i, ref in enumerate(refs) if ref not in shown]) or NOBODY,
        )
        average, floor = None, 0.0 if self.estimate is None else self.estimate.floor
        if state.average is not None and state.policy is not None:
            average = state.average + (state.policy.weights if floor == 0.0 else (1.0 - floor) * state.policy.weights)
        lot = None if self.lot is None else self.lot.next
        return replace(
            state,
            rounds=state.rounds.put(round_),
            opened=self.t,
            average=average,
            floors=state.floors + floor,
            lot=lot,
            drawing=self._drawing(state, round_),
        )

    def _drawing(self, state: State, round_: OpenRound) -> Drawing:
        """Remember the round's largest gap, unless arithmetic clears it."""
        settings = state.stream.settings
        gap = round_.largest_gap(settings)
        return state.drawing.opened(gap, self.time) if gap > settings.level else state.drawing

    @staticmethod
    def _remembered(state: State) -> Deployed | None:
        """The policy that is deployed for this round, while there is room for those of all open rounds."""
        policy, open_rounds = state.policy, state.outstanding + 1
        return policy if policy is not None and policy.weights.size * open_rounds <= REMEMBERED else None

    def _encoded(self, state: State) -> Rows:
        """The people whose features are still there; neutral rows for the others."""
        features = {aside.ref: aside.content["features"] for aside in self.asides}
        known = [i for i, person in enumerate(self.people) if person.ref in features]
        rows = state.stream.neutral(len(self.people))
        if known:
            rows[known] = state.stream.encode([features[self.people[i].ref] for i in known])
        return rows

    def tell(self, view: RoundRecord) -> None:
        """Everything that is known of a round when it is opened."""
        shown = {aside.ref: aside.content for aside in self.asides}
        people: list[PersonDecided] = [
            {
                "id": shown.get(person.ref, {}).get("id"),
                "features": shown.get(person.ref, {}).get("features"),
                "probability": person.probability,
                "decision": person.decision,
                "label": None,
                "late_label": None,
                "returning": i in self.returning,
                "unseen": self.estimate is not None and not person.decision,
            }
            for i, person in enumerate(self.people)
        ]
        opened: RoundRecord = {
            "t": self.t,
            "status": "open",
            "opened_at": self.at,
            "by": self.by,
            "version": self.version,
            "policy": self.policy,
            "outstanding": self.outstanding,
            "people": people,
            "labels": None if any(not (person["returning"] or person["unseen"]) for person in people) else "complete",
            "review": None,
            "audit": None,
            "verdicts": [],
            "opinions": [],
            "late_verdicts": [],
            "retracted": 0,
            "corrections": [],
            "learned": None,
            "known": None,
            "known_answers": [],
        }
        view.update(opened)

    def objection(self, state: State, memory: Memory) -> str:
        """Rounds are numbered, deploy the current policy, and give everybody what that policy gives them."""
        if state.stopped is not None:
            return "opens a round while the stream is stopped"
        if (self.t, self.outstanding) != (state.opened + 1, state.outstanding):
            return f"should open round {state.opened + 1} with {state.outstanding} rounds outstanding"
        if self.version != state.totals.learned:
            return f"should deploy policy version {state.totals.learned}, not {self.version}"
        deployed = (self.version, state.totals.booked)
        if deployed not in memory.policies:
            memory.policies = {deployed: self.policy}  # none before it can come again
        if memory.policies[deployed] != self.policy:
            return f"deploys a policy version {self.version} that differs from the one deployed before"
        if not 1 <= len(self.people) <= state.stream.settings.k:
            return f"opens a round of {len(self.people)} people, not of 1 to {state.stream.settings.k}"
        return self._decisions(state, memory) or self._lots(state) or self._probabilities(state, memory)

    def _decisions(self, state: State, memory: Memory) -> str:
        """New people get a decision; people who already had one get the same, where that counts."""
        ids = {aside.ref: aside.person for aside in self.asides}
        settings = state.stream.settings
        for i, person in enumerate(self.people):
            id = ids.get(person.ref)
            limited = id if settings.lot == "person" and i not in self.returning else None
            wrong = _decision(person, limited, memory) or (settings.keeps_record and self._recorded(i, id, memory))
            if wrong:
                return wrong
        known = not self.returning or settings.keeps_record
        return "" if known else "serves people from the record, which this stream does not keep"

    def _recorded(self, position: int, id: str | None, memory: Memory) -> str:
        """Somebody who comes again is marked, and gets what they got the first time."""
        if id is None:
            return ""
        person, before = self.people[position], memory.record.get(id)
        if (before is not None) != (position in self.returning):
            return "takes somebody who came before for a new person" if before else "takes a new person for a known one"
        now = (person.probability, person.decision)
        if before is None:
            memory.record[id] = now
        same = before is None or before == now
        return "" if same else f"gives somebody who came before {now}, not {before}"

    def _lots(self, state: State) -> str:
        """The nonce is the one committed to, and every decision about somebody new follows from it."""
        settings = state.stream.settings
        if (self.lot is not None) != (settings.lot == "round"):
            return "has a lot for its round, or has none, against the settings"
        if self.lot is None:
            return ""
        if self.lot.committed != state.lot:
            return "opens a nonce that is not the one committed to"
        fresh = [person for i, person in enumerate(self.people) if i not in self.returning]
        probabilities = [person.probability for person in fresh]
        if self.drawn_from != drawn_from(probabilities):
            return "does not say which probabilities its lot is drawn from"
        number = self.lot.number(settings.name, self.t, probabilities)
        follow = all(person.decision == (number < person.probability) for person in fresh)
        return "" if follow else f"has a decision that does not follow from its lot, {number}"

    def _probabilities(self, state: State, memory: Memory) -> str:
        """The probabilities of those whose features are still there follow from the policy, if it is known."""
        features = {aside.ref: aside.content["features"] for aside in self.asides}
        fresh = [person for i, person in enumerate(self.people) if i not in self.returning]
        known = [person for person in fresh if person.ref in features]
        if (self.estimate is not None) != (state.stream.settings.labels == "accepted"):
            return "has an estimate of labels, or has none, against the settings"
        if state.policy is None or not known:
            return ""
        if not _same(self.estimate, state.policy.estimate):
            return f"estimates labels with {self.estimate}, not with {state.policy.estimate}"
        model = state.stream
        rows = model.encode([model.settings.person(features[person.ref]) for person in known])
        if len(known) == len(self.people):
            memory.known = {"rows": rows}
        shown = [person.probability for person in known]
        gaps = [abs(p - q) for p, q in zip(model.probabilities(state.policy, rows).tolist(), shown, strict=True)]
        if all(gap <= TOLERANCE for gap in gaps):
            return ""
        return f"shows probabilities that differ from the policy's by {max(gaps):.3g}"


def _same(written: Estimate | None, reached: Estimate | None) -> bool:
    if written is None or reached is None:
        return written is reached
    return bool(np.allclose(written, reached, rtol=TOLERANCE, atol=TOLERANCE))


def _decision(person: Decided, id: str | None, memory: Memory) -> str:
    """A decision is u < π with one u in [0, 1) for each person: a rising π never turns a yes into a no."""
    p, decision = person.probability, person.decision
    if not 0 <= p <= 1 or decision not in (0, 1) or (p in (0, 1) and decision != p):
        return f"gives the decision {decision} at a probability of {p}"
    if id is None:
        return ""

    def narrowed(before: tuple[float, ...] | None) -> tuple[float, float]:
        no, yes = before or (-math.inf, math.inf)
        return (no, min(yes, p)) if decision else (max(no, p), yes)

    no, yes = memory.limits.change(id, narrowed)
    return "" if no < yes else f"decides differently about a person than before: no at {no}, yes at {yes}"


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundClosed(RoundEvent):
    """Audit and labels of a round were settled: what became of them, and whether the learner learns from it.

    Attributes
    ----------
    counts
        What it is among all rounds, drawn or not: cleared, undrawn, clean, reported or unanswered.
    """

    kind: ClassVar[str] = "round_closed"
    audit: Outcome
    labels: Labelled
    learns: bool
    counts: str

    @property
    def announces(self) -> tuple[str, int | None] | None:
        """That it is learned, unless it is discarded."""
        return (Learned.kind, self.t) if self.learns else None

    def evolve(self, state: State) -> State:
        """Wait for the learner, or leave."""
        if self.learns:
            return state.with_round(replace(self.round(state), closed=True))
        return state.without_round(self.t).counted(discarded=1)

    def sum_up(self, row: dict[str, Any]) -> None:
        """How it was closed, and that nobody is reported unless it counts."""
        settled = {"verdict": self.audit} | ({} if self.audit == "reported" else NO_PAIR)
        row |= {"status": "closed" if self.learns else "discarded", **settled}

    def tell(self, view: RoundRecord) -> None:
        """How it was closed."""
        view["status"] = "closed" if self.learns else "discarded"
        view["labels"] = self.labels

    def objection(self, state: State, memory: Memory) -> str:
        """A round closes when audit and labels are settled, as they were."""
        round_ = self.round(state)
        if round_.closed or round_.verdict is None or not round_.may_close(state.waits, self.time + SLACK):
            return "closes a round too early"
        outcome, labelled, learns = round_.verdict.outcome, round_.labelled, round_.teaches(state.waits)
        if (self.audit, self.labels, self.learns) != (outcome, labelled, learns):
            end = "learned" if learns else "discarded"
            return f"should close a round that was {outcome}, with labels {labelled}, to be {end}"
        if self.counts != round_.answer:
            return f"should count its round as {round_.answer}, not {self.counts}"
        memory.rounds[self.t] = PastRound(
            round_.probabilities,
            round_.known,
            round_.refs,
            round_.decisions,
            round_.returning,
            round_.estimate,
            learns,
            round_.erased,
            outcome=round_.counts_as if learns else None,
            clean=round_.q if self.counts == "clean" else None,
            agreed=None if round_.erased else round_.agreed,
            judged=round_.panel.everybody,
            opened_at=round_.opened_at,
        )
        return ""


@kind
@dataclass(frozen=True, slots=True, kw_only=True)
class Learned(RoundEvent):
    """The learner learned from a closed round.

    Attributes
    ----------
    version
        Of the policy after it.
    penalty
        C: what a report weighs in this round.
    delay
        Rounds learned since the round's policy was deployed.
    outstanding
        Rounds that are left open.
    waited
        Seconds since the round was opened.
    dropped
        Whether a report was not learned since somebody in it was erased.
    """

    kind: ClassVar[str] = "learned"
    alone: ClassVar[bool] = False
    version: int
    penalty: float = field(metadata=NUMBER)
    delay: int
    outstanding: int
    waited: float = field(metadata=NUMBER)
    dropped: bool

    def evolve(self, state: State) -> State:
        """The learner's update, charged with the probabilities that were shown in the round."""
        round_, model = self.round(state), state.stream
        seen = round_.seen()
        totals, after = self._added(state.totals, round_, seen, model.settings), state.without_round(self.t)
        if state.learner is None or round_.lost:
            # Somebody was erased after this round was learned: the next checkpoint says what the learner knew.
            return replace(after, totals=totals, learner=None, policy=None)
        seen = round_.with_people(seen) if model.knows_people else seen
        learner = model.learner.update(state.learner, seen)
        pairs = state.pairs + self._kept(model, round_, seen)
        return replace(after, totals=totals, learner=learner, policy=model.deploy(learner), pairs=pairs)

    def sum_up(self, row: dict[str, Any]) -> None:
        """That it was learned, and when."""
        row |= {"status": "learned", "learned": self.version, "delay": self.delay, "waited": self.waited}

    def _kept(self, model: Model, round_: OpenRound, seen: Round) -> tuple[KeptPair, ...]:
        """Whom the reports of the round are about, if the learner keeps them."""
        if not seen.reports or not model.keeps_reports:
            return ()
        pairs = [[report.favoured, report.disfavoured] for report in seen.reports]
        rows = [model.hypotheses.contrast(round_.rows[pair]).tobytes().hex() for pair in pairs]
        people = [who(seen, report) for report in seen.reports]
        refs = [(round_.refs[first], round_.refs[second]) for first, second in pairs]
        return tuple(KeptPair(self.version, *each) for each in zip(rows, people, refs, strict=True))

    def _added(self, totals: Totals, round_: OpenRound, seen: Round, settings: Settings) -> Totals:
        labels = seen.batch.y.tolist()
        missing = [i for i, label in enumerate(labels) if label != label and i not in round_.unlabelled]
        new = [decision for i, decision in enumerate(round_.decisions) if i not in round_.returning]
        felt = settings.audits == "decisions" and bool(seen.reports)
        outcome, more = round_.counts_as, sums(seen, self.penalty, settings.costs)
        return totals._replace(
            **{name: getattr(totals, name) + by for name, by in more.items()},
            learned=totals.learned + 1,
            people=totals.people + len(new),
            missing=totals.missing + len(missing),
            ones=totals.ones + labels.count(1.0),
            refused=totals.refused + new.count(0),
            returned=totals.returned + len(round_.returning),
            unseen=totals.unseen + (1.0 / seen.gap if felt else 0.0),
            penalties=totals.penalties + (self.penalty if seen.reports else 0.0),
            delay_sum=totals.delay_sum + self.delay,
            delay_max=max(totals.delay_max, self.delay),
            **{outcome: getattr(totals, outcome) + 1},
        )

    def tell(self, view: RoundRecord) -> None:
        """When it was learned, and how."""
        view["status"] = "learned"
        view["learned"] = {
            "version": self.version,
            "penalty": self.penalty,
            "delay": self.delay,
            "outstanding": self.outstanding,
            "waited": self.waited,
            "dropped": self.dropped,
            "at": self.at,
        }

    def objection(self, state: State, memory: Memory) -> str:
        """Every number follows from the state; the penalty from the learner, if that is known."""
        round_, learned = self.round(state), state.totals.learned
        expected = {
            "version": learned + 1,
            "delay": learned - round_.version,
            "outstanding": state.outstanding - 1,
            "dropped": round_.reports_erased,
        }
        for name, value in expected.items():
            if getattr(self, name) != value:
                return f"should have {name} = {value}, not {getattr(self, name)}"
        waited = self.time - round_.opened_at
        if abs(self.waited - waited) > SLACK:
            return f"should have waited = {waited:.6f}"
        return self._penalty(state, round_)

    def _penalty(self, state: State, round_: OpenRound) -> str:
        if state.policy is None or round_.lost:
            return ""
        penalty = float(state.stream.learner.penalty_at(state.learner))
        same = math.isclose(self.penalty, penalty, rel_tol=TOLERANCE)
        return "" if same else f"should have penalty = {penalty}, not {self.penalty}"
