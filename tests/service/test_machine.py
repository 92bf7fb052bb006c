"""Any sequence of commands, on both databases, against a model simple enough to be believed."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from believed import Believed
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from loans import BANK, COLUMNS, Clock, far_apart, fingerprint, loans

from likewise import theory
from likewise.errors import InvalidParameter, ReportRefused
from likewise.service.engine import Engine
from likewise.service.log import Idempotency, Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.proof.spelling import canonical
from likewise.service.refusals import Conflict, StreamStopped, Unknown
from likewise.service.stream.brief import Brief
from likewise.service.stream.settings import Review, Waits
from likewise.verdicts import Opinion

POOL = [f"p{i}" for i in range(6)]
AUDITORS = ("ann", "bob", "cyd")
PATIENCE = (None, 20.0)
WORLDS = (
    {},
    {},
    BANK,
    BANK | {"audits": "decisions"},
    {"labels": "accepted", "safe": True},
    {"lot": "round"},
    {"audits": "decisions"},
)
"""Whose labels come, what is drawn, and what auditors see."""
PLANS = (
    {"ask_all": True},
    {},
    {"share": 0.5},
    {"share": 0.3, "choose": "largest"},
    {"budget": 2},
    {"second": 1.0},
    {"second": 0.5, "rule": "any"},
    {"share": 0.7, "second": 1.0, "rule": "any"},
)
"""Which rounds are reviewed."""
BRIEFS = ({"decided": "A loan of 1,000."}, {"decided": "A loan.", "reasons": ["the same debts"]}, {})
LEASE = 10.0


class Killed(BaseException):
    """The process is gone: nobody hears what became of a command, and nothing is tidied up."""


class Machine(RuleBasedStateMachine):
    """Commands through two engines, as two processes would send them.

    Either may be killed at any time, also before or after a command's events are on disk and nobody has heard of it.
    Whoever sent the command sends it again under the same key, as a reviewer's page does.
    """

    either = st.integers(0, 1)
    places = st.integers(0, 20)

    def __init__(self, database, folder):
        super().__init__()
        self.clock, self.signer, self.folder = Clock(), Signer.generate(), folder
        self.database = database
        self.engines = [self.start(), self.start()]
        self.rounds: dict[int, Believed] = {}
        self.learned: list[int] = []
        self.record: dict[str, tuple[float, int]] = {}
        self.stopped = False
        self.keys = 0
        self.leases: dict[int, tuple[str, float]] = {}
        self.had: set[tuple[int, str]] = set()
        self.given: list[tuple] = []
        self.brief, self.brief_version = Brief(), 0

    def start(self):
        store = Store(self.database)
        store.migrate()
        engine = Engine(store, self.signer, CheckpointFile(self.folder / "checkpoints.jsonl"), self.clock)
        engine.start()
        return engine

    def ask(self, engine, refusal, ask, key=None):
        """Ask, and see that a refusal comes exactly when the model expects it, and writes nothing."""
        key = key or self.key()
        before = self.engines[0].store.head("loans")
        try:
            return self.asked(engine, refusal, ask, key)
        except Killed:
            assert refusal is None or self.engines[0].store.head("loans") == before
            self.kill(engine)
            return self.asked(engine, refusal, ask, key)

    def asked(self, engine, refusal, ask, key):
        if refusal is None:
            return ask(self.engines[engine], key)
        before = self.engines[0].store.head("loans")
        with pytest.raises(refusal):
            ask(self.engines[engine], key)
        assert self.engines[0].store.head("loans") == before
        return None

    def key(self):
        self.keys += 1
        return Idempotency("token", str(self.keys), "request")

    @rule(engine=either)
    def kill(self, engine):
        """Nothing is signed, saved or handed back; what is on disk is there."""
        self.engines[engine].store.close()
        self.engines[engine] = self.start()

    @rule(engine=either, after=st.booleans())
    def doom(self, engine, after):
        """The next command that writes through an engine is its last."""
        store = self.engines[engine].store

        def submit(append, *, wake=True):
            writing = type(store).submit(store, append) if after else None
            if writing is not None and writing.exception() is not None:
                return writing  # another process was faster: nothing was written, and it goes on
            raise Killed

        store.submit = submit

    def close(self, t, learned):
        if learned:
            self.learned.append(t)

    def pick(self, place):
        return sorted(self.rounds)[place % len(self.rounds)]

    @initialize(
        audit=st.sampled_from(PATIENCE),
        label=st.sampled_from(PATIENCE),
        ends=st.tuples(*[st.sampled_from(("learn", "discard"))] * 2),
        grace=st.sampled_from((0.0, 10.0)),
        learner=st.sampled_from(
            (
                {},
                {"penalty": "growing"},
                {"learner": "hedge", "penalty": 3.0},
                {"hypotheses": "cells"},
                {"hypotheses": "cells", "penalty": "growing"},
            )
        ),
        world=st.sampled_from(WORLDS),
        plan=st.sampled_from(PLANS),
    )
    def create(self, audit, label, ends, grace, learner, world, plan):
        self.world, self.plan = world, Review(**plan)
        self.waits = Waits(audit=audit, label=label, audit_end=ends[0], label_end=ends[1], grace=grace)
        cuts = {"score": (0.3, 0.6), "age": (0.5,)}
        self.engines[0].create(loans(waits=self.waits, cuts=cuts, review=self.plan, **learner, **world), "root")

    @rule(
        engine=either, names=st.lists(st.sampled_from(POOL), min_size=1, max_size=3, unique=True), x=st.integers(0, 9)
    )
    def decide(self, engine, names, x):
        values = [((x + 3 * i) % 10) / 10 for i in range(len(names))]
        people = [
            {"id": name, "features": dict(zip(COLUMNS, (value, 1 - value), strict=True))}
            for name, value in zip(names, values, strict=True)
        ]
        refusal = StreamStopped if self.stopped else None
        key, send = self.key(), lambda e, key: e.decide("loans", people, "decider", key)
        found = self.ask(engine, refusal, send, key)
        if found is not None:
            assert found["t"] == len(self.rounds) + 1
            assert found["version"] == len(self.learned)
            assert [person["id"] for person in found["decisions"]] == names
            self.believe_round(found, names)
            assert self.ask(1 - engine, None, send, key) == found

    def believe_round(self, found, names):
        """Who came before got the same; nobody is asked where nothing could be reported."""
        shown = [(person["probability"], person["decision"]) for person in found["decisions"]]
        returning = {i for i, name in enumerate(names) if self.world and name in self.record}
        assert {i for i, person in enumerate(found["decisions"]) if person["returning"]} == returning
        assert all(shown[i] == self.record[names[i]] for i in returning)
        self.record |= dict(zip(names, shown, strict=True)) if self.world else {}
        refused = {i for i, (_, decision) in enumerate(shown) if not decision}
        one = Believed(list(names), self.clock.now, returning, refused, self.world.get("labels") == "accepted")
        self.rounds[found["t"]] = one
        new = [shown[i] for i in range(len(names)) if i not in returning]
        self.believe_lot(found["t"], one, new)
        if one.verdict is not None:
            one.said, one.auditor = self.clock.now, "clock"
        self.close(found["t"], one.settle(self.waits, self.clock.now))

    def believe_lot(self, t, one, new):
        """A round that can't be reported is clean; others are drawn where the plan says so."""
        decisions = self.world.get("audits") == "decisions"
        pairs = [(p, q) for p, yes in new for q, no in new if p - q > 0.1 and (yes > no or not decisions)]
        asked = self.plan.ask_all and not decisions and (len(new) > 1 or not self.world)
        lot = self.engines[0].round("loans", t)["review"]
        assert (lot is not None) == (bool(pairs) and self.plan.by_lot)
        if not pairs and not asked:
            one.verdict = "cleared"
        elif lot is not None:
            one.q = lot["probability"]
            one.verdict = None if lot["drawn"] else "undrawn"
            one.wanted, one.rule = 1 + lot["second"], self.plan.rule if self.plan.second else None

    @precondition(lambda self: self.rounds)
    @rule(engine=either, place=places, mask=st.integers(1, 7), values=st.integers(0, 7))
    def label(self, engine, place, mask, values):
        t = self.pick(place)
        one = self.rounds[t]
        given = {i: values >> i & 1 for i, _ in enumerate(one.ids) if mask >> i & 1} or {0: values & 1}
        labels = {one.ids[i] or "erased": label for i, label in given.items()}
        known = one.labels | one.late
        if "erased" in labels:
            refusal = InvalidParameter
        else:
            wrong = dict.fromkeys(one.untaken, InvalidParameter) | {
                i: Conflict for i in known if known[i] != given.get(i, known[i])
            }
            refusal = next((wrong[i] for i in given if i in wrong), None)
        found = self.ask(engine, refusal, lambda e, key: e.label("loans", t, labels, "decider", key))
        if found is not None:
            assert found["disposition"] == self.believe_labels(t, one, given)

    def believe_labels(self, t, one, given):
        late = one.status != "open" or (one.labels_over and not one.estimated)
        fresh = {i: label for i, label in given.items() if i not in one.labels | one.late}
        if not fresh:
            return "duplicate"
        if late:
            one.late |= fresh
            return "booked" if one.estimated and one.status == "learned" else "late"
        one.labels |= fresh
        done = one.labelled == "complete"
        self.close(t, one.settle(self.waits, self.clock.now))
        return "joined" if done else "pending"

    def holder(self, t):
        """Who has a round in front of them, if their lease still runs."""
        by, until = self.leases.get(t, (None, 0.0))
        return by if until > self.clock.now else None

    def offered(self, t, by):
        """What somebody may be asked of a round now: nothing that another one has in front of them."""
        one, question = self.rounds[t], self.rounds[t].asked(by)
        if question is not None and None in [one.ids[i] for i in question.pair or ()]:
            return None  # nobody is asked about somebody who was erased
        over = self.clock.now >= one.audit_due(self.waits)
        free = self.holder(t) in (None, by)
        return question if question is not None and not over and (free or question.of == by) else None

    @rule(engine=either, by=st.sampled_from(AUDITORS))
    def claim(self, engine, by):
        found = self.engines[engine].claim("loans", by, LEASE)
        offered = {t: question for t in self.rounds if (question := self.offered(t, by)) is not None}
        if not offered:  # then what was left in dispute when rounds were closed
            left = {t: one.left(by) for t, one in self.rounds.items() if self.holder(t) in (None, by)}
            offered = {t: question for t, question in left.items() if question is not None}
        assert (found is None) == (not offered)
        if found is not None:
            question, ids = offered[found["t"]], self.rounds[found["t"]].ids
            assert found["yours"] == (question.of == by)
            assert found.get("pair", []) == [str(ids[i]) for i in question.pair or ()]
            if question.of is None or self.rounds[found["t"]].disputed:
                self.leases[found["t"]] = (by, self.clock.now + LEASE)
                self.had.add((found["t"], by))

    @precondition(lambda self: self.rounds)
    @rule(engine=either, place=places, by=st.sampled_from(AUDITORS))
    def renew(self, engine, place, by):
        t = self.pick(place)
        one, question = self.rounds[t], self.rounds[t].asked(by)
        theirs = self.leases.get(t, (None, 0.0))[0] == by
        again = question is not None and (t, by) in self.had and self.holder(t) is None
        yours = question is not None and question.of == by
        later = one.left(by) is not None and (t, by) in self.had and self.holder(t) in (None, by)
        possible = later or (one.status == "open" and (theirs or again or yours))
        renewed = self.ask(engine, None if possible else Conflict, lambda e, key: e.renew("loans", t, by, LEASE))
        if renewed is not None and not yours:
            self.leases[t] = (by, self.clock.now + LEASE)

    def handed_on(self, t, by):
        """Who has answered lets go of a round that still has a question."""
        one = self.rounds[t]
        waits = one.disputed or (one.status == "open" and one.verdict is None and one.voices)
        if waits and self.leases.get(t, (None,))[0] == by:
            del self.leases[t]

    @precondition(lambda self: self.rounds)
    @rule(engine=either, place=places, verdict=st.sampled_from(("pair", "none", "skip")), by=st.sampled_from(AUDITORS))
    def audit(self, engine, place, verdict, by):
        t = self.pick(place)
        one = self.rounds[t]
        people = self.engines[0].round("loans", t)["people"]
        shown = [person["probability"] for person in people]
        high, low = far_apart(shown)
        pair = [one.ids[high], one.ids[low]] if verdict == "pair" else []
        if verdict == "pair" and (None in pair or high == low):
            refusal = InvalidParameter
        elif verdict == "pair" and self.unreportable(one, people, high, low):
            refusal = ReportRefused
        else:
            refusal = None
        if self.holder(t) not in (None, by) and (t, by) not in self.had:
            refusal = Conflict
        found = self.ask(engine, refusal, lambda e, key: e.audit("loans", t, verdict, by, pair=pair, note="…", key=key))
        if found is not None:
            outcome = {"pair": "reported", "none": "cleared", "skip": "skipped"}[verdict]
            assert (found["verdict"], found["pair"]) == (outcome, pair)
            assert found["disposition"] == self.believe_verdict(t, one, (by, outcome, (high, low) if pair else None))
            self.handed_on(t, by)

    def believe_verdict(self, t, one, voice):
        """None is dropped, and none counts twice."""
        if voice in one.voices + one.late_voices:
            return "duplicate"
        by, outcome, pair = voice
        question = one.asked(by)
        before = [opinion.pair for opinion in one.opinions if opinion.by == by]
        about = question.pair if question is not None else before[-1] if before else None
        if about is not None and by not in [other[0] for other in one.voices] and pair in (None, about):
            opinion = Opinion(by, about, {"reported": True, "cleared": False}.get(outcome))
            if opinion in one.opinions:
                return "duplicate"
            if question is not None:
                self.believe_opinion(t, opinion)
                return "taken"
        if question is None or question.what != "verdict":
            one.late_voices.append(voice)
            self.given.append(("verdict_late", t, by, outcome))
            return "late"
        one.voices.append(voice)
        self.given.append(("audited", t, by, outcome))
        one.heard(self.clock.now)
        self.close(t, one.settle(self.waits, self.clock.now))
        return "taken"

    def believe_opinion(self, t, opinion):
        one = self.rounds[t]
        one.opinions.append(opinion)
        self.given.append(("pair_judged", t, opinion.by, opinion.objects))
        if one.status != "open":
            return  # what was learned stays learned
        one.heard(self.clock.now)
        self.close(t, one.settle(self.waits, self.clock.now))

    @precondition(lambda self: any(one.rule and one.voices for one in self.rounds.values()))
    @rule(engine=either, place=places, by=st.sampled_from(AUDITORS), objects=st.sampled_from((True, False, None)))
    def judge(self, engine, place, by, objects):
        teams = sorted(t for t, one in self.rounds.items() if one.rule and one.voices)
        t = teams[place % len(teams)]
        one = self.rounds[t]
        question = one.asked(by) or one.left(by)
        named = question.pair if question is not None else None
        if named is not None and None in [one.ids[i] for i in named]:
            return
        pair = [one.ids[i] for i in named] if named else ["p0", "p1"]
        refusal = None if named else Conflict
        if self.ask(engine, refusal, lambda e, key: e.judge_pair("loans", t, pair, objects, by, key)) is not None:
            self.believe_opinion(t, Opinion(by, named, objects))
            self.handed_on(t, by)

    def unreportable(self, one, people, high, low):
        by_decisions = self.world.get("audits") == "decisions"
        alike = by_decisions and not people[high]["decision"] > people[low]["decision"]
        return alike or {high, low} & one.returning or people[high]["probability"] - people[low]["probability"] <= 0.1

    @precondition(lambda self: self.rounds)
    @rule(engine=either, place=places, by=st.sampled_from(AUDITORS))
    def retract(self, engine, place, by):
        t = self.pick(place)
        one = self.rounds[t]
        patience = math.inf if self.waits.audit is None else self.waits.audit + self.waits.grace
        final = (one.verdict is not None and one.final) or self.clock.now > one.opened + patience
        possible = one.status == "open" and not final and by in [voice[0] for voice in one.voices]
        if self.ask(engine, None if possible else Conflict, lambda e, key: e.retract("loans", t, by, key)) is not None:
            one.voices = [voice for voice in one.voices if voice[0] != by]
            said = one.said
            one.heard(said)
            one.retracted = self.clock.now

    @rule(engine=either, seconds=st.sampled_from((0.0, 5.0, 11.0, 25.0)))
    def tick(self, engine, seconds):
        self.clock.forward(seconds)
        self.ask(engine, None, lambda e, key: e.tick())
        due = sorted((one.due(self.waits), t) for t, one in self.rounds.items() if one.status == "open")
        for moment, t in due:
            if moment <= self.clock.now:
                self.close(t, self.rounds[t].pass_time(self.waits, self.clock.now))

    @rule(engine=either, audit=st.sampled_from(PATIENCE), grace=st.sampled_from((0.0, 10.0)))
    def change(self, engine, audit, grace):
        changes = {"audit": audit, "grace": grace}
        self.ask(engine, None, lambda e, key: e.change_waits("loans", changes, "root", key))
        self.waits = self.waits.changed(changes)

    @rule(engine=either, plan=st.sampled_from(PLANS))
    def change_plan(self, engine, plan):
        whole = Review().model_dump() | plan
        self.ask(engine, None, lambda e, key: e.change_plan("loans", whole, "root", key))
        self.plan = Review(**plan)

    @rule(engine=either, brief=st.sampled_from(BRIEFS))
    def change_brief(self, engine, brief):
        told = self.ask(engine, None, lambda e, key: e.change_brief("loans", brief, "root", key))
        self.brief_version += Brief(**brief) != self.brief
        self.brief = Brief(**brief)
        assert told["version"] == self.brief_version

    @precondition(lambda self: self.rounds)
    @rule(engine=either, place=places, verdict=st.sampled_from(("pair", "none", "skip")))
    def correct(self, engine, place, verdict):
        t = self.pick(place)
        one = self.rounds[t]
        people = self.engines[0].round("loans", t)["people"]
        high, low = far_apart([person["probability"] for person in people])
        pair = [one.ids[high], one.ids[low]] if verdict == "pair" else []
        if one.status == "open" and (one.verdict is None or not one.final):
            refusal = Conflict
        elif verdict == "pair" and (None in pair or high == low):
            refusal = InvalidParameter
        elif verdict == "pair" and self.unreportable(one, people, high, low):
            refusal = ReportRefused
        else:
            refusal = None
        if (
            self.ask(engine, refusal, lambda e, key: e.correct("loans", t, verdict, "lead", pair=pair, key=key))
            is not None
        ):
            one.found_later |= verdict == "pair" and one.status != "open"
            one.corrected = True

    @rule(engine=either)
    def stop_or_resume(self, engine):
        if self.stopped:
            self.ask(engine, None, lambda e, key: e.resume("loans", "root", key))
        else:
            self.ask(engine, None, lambda e, key: e.stop("loans", "the model says so", "root", key))
        self.stopped = not self.stopped

    @rule(engine=either, name=st.sampled_from(POOL))
    def erase(self, engine, name):
        mine = [t for t, one in self.rounds.items() if name in one.ids]
        found = self.ask(engine, None if mine else Unknown, lambda e, key: e.erase("loans", name, "root", key))
        if found is not None:
            assert found["rounds"] == mine
            for t in mine:
                ids = self.rounds[t].ids
                self.rounds[t].ids = [None if other == name else other for other in ids]
                self.rounds[t].unlooked |= self.rounds[t].status == "open"
            self.record.pop(name, None)

    @rule(engine=either)
    def restart(self, engine):
        self.engines[engine].close()
        self.engines[engine] = self.start()

    def teardown(self):
        try:
            if hasattr(self, "waits"):
                self.compare()
        finally:
            for engine in self.engines:
                engine.close()

    def compare(self):
        """Every round as believed, every engine in the same state, and a log that verifies to its end."""
        first, second = self.engines
        for t, one in self.rounds.items():
            view = first.round("loans", t)
            assert view["status"] == one.status, t
            assert (view["audit"] or {}).get("verdict") == one.verdict, t
            for name, voices in (("verdicts", one.voices), ("late_verdicts", one.late_voices)):
                assert [(said["by"], said["verdict"]) for said in view[name]] == [voice[:2] for voice in voices], t
            assert [(said["by"], said["objects"]) for said in view["opinions"]] == [
                (opinion.by, opinion.objects) for opinion in one.opinions
            ], t
            labels = {i: person["label"] for i, person in enumerate(view["people"]) if person["label"] is not None}
            assert labels == one.labels, t
            assert [person["id"] for person in view["people"]] == one.ids
        self.compare_claims(first.stream("loans")["reviews"])
        told = first.brief("loans")
        assert (told["version"], told["brief"]) == (self.brief_version, self.brief.model_dump(mode="json"))
        lines = list(first.export("loans"))
        self.compare_verdicts(lines)
        assert [line["data"]["t"] for line in lines if line.get("kind") == "learned"] == self.learned
        open_rounds = [t for t, one in self.rounds.items() if one.status == "open"]
        third = self.start()
        states = [engine.streams.get("loans").current() for engine in (first, second, third)]
        third.close()
        assert len({fingerprint(state) for state in states}) == 1
        assert list(states[0].rounds) == open_rounds
        path = self.folder / "export.jsonl"
        path.write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
        found = verify(path, key=self.signer.public_key)
        assert found.first is None
        if found.replay is not None:
            assert found.replay.rounds + len(found.replay.lost) == len(self.learned)
            assert found.replay.inexact == 0

    def compare_verdicts(self, lines):
        """Every verdict and every opinion given is in the log exactly once, in the order in which they were given."""
        kinds = {"audited": "verdict", "verdict_late": "verdict", "pair_judged": "objects"}
        said = [(line["kind"], line["data"]) for line in lines if line.get("kind") in kinds]
        logged = [(kind, data["t"], data["by"], data[kinds[kind]]) for kind, data in said if data["by"] in AUDITORS]
        assert logged == self.given

    def compare_claims(self, said):
        """What is said of all rounds is what the theorem says of them one by one, up to the first that waits."""
        waiting = [t for t, one in self.rounds.items() if one.counts is None]
        up_to = min(waiting, default=len(self.rounds) + 1) - 1
        assert (said["up_to"], said["waiting"]) == (up_to, len(waiting))
        outcomes = [(one.q, one.counts) for t, one in sorted(self.rounds.items()) if t <= up_to]
        floor = self.engines[0].streams.get("loans").current().drawing.floor
        count = theory.count_rounds(1.0 if floor is None else floor, outcomes)
        for name in ("cleared", "undrawn", "clean", "reported", "unanswered"):
            assert said[name] == getattr(count, name), name
        assert said["estimate"] == pytest.approx(count.estimate)
        assert said["at_most"] == theory.review_limit(count)


@pytest.mark.parametrize(("kind", "sequences"), [("sqlite", 20), ("postgresql", 5)])
def test_any_sequence_of_commands_does_what_the_model_says(kind, sequences, new_database, tmp_path_factory):
    budget = settings(
        max_examples=sequences,
        phases=[Phase.generate],
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Machine(new_database(kind), tmp_path_factory.mktemp("machine")), settings=budget)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_sequences_of_commands_do_what_the_model_says(kind, new_database, tmp_path_factory):
    budget = settings(
        max_examples=150, stateful_step_count=50, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(lambda: Machine(new_database(kind), tmp_path_factory.mktemp("machine")), settings=budget)


def test_the_model_is_simple_enough_to_be_checked_by_hand():
    waits = Waits(audit=20.0, label=None, grace=10.0)
    one = Believed(["a", "b"], opened=0.0)
    assert one.due(waits) == 20
    assert not one.pass_time(waits, 20.0)
    assert (one.verdict, one.status) == ("expired", "open")
    one.labels = {0: 1, 1: 0}
    assert one.settle(waits, 20.0)
    assert one.status == "learned"
    assert np.isinf(Believed(["a"], 0.0).due(Waits()))
