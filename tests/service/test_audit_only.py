"""Streams that learn nothing: a score is reviewed as it is, and an audit's drawn pairs are judged on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from loans import loans

import likewise as lw
from likewise import cli
from likewise.errors import InvalidParameter
from likewise.file_review.live import received, send
from likewise.learners.fixed import FixedPolicy, score_as_it_is
from likewise.service.proof.replay import verify
from likewise.service.stream.settings import Waits

TENTHS = tuple(i / 10 for i in range(1, 11))


def audit_only(**changes):
    return loans(**{"learner": "none", "cuts": {"score": TENTHS}, "waits": Waits(grace=0)} | changes)


def test_the_probability_is_the_score_whatever_was_answered(engine):
    engine.create(audit_only(), "root")
    scores = (0.0, 0.3, 0.7, 1.0)
    for t in range(1, 6):
        people = [{"id": f"{t}.{i}", "features": {"score": s, "age": 0.5}} for i, s in enumerate(scores)]
        opened = engine.decide("loans", people, "decider")
        assert [one["probability"] for one in opened["decisions"]] == pytest.approx(scores)
        engine.label("loans", t, {f"{t}.{i}": int(s < 0.5) for i, s in enumerate(scores)}, "decider")  # all wrong
        engine.audit("loans", t, "pair", "ann", pair=[f"{t}.3", f"{t}.0"])
    status = engine.stream("loans")
    assert status["learned"] == 5
    assert engine.streams.get("loans").latest.state.totals.reported == 5
    assert status["regret"]["promised"] is None
    assert status["regret"]["proved"] is None
    assert "letter" in engine.certificate("loans")


def test_it_comes_back_from_its_log(engine, start, database):
    engine.create(audit_only(), "root")
    engine.decide("loans", [{"id": "a", "features": {"score": 0.4, "age": 0.1}}], "decider")
    again = start(database)
    opened = again.decide("loans", [{"id": "b", "features": {"score": 0.8, "age": 0.1}}], "decider")
    assert opened["decisions"][0]["probability"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cuts": {"score": TENTHS, "age": TENTHS}}, "`cuts` must be of one number, the score"),
        ({"penalty": 3.0}, "`learner` must not be none with a penalty"),
        ({"labels": "accepted", "lot": "round"}, "`learner` must not be none"),
        ({"hypotheses": "cells"}, "`cuts` must be of one number, the score"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(engine, changes, said):
    with pytest.raises(InvalidParameter, match=said):
        engine.create(audit_only(**changes), "root")


def test_a_fixed_policy_plays_like_any_learner():
    data = lw.datasets.synthetic(400)
    score = 1 / (1 + np.exp(-3 * data.features[:, 2:3]))
    F = lw.Thresholds([TENTHS], names=["score"])
    learner = FixedPolicy(F, weights=tuple(score_as_it_is(F).tolist()), k=4)
    people = lw.IID(score, data.y, k=4, view=data.view)
    t = lw.play(learner, people, lw.MetricAuditor(data.distance, 0.1), T=30, seed=0)
    np.testing.assert_allclose(t.shown, np.floor(t.rows.ravel() + 1e-9) / 10)  # rows are counts of cuts passed
    assert t.reported.any()
    assert lw.certify(t).rounds == 30
    with pytest.raises(InvalidParameter, match="`weights` must have 22 entries"):
        FixedPolicy(F, weights=(1.0,))
    with pytest.raises(InvalidParameter, match="`cuts` must be of one score"):
        score_as_it_is(lw.Thresholds([[0.5], [0.5]]))


def test_pairs_of_an_audit_are_judged_on_the_page_and_prove_what_a_worksheet_would(serve, tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.random(50), "home": rng.choice(["own", "rent"], 50), "score": rng.random(50)})
    frame.loc[3, "home"] = None
    review = lw.audit(frame, "score", ["income", "home"], pairs=8)
    service = serve(tmp_path / "log.db")
    with lw.Client(service.url, service.tokens["admin"]) as client:
        rounds = send(client, "review", review)
        assert rounds == len(review.drawn.pairs)
        assert set(received(client, "review", review).values()) == {None}
        expected = {}
        for number, pair in enumerate(review.drawn.pairs):
            waiting = client.claim("review")
            assert [person["id"] for person in waiting["people"]] == [f"row {review.people.rows[i]}" for i in pair]
            assert "score" not in waiting["people"][0]["features"]
            shown = [person["probability"] for person in waiting["people"]]
            assert shown == pytest.approx(review.people.scores[list(pair)], abs=0.001)
            verdict = ("pair", "none", "skip")[number % 3]
            ids = [person["id"] for person in waiting["people"]] if verdict == "pair" else ()
            client.audit("review", waiting["t"], verdict, pair=ids)
            expected[pair] = {"pair": True, "none": False, "skip": None}[verdict]
        assert received(client, "review", review) == expected
        assert review.claim(received(client, "review", review)) == review.claim(expected)
        client.export("review", tmp_path / "export.jsonl")
        other = lw.audit(frame, "score", ["income", "home"], pairs=8, seed=1)
        with pytest.raises(InvalidParameter, match="`stream` must hold the pairs of this audit"):
            received(client, "review", other)
    assert verify(tmp_path / "export.jsonl").first is None  # and the policies of a replay are the same


def test_the_command_sends_an_audit_and_fetches_the_verdicts(serve, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.random(50), "score": rng.random(50)})
    monkeypatch.chdir(tmp_path)
    frame.to_csv("scores.csv", index=False)
    service = serve(tmp_path / "log.db")
    monkeypatch.setenv("LIKEWISE_TOKEN", service.tokens["admin"])

    def run(*words):
        with pytest.raises(SystemExit) as done:
            cli.main(["audit", *words])
        out, err = capsys.readouterr()
        return done.value.code in (None, 0), " ".join((out + err).split())

    asked = ("--score", "score", "--compare-by", "income", "--pairs", "6", "--id", "each-row")
    fine, said = run("scores.csv", *asked, "--to", service.url, "--stream", "scores")
    assert fine, said
    assert f"6 pairs are on {service.url}, in the stream scores" in said
    assert run("scores-audit", "--to", service.url, "--stream", "scores")[0], "sent twice, they are there once"
    assert "where this audit is already" in run("scores-audit", "--to", "http://127.0.0.1:1", "--stream", "scores")[1]
    with lw.Client(service.url, service.tokens["admin"]) as client:
        assert client.stream("scores")["rounds"] == 6
        for _ in range(5):
            client.audit("scores", client.claim("scores")["t"], "none")
    fine, said = run("scores-audit", "--fetch")
    assert fine, said
    assert "0 of 6 draws found too different" in said
    assert "Nobody judged 1 draw" in said
    fine, said = run("scores.csv", *asked, "--out", "other", "--to", service.url, "--stream", "scores")
    assert not fine
    assert "scores" in said
    monkeypatch.setenv("LIKEWISE_TOKEN", "lw_wrong")
    assert not run("scores-audit", "--fetch")[0]
