"""The reduction: Err(f, R_C(z)) = L_C(f, z) + C, and signed weights in place of copies."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import InvalidParameter
from likewise.protocol import Report
from likewise.reduction import base_error, error, label_weights, literal, signed_weights

fixed = settings(derandomize=True, deadline=None)
FILLER = 2
ALL_LABELLINGS_OF_THREE_PEOPLE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))


def brute_error(p, y, costs=(1.0, 1.0)):
    """Σ_i of c_fp p where y = 0, c_fn (1 − p) where y = 1, nothing where y is missing."""
    terms = [costs[0] * pi if yi == 0 else costs[1] * (1 - pi) for pi, yi in zip(p, y, strict=True) if yi == yi]
    return sum(terms, 0.0)


def brute_lagrangian(p, y, reports, C, costs=(1.0, 1.0)):
    total = brute_error(p, y, costs)
    for report in reports:
        total += C * (p[report.favoured] - p[report.disfavoured]) / len(reports)
    return total


def every_answer(k, most=2):
    """No report, each single one, and each set of up to ``most`` different pairs, either of the two first."""
    pairs = [Report(i, j) for i, j in itertools.permutations(range(k), 2)]
    sets = (some for size in range(most + 1) for some in itertools.combinations(pairs, size))
    return [some for some in sets if len({frozenset(report[:2]) for report in some}) == len(some)]


@st.composite
def rounds(draw, labels=(0.0, 1.0, np.nan)):
    """(π at every person and at the filler, y, reports)."""
    k = draw(st.integers(1, 6))
    p = draw(st.lists(st.floats(0, 1), min_size=k + 1, max_size=k + 1))
    y = draw(st.lists(st.sampled_from(labels), min_size=k, max_size=k))
    return np.array(p), np.array(y), draw(st.sampled_from(every_answer(k)))


COSTS = st.tuples(st.floats(0, 10), st.floats(0, 10))


@pytest.mark.parametrize("people", [(0, 1, 2), (0, 0, 1), (2, 1, 2)])
def test_error_on_the_literal_reduction_is_the_lagrangian_plus_C_for_every_hypothesis_answer_and_labelling(people):
    X = np.array(people)
    for y, reports, each in itertools.product(ALL_LABELLINGS_OF_THREE_PEOPLE, every_answer(3, most=3), range(3)):
        C = each * max(1, len(reports))
        X_more, y_more = literal(X, y, reports, C, FILLER)
        for f in ALL_LABELLINGS_OF_THREE_PEOPLE:
            assert brute_error(f[X_more], y_more) == pytest.approx(brute_lagrangian(f[X], y, reports, C) + C, abs=1e-12)


@fixed
@given(rounds(), st.integers(0, 50))
def test_the_identity_holds_for_any_policy_and_with_missing_labels(round, C):
    p, y, reports = round
    X, C = np.arange(len(y)), C * max(1, len(reports))
    X_more, y_more = literal(X, y, reports, C, filler=len(y))
    assert error(p[X_more], y_more) == pytest.approx(brute_lagrangian(p[X], y, reports, C) + C)


@fixed
@given(rounds(), st.floats(0, 100), COSTS)
def test_signed_weights_give_the_lagrangian_of_any_policy_penalty_and_costs(round, C, costs):
    p, y, reports = round
    s = signed_weights(y, reports, C, costs)
    expected = brute_lagrangian(p[:-1], y, reports, C, costs)
    assert base_error(y, costs) + s @ p[:-1] == pytest.approx(expected, abs=1e-9)


@fixed
@given(rounds(), COSTS)
def test_error_is_the_expected_cost_of_the_labelled_people(round, costs):
    p, y, _ = round
    assert error(p[:-1], y, costs) == pytest.approx(brute_error(p[:-1], y, costs), abs=1e-9)


@fixed
@given(rounds(), st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_signed_weights_and_literal_copies_have_the_same_minimisers(round, C, seed):
    _, y, reports = round
    C = C * max(1, len(reports))
    F = np.random.default_rng(seed).integers(0, 2, size=(16, len(y) + 1)).astype(float)
    X_more, y_more = literal(np.arange(len(y)), y, reports, C, filler=len(y))
    copied = np.array([brute_error(f[X_more], y_more) for f in F])
    signed = base_error(y) + F[:, :-1] @ signed_weights(y, reports, C)
    assert signed.min() + C == copied.min()
    np.testing.assert_array_equal(np.flatnonzero(signed == signed.min()), np.flatnonzero(copied == copied.min()))


@fixed
@given(rounds(), st.floats(0, 100))
def test_the_weights_of_a_round_sum_to_at_most_k_plus_two_C(round, C):
    _, y, reports = round
    limit = len(y) + (2 * C if reports else 0)
    assert np.abs(signed_weights(y, reports, C)).sum() <= limit + 1e-9


def test_a_missing_label_weighs_nothing_and_a_cost_weighs_its_own_side():
    y = np.array([0.0, 1.0, np.nan])
    np.testing.assert_array_equal(label_weights(y, (2.0, 5.0)), [2.0, -5.0, 0.0])
    assert base_error(y, (2.0, 5.0)) == 5.0


def test_weighing_leaves_the_labels_as_they_were():
    y = np.array([0.0, np.nan, 1.0])
    signed_weights(y, [Report(0, 2)], 3.0)
    np.testing.assert_array_equal(y, [0.0, np.nan, 1.0])


def test_the_literal_reduction_appends_whole_people():
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    X_more, y_more = literal(X, np.array([1, 0]), (), 2, filler=[9.0, 9.0])
    np.testing.assert_array_equal(X_more, [*X.tolist(), *[[9.0, 9.0]] * 4])
    np.testing.assert_array_equal(y_more, [1, 0, 0, 0, 1, 1])


@pytest.mark.parametrize("C", [1.5, -1, float("nan")])
def test_copies_must_be_a_whole_number(C):
    with pytest.raises(InvalidParameter, match="`C` must be a whole number of copies"):
        literal(np.zeros((1, 1)), np.zeros(1), (), C, [0.0])


def test_several_pairs_share_the_penalty_evenly_also_where_they_share_a_person():
    y = np.array([np.nan, np.nan, np.nan, np.nan])
    weights = signed_weights(y, [Report(0, 1), Report(0, 2), Report(3, 2)], 6.0)
    np.testing.assert_array_equal(weights, [4.0, -2.0, -4.0, 2.0])


def test_copies_of_several_pairs_must_divide():
    pairs = (Report(0, 1), Report(0, 2))
    with pytest.raises(InvalidParameter, match="`C` must be a multiple of the 2 pairs reported, got 3"):
        literal(np.zeros((3, 1)), np.zeros(3), pairs, 3, [0.0])
