"""The same rounds give the same policies: as `play`, from either database, in a fresh process."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from loans import Fold, far_apart, fingerprint, from_class, loans, people

import likewise as lw
from likewise.learners.kept import KeptState
from likewise.service.live.streams import Streams
from likewise.service.log import Append
from likewise.service.log.chain import seal
from likewise.service.proof.standalone import GENESIS
from likewise.service.stream.learner import person_number
from likewise.service.stream.settings import Feature

COLUMNS = ("a", "b", "c")
ROUNDS = 60


def population():
    rng = np.random.default_rng(5)
    X = rng.random((200, 3))
    return X, (X[:, 0] + 0.3 * rng.standard_normal(200) > 0.5).astype(float)


def near(view):
    """People are as far apart as in their second feature, halved."""
    return np.abs(view[:, 1, None] - view[:, 1]) / 2


def classes():
    X, _ = population()
    return {"thresholds": lw.Thresholds.quantiles(X, cuts=8), "cells": lw.Cells.grid(X, bins=3)}


LEARNERS = {
    "adahedge": ({"learner": "adahedge"}, lambda F: lw.AdaHedge(F, k=4, alpha=0.1)),
    "adahedge, horizon": (
        {"learner": "adahedge", "T": ROUNDS},
        lambda F: lw.AdaHedge(F, k=4, alpha=0.1, T=ROUNDS),
    ),
    "adahedge of release 1": (
        {"learner": "adahedge", "penalty": "growing"},
        lambda F: lw.AdaHedge(F, k=4, alpha=0.1, penalty="growing"),
    ),
    "adahedge of release 1, horizon": (
        {"learner": "adahedge", "penalty": "growing", "T": ROUNDS},
        lambda F: lw.AdaHedge(F, k=4, alpha=0.1, penalty="growing", T=ROUNDS),
    ),
    "adahedge, fixed": (
        {"learner": "adahedge", "penalty": 9.0},
        lambda F: lw.AdaHedge(F, k=4, alpha=0.1, penalty=9.0),
    ),
    "hedge": (
        {"learner": "hedge", "T": ROUNDS, "penalty": 1.0},
        lambda F: lw.Hedge(F, T=ROUNDS, k=4, penalty=1.0),
    ),
}


@pytest.mark.parametrize("kind", ["thresholds", "cells"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_transcript_fed_through_the_service_gives_the_identical_policies(name, kind, new_database, start):
    F, (X, y), (changes, learner) = classes()[kind], population(), LEARNERS[name]
    auditor = lw.MetricAuditor(near, alpha=0.1)
    play_learner = learner(F)
    play = lw.play(play_learner, lw.IID(X[:40], y[:40], k=4, order="passes"), auditor, T=ROUNDS, seed=2)
    assert play.reported.any()
    engine = start(new_database("sqlite"))
    engine.create(from_class(F, COLUMNS, **changes), "root")
    for i, seen in enumerate(play, 1):
        ids = [str(number) for number in seen.batch.person]
        asked = [person | {"id": id} for person, id in zip(people(seen.batch.view, COLUMNS), ids, strict=True)]
        found = engine.decide("loans", asked, "decider")
        shown = [person["probability"] for person in found["decisions"]]
        assert (found["t"], shown) == (i, seen.probabilities.tolist())
        labels = {id: int(label) for id, label in zip(ids, seen.batch.y, strict=True)}
        if not seen.reports:
            engine.audit("loans", i, "none", "ann")
        else:
            pair = [ids[seen.reports[0].disfavoured], ids[seen.reports[0].favoured]]
            assert engine.audit("loans", i, "pair", "ann", pair=pair)["pair"] == pair[::-1]
        assert engine.label("loans", i, labels, "decider")["disposition"] == "joined"
    state = engine.streams.get("loans").current()
    assert type(state.learner) is type(play.state)
    for field, ours in state.learner._asdict().items():
        if field == "people":
            number = np.vectorize(lambda person: person_number(str(person)), otypes=[np.int64])
            np.testing.assert_array_equal(ours, number(play.state.people))
            continue
        np.testing.assert_array_equal(ours, getattr(play.state, field))
    # The play sums its halves apart, the service all rounds in a row: the same policies, added in another order.
    np.testing.assert_allclose(state.average, play.average_policy.total, rtol=1e-13)
    regret = engine.stream("loans")["regret"]
    if isinstance(state.learner, KeptState):
        error = play.errors.sum() - play.base_error
        assert regret["proved"] == pytest.approx(play_learner.regret_limit(play.state, error))
    else:
        assert regret["observed"] == pytest.approx(play.lagrangian_regret)


def test_what_the_service_certifies_is_what_the_library_certifies(new_database, start):
    """The same play, certified from the transcript and from the log."""
    F, (X, y) = classes()["thresholds"], population()
    play = lw.play(lw.AdaHedge(F, k=4, alpha=0.1), lw.IID(X, y, k=4), lw.MetricAuditor(near, 0.1), T=ROUNDS)
    engine = start(new_database("sqlite"))
    engine.create(from_class(F, COLUMNS), "root")
    feed(engine, play)
    ours, theirs = engine.certificate("loans"), lw.certify(play).to_dict()
    for name in ("rounds", "draws", "reports", "violations", "unseen", "alpha", "level", "error"):
        assert ours[name] == pytest.approx(theirs[name]), name
    for one, other in zip(ours["regret"], theirs["regret"], strict=True):
        assert one == pytest.approx(other, abs=1e-6)
    assert ours["delay"] == {"largest": 0, "mean": 0.0}
    assert "Every round was learned before the next was opened" in " ".join(ours["letter"].split())


def feed(engine, play, prefix="{}-"):
    """A play as rounds of a stream; the ids of a round begin with the prefix, which may hold its number."""
    for i, seen in enumerate(play, 1):
        begin = prefix.format(i)
        engine.decide("loans", people(seen.batch.view, COLUMNS, prefix=begin), "decider")
        pair = [f"{begin}{person}" for report in seen.reports for person in report[:2]]
        engine.audit("loans", i, "pair" if pair else "none", "ann", pair=pair)
        engine.label("loans", i, {f"{begin}{j}": int(label) for j, label in enumerate(seen.batch.y)}, "decider")


def lived(engine, prefix="{}-"):
    """A stream of twenty whole rounds, and the people there are."""
    F, (X, y) = classes()["thresholds"], population()
    play = lw.play(lw.AdaHedge(F, k=4, alpha=0.1), lw.IID(X, y, k=4), lw.MetricAuditor(near, 0.1), T=20)
    engine.create(from_class(F, COLUMNS), "root")
    feed(engine, play, prefix)
    return engine, X


def came_once(certificate):
    (assumption,) = [a for a in certificate["assumptions"] if a["name"] == "everybody came once"]
    return assumption["status"], assumption["detail"]


def test_a_stream_speaks_of_new_people_only_if_nobody_came_again_by_id(new_database, start):
    once, again = (lived(start(new_database("sqlite")), prefix)[0].certificate("loans") for prefix in ("{}-", ""))
    assert came_once(once) == ("kept", "")
    assert came_once(again) == ("broken", "the same 4 people came 80 times")
    assert once["error_on_new_people"] is not None
    assert once["fairness"]
    assert (again["error_on_new_people"], again["fairness"]) == (None, [])
    assert (once["people"], again["people"], again["draws"]) == (80, 4, 80)


def test_whether_the_erased_came_again_is_not_known_but_others_may_have(new_database, start):
    engine = lived(start(new_database("sqlite")))[0]
    engine.erase("loans", "3-1", "root")
    assert came_once(engine.certificate("loans"))[0] == "not checkable"
    engine.decide("loans", people(population()[0][:2], COLUMNS, prefix="2-"), "decider")
    assert came_once(engine.certificate("loans")) == ("broken", "the same 80 people came 82 times")


def test_rounds_that_are_pending_or_erased_count_as_not_reviewed_in_the_certificate(new_database, start):
    engine, X = lived(start(new_database("sqlite")))
    engine.decide("loans", people(X[:3], COLUMNS, prefix="late"), "decider")
    engine.decide("loans", people(X[3:6], COLUMNS, prefix="gone"), "decider")
    engine.label("loans", 22, {f"gone{j}": 1 for j in range(3)}, "decider")
    engine.audit("loans", 22, "none", "ann")
    engine.erase("loans", "gone1", "root")
    found = engine.certificate("loans")
    assert (found["rounds"], found["unseen"], found["outstanding"], found["erased"]) == (22, 2, 1, 1)
    assert "whose rounds count as not reviewed: 1." in found["letter"]


def test_prices_prove_nothing_where_labels_that_were_learned_are_gone(new_database, start):
    """The learner still knows them, and the rounds that are left don't."""
    engine = lived(start(new_database("sqlite")))[0]
    state = engine.streams.get("loans").current()
    assert len(state.learner.gaps) > 0
    proved = engine.stream("loans")["regret"]["proved"]
    assert all(limit["by_prices"] is not None for limit in engine.certificate("loans")["regret"])
    engine.erase("loans", "3-1", "root")
    assert all(limit["by_prices"] is None for limit in engine.certificate("loans")["regret"])
    assert engine.stream("loans")["regret"]["proved"] == pytest.approx(proved)  # from sums, which nobody had to erase


def test_labels_that_came_count_in_the_certificate_while_their_round_waits_for_its_audit(new_database, start):
    engine, X = lived(start(new_database("sqlite")))
    opened = engine.decide("loans", people(X[:3], COLUMNS), "decider")
    shown = [decision["probability"] for decision in opened["decisions"]]
    before = engine.certificate("loans")
    engine.label("loans", 21, {"0": 1, "1": 0, "2": 1}, "decider")
    after = engine.certificate("loans")
    assert before["error_on_new_people"] is None
    assert after["error_on_new_people"] is not None
    assert after["unseen"] == before["unseen"] == 1
    wrong = 1 - shown[0] + shown[1] + 1 - shown[2]
    assert after["error"] == pytest.approx(before["error"] + wrong)


def test_an_auditor_contradicts_themselves_about_people_whom_only_a_sensitive_feature_tells_apart(new_database, start):
    engine = start(new_database("sqlite"))
    features = (Feature(name="score"), Feature(name="sex", sensitive=True))
    engine.create(loans(features=features, cuts={"score": (0.5,)}), "root")

    def asked(sex):
        rows = [{"score": score, "sex": float(one)} for score, one in zip((0.1, 0.9), sex, strict=True)]
        found = engine.decide("loans", [{"id": str(i), "features": row} for i, row in enumerate(rows)], "decider")
        engine.label("loans", found["t"], {"0": 0, "1": 1}, "decider")
        return found["t"]

    for _ in range(3):
        engine.audit("loans", asked((0, 1)), "none", "ann")
    clear, reported = asked((0, 1)), asked((1, 0))
    engine.audit("loans", clear, "none", "ann")
    engine.audit("loans", reported, "pair", "ann", pair=["0", "1"])
    (bracket,) = engine.certificate("loans")["brackets"]
    assert (bracket["round"], bracket["cleared"], bracket["contradicts"]) == (reported, clear, True)


@pytest.fixture(scope="module", params=[1000, pytest.param(5000, marks=pytest.mark.slow)], ids="{} rounds".format)
def long_stream(request):
    """A thousand rounds, up to four of them open at a time, closed in any order; five times that in ``test-all``."""
    rng = np.random.default_rng(8)
    fold, waiting = Fold(loans(k=2)), {}
    for _ in range(request.param):
        X = rng.random((2, 2))
        t, chances = fold.open(X)
        waiting[t] = (X, chances)
        for t in rng.permutation(sorted(waiting)).tolist() if len(waiting) == 4 else ():
            X, chances = waiting.pop(t)
            high, low = far_apart(chances)
            fold.label(t, (X[:, 0] > rng.random(2)).astype(float))
            fold.audit(t, (high, low) if chances[high] - chances[low] > 0.1 + abs(X[0, 1] - X[1, 1]) else None)
    assert fold.state.totals.learned == request.param
    assert fold.state.totals.reported > 20  # of five times as many rounds hardly more: they grow with the logarithm
    return fold


FRESH = """
import hashlib, sys
from loans import fingerprint
from likewise.service.log import Store
from likewise.service.live.streams import Streams
with Store(sys.argv[1]) as store:
    state = Streams(store).get("loans").current()
    print(hashlib.sha256(fingerprint(state).encode()).hexdigest())
"""


def stored(store, fold):
    """Put a folded log into a store, many events at once."""
    lines = seal("loans", 0, GENESIS, fold.events)
    for start in range(0, len(lines), 2000):
        store.append(Append(lines[start : start + 2000]))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_replay_of_a_long_log_is_identical_from_each_database_and_in_a_fresh_process(
    kind, long_stream, new_database, open_store, request
):
    database = new_database(kind)
    store = open_store(database)
    stored(store, long_stream)
    expected = fingerprint(long_stream.state)
    again = Streams(store).get("loans").current()
    assert fingerprint(again) == expected
    assert again.policy.hash == long_stream.state.policy.hash
    if kind == "sqlite":
        here = {"cwd": request.path.parent, "capture_output": True, "text": True}
        said = subprocess.run([sys.executable, "-c", FRESH, database], check=True, **here)
        assert said.stdout.strip() == hashlib.sha256(expected.encode()).hexdigest()


def test_a_snapshot_and_the_events_after_it_lead_to_the_same_state(long_stream, new_database, open_store):
    """Taken in the middle, with rounds open."""
    store = open_store(new_database("sqlite"))
    lines = seal("loans", 0, GENESIS, long_stream.events[:1500])
    store.append(Append(lines[:700]))
    first = Streams(store).get("loans")
    assert first.current().outstanding > 0
    assert first.save(always=True)
    store.append(Append(lines[700:]))
    second = Streams(store).get("loans")
    assert second.snapshots.seq == 700
    assert second.latest.seq == 1500
    assert first.positions.catch_up()
    assert fingerprint(second.current()) == fingerprint(first.current())
