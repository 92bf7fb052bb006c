"""The game: the loop, what it refuses, and the transcript against a count of its own rounds."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.errors import InvalidParameter, LikewiseError, ModelMismatch, NotSupported
from likewise.protocol import SKIPPED, Round


def made_up():
    rng = np.random.default_rng(21)
    X = rng.random((60, 2))
    return X, (X[:, 0] + 0.2 * rng.normal(size=60) > 0.5).astype(float)


X, Y = made_up()
NAMED = pd.DataFrame(X, columns=["age", "debt"]).assign(town=[f"town {i % 7}" for i in range(60)])
TREE = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, Y)
ALPHA, COSTS = 0.1, (2.0, 0.5)
ARRAYS = ("rows", "y", "shown", "starts", "report_rounds", "pairs", "violates", "false", "reviewed", "penalties")


def first_high(X):
    return np.asarray(X)[:, 0] > 0.5


def second_high(X):
    return np.asarray(X)[:, 1] > 0.5


CLASSES = {
    "thresholds": (lambda: lw.Thresholds.quantiles(X, cuts=5), None),
    "scores": (lambda: lw.Thresholds.scores([TREE], X, cuts=5), [TREE]),
    "grid": (lambda: lw.Cells.grid(X, bins=3), None),
    "tree": (lambda: lw.Cells.tree(TREE), [TREE]),
    "finite": (lambda: lw.FiniteClass([first_high, second_high]), [first_high, second_high]),
}


def half_cityblock(view):
    view = np.asarray(view)[:, :2].astype(float)
    return 0.5 * np.abs(view[:, None] - view).sum(axis=-1)


def auditor(**options):
    return lw.MetricAuditor(half_cityblock, ALPHA, **options)


class Forgetful(lw.MetricAuditor):
    """Does not look at every third round."""

    def audit(self, batch, probabilities, key):
        return SKIPPED if key.t % 3 == 0 else super().audit(batch, probabilities, key)


def learner(F=None, T=60, **options):
    F = CLASSES["thresholds"][0]() if F is None else F
    return lw.Hedge(F, T=T, k=4, **options)


def varied(n, seed=0):
    """n batches of 1 to 4 people, a fifth of the labels missing."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        chosen = rng.integers(60, size=rng.integers(1, 5))
        yield X[chosen], np.where(rng.random(len(chosen)) < 0.2, np.nan, Y[chosen]), X[chosen]


def varied_play(T=60, F=None):
    return lw.play(
        learner(F, T, costs=COSTS),
        lw.Stream(varied(T), k=4),
        lw.NoisyAuditor(Forgetful(half_cityblock, ALPHA, margin=0.05), misses=0.1, false_reports=0.2),
        seed=5,
    )


def assert_same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.facts == other.facts


# The transcript against its rounds -------------------------------------------------------------------------------


@pytest.fixture(params=CLASSES, scope="module")
def transcript(request):
    return varied_play(F=CLASSES[request.param][0]())


def person_cost(p, y, costs):
    if y != y:
        return 0.0
    return costs[0] * p if y == 0 else costs[1] * (1 - p)


def round_error(p, round, costs):
    return sum(person_cost(pi, yi, costs) for pi, yi in zip(p, round.batch.y, strict=True))


def round_lagrangian(p, round, C, costs):
    each = C / max(1, len(round.reports))
    return round_error(p, round, costs) + sum(each * (p[r.favoured] - p[r.disfavoured]) for r in round.reports)


def total_of_each_hypothesis(transcript, loss):
    """Σ_t of the loss of every listed hypothesis, by loops."""
    totals = np.zeros(transcript.hypotheses.size)
    for t, round in enumerate(transcript):
        for f, p in enumerate(transcript.hypotheses.predict_rows(round.batch.rows)):
            totals[f] += loss(p.astype(float), round, transcript.penalties[t])
    return totals


def test_a_varied_play_has_every_kind_of_round(transcript):
    assert {1, 2, 3, 4} == set(transcript.sizes.tolist())
    assert np.isnan(transcript.y).any()
    assert transcript.reported.any()
    assert not transcript.reported.all()
    assert 0 < transcript.reviewed.sum() < transcript.rounds


def test_errors_and_gaps_are_those_of_each_round(transcript):
    errors = [round_error(round.probabilities, round, COSTS) for round in transcript]
    np.testing.assert_allclose(transcript.errors, errors, atol=1e-12)
    np.testing.assert_array_equal(transcript.gaps, [round.gap for round in transcript])


def test_the_error_per_person_counts_the_labelled(transcript):
    labelled = sum(np.isfinite(round.batch.y).sum() for round in transcript)
    assert transcript.error_per_person == pytest.approx(transcript.errors.sum() / labelled)


def test_the_lagrangian_is_error_plus_penalty_times_gap(transcript):
    rounds = zip(transcript, transcript.penalties, strict=True)
    expected = [round_lagrangian(round.probabilities, round, C, COSTS) for round, C in rounds]
    np.testing.assert_allclose(transcript.lagrangian, expected, atol=1e-12)


def test_signed_weights_give_the_lagrangian_of_any_round(transcript):
    parts = np.split(transcript.signed_weights, transcript.starts[1:-1])
    for round, s, C in zip(transcript, parts, transcript.penalties, strict=True):
        always_no = round_lagrangian(np.zeros(len(s)), round, C, COSTS)
        expected = round_lagrangian(round.probabilities, round, C, COSTS)
        assert always_no + s @ round.probabilities == pytest.approx(expected)


def test_the_lagrangian_regret_is_against_the_best_listed_hypothesis(transcript):
    best = total_of_each_hypothesis(transcript, lambda p, round, C: round_lagrangian(p, round, C, COSTS)).min()
    assert transcript.lagrangian_regret == pytest.approx(transcript.lagrangian.sum() - best)


def test_the_unconstrained_error_is_that_of_the_best_listed_hypothesis(transcript):
    best = total_of_each_hypothesis(transcript, lambda p, round, C: round_error(p, round, COSTS)).min()
    assert transcript.unconstrained_error == pytest.approx(best)


def test_the_penalty_paid_is_the_sum_over_reports(transcript):
    paid = [C for reports, C in zip(transcript.reports, transcript.penalties, strict=True) if reports]
    assert transcript.penalty_paid == pytest.approx(sum(paid))


def test_the_table_of_probabilities_is_empty_where_a_batch_was_smaller(transcript):
    table = transcript.probabilities
    assert table.shape == (60, 4)
    for row, round in zip(table, transcript, strict=True):
        np.testing.assert_array_equal(row[: len(round.probabilities)], round.probabilities)
        assert np.isnan(row[len(round.probabilities) :]).all()


def test_violations_are_the_reports_that_violate_or_that_nobody_can_check():
    transcript = lw.play(
        learner(T=3),
        lw.Adversary(lambda moment: ([[0.0, 0.0], [1.0, 1.0]], [0, 1]), k=2, sees_policy=False),
        lw.ScriptedAuditor([lw.Report(1, 0, v, false=True) for v in (None, True, False)], ALPHA, marks_false=True),
    )
    np.testing.assert_array_equal(transcript.violations, [True, True, False])
    assert [report.violates for (report,) in transcript.reports] == [None, True, False]


def test_a_round_that_nobody_looked_at_is_not_a_clear_one(transcript):
    np.testing.assert_array_equal(transcript.reviewed, np.arange(1, 61) % 3 != 0)
    assert not transcript.reported[~transcript.reviewed].any()
    assert all(round.reviewed == seen for round, seen in zip(transcript, transcript.reviewed, strict=True))


def test_a_frame_has_one_row_per_round(transcript):
    frame = transcript.to_frame()
    assert frame["round"].tolist() == list(range(1, 61))
    np.testing.assert_array_equal(frame["people"], transcript.sizes)
    np.testing.assert_array_equal(frame["error"], transcript.errors)
    np.testing.assert_array_equal(frame["lagrangian"], transcript.lagrangian)
    np.testing.assert_array_equal(frame["violation"], transcript.violations)
    np.testing.assert_array_equal(frame["gap"].notna(), transcript.reported)
    np.testing.assert_array_equal(frame["reports"], [len(reports) for reports in transcript.reports])
    np.testing.assert_array_equal(frame["reviewed"], transcript.reviewed)
    np.testing.assert_array_equal(frame["penalty"], transcript.penalties)


def test_a_learner_folded_over_the_rounds_again_reaches_the_same_state(transcript):
    fold = learner(transcript.hypotheses, costs=COSTS)
    state = fold.init()
    for t, round in enumerate(transcript, start=1):
        policy = fold.act(state, lw.Key(5, lw.Role.LEARNER, t))
        np.testing.assert_array_equal(policy.at(round.batch.rows), round.probabilities)
        state = fold.update(state, round)
    np.testing.assert_array_equal(state.losses, transcript.state.losses)


def test_the_average_policy_is_the_mean_of_the_deployed_ones(transcript):
    fold = learner(transcript.hypotheses, costs=COSTS)
    states = itertools.accumulate(transcript, fold.update, initial=fold.init())
    deployed = [fold.act(state, lw.Key(5, lw.Role.LEARNER, 0)).probability(X) for state in states][:-1]
    np.testing.assert_allclose(transcript.average_policy.probability(X), np.mean(deployed, axis=0), atol=1e-12)


# The loop --------------------------------------------------------------------------------------------------------


class SpyLearner(lw.Hedge):
    """Writes down when it acts."""

    def act(self, state, key):
        CALLS.append(("act", key.t))
        return super().act(state, key)


CALLS: list[tuple[str, int]] = []


def spying(moment):
    CALLS.append(("batch", moment.t))
    return X[:2], Y[:2]


@pytest.mark.parametrize(("sees_policy", "order"), [(False, ("batch", "act")), (True, ("act", "batch"))])
def test_a_blind_environment_chooses_before_the_learner_acts_and_a_seeing_one_after(sees_policy, order):
    CALLS.clear()
    spy = SpyLearner(CLASSES["thresholds"][0](), T=3, k=2)
    lw.play(spy, lw.Adversary(spying, k=2, sees_policy=sees_policy), auditor())
    assert [(what, t) for t in (1, 2, 3) for what in order] == CALLS


def test_an_adversary_that_sees_the_policy_sees_the_one_that_is_deployed():
    seen = []

    def watching(moment):
        seen.append(moment.policy.probability(X[:2]))
        return X[:2], 1 - Y[:2]

    transcript = lw.play(learner(T=10), lw.Adversary(watching, k=2, sees_policy=True), auditor())
    np.testing.assert_array_equal(np.array(seen), transcript.probabilities)


def never(moment):
    raise AssertionError("the environment was asked")


MISFITS = {
    "more rounds than the learner has": (lambda: {"T": 61}, InvalidParameter, "`T` must be at most .* 60 rounds"),
    "fewer rounds than none": (lambda: {"T": -1}, InvalidParameter, "`T` must be a whole number of rounds, at least 1"),
    "half a round": (lambda: {"T": 2.5}, InvalidParameter, "`T` must be"),
    "no horizon anywhere": (
        lambda: {"learner": lw.FollowTheLeader(CLASSES["thresholds"][0]())},
        InvalidParameter,
        "`T` must be given",
    ),
    "larger batches than the learner takes": (
        lambda: {"environment": lw.Adversary(never, k=5, sees_policy=False)},
        InvalidParameter,
        "`k` must be at most the learner's 4 people, got 5",
    ),
    "a policy that must not be seen": (
        lambda: {
            "learner": lw.ContextFTPL(CLASSES["thresholds"][0](), T=60, k=4),
            "environment": lw.Adversary(never, k=4, sees_policy=True),
        },
        NotSupported,
        "ContextFTPL must not face an environment that sees its policy",
    ),
    "a negative seed": (lambda: {"seed": -1}, InvalidParameter, "`seed` must be a whole number"),
    "half a seed": (lambda: {"seed": 1.5}, InvalidParameter, "`seed` must be a whole number"),
    "a state of another learner": (
        lambda: {"state": lw.AdaHedge(CLASSES["thresholds"][0](), k=4, alpha=ALPHA).init()},
        InvalidParameter,
        "`state` must be a Losses of this learner over this class, got 'KeptState'",
    ),
    "a stored state of another learner": (lambda: {"state": {"delta": 1.0}}, InvalidParameter, "`state` must be"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_parts_that_do_not_fit_are_refused_before_anybody_is_asked(what):
    change, error, sentence = MISFITS[what]
    parts = {
        "learner": learner(),
        "environment": lw.Adversary(never, k=4, sees_policy=False),
        "auditor": auditor(),
    }
    with pytest.raises(error, match=sentence):
        lw.play(**(parts | change()))


def test_without_T_the_learners_horizon_is_played():
    assert lw.play(learner(T=17), lw.IID(X, Y, k=4), auditor()).rounds == 17


def test_without_T_a_continued_play_plays_what_is_left():
    first = lw.play(learner(T=17), lw.IID(X, Y, k=4), auditor(), T=5)
    assert lw.play(learner(T=17), lw.IID(X, Y, k=4), auditor(), state=first.state).rounds == 12


def test_a_play_of_no_rounds_is_refused():
    with pytest.raises(InvalidParameter, match="`T` must give at least one round"):
        lw.play(learner(), lw.Stream([], k=4), auditor())


def test_the_seed_is_the_play():
    one, same, other = (lw.play(learner(), lw.IID(X, Y, k=4), auditor(choose="random"), seed=s) for s in (1, 1, 2))
    assert_same(one, same)
    assert not np.array_equal(one.rows, other.rows)


def test_a_progress_bar_changes_nothing(capsys):
    shown = lw.play(learner(T=5), lw.IID(X, Y, k=4), auditor(), progress="Deciding")
    assert "Deciding" in capsys.readouterr().out
    assert_same(shown, lw.play(learner(T=5), lw.IID(X, Y, k=4), auditor()))


# Going on --------------------------------------------------------------------------------------------------------


def stopped_and_continued(roles, between):
    first = between(lw.play(*roles(), T=25, seed=9))
    later = lw.play(*roles(), T=35, seed=9, state=first.state)
    return first + later


def noisy_roles(F, play_learner=learner):
    noisy = lw.NoisyAuditor(auditor(choose="random"), misses=0.2, false_reports=0.1)
    return play_learner(F), lw.IID(X, Y, k=4), noisy


def adahedge(F):
    return lw.AdaHedge(F, k=4, alpha=ALPHA)


@pytest.mark.parametrize("play_learner", [learner, adahedge])
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_a_play_that_stops_and_goes_on_is_the_play_that_did_not_stop(name, saved, play_learner, tmp_path):
    build, models = CLASSES[name]

    def roles():
        return noisy_roles(build(), play_learner)

    def stored(transcript):
        transcript.save(tmp_path / "first.npz")
        return lw.Transcript.load(tmp_path / "first.npz", models=models)

    whole = lw.play(*roles(), T=60, seed=9)
    joined = stopped_and_continued(roles, stored if saved else lambda transcript: transcript)
    assert_same(joined, whole)
    np.testing.assert_array_equal(joined.view, whole.view)
    np.testing.assert_array_equal(joined.state.losses, whole.state.losses)
    assert joined.average_policy.rounds == 60
    np.testing.assert_allclose(joined.average_policy.probability(X), whole.average_policy.probability(X), atol=1e-12)


def test_a_stream_is_read_on_by_the_continued_play():
    stream = lw.Stream(varied(60), k=4)
    first = lw.play(learner(costs=COSTS), stream, auditor(), T=25)
    joined = first + lw.play(learner(costs=COSTS), stream, auditor(), state=first.state)
    assert_same(joined, lw.play(learner(costs=COSTS), lw.Stream(varied(60), k=4), auditor()))


def test_what_is_no_continuation_is_not_joined():
    play = lw.play(learner(), lw.IID(X, Y, k=4), auditor(), T=10)
    with pytest.raises(InvalidParameter, match="`later` must start at round 11, got 1"):
        play + play
    other_seed = lw.play(learner(), lw.IID(X, Y, k=4), auditor(), T=10, seed=1, state=play.state)
    with pytest.raises(InvalidParameter, match=r"`later` must continue the same play, got \['seed'\]"):
        play + other_seed


# Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
def test_a_loaded_transcript_equals_the_saved_one(name, tmp_path):
    build, models = CLASSES[name]
    transcript = varied_play(F=build())
    transcript.save(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz", models=models)
    assert_same(again, transcript)
    np.testing.assert_array_equal(again.view, transcript.view)
    np.testing.assert_array_equal(again.average_policy.probability(X), transcript.average_policy.probability(X))
    assert again.lagrangian_regret == transcript.lagrangian_regret
    assert again.reports == transcript.reports
    assert again.state.rounds == 60
    np.testing.assert_array_equal(again.state.losses, transcript.state.losses)


def test_a_loaded_transcript_can_be_saved_again(tmp_path):
    varied_play().save(tmp_path / "one.npz")
    lw.Transcript.load(tmp_path / "one.npz").save(tmp_path / "two.npz")
    assert_same(lw.Transcript.load(tmp_path / "two.npz"), lw.Transcript.load(tmp_path / "one.npz"))


def test_a_view_of_words_and_numbers_survives_a_file(tmp_path):
    F = lw.Thresholds.quantiles(NAMED[["age", "debt"]], cuts=4)
    transcript = lw.play(learner(F), lw.IID(NAMED, Y, k=4), auditor())
    transcript.save(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz")
    assert transcript.reported.any()
    assert list(again.view.columns) == ["age", "debt", "town"]
    pd.testing.assert_frame_equal(again.view, transcript.view, check_dtype=False)
    assert again.round(7).batch.view["town"].tolist() == transcript.round(7).batch.view["town"].tolist()


def test_an_array_of_words_survives_a_file(tmp_path):
    words = np.array([["north", "old"], ["south", "young"]], dtype=object)[np.arange(60) % 2]
    unlike = lw.MetricAuditor(lambda view: 1.0 * (view[:, None] != view).any(axis=-1), ALPHA)
    transcript = lw.play(learner(), lw.IID(X, Y, k=4, view=words), unlike)
    transcript.save(tmp_path / "play.npz")
    np.testing.assert_array_equal(lw.Transcript.load(tmp_path / "play.npz").view, transcript.view)


def test_a_file_holds_no_pickle(tmp_path):
    F = lw.Thresholds.quantiles(NAMED[["age", "debt"]], cuts=4)
    lw.play(learner(F), lw.IID(NAMED, Y, k=4), auditor()).save(tmp_path / "play.npz")
    with np.load(tmp_path / "play.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    assert not any(array.dtype.hasobject for array in arrays.values())
    assert json.loads(str(arrays["meta"]))["facts"]["seed"] == 0


def test_a_transcript_on_models_needs_those_models_or_the_class_itself(tmp_path):
    F = lw.Cells.tree(TREE)
    transcript = lw.play(learner(F), lw.IID(X, Y, k=4), auditor())
    transcript.save(tmp_path / "play.npz")
    other = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, 1 - Y)
    with pytest.raises(ModelMismatch, match=r"`models\[0\]`"):
        lw.Transcript.load(tmp_path / "play.npz", models=[other])
    with pytest.raises(ModelMismatch, match="`models` must hold the 1 models"):
        lw.Transcript.load(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz", hypotheses=F)
    assert again.lagrangian_regret == transcript.lagrangian_regret


def test_whole_numbers_of_numpy_are_saved_like_any_other(tmp_path):
    transcript = lw.play(learner(T=np.int64(3)), lw.IID(X, Y, k=np.int64(4)), auditor(), seed=np.int64(3))
    transcript.save(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz")
    assert again.facts == transcript.facts
    assert (again.seed, again.facts.learner.T) == (3, 3)


def test_a_transcript_over_an_estimator_has_no_exact_regret_and_says_so():
    F = lw.EstimatorClass(DecisionTreeClassifier(max_depth=1, random_state=0), pool=X)
    transcript = lw.play(lw.SmoothedFTPL(F, k=2, draws=2), lw.IID(X, Y, k=2), auditor(), T=3)
    with pytest.raises(NotSupported, match="needs a class that can be searched exactly, got EstimatorClass"):
        _ = transcript.lagrangian_regret


def test_the_average_over_estimators_is_never_that_of_some_rounds_only(tmp_path):
    F = lw.EstimatorClass(DecisionTreeClassifier(max_depth=1, random_state=0), pool=X)
    roles = lw.SmoothedFTPL(F, k=2, draws=2), lw.IID(X, Y, k=2), auditor()
    lw.play(*roles, T=6).save(tmp_path / "first.npz")
    first = lw.Transcript.load(tmp_path / "first.npz", hypotheses=F)
    joined = first + lw.play(*roles, T=4, state=first.state)
    assert joined.rounds == 10
    with pytest.raises(LikewiseError, match="average"):
        joined.average_policy.probability(X)


def test_the_facts_say_who_played_and_what_is_known_of_them():
    facts = varied_play().facts
    assert facts.learner.name == "Hedge"
    assert facts.environment == lw.EnvironmentFacts("Stream", iid=None, sees_policy=False)
    assert (facts.alpha, facts.margin, facts.learner.costs) == (ALPHA, 0.05, COSTS)
    assert (facts.seed, facts.first) == (5, 1)


def test_a_transcript_counts_and_iterates_its_rounds():
    transcript = varied_play(T=7)
    assert len(transcript) == len(list(transcript)) == 7
    assert all(isinstance(round, Round) for round in transcript)


@pytest.mark.parametrize("role", ["learner", "environment", "auditor"])
def test_a_part_in_the_wrong_place_is_named(role):
    parts = {"learner": learner(), "environment": lw.IID(X, Y, k=4), "auditor": auditor()} | {role: "nobody"}
    with pytest.raises(InvalidParameter, match=f"`{role}` must have a method"):
        lw.play(**parts)
