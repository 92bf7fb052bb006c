"""What to deploy: chosen on held-out people, never beaten by one answer for everybody, every claim true at once."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise import theory
from likewise.certificates.choice import Constant
from likewise.certificates.held_out_people import CONSTANTS, constant_loss_interval, loss_floor, loss_limit, losses
from likewise.errors import InvalidParameter

DELTA = 0.05


class Given:
    """A policy whose probability stands in a column."""

    def __init__(self, column):
        self.column = column

    def probability(self, X):
        return np.asarray(X)[:, self.column]


def town(n, seed=0, signal=4.0):
    """The columns: where somebody is, what a good policy gives them, and what a bad one does."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-signal * (2 * x - 1)))).astype(float)
    return np.column_stack([x, np.clip(1.5 * x - 0.25, 0, 1), 1 - x]), y


def of_town(n, seed=0, candidates=None, **options):
    X, y = town(n, seed)
    settings = {"view": X[:, :1], "distance": "cityblock", "alpha": 0.1, **options}
    return lw.choose(candidates or {"good": Given(1), "bad": Given(2)}, X, y, **settings)


# The numbers -------------------------------------------------------------------------------------------------------


def test_each_limit_has_its_part_of_delta():
    X, y = town(300)
    choice = of_town(300)
    part = DELTA / 7
    good = choice.candidates[0]
    assert choice.each == pytest.approx(part)
    assert good.error == pytest.approx(np.abs(X[:, 1] - y).mean())
    assert good.error_limit == theory.error_limit(np.abs(X[:, 1] - y), part)
    gaps = np.abs(np.subtract.outer(X[:, 1], X[:, 1])) - np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    share = np.triu(gaps > 0.1, 1).sum() / (300 * 299 / 2)
    assert good.unfair == pytest.approx(share)
    assert good.unfair_limit == pytest.approx(theory.all_pairs_limit(share, 300, part))
    wrong = int(min(y.sum(), 300 - y.sum()))
    assert choice.constant_error_limit == pytest.approx(theory.holdout(wrong, 300, part / 2))
    worst = max(theory.error_limit((1 + np.abs(X[:, 1] - y) - np.abs(c - y)) / 2, part) for c in (0, 1))
    assert good.beats_constants == (worst < 0.5)


def test_more_candidates_weaken_every_limit():
    few, many = of_town(300), of_town(300, candidates={"good": Given(1), "bad": Given(2), "again": Given(1)})
    assert many.candidates[0].error_limit > few.candidates[0].error_limit
    assert many.candidates[0].unfair_limit > few.candidates[0].unfair_limit
    assert many.constant_error_limit >= few.constant_error_limit


def test_where_no_pair_is_unfair_the_limit_is_the_exact_binomial_one():
    X, y = town(201)
    flat = lw.choose({"flat": Given(1)}, np.column_stack([X[:, 0], X[:, 0]]), y, distance="euclidean", alpha=0.1)
    assert flat.candidates[0].unfair == 0
    assert flat.candidates[0].unfair_limit == pytest.approx(1 - (DELTA / 4) ** (1 / 100), rel=1e-9)
    assert flat.spotless_limit == flat.candidates[0].unfair_limit


def test_what_spotless_people_prove_at_best_is_computed():
    three = {"a": Given(1), "b": Given(1), "c": Given(1)}
    assert math.ceil(100 * of_town(20, candidates=three).spotless_limit) == 42
    choice = of_town(50, candidates=three)
    assert [choice.people_needed(share) for share in (0.1, 0.05, 0.02, 0.01)] == [102, 208, 526, 1056]


@pytest.mark.parametrize("costs", [(1.0, 5.0), (3.0, 0.5), (0.0, 1.0)])
def test_costs_scale_losses_to_the_unit_interval_and_back(costs):
    rng = np.random.default_rng(0)
    p, y = rng.random(400), (rng.random(400) < 0.4).astype(float)
    each = losses(p, y, costs)
    assert each == pytest.approx([costs[0] * a if b == 0 else costs[1] * (1 - a) for a, b in zip(p, y, strict=True)])
    low, high = loss_floor(p, y, costs, DELTA), loss_limit(p, y, costs, DELTA)
    assert 0 <= low < each.mean() < high <= max(costs)
    assert loss_limit(p, y, (2 * costs[0], 2 * costs[1]), DELTA) == pytest.approx(2 * high)
    for answer in (0, 1):
        observed = losses(np.full(400, float(answer)), y, costs).mean()
        low, high = constant_loss_interval(answer, y, costs, DELTA)
        assert low <= observed <= high <= max(costs)
    choice = of_town(400, costs=costs)
    y = town(400)[1]
    each = [losses(np.full(400, c), y, costs).mean() for c in (0.0, 1.0)]
    assert choice.constant_error == pytest.approx(min(each))
    assert choice.constant == int(np.argmin(each))


# What is recommended -----------------------------------------------------------------------------------------------


def test_the_least_error_limit_is_recommended_among_those_that_beat_both_constants():
    choice = of_town(600, candidates={"bad": Given(2), "timid": Given(0), "good": Given(1)})
    assert choice.recommended == "good"
    limits = {c.name: c.error_limit for c in choice.candidates if c.beats_constants}
    assert set(limits) == {"timid", "good"}
    assert limits["good"] < limits["timid"]
    assert choice.policy.column == 1
    assert not choice.dominated


def test_a_policy_that_only_beats_the_worse_constant_is_not_recommended():
    """Nine in ten are yes: it errs less than always no, and more than always yes."""
    rng = np.random.default_rng(0)
    X, y = np.full((500, 1), 0.8), (rng.random(500) < 0.9).astype(float)
    choice = lw.choose({"timid": Given(0)}, X, y, alpha=0.1, ids=np.arange(500))
    assert choice.recommended == "always yes"
    assert choice.candidates[0].error < y.mean()
    assert choice.dominated
    assert choice.policy.probability(X).tolist() == [1.0] * 500


def test_a_dominated_policy_is_called_so_in_the_first_line():
    choice = of_town(300, candidates={"bad": Given(2)})
    assert choice.recommended in CONSTANTS
    assert str(choice).splitlines()[0].startswith("We recommend “always")
    assert "no learned policy was shown to err less" in str(choice).splitlines()[0]
    assert re.match(
        r"It was not shown to err less than always answering (no|yes) \(0\.\d+\)\. We advise", choice.about("bad")
    )
    assert "errs less than" not in choice.about("bad")


def test_a_tolerance_is_kept_by_proof_not_by_observation():
    good = of_town(600).candidates[0]
    assert good.unfair < good.unfair_limit
    loose, strict = (of_town(600, tolerance=t) for t in (good.unfair_limit, (good.unfair + good.unfair_limit) / 2))
    assert loose.recommended == "good"
    assert strict.recommended in CONSTANTS
    assert not strict.dominated
    assert "what was shown to err less was not shown to treat at most" in strict.headline


def test_the_best_of_noise_is_a_constant():
    rng = np.random.default_rng(3)
    for _ in range(20):
        X, y = rng.random((200, 5)), rng.integers(0, 2, 200)
        choice = lw.choose({str(i): Given(i) for i in range(5)}, X, y, alpha=0.1)
        assert choice.recommended in CONSTANTS


# Too few, missing, the same ----------------------------------------------------------------------------------------


def test_below_a_hundred_people_nothing_is_claimed():
    choice = of_town(99, candidates={"good": Given(1), "a": Given(1), "b": Given(1)})
    assert not choice.claims_made
    assert choice.recommended in CONSTANTS
    for candidate in choice.candidates:
        assert (candidate.error_limit, candidate.unfair_limit, candidate.beats_constants) == (None, None, False)
    assert choice.constant_error_limit is None
    assert str(choice).startswith("Nothing is claimed about new people.")
    assert "confidence" not in str(choice)
    assert "For a claim of 5% hold out at least 208." in str(choice)
    assert "Nothing is claimed about new people." in choice.about("good")
    assert of_town(100).claims_made


def test_people_without_a_label_count_for_pairs_and_not_for_errors():
    X, y = town(300)
    missing = y.copy()
    missing[:100] = np.nan
    choice = lw.choose({"good": Given(1)}, X, missing, view=X[:, :1], distance="cityblock", alpha=0.1)
    known = lw.choose({"good": Given(1)}, X[100:], y[100:], view=X[100:, :1], distance="cityblock", alpha=0.1)
    assert (choice.people, choice.labelled) == (300, 200)
    assert choice.candidates[0].error_limit == known.candidates[0].error_limit
    assert choice.candidates[0].unfair_limit != known.candidates[0].unfair_limit
    assert "The label of 100 of them is not known" in str(choice)
    missing[:201] = np.nan
    few = lw.choose({"good": Given(1)}, X, missing, alpha=0.1)
    assert not few.claims_made
    assert "300 people were held out, 99 of them with a known label; it takes at least 100 of those." in str(few)
    with pytest.raises(InvalidParameter, match="`name` must be one of"):
        few.about("nobody")


def test_rows_of_the_same_person_count_once():
    X, y = town(150)
    twice = lw.choose(
        {"good": Given(1)}, np.repeat(X, 2, axis=0), np.repeat(y, 2), alpha=0.1, ids=np.repeat(np.arange(150), 2)
    )
    once = lw.choose({"good": Given(1)}, X, y, alpha=0.1)
    assert twice.people == once.people == 150
    assert twice.candidates[0].error_limit == once.candidates[0].error_limit


def test_rows_that_are_the_same_without_ids_make_no_claim():
    X, y = np.repeat(town(150)[0], 2, axis=0), np.repeat(town(150)[1], 2)
    unclear = lw.choose({"good": Given(1)}, X, y, alpha=0.1)
    assert (unclear.claims_made, unclear.same_rows) == (False, 150)
    assert "no ids tell whether they are different people" in str(unclear)
    assert "confidence" not in str(unclear)
    assert lw.choose({"good": Given(1)}, X, y, alpha=0.1, ids=np.arange(300)).claims_made


def test_without_a_distance_pairs_are_not_spoken_of():
    choice = of_town(300, distance=None)
    assert all(c.unfair is None and c.unfair_limit is None for c in choice.candidates)
    assert "two new people" not in str(choice)
    assert choice.recommended == "good"


# Sentences and files -----------------------------------------------------------------------------------------------


def test_the_letter_says_what_is_proved_and_under_which_assumption():
    choice = of_town(600)
    said = str(choice)
    assert (
        said.splitlines()[0] == "We recommend “good”: it was shown to err less than giving everybody the same answer."
    )
    assert "600 people took no part in learning." in said
    assert "With 95% confidence all of these hold at once: it errs on a new person with probability at most 0." in said
    assert "it treats two new people more than 0.1 beyond their distance with probability at most" in said
    assert "it errs less than giving everybody the same answer. Provided that new people come as these did." in said
    printed = float(re.search(r"errs on a new person with probability at most (0\.\d+)", said)[1])
    assert printed >= choice.candidates[0].error_limit
    weighed = of_town(600, costs=(1.0, 2.0))
    assert "probability at most 0" not in weighed.about("good").split(";")[0]
    assert "its errors cost at most" in weighed.about("good")
    assert "it treats any two people the same" in str(of_town(300, candidates={"bad": Given(2)}))


def test_it_becomes_json():
    for choice in (of_town(300), of_town(30, distance=None)):
        data = json.loads(json.dumps(choice.to_dict(), allow_nan=False))
        assert data["recommended"] == choice.recommended
        assert data["claims_made"] is choice.claims_made
        assert [c["name"] for c in data["candidates"]] == ["good", "bad"]
        assert data["headline"] in str(choice)


def test_dataframes_are_people_too():
    X, y = town(200)
    table = pd.DataFrame(X, columns=list("abc"), index=np.arange(200)[::-1])
    framed = lw.choose({"good": Given(1)}, table, y, view=table[["a"]].to_numpy(), distance="cityblock", alpha=0.1)
    plain = lw.choose({"good": Given(1)}, X, y, view=X[:, :1], distance="cityblock", alpha=0.1)
    assert framed.to_dict() == plain.to_dict()


def test_a_constant_is_a_policy():
    assert [str(Constant(answer)) for answer in (0, 1)] == list(CONSTANTS)
    assert lw.evaluate_fairness(Constant(1), np.zeros((5, 1)), "cityblock", 0.0).violating == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alpha": 1.7}, "`alpha` must be in"),
        ({"delta": 0}, "`delta` must be in"),
        ({"candidates": {}}, "`candidates` must hold at least one"),
        ({"candidates": {"always no": Given(1)}}, "`candidates` must be called other than"),
        ({"candidates": {"wide": Given(0)}}, "`probability` must give numbers in"),
        ({"y": [np.nan, np.nan]}, "`y` must hold at least one known label"),
        ({"y": [0, 2]}, "`y` must be 0, 1 or missing"),
        ({"tolerance": 0.1}, "`distance` must be given with a tolerance"),
        ({"costs": (0, 0)}, "`costs` must hold a positive number"),
        ({"view": [[1.0]]}, "`view` must have a row"),
        ({"ids": [1]}, "`ids` must name each"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, says):
    given = {"candidates": {"fine": Given(1)}, "X": [[3.0, 0.2], [1.0, 0.4]], "y": [0, 1], "alpha": 0.1}
    with pytest.raises(InvalidParameter, match=says):
        lw.choose(**given | change)


# Coverage: by how much and how often -------------------------------------------------------------------------------


def false_claims(files, n):
    """How often any of all claims about three policies is refuted by the truth, on files with a weak signal."""
    candidates = {"good": Given(1), "timid": Given(0), "bad": Given(2)}
    fresh, labels = town(200_000, 10**6, signal=0.6)
    errors = {name: np.abs(p.probability(fresh) - labels).mean() for name, p in candidates.items()}
    constant = min(labels.mean(), 1 - labels.mean())
    wrong = 0
    for seed in range(files):
        choice = lw.choose(candidates, *town(n, seed, signal=0.6), alpha=0.1)
        bad = [c for c in choice.candidates if errors[c.name] > c.error_limit]
        bad += [c for c in choice.candidates if c.beats_constants and errors[c.name] > constant]
        wrong += bool(bad) or choice.constant_error_limit + 0.01 < 0.5
    return wrong


@pytest.mark.parametrize(("files", "n"), [(40, 150), pytest.param(400, 150, marks=pytest.mark.slow)])
def test_all_claims_of_a_choice_hold_at_once(files, n):
    assert false_claims(files, n) <= DELTA * files + 2 * math.sqrt(DELTA * (1 - DELTA) * files)
