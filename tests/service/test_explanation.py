"""Why two people have their probabilities: shares add up, hide what must be hidden, and a report does what was said."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InvalidParameter
from likewise.service.refusals import Conflict
from likewise.service.stream.settings import Settings

FEATURES = [
    {"name": "score"},
    {"name": "income"},
    {"name": "town", "kind": "category", "levels": ["North", "South"]},
    {"name": "street", "shown": False},
    {"name": "group", "sensitive": True},
]
CUTS = {"score": [0.2, 0.4, 0.6, 0.8], "income": [20.0, 40.0, 60.0], "town": None, "street": [3.0, 6.0]}


def people(t, k=5):
    rng = np.random.default_rng(t)
    return [
        {
            "id": f"{t}-{i}",
            "features": {
                "score": float(rng.random()),
                "income": float(rng.integers(10, 80)),
                "town": ("North", "South")[int(rng.integers(2))],
                "street": float(rng.integers(10)),
                "group": float(i % 2),
            },
        }
        for i in range(k)
    ]


@pytest.fixture
def stream(engine):
    """From settings to the name of a stream that has learned a little, and whose next round is open and claimed."""

    def make(**changes):
        plain = {"name": "loans", "features": FEATURES, "cuts": CUTS, "alpha": 0.05, "k": 5}
        plain |= {"review": {"ask_all": True}}
        engine.create(Settings.from_dict(plain | {"waits": {"grace": 0, "label": 50}} | changes), "root")
        for t in range(1, 13):
            asked = people(t)
            engine.decide("loans", asked, "root")
            engine.label("loans", t, {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "root")
            engine.audit("loans", t, "none", "teacher")
        engine.decide("loans", people(13), "root")
        engine.claim("loans", "ann")
        return engine.streams.get("loans").current()

    return make


def widest(round_):
    order = np.argsort(-round_.probabilities, kind="stable")
    return [round_.ids[order[0]], round_.ids[order[-1]]]


@pytest.mark.parametrize("hypotheses", ["thresholds", "cells"])
def test_shares_add_up_to_the_gap_and_to_each_probability(engine, stream, hypotheses):
    round_ = stream(hypotheses=hypotheses).rounds[13]
    pair = widest(round_)
    why = engine.explain("loans", 13, "ann", pair[::-1])  # in any order
    shown = [round_.probabilities[round_.ids.index(id)] for id in pair]
    assert why.then
    assert why.probabilities == pytest.approx(shown, abs=1e-12)
    every = [*why.shares, why.hidden]
    assert sum(share.gap for share in every) == pytest.approx(shown[0] - shown[1], abs=1e-9)
    for place in (0, 1):
        adds = sum(share[place + 1] for share in every)
        # Against everybody: exact for sums over columns; a cell's is estimated, but adds up all the same.
        assert why.mean + adds == pytest.approx(shown[place], abs=1e-9)
    assert why.mean == pytest.approx(round_.probabilities.mean(), abs=1e-12)
    assert {share.name for share in why.shares} <= {"score", "income", "town"}
    gaps = [abs(share.gap) for share in why.shares]
    assert gaps == sorted(gaps, reverse=True)


def test_for_sums_over_columns_a_share_of_the_gap_is_what_changes_when_that_column_alone_is_exchanged(engine, stream):
    state = stream()
    first, second = widest(state.rounds[13])
    features = {person["id"]: person["features"] for person in people(13)}
    model = state.stream

    def probability(person):
        return model.probabilities(state.policy, model.encode([person]))[0]

    why = engine.explain("loans", 13, "ann", [first, second])
    for share in why.shares:
        exchanged = {**features[second], share.name: features[first][share.name]}
        assert share.gap == pytest.approx(probability(exchanged) - probability(features[second]), abs=1e-9)


def test_after_a_report_the_two_are_as_far_apart_as_was_said_if_no_label_comes(engine, stream, clock):
    pair = widest(stream().rounds[13])
    why = engine.explain("loans", 13, "ann", pair)
    rows = engine.streams.get("loans").current().rounds[13].rows
    places = [engine.streams.get("loans").current().rounds[13].ids.index(id) for id in pair]
    engine.audit("loans", 13, "pair", "ann", pair=pair)
    clock.now += 60
    engine.tick()
    after = engine.streams.get("loans").current()
    assert after.totals.learned == 13
    ahead, behind = after.stream.probabilities(after.policy, rows[places])
    assert ahead - behind == pytest.approx(why.after, abs=1e-12)
    assert abs(why.after) < why.now


def test_a_policy_on_sensitive_features_is_not_split(engine, stream):
    round_ = stream(cuts=CUTS | {"group": [0.5]}).rounds[13]
    why = engine.explain("loans", 13, "ann", widest(round_))
    assert why.shares is None
    assert why.hidden is None


def test_the_policy_of_an_older_round_is_explained_not_that_of_today(engine, stream):
    pair = widest(stream().rounds[13])
    asked = people(14)
    engine.decide("loans", asked, "root")
    engine.label("loans", 14, {p["id"]: 1 for p in asked}, "root")
    engine.audit("loans", 14, "none", "teacher")
    state = engine.streams.get("loans").current()
    why = engine.explain("loans", 13, "ann", pair)
    assert state.policy.version == 13 > state.rounds[13].version
    assert why.then
    assert why.probabilities[0] - why.probabilities[1] != pytest.approx(why.now, abs=1e-6)


def test_nobody_explains_a_round_that_was_not_claimed_or_a_pair_that_is_none(engine, stream):
    pair = widest(stream().rounds[13])
    with pytest.raises(Conflict, match="claim"):
        engine.explain("loans", 13, "bob", pair)
    with pytest.raises(InvalidParameter, match="still there"):
        engine.explain("loans", 13, "ann", [pair[0], "nobody"])
