"""A bank's stream behind a real store: restarts, two processes, late labels, and forgers of lots."""

from __future__ import annotations

from contextlib import closing
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
from forging import SIGNER, events, rechained, write
from loans import BANK, Clock, fingerprint, loans, people
from visitors import Browser

from likewise.errors import InvalidParameter, ReportRefused
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.proof import drawn, standalone
from likewise.service.proof.replay import verify
from likewise.service.stream.settings import Waits

DECISIONS = BANK | {"audits": "decisions"}


def started(database, folder, clock):
    store = Store(database)
    store.migrate()
    engine = Engine(store, SIGNER, CheckpointFile(folder / "checkpoints.jsonl"), clock)
    engine.start()
    return engine


def lead(engines, clock, rounds=30, first=0):
    """Rounds through several engines in turn, as several processes: some labels late, some people again."""
    rng = np.random.default_rng(first)
    for i in range(first, first + rounds):
        engine = engines[i % len(engines)]
        asked = people(rng.random((4, 2)), prefix=f"{i - (i % 5 == 4)}.")
        opened = engine.decide("loans", asked, "decider")
        t, answers = opened["t"], zip(asked, opened["decisions"], strict=True)
        seen = [person for person, answer in answers if answer["decision"] and not answer["returning"]]
        labels = {person["id"]: int(person["features"]["score"] > 0.5) for person in seen}
        if labels and i % 3:
            assert engine.label("loans", t, labels, "decider")["disposition"] == "joined"
        shown = engine.claim("loans", "ann")
        if shown is not None:
            pair = shown["pairs"][0] if i % 2 else []
            engine.audit("loans", shown["t"], "pair" if pair else "none", "ann", pair=pair)
        clock.forward(100)
        engine.tick()
        if labels and not i % 3:
            assert engine.label("loans", t, labels, "decider")["disposition"] == "booked"


@pytest.fixture
def bank(tmp_path, new_database, monkeypatch):
    """Two engines on one stream, as two processes would have it; its secret is the same every time."""
    monkeypatch.setattr("likewise.service.engine.for_deciders.secrets", SimpleNamespace(token_bytes=bytes))
    clock, database = Clock(), new_database("sqlite")
    engines = [started(database, tmp_path, clock) for _ in range(2)]
    engines[0].create(loans(alpha=0.05, waits=Waits(audit=60, label=90, grace=5), **DECISIONS), "root")
    lead(engines, clock)
    yield engines, clock, database
    for engine in engines:
        engine.close()


def test_two_processes_a_restart_and_the_log_alone_lead_to_the_same_state(bank, tmp_path):
    engines, clock, database = bank
    for engine in engines:
        engine.close()
    engines[:] = [started(database, tmp_path, clock) for _ in range(2)]  # from the snapshot
    lead(engines, clock, 12, first=30)
    engines[0].store.write(lambda connection: connection.exec_driver_sql("DELETE FROM snapshots") and None)
    engines.append(started(database, tmp_path, clock))  # from the first event
    states = [engine.streams.get("loans").current() for engine in engines]
    assert len({fingerprint(state) for state in states}) == 1
    totals = states[0].totals
    assert min(totals.booked, totals.returned, totals.refused, totals.reported, totals.unseen) > 0
    found = verify(write(tmp_path / "export.jsonl", engines[0].export("loans")), key=SIGNER.public_key)
    assert found.first is None
    assert found.replay.rounds == totals.learned
    assert found.replay.inexact == 0


def test_somebody_erased_is_a_new_person_and_the_rest_can_still_be_verified(bank, tmp_path):
    engines, clock, _ = bank
    engines[0].erase("loans", "10.1", "root")
    back = engines[1].decide(
        "loans", people([[0.2, 0.4]], prefix="10.") + people([[0.5, 0.5]], prefix="new"), "decider"
    )
    assert [person["returning"] for person in back["decisions"]] == [True, False]
    again = engines[1].decide("loans", [{"id": "10.1", "features": {"score": 0.5, "age": 0.5}}], "decider")
    assert [person["returning"] for person in again["decisions"]] == [False]
    lead(engines, clock, 6, first=60)
    found = verify(write(tmp_path / "export.jsonl", engines[0].export("loans")), key=SIGNER.public_key)
    assert found.first is None
    assert found.replay.lost
    assert found.replay.rounds > 0


def test_people_can_be_left_out_of_an_export_and_every_lot_is_still_drawn_again(bank, tmp_path):
    engines, *_ = bank
    lines = [line for line in engines[0].export("loans", people=False) if line["line"] != "checkpoint"]
    assert standalone.check(lines).first is None
    place = next(i for i in events(lines) if lines[i]["kind"] == "round_opened")
    forged = deepcopy(lines)
    forged[place]["data"]["lot"]["nonce"] = "ab" * 32
    assert "nonce" in standalone.check(rechained(forged)).first[1]


def forge(lines, change):
    """The first round without people who came before, changed; chained anew, as whoever has the key could."""
    forged = deepcopy([line for line in lines if line["line"] != "checkpoint"])
    openings = [i for i in events(forged) if forged[i]["kind"] == "round_opened"]
    kind = "returning" if change.__name__.startswith("again") else None
    place = next(i for i in openings if ("returning" in forged[i]["data"]) == bool(kind))
    change(forged[place]["data"])
    return rechained(forged), forged[place]["seq"]


def nonce(data):
    data["lot"]["nonce"] = "cd" * 32


def commitment(data):
    data["lot"]["next"] = "cd" * 32


def decision(data):
    person = data["people"][0]
    person["decision"] = 1 - person["decision"]


def probability(data):
    data["people"][0]["probability"] *= 0.999


def number(data):
    """A whole lot that was never committed to, with the decisions that follow from it."""
    data["lot"]["nonce"] = "ef" * 32
    u = drawn.lot(bytes.fromhex("ef" * 32), "loans", data["t"], [p["probability"] for p in data["people"]])
    for person in data["people"]:
        person["decision"] = int(u < person["probability"])


def again_as_new(data):
    del data["returning"]


def again_otherwise(data):
    person = data["people"][data["returning"][0]]
    person["decision"] = 1 - person["decision"]


@pytest.mark.parametrize(
    "change",
    [nonce, commitment, decision, number, again_as_new, again_otherwise],
    ids=lambda c: c.__name__,
)
def test_a_forged_lot_and_a_decision_that_does_not_follow_are_found_by_both_verifiers(bank, tmp_path, change):
    lines, seq = forge(list(bank[0][0].export("loans")), change)
    alone = standalone.check(lines)
    whole = verify(write(tmp_path / "export.jsonl", lines))
    found = alone.first, whole.replay.difference
    assert None not in found
    assert found[0][0] == found[1][0]
    assert found[0][0] == seq or change is commitment, "another commitment is found when the next nonce is opened"


def test_a_probability_that_was_changed_a_little_changes_the_lot_and_is_found_by_the_learner_at_least(bank, tmp_path):
    lines, seq = forge(list(bank[0][0].export("loans")), probability)
    assert verify(write(tmp_path / "export.jsonl", lines)).first[0] == seq


def test_labels_of_refused_people_and_of_people_who_came_before_are_refused(bank):
    engines, *_ = bank
    rounds = [engines[0].round("loans", t) for t in range(1, 31)]
    refused = next((r, p) for r in rounds for p in r["people"] if p["unseen"] and not p["returning"])
    before = next((r, p) for r in rounds for p in r["people"] if p["returning"])
    for (round_, person), why in ((refused, "was refused"), (before, "already had a decision")):
        with pytest.raises(InvalidParameter, match=why):
            engines[0].label("loans", round_["t"], {person["id"]: 1}, "decider")


def numbers_in(value):
    """Every float of an answer."""
    if isinstance(value, dict):
        return [x for each in value.values() for x in numbers_in(each)]
    if isinstance(value, list):
        return [x for each in value for x in numbers_in(each)]
    return [value] if isinstance(value, float) else []


def test_a_reviewer_of_decisions_is_told_no_probability_and_no_gap(bank):
    engines, *_ = bank
    engine = engines[0]
    shown = None
    for i in range(100):
        engine.decide("loans", people(np.random.default_rng(i).random((4, 2)), prefix=f"x{i}."), "decider")
        shown = engine.claim("loans", "ann")
        if shown is not None:
            break
    assert shown["pairs"]
    assert all("probability" not in person for person in shown["people"])
    features = [x for person in shown["people"] for x in person["features"].values()]
    assert set(numbers_in(shown)) <= {*features, 0.05}
    decisions = {person["id"]: person["decision"] for person in shown["people"]}
    assert all(decisions[yes] > decisions[no] for yes, no in shown["pairs"])
    same = [id for id, decision in decisions.items() if decision == decisions[shown["pairs"][0][0]]]
    if len(same) > 1:
        with pytest.raises(ReportRefused, match="the same answer"):
            engine.audit("loans", shown["t"], "pair", "ann", pair=same[:2])
    answer = engine.audit("loans", shown["t"], "pair", "ann", pair=shown["pairs"][0])
    assert answer["gap"] is None
    assert numbers_in(answer) == []


def test_a_certificate_can_be_made_of_such_a_stream(bank):
    made = bank[0][0].certificate("loans")
    assert made["letter"]
    assert made["rounds"] == 30


def test_every_page_of_such_a_stream_can_be_read_and_says_what_is_an_estimate(bank, serve, tmp_path):
    engines, _, database = bank
    counts = engines[0].stream("loans")
    rounds = [engines[0].round("loans", t) for t in range(1, 31)]
    booked = next(r["t"] for r in rounds for p in r["people"] if p["late_label"] is not None)
    again = next(r["t"] for r in rounds for p in r["people"] if p["returning"])
    (tmp_path / "key.pem").write_bytes(engines[0].signer.pem())
    service = serve(database, key=tmp_path / "key.pem")
    cookie = service.app.state.service.sessions.login(service.tokens["admin"])
    with closing(Browser(service, cookie)) as admin:

        def page(path=""):
            answer = admin.get(f"/streams/loans{path}")
            assert answer.status_code == 200, path
            return " ".join(answer.text.split())

        overview = page()
        people, refused = counts["people"], counts["refused"]
        assert f"{refused} of {people} people were refused" in overview
        assert f"All rows are estimates for the same {people} people" in overview
        assert f"Reports accepted: {counts['audits']['reported']}." in overview
        assert f"seen or not, is {counts['unseen_violations']:.0f};" in overview
        assert "Error so far, estimated" in overview
        assert "labels booked" in page("/log")
        assert "(late)" in page(f"/rounds/{booked}")
        assert "came before" in page(f"/rounds/{again}")
        assert "unseen" in "".join(page(f"/rounds/{t}") for t in range(1, 31))
        assert "not needed: no pair could be reported" in "".join(page(f"/rounds/{t}") for t in range(1, 31))
        assert "One number is drawn for everybody in a round" in page("/rounds/1/people/0")
        page("/rounds")
        page("/settings")
