"""Policies: mixtures give probabilities, decisions are stable, averages are averages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.errors import InvalidParameter, ModelMismatch, NotSupported
from likewise.policies import Committee, Floored, thresholds_of

X = np.random.default_rng(11).normal(size=(50, 2))
NAMED = pd.DataFrame(X, columns=["age", "debt"])
TREE = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, X[:, 0] > 0)
SECRET = b"sixteen bytes or more"


def first_positive(X):
    return np.asarray(X)[:, 0] > 0


CLASSES = {
    "thresholds": lw.Thresholds.quantiles(NAMED, cuts=4),
    "cells": lw.Cells.tree(TREE),
    "finite": lw.FiniteClass([first_positive]),
}


def random_policy(F, seed=0):
    rng = np.random.default_rng(seed)
    cube = isinstance(F, lw.Cells)
    return lw.Mixture(F, rng.random(F.geometry.dim) if cube else rng.dirichlet(np.ones(F.geometry.dim)))


def always(probability):
    """A policy that gives everybody this probability."""
    return lw.Mixture(lw.FiniteClass([]), np.array([1 - probability, probability]))


@pytest.fixture(params=CLASSES)
def F(request):
    return CLASSES[request.param]


# Probabilities ---------------------------------------------------------------------------------------------------


def test_probabilities_are_in_the_unit_interval_for_any_weights(F):
    for seed in range(20):
        probabilities = random_policy(F, seed).probability(X)
        assert probabilities.shape == (50,)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_rounding_never_leaves_the_unit_interval():
    F = lw.Thresholds([np.arange(1000.0)])
    everything_below = lw.Mixture(F, np.r_[0, 0, np.zeros(1000), np.full(1000, 1e-3)])
    probabilities = everything_below.probability(np.arange(-1.0, 1001.0)[:, None])
    assert probabilities.max() <= 1
    assert probabilities.min() >= 0
    assert (np.diff(probabilities) <= 0).all()


def test_a_policy_over_thresholds_reads_arrays_and_dataframes_alike():
    policy = random_policy(CLASSES["thresholds"])
    np.testing.assert_array_equal(policy.probability(X), policy.probability(NAMED[["debt", "age"]]))


def test_probability_of_people_is_the_policy_at_encoded_people(F):
    policy = random_policy(F)
    np.testing.assert_array_equal(policy.probability(X), policy.at(F.encode(X)))


# Decisions -------------------------------------------------------------------------------------------------------


def test_the_same_person_gets_the_same_answer_in_any_company():
    policy, ids = random_policy(CLASSES["cells"]), [f"person {i}" for i in range(50)]
    together = policy.decide(X, ids, SECRET)
    alone = [policy.decide(X[i : i + 1], [ids[i]], SECRET)[0] for i in range(50)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[::-1], policy.decide(X[::-1], ids[::-1], SECRET))


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.83])
def test_the_share_of_yes_is_the_probability(probability):
    n = 20_000
    yes = always(probability).decide(np.zeros((n, 1)), range(n), SECRET)
    assert abs(yes.mean() - probability) < 4 * np.sqrt(probability * (1 - probability) / n)


def test_a_rising_probability_never_turns_a_yes_into_a_no():
    people, ids = np.zeros((500, 1)), range(500)
    answers = np.array([always(p).decide(people, ids, SECRET) for p in np.linspace(0, 1, 21)])
    assert (np.diff(answers.astype(int), axis=0) >= 0).all()


def test_certainty_is_certain():
    people, ids = np.zeros((2000, 1)), range(2000)
    assert always(1.0).decide(people, ids, SECRET).all()
    assert not always(0.0).decide(people, ids, SECRET).any()


def test_another_secret_gives_answers_that_are_independent_of_the_first():
    one, other = (thresholds_of(range(5000), secret) for secret in (SECRET, SECRET + b"!"))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_thresholds_are_uniform_below_one():
    u = np.sort(thresholds_of(range(10_000), SECRET))
    assert 0 <= u[0] <= u[-1] < 1
    assert np.abs(u - np.linspace(0, 1, 10_000)).max() < 1.63 / np.sqrt(10_000)  # Kolmogorov's 1 % limit


@pytest.mark.parametrize("secret", [b"short", "a string of sixteen and more", b""])
def test_a_weak_secret_is_refused_and_not_repeated(secret):
    with pytest.raises(InvalidParameter, match="`secret` must be at least 16 bytes") as caught:
        always(0.5).decide([[0.0]], ["Ada"], secret)
    assert not secret or str(secret) not in str(caught.value)


def test_each_person_needs_an_id():
    with pytest.raises(InvalidParameter, match="`ids` must name each of 2 people, got 1"):
        always(0.5).decide([[0.0], [1.0]], ["Ada"], SECRET)


# Saving ----------------------------------------------------------------------------------------------------------

MODELS = {"thresholds": None, "cells": [TREE], "finite": [first_positive]}


@pytest.mark.parametrize("name", CLASSES)
def test_a_saved_policy_gives_exactly_the_same_probabilities(name, tmp_path):
    policy = random_policy(CLASSES[name])
    policy.save(tmp_path / "policy.json")
    again = lw.Mixture.load(tmp_path / "policy.json", models=MODELS[name])
    np.testing.assert_array_equal(again.weights, policy.weights)
    np.testing.assert_array_equal(again.probability(X), policy.probability(X))


def test_a_saved_policy_on_a_model_needs_that_model(tmp_path):
    random_policy(CLASSES["cells"]).save(tmp_path / "policy.json")
    other = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, X[:, 1] > 0)
    with pytest.raises(ModelMismatch, match=r"`models\[0\]`"):
        lw.Mixture.load(tmp_path / "policy.json", models=[other])


def test_weights_that_do_not_fit_the_class_are_refused():
    data = random_policy(CLASSES["thresholds"]).to_dict()
    with pytest.raises(InvalidParameter, match="`weights` must have 18 entries"):
        lw.Mixture.from_dict(data | {"weights": [0.5, 0.5]})


# Averages --------------------------------------------------------------------------------------------------------


def averaged(policies):
    average = lw.AveragePolicy()
    for policy in policies:
        average.include(policy)
    return average


def mean_probability(policies):
    return np.mean([policy.probability(X) for policy in policies], axis=0)


def test_the_average_policy_is_the_mean_of_the_policies(F):
    policies = [random_policy(F, seed) for seed in range(9)]
    average = averaged(policies)
    assert average.rounds == 9
    np.testing.assert_allclose(average.probability(X), mean_probability(policies), atol=1e-14)
    np.testing.assert_allclose(average.mixture().probability(X), mean_probability(policies), atol=1e-14)


def test_a_policy_of_another_class_is_not_averaged_with_the_rest():
    average = lw.AveragePolicy()
    average.include(lw.Mixture(lw.Thresholds([[0.5]]), np.full(4, 0.25)))
    with pytest.raises(InvalidParameter, match="`policy` must have 4 weights, got 2"):
        average.include(lw.Mixture(lw.Thresholds([[]]), np.full(2, 0.5)))


def test_joined_averages_weigh_each_round_once(F):
    policies = [random_policy(F, seed) for seed in range(9)]
    joined = averaged(policies[:2]).joined(averaged(policies[2:]))
    assert joined.rounds == 9
    np.testing.assert_allclose(joined.probability(X), mean_probability(policies), atol=1e-14)


def test_joining_leaves_both_averages_alone(F):
    one, other = averaged([random_policy(F, 1)]), averaged([random_policy(F, 2)])
    before = one.probability(X)
    one.joined(other).include(random_policy(F, 3))
    np.testing.assert_array_equal(one.probability(X), before)
    assert one.rounds == 1


def test_an_average_of_no_rounds_adds_nothing(F):
    average = averaged([random_policy(F)])
    for joined in (average.joined(lw.AveragePolicy()), lw.AveragePolicy().joined(average)):
        assert joined.rounds == 1
        np.testing.assert_array_equal(joined.probability(X), average.probability(X))


def test_an_average_comes_back_from_its_sum(F):
    average = averaged([random_policy(F, seed) for seed in range(3)])
    again = lw.AveragePolicy.of(F, average.total, average.rounds)
    np.testing.assert_array_equal(again.probability(X), average.probability(X))


def committees(n):
    F = lw.EstimatorClass(DecisionTreeClassifier(max_depth=2, random_state=0), pool=X)
    rng = np.random.default_rng(0)
    return [Committee(F, [F.fit(X, rng.normal(size=50)) for _ in range(4)] + [1]) for _ in range(n)]


def test_a_committee_is_the_mean_of_its_members():
    (committee,) = committees(1)
    votes = [model.predict(X) for model in committee.models[:-1]] + [np.ones(50)]
    np.testing.assert_allclose(committee.probability(X), np.mean(votes, axis=0))


def test_committees_average_too():
    members = committees(4)
    joined = averaged(members[:1]).joined(averaged(members[1:]))
    np.testing.assert_allclose(joined.probability(X), mean_probability(members))
    assert joined.total is None


class Stubborn:
    """A policy of a user's own: everybody gets the same probability."""

    def __init__(self, value):
        self.value = value

    def at(self, rows):
        return np.full(len(rows), self.value)

    def probability(self, X):
        return np.full(len(X), self.value)


def test_policies_of_any_kind_are_averaged_with_mixtures(F):
    policies = [random_policy(F), Stubborn(0.9), random_policy(F, 1), Stubborn(0.2)]
    np.testing.assert_allclose(averaged(policies).probability(X), mean_probability(policies))
    rows = F.encode(X)
    np.testing.assert_allclose(averaged(policies).at(rows), mean_probability(policies))


def test_what_is_no_weight_vector_is_not_made_one():
    for average in (lw.AveragePolicy(), averaged(committees(2))):
        with pytest.raises(NotSupported, match="is not one weight vector"):
            average.mixture()


def test_an_average_of_no_rounds_has_no_probability():
    with pytest.raises(NotSupported, match="no rounds"):
        lw.AveragePolicy().probability(X)


# Floors ------------------------------------------------------------------------------------------------------

FLOORED = {
    "both constants": lw.Thresholds.quantiles(X, cuts=3),
    "no yes": lw.FiniteClass([lambda X: X[:, 0] > 0, lambda X: X[:, 1] > 0], constants=(0,)),
    "cells": lw.Cells.grid(X, bins=2),
}


@pytest.mark.parametrize("floor", [0.0, 0.07, 0.25, 0.999])
@pytest.mark.parametrize("name", FLOORED)
def test_a_floor_lifts_everybody_and_shrinks_every_gap(name, floor):
    F = FLOORED[name]
    policy = random_policy(F, 1)
    p, lifted = policy.probability(X), Floored(policy, floor).probability(X)
    assert lifted == pytest.approx(1 - (1 - floor) * (1 - p))
    assert (lifted >= floor).all()
    assert (lifted <= 1).all()
    gaps = np.subtract.outer(p, p)
    assert np.subtract.outer(lifted, lifted) == pytest.approx((1 - floor) * gaps, abs=1e-15)
    assert Floored(policy, floor).on(lw.Batch(F.encode(X), np.zeros(len(X)), None)) == pytest.approx(lifted)


@pytest.mark.parametrize("floor", [-0.1, 1.0, 1.5])
def test_a_floor_is_below_one(floor):
    with pytest.raises(InvalidParameter, match=r"`floor` must be in \[0, 1\), got"):
        Floored(random_policy(FLOORED["cells"]), floor)


@pytest.mark.parametrize("name", FLOORED)
def test_a_floored_policy_is_one_mixture_where_the_class_says_yes(name):
    F = FLOORED[name]
    floored = Floored(random_policy(F, 2), 0.2)
    if name == "no yes":
        with pytest.raises(NotSupported, match="only if the class holds “always yes”"):
            floored.mixture()
        return
    mixed = floored.mixture()
    assert mixed.probability(X) == pytest.approx(floored.probability(X))
    assert lw.Mixture.from_dict(mixed.to_dict()).probability(X) == pytest.approx(floored.probability(X))


@pytest.mark.parametrize("name", FLOORED)
def test_an_average_counts_floors_policies_without_one_and_parts_alike(name):
    F, rng = FLOORED[name], np.random.default_rng(3)
    policies = [random_policy(F, int(rng.integers(99))) for _ in range(8)]
    policies = [Floored(p, 0.3 * rng.random()) if i % 3 else p for i, p in enumerate(policies)]
    mean = np.mean([policy.probability(X) for policy in policies], axis=0)
    whole, parts = lw.AveragePolicy(), [lw.AveragePolicy(), lw.AveragePolicy()]
    for i, policy in enumerate(policies):
        whole.include(policy)
        parts[i // 4].include(policy)
    joined = parts[0].joined(parts[1])
    back = lw.AveragePolicy.of(F, whole.total, whole.rounds, whole.floors)
    for average in (whole, joined, back):
        assert average.probability(X) == pytest.approx(mean)
        assert average.at(F.encode(X)) == pytest.approx(mean)
        if name != "no yes":
            assert average.mixture().probability(X) == pytest.approx(mean)


def test_a_floored_policy_of_any_kind_is_averaged_too():
    class Half:
        hypotheses = None

        def at(self, rows):
            return np.full(len(rows), 0.5)

        probability = at

    average, F = lw.AveragePolicy(), FLOORED["both constants"]
    mixture = random_policy(F, 5)
    for policy in (Floored(Half(), 0.2), mixture, Floored(mixture, 0.1)):
        average.include(policy)
    p = mixture.at(F.encode(X))
    assert average.at(F.encode(X)) == pytest.approx((0.6 + p + 0.1 + 0.9 * p) / 3)
