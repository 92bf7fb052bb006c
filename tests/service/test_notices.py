"""Notices of the service: of the policy that decided, found again from the log; nothing is written."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
import sampled
from loans import drawn, loans
from serving import STREAM, people, running
from visitors import Browser

from likewise.service import notices
from likewise.service.refusals import Conflict, Unknown
from likewise.service.stream.settings import Feature


def lived(engine, rounds=12, **changes):
    """A stream with a past; the people of each round."""
    settings = loans(**changes)
    engine.create(settings, "root")
    rng, came = np.random.default_rng(0), []
    for i in range(rounds):
        batch = drawn(rng, prefix=f"{i}.")
        t = engine.decide("loans", batch, "decider")["t"]
        engine.label("loans", t, {person["id"]: int(person["features"]["score"] > 0.5) for person in batch}, "decider")
        engine.audit("loans", t, "none", "ann")
        came.append(batch)
    return came


@pytest.mark.parametrize("kind", ["thresholds", "cells"])
def test_reasons_add_up_to_the_probability_of_the_day_and_nothing_is_written(engine, kind):
    cuts = {"score": (0.3, 0.6), "age": (0.5,)}
    lived(engine, hypotheses=kind, cuts=cuts)
    head = engine.store.head("loans")
    for name in ("0.1", "5.2", "11.3"):
        record = engine.person("loans", name)["rounds"][0]
        told = notices.notice(engine, "loans", name, contact="the desk")
        assert told.probability == record["probability"]
        if told.compared_with:
            total = told.base + sum(reason.amount for reason in told.reasons)
            assert total == pytest.approx(record["probability"], abs=1e-9)
        assert told.estimated == (kind == "cells")
        assert record["policy"] in told.policy
        assert told.asked == "Ask the desk."
    assert engine.store.head("loans") == head


def test_where_an_erasure_took_the_policy_of_a_round_with_it_that_is_said(engine):
    """The learner can't be run again between the round of whoever was erased and the next state in the log."""
    lived(engine)
    engine.erase("loans", "3.0", "root")
    assert (
        notices.notice(engine, "loans", "3.1").probability == engine.person("loans", "3.1")["rounds"][0]["probability"]
    )
    with pytest.raises(Conflict, match="nobody knows the policy of round 8 any more"):
        notices.notice(engine, "loans", "7.1")


def test_the_split_of_cut_offs_is_exact(engine):
    """A sum over features: the amount of one is what it adds, less its mean over the others."""
    came = lived(engine)
    told = notices.notice(engine, "loans", "6.0")
    model = engine.streams.get("loans").latest.state.stream
    found = notices.deployed_for(engine, "loans", t=7)
    deployed = notices.Deployed(found["version"], np.array(found["weights"]), found["hash"])
    others = notices._others(engine, "loans", 7, "6.0")
    assert len(others) == min(40, 27)
    mine = came[6][0]["features"]

    def at(**changed):
        rows = model.encode([other | changed for other in others])
        return model.probabilities(deployed, rows).mean()

    for reason in told.reasons:
        assert reason.amount == pytest.approx(at(**{reason.column: mine[reason.column]}) - at(), abs=1e-9)


def test_changes_do_what_they_say(engine):
    came = lived(engine)
    told = notices.notice(engine, "loans", "11.1")
    model, state = engine.streams.get("loans").latest.state.stream, engine.streams.get("loans").latest.state
    policy = notices._policy(engine, "loans", engine.person("loans", "11.1")["rounds"][0], None)
    assert state.policy.hash != policy.hash  # it has learned since
    for change in told.changes:
        person = came[11][1]["features"] | {change.column: change.value}
        assert model.probabilities(policy, model.encode([person]))[0] == pytest.approx(change.probability)


def test_levels_of_a_category_are_tried(engine):
    features = (Feature(name="home", kind="category", levels=("rent", "own")), Feature(name="score"))
    engine.create(loans(features=features, cuts={"home": None, "score": (0.5,)}), "root")
    for i in range(10):
        batch = [{"id": f"{i}.{j}", "features": {"home": ("rent", "own")[j], "score": 0.2}} for j in range(2)]
        t = engine.decide("loans", batch, "decider")["t"]
        engine.label("loans", t, {f"{i}.0": 0, f"{i}.1": 1}, "decider")
        engine.audit("loans", t, "none", "ann")
    told = notices.notice(engine, "loans", "9.0")
    assert [(change.column, change.value) for change in told.changes] == [("home", "own")]
    assert told.reasons[0].value == "rent"


def test_of_fitted_scores_the_split_is_estimated_and_the_sum_is_exact(engine):
    engine.create(sampled.settings(), "root", scores=sampled.scores())
    rows = sampled.sample(24, seed=5)
    for t in range(6):
        people = sampled.asked(rows[4 * t : 4 * t + 4], prefix=f"{t}.")
        opened = engine.decide("loans", people, "decider")
        labels = {f"{t}.{i}": person["repaid"] for i, person in enumerate(rows[4 * t : 4 * t + 4])}
        engine.label("loans", opened["t"], labels, "decider")
        engine.audit("loans", opened["t"], "none", "ann")
    told = notices.notice(engine, "loans", "5.1")
    assert told.estimated
    assert told.base + sum(reason.amount for reason in told.reasons) == pytest.approx(told.probability, abs=1e-9)
    assert "sex" not in {reason.column for reason in told.reasons}


def test_the_first_person_has_nobody_to_be_compared_with(engine):
    engine.create(loans(), "root")
    engine.decide("loans", drawn(np.random.default_rng(0), k=1), "decider")
    told = notices.notice(engine, "loans", "0")
    assert told.reasons == ()
    assert "Nobody came before" in told.start


def test_nobody_and_other_rounds_are_named(engine):
    lived(engine, 2)
    with pytest.raises(Unknown, match="no such person"):
        notices.notice(engine, "loans", "nobody")
    with pytest.raises(Unknown, match="not in round 2"):
        notices.notice(engine, "loans", "0.1", t=2)
    with pytest.raises(Unknown, match="no round 9"):
        notices.deployed_for(engine, "loans", t=9)


def test_over_http(serve, tmp_path):
    service = serve(tmp_path / "log.db")
    assert service.admin.post("/v1/streams", json=STREAM).status_code == 201
    for t in range(1, 4):
        opened = service.decider.post("/v1/streams/loans/rounds", json={"people": people(t)}).json()
        labels = {person["id"]: 1 for person in people(t)}
        assert service.decider.put(f"/v1/streams/loans/rounds/{opened['t']}/labels", json={"labels": labels}).is_success
    told = service.decider.get("/v1/streams/loans/notices/3-1").json()
    total = told["base"] + sum(reason["amount"] for reason in told["reasons"])
    assert total == pytest.approx(told["probability"])
    assert told["sentences"]["asked"].startswith("The notice was written without a name to ask.")
    assert service.decider.get("/v1/streams/loans/notices/1-0?t=1").json()["decided_at"].startswith("Round 1,")
    assert service.decider.get("/v1/streams/loans/notices/nobody").status_code == 404
    assert service.viewer.get("/v1/streams/loans/notices/3-1").status_code == 403


def test_the_page_tells_the_same_and_is_linked_from_the_record(tmp_path):
    beside = {"key": tmp_path / "service.key", "checkpoints": tmp_path / "service.checkpoints"}
    with running(database=str(tmp_path / "log.db"), contact="the desk", **beside) as service:
        service.engine.create(loans(), "root")
        service.engine.decide("loans", drawn(np.random.default_rng(0)), "decider")
        sessions = service.app.state.service.sessions
        with closing(Browser(service, sessions.login(service.tokens["decider"]))) as browser:
            address = "/streams/loans/rounds/1/people/2/notice"
            assert address in browser.get("/streams/loans/rounds/1/people/2").text
            page = browser.get(address).text
            assert browser.get("/streams/loans/rounds/1/people/9/notice").status_code == 404
    assert "Notice about 2" in page
    assert "Ask the desk." in page
    assert "two draws for the same values would differ" in page
