"""A corrected round counts as its correction in every claim, and what the corrections refute is broken."""

from __future__ import annotations

import numpy as np
import pytest
from forging import renumbered, write
from loans import drawn, far_apart, loans, people

from likewise.certificates import certify
from likewise.certificates.assumptions import Claim
from likewise.service.projections import summaries
from likewise.service.proof.replay import sentences, verify
from likewise.service.stream.settings import Waits
from likewise.service.stream.status import regret, violations_limit
from likewise.service.stream.transcript import transcript

ROUNDS = 12
APART = np.array([[0.05, 0.5], [0.95, 0.5]])


def round_(engine, i, verdict="none"):
    """One learned round with people of its own; its answer, with the two who were treated most differently."""
    asked = people(APART, prefix=f"{i}.")
    answer = engine.decide("loans", asked, "decider")
    p = [person["probability"] for person in answer["decisions"]]
    pair = [asked[j]["id"] for j in far_apart(p)]
    reported = verdict == "pair" and np.ptp(p) > 0.1
    engine.audit("loans", answer["t"], "pair" if reported else "none", "ann", pair=pair if reported else ())
    engine.label("loans", answer["t"], {person["id"]: int(j) for j, person in enumerate(asked)}, "decider")
    return answer["t"], pair, np.ptp(p) > 0.1


@pytest.fixture
def played(new_database, start):
    """An engine with some rounds that were cleared, and the pair of each that could have been reported."""
    engine = start(new_database("sqlite"))
    engine.create(loans(), "root")
    found = [round_(engine, i) for i in range(ROUNDS)]
    return engine, {t: pair for t, pair, apart in found if apart}


def assumption(certificate, name):
    return next(a for a in certificate["assumptions"] if a["name"].startswith(name))


def test_cleared_rounds_that_are_corrected_to_a_pair_count_as_reported_and_nothing_is_claimed_of_new_people(played):
    engine, pairs = played
    before = engine.certificate("loans")
    assert (before["reports"], len(before["fairness"]) > 0) == (0, True)
    assert len(pairs) > 5
    for t, pair in pairs.items():
        engine.correct("loans", t, "pair", "ann", pair=pair)
    after = engine.certificate("loans")
    assert after["reports"] == after["violations"] == len(pairs)
    assert len(after["brackets"]) > 0
    assert after["fairness"] == []
    looks = assumption(after, "the reviewer reports whenever they can")
    assert (looks["status"], looks["detail"]) == ("broken", f"{len(pairs)} cleared rounds had a pair after all")
    assert after["error"] == before["error"]
    audits = engine.stream("loans")["audits"]
    assert (audits["reported"], audits["cleared"]) == (len(pairs), ROUNDS - len(pairs))
    assert violations_limit(engine.streams.get("loans").current()) is None


def test_only_the_last_correction_counts_and_one_that_goes_back_refutes_nothing(played):
    engine, pairs = played
    before = engine.certificate("loans")
    t, pair = next(iter(pairs.items()))
    engine.correct("loans", t, "pair", "ann", pair=pair)
    engine.correct("loans", t, "none", "ann")
    after = engine.certificate("loans")
    assert after["fairness"] == before["fairness"]
    assert after["reports"] == 0
    assert engine.stream("loans")["audits"] == {
        "reported": 0,
        "cleared": ROUNDS,
        "skipped": 0,
        "expired": 0,
        "undrawn": 0,
    }
    engine.correct("loans", t, "skip", "ann")
    assert engine.certificate("loans")["unseen"] == before["unseen"] + 1


def test_a_report_that_is_taken_back_counts_no_more_and_no_limit_rests_on_it(new_database, start):
    engine = start(new_database("sqlite"))
    engine.create(loans(), "root")
    for i in range(6):
        round_(engine, i)
    t, _, apart = round_(engine, 6, "pair")
    assert apart
    assert engine.certificate("loans")["reports"] == 1
    assert engine.stream("loans")["regret"]["proved"] is not None
    engine.correct("loans", t, "none", "ann")
    after = engine.certificate("loans")
    assert after["reports"] == 0
    assert assumption(after, "reports are truthful")["status"] == "broken"
    assert all(limit["by_prices"] is None for limit in after["regret"])
    limits = engine.stream("loans")["regret"]
    assert limits["proved"] is limits["promised"] is None
    assert "took back or replaced 1 reports" in limits["sentence"]


def test_what_is_certified_is_what_the_library_certifies_of_the_corrected_rounds(played):
    engine, pairs = played
    for t, pair in pairs.items():
        engine.correct("loans", t, "pair", "ann", pair=pair)
    state = engine.streams.get("loans").current()
    events = [sealed.event for page in engine.store.pages("loans", engine.store.head("loans")[0]) for sealed in page]
    t = transcript(events, state)
    assert [i + 1 for i in range(t.rounds) if t.reports_in(i)] == sorted(pairs)
    assert (t.gaps[[i - 1 for i in pairs]] > 0.1).all()
    claims = certify(t)
    assert not claims.fairness
    assert any(Claim.FAIRNESS in a.needed_for and a.status == "broken" for a in claims.assumptions)
    assert regret(state)["proved"] is not None  # a report more leaves fewer policies to compare with


def test_a_round_that_waits_for_labels_counts_as_corrected_once_it_is_learned(new_database, start, clock):
    engine = start(new_database("sqlite"))
    engine.create(loans(waits=Waits(audit=10, grace=0)), "root")
    asked = drawn(np.random.default_rng(0))
    t = engine.decide("loans", asked, "decider")["t"]
    clock.forward(11)
    engine.tick()
    engine.correct("loans", t, "none", "ann")
    again = start(engine.store.url.database)
    for each in (engine, again):
        assert each.stream("loans")["audits"]["cleared"] == 0
    engine.label("loans", t, {person["id"]: 1 for person in asked}, "decider")
    assert engine.stream("loans")["audits"] == {"reported": 0, "cleared": 1, "skipped": 0, "expired": 0, "undrawn": 0}
    assert engine.certificate("loans")["unseen"] == 0
    engine.correct("loans", t, "skip", "ann")
    assert engine.stream("loans")["audits"]["skipped"] == 1


def test_a_correction_of_a_discarded_round_is_counted_but_not_among_those_learned(new_database, start, clock):
    engine = start(new_database("sqlite"))
    engine.create(loans(waits=Waits(audit=10, label=10, audit_end="discard", grace=0)), "root")
    t = engine.decide("loans", drawn(np.random.default_rng(0)), "decider")["t"]
    clock.forward(11)
    engine.tick()
    engine.correct("loans", t, "none", "ann")
    status = engine.stream("loans")
    assert (status["discarded"], status["corrected"]) == (1, 1)
    assert set(status["audits"].values()) == {0}


def test_the_pictures_and_a_person_s_record_follow_a_correction(played):
    engine, pairs = played
    t, pair = next(iter(pairs.items()))
    engine.correct("loans", t, "pair", "ann", pair=pair)
    assert summaries.read_on(engine, "loans")
    (kept,) = [row for row in summaries.newest(engine.store, "loans") if row.round == t]
    assert (kept.verdict, kept.gap > 0.1) == ("reported", True)
    assert sum(bin.violations for bin in summaries.bins(engine.store, "loans")) == 1
    assert engine.person("loans", pair[0])["rounds"][0]["reported_as"] == "favoured"


def test_a_log_with_corrections_verifies_and_one_that_says_what_it_replaces_wrongly_does_not(played, tmp_path):
    engine, pairs = played
    for t, pair in pairs.items():
        engine.correct("loans", t, "pair", "ann", pair=pair)
        engine.correct("loans", t, "none", "ann")
    lines = list(engine.export("loans"))
    key = engine.signer.public_key
    assert verify(write(tmp_path / "whole.jsonl", lines), key=key).first is None
    plain = [line for line in lines if line["line"] != "checkpoint"]
    last = max(i for i, line in enumerate(plain) if line.get("kind") == "audit_corrected")
    assert plain[last]["data"]["replaces"] == "reported"
    plain[last]["data"]["replaces"] = "cleared"
    bent = verify(write(tmp_path / "bent.jsonl", renumbered(plain)))
    assert any("should replace 'reported', not 'cleared'" in line for line in sentences(bent))
