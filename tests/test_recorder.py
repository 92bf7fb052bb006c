"""From rounds to a transcript."""

import numpy as np
import pytest

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.facts import AuditorFacts, EnvironmentFacts, LearnerFacts, PlayFacts
from likewise.game import Recorder
from likewise.game.recorder import Drawn
from likewise.policies import AveragePolicy
from likewise.protocol import Estimate

FACTS = PlayFacts(
    LearnerFacts("me", None, (1.0, 1.0), {}), EnvironmentFacts("you"), AuditorFacts("they"), 0.1,
    lot="round", labels="accepted",
)  # fmt: skip
ARRAYS = (
    "rows",
    "y",
    "view",
    "person",
    "weight",
    "decisions",
    "unseen",
    "estimates",
    "turned_down",
    "shown",
    "starts",
    "report_rounds",
    "pairs",
    "violates",
    "false",
    "reviewed",
    "penalties",
)


def rounds(count, k, seed=0):
    """Random rounds of k people with at most one report each, as objects and as the arrays of a compiled loop."""
    rng = np.random.default_rng(seed)
    people = lw.Batch(
        rng.integers(9, size=(count * k, 2)),
        rng.integers(2, size=count * k) * 1.0,
        rng.random((count * k, 1)),
        rng.integers(9, size=count * k),
        rng.random(count * k),
    )
    shown, penalties = rng.random((count, k)), rng.random(count)
    pairs = np.array([rng.choice(k, 2, replace=False) if rng.random() < 0.5 else (-1, -1) for _ in range(count)])
    violates = np.where(pairs[:, 0] < 0, -1, rng.integers(2, size=count)).astype(np.int8)
    decisions, estimates = rng.random((count, k)) < shown, rng.random((count, 3))
    drawn = Drawn(
        decisions.ravel(), ~decisions.ravel(), estimates, np.zeros(count, dtype=np.intp), np.full(count, np.nan)
    )
    seen = []
    for i in range(count):
        batch = lw.Batch(*(part[i * k : (i + 1) * k] for part in people))
        high, low = pairs[i].tolist()
        reports = () if high < 0 else (lw.Report(high, low, bool(violates[i])),)
        made = lw.Round(batch, shown[i], reports, True, decisions[i], ~decisions[i], Estimate(*estimates[i].tolist()))
        seen.append((made, penalties[i]))
    return seen, (people, shown, pairs, violates, penalties, drawn)


def recorded(*parts):
    record = Recorder(None, FACTS)
    for part in parts:
        if isinstance(part, list):
            for seen, penalty in part:
                record.add(seen, penalty)
        else:
            record.add_many(*part)
    return record.transcript(None, AveragePolicy())


def same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype, name


@pytest.mark.parametrize("count", [1, 2, 30])
def test_rounds_one_by_one_and_all_at_once_give_the_same_transcript(count):
    seen, arrays = rounds(count, k=3)
    same(recorded(seen), recorded(arrays))


def test_both_ways_can_be_mixed_and_reports_stay_in_order():
    (first, first_arrays), (second, second_arrays) = rounds(20, k=3), rounds(10, k=4, seed=1)
    expected = recorded(first, second)
    assert len(expected.pairs) > 5
    same(recorded(first_arrays, second), expected)
    same(recorded(first, second_arrays), expected)
    same(recorded(first_arrays, second_arrays), expected)


def test_rounds_come_back_as_they_were():
    seen, _ = rounds(25, k=4)
    t = recorded(seen)
    for again, (there, penalty), C in zip(t, seen, t.penalties, strict=True):
        assert again.reports == there.reports
        assert penalty == C
        hidden = there.batch._replace(y=np.where(there.unseen, np.nan, there.batch.y))
        for a, b in zip(again.batch, hidden, strict=True):
            np.testing.assert_array_equal(a, b)
        for name in ("probabilities", "decisions", "unseen", "own"):
            np.testing.assert_array_equal(getattr(again, name), getattr(there, name))
        assert again.estimate == there.estimate


def test_a_transcript_does_not_change_with_the_batches_that_it_was_made_of():
    seen, _ = rounds(1, k=3)
    t = recorded(seen)
    seen[0][0].probabilities[:] = -1.0
    seen[0][0].batch.y[:] = -1.0
    assert t.shown.min() >= 0
    assert t.y.min() >= 0


def test_no_round_is_no_transcript():
    with pytest.raises(InvalidParameter, match="`T` must give at least one round"):
        recorded()


def test_lots_are_drawn_in_every_round_or_in_none():
    (first, _), (second, _) = rounds(3, k=3), rounds(2, k=3, seed=1)
    bare = [(seen._replace(decisions=None, unseen=None, estimate=None), penalty) for seen, penalty in second]
    with pytest.raises(InvalidParameter, match="`lot` must be drawn in every round or in none, got 3"):
        recorded(first, bare)
    assert recorded(bare).decisions is None
