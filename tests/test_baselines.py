"""The paper's neighbours: each one's defining property, by hand or by a second computation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import likewise as lw
from likewise.baselines.merit import Merit, coordinates
from likewise.baselines.meritocratic import chains
from likewise.errors import InvalidParameter, NotSupported
from likewise.reduction import label_weights

b = lw.baselines
ALPHA, K = 0.1, 4
DRAWN = np.random.default_rng(7).normal(size=(80 * 4))
X = DRAWN[:240].reshape(80, 3)
Y = (X[:, 0] + 0.5 * DRAWN[240:] > 0).astype(float)
F = lw.Thresholds.quantiles(X, cuts=3)
CELLS = lw.Cells.grid(X, bins=2)
PEOPLE = lw.IID(X, Y, k=K)


def near(view):
    """A metric that knows little of what decides the label."""
    return 0.3 * np.abs(view[:, 1, None] - view[:, 1]) + 0.05 * np.abs(view[:, 0, None] - view[:, 0])


def broken(view):
    """No metric: small steps are free, and two of them are a large one."""
    return (np.abs(view[:, 1, None] - view[:, 1]) > 0.8).astype(float)


def by_sign(view):
    return (np.asarray(view)[:, 1] > 0).astype(int)


MAKE = {
    "PrimalDual": lambda F: b.PrimalDual(F, k=K, alpha=ALPHA),
    "FairLeader, reported": lambda F: b.FairLeader(F, alpha=ALPHA),
    "FairLeader, ε": lambda F: b.FairLeader(F, alpha=ALPHA, cut=0.05),
    "FairLeader, told": lambda F: b.FairLeader(F, alpha=ALPHA, told=near, commit=8),
    "FairLeader, asked": lambda F: b.FairLeader(F, alpha=ALPHA, told=near, asked=20),
    "FairLeader, groups": lambda F: b.FairLeader(F, alpha=ALPHA, told=near, asked=40, groups=by_sign),
    "Batchwise, known": lambda F: b.Batchwise(F, alpha=ALPHA, distance=b.Known(near)),
    "Batchwise, submetric": lambda F: b.Batchwise(F, alpha=ALPHA, distance=b.Submetric(near, representatives=6)),
    "Batchwise, learned": lambda F: b.Batchwise(F, alpha=ALPHA, distance=b.Learned()),
    "Batchwise, full form": lambda F: b.Batchwise(F, alpha=ALPHA, distance=b.Learned("full")),
    "Batchwise, floor": lambda F: b.Batchwise(F, alpha=ALPHA, distance=b.Known(near), floor=True),
    "Meritocratic": lambda F: b.Meritocratic(F),
}
OF_EVERY_LEARNER = {"init", "pure", "any order", "permutation", "gaps in the feedback", "several reports", "storage",
                    "another process", "parameters"}  # fmt: skip


@pytest.mark.parametrize("name", MAKE)
def test_every_baseline_conforms_and_none_has_a_bound(name):
    learner = MAKE[name](F)
    assert set(lw.checks.check_learner(learner, PEOPLE, lw.MetricAuditor(near, ALPHA))) == OF_EVERY_LEARNER
    assert learner.bound(ALPHA) is None
    assert learner.knows


@pytest.mark.parametrize("name", ["PrimalDual", "FairLeader, reported", "Batchwise, known", "Meritocratic"])
def test_baselines_play_cells_too(name):
    t = lw.play(MAKE[name](CELLS), PEOPLE, lw.MetricAuditor(near, ALPHA), 15)
    assert np.isfinite(t.errors).all()


def played(learner, T=60, distance=near, **options):
    return lw.play(learner, PEOPLE, lw.MetricAuditor(distance, ALPHA), T, **options)


# PrimalDual ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "decay"), [(None, 0.0), (7.0, 0.2)])
def test_the_multiplier_follows_the_reported_gaps(step, decay):
    learner = b.PrimalDual(F, k=K, alpha=ALPHA, step=step, decay=decay)
    t = played(learner)
    multiplier, used = 0.0, []
    for round_ in t:
        used.append(multiplier)
        for report in round_.reports:
            gap = round_.probabilities[report.favoured] - round_.probabilities[report.disfavoured]
            multiplier = max(0.0, multiplier * (1 - decay) + (K if step is None else step) * (gap - ALPHA))
    assert t.reported.sum() > 5
    np.testing.assert_allclose(t.penalties, used, rtol=1e-12)
    assert t.state.multiplier == pytest.approx(multiplier)


def test_without_steps_the_primal_dual_learner_never_hears_the_auditor():
    deaf = played(lw.Unconstrained(F, k=K), compiled=False)
    np.testing.assert_array_equal(played(b.PrimalDual(F, k=K, alpha=ALPHA, step=0.0)).shown, deaf.shown)


# FairLeader ---------------------------------------------------------------------------------------------------


def least_error(rounds, cuts):
    """The second computation: SciPy on the listed hypotheses, with a row for each cut (people, signs, allowed)."""
    rows = np.concatenate([round_.batch.rows for round_ in rounds])
    costs = F.predict_rows(rows).astype(float) @ label_weights(np.concatenate([round_.batch.y for round_ in rounds]))
    table = np.array([F.predict_rows(people).astype(float) @ signs for people, signs, _ in cuts]).reshape(-1, F.size)
    allowed = np.array([a for *_, a in cuts])
    ones = np.ones((1, F.size))
    best = linprog(costs, table if len(cuts) else None, allowed if len(cuts) else None, ones, [1.0], (0, 1))
    return best.fun, costs, table, allowed


def test_the_leader_is_the_least_error_with_every_reported_cut():
    learner, rounds, cuts = b.FairLeader(F, alpha=ALPHA, cut=0.05), [], []
    t, state, solved = played(learner), learner.init(), 0
    for round_ in t:
        rounds.append(round_)
        for i, j, *_ in round_.reports:
            gap = round_.probabilities[i] - round_.probabilities[j]
            cuts.append((round_.batch.rows[[i, j]], np.array([1.0, -1.0]), max(ALPHA, gap - 0.05)))
        state = learner.update(state, round_)
        if state.solved == state.rounds:
            best, costs, table, allowed = least_error(rounds, cuts)
            assert costs @ state.weights == pytest.approx(best, abs=1e-4)
            assert (table @ state.weights <= allowed + 1e-9).all()
            solved += 1
    assert len(cuts) > 3
    assert solved > len(cuts)


def test_a_leader_that_was_told_the_distance_keeps_every_pair_it_has_seen_and_then_commits():
    learner, half = b.FairLeader(F, alpha=ALPHA, told=near, commit=30), 30
    t = played(learner)
    rounds = list(t)[:half]
    cuts = [
        (round_.batch.rows[[i, j]], np.array([1.0, -1.0]), near(round_.batch.view)[i, j] + ALPHA)
        for round_ in rounds
        for i, j in itertools.permutations(range(K), 2)
    ]
    best, costs, table, allowed = least_error(rounds, cuts)
    assert costs @ t.state.weights == pytest.approx(best, abs=1e-4)
    assert (table @ t.state.weights <= allowed + 1e-9).all()
    policy = learner.act(t.state, lw.Key(0, lw.Role.LEARNER, 1))
    np.testing.assert_allclose(policy.at(t.rows)[half * K :], t.shown[half * K :])
    assert learner.answers(t.state) is None


def test_groups_are_compared_by_their_means_and_the_distances_asked_are_counted():
    learner = b.FairLeader(F, alpha=ALPHA, told=near, asked=50, groups=by_sign)
    t = played(learner)
    sums: dict[tuple[int, int], list[float]] = {}
    asked = 0
    policy = learner.act(t.state, lw.Key(0, lw.Role.LEARNER, 1))
    for round_ in t:
        p, d, group = policy.on(round_.batch), near(round_.batch.view), by_sign(round_.batch.view)
        order = np.lexsort(round_.batch.rows.T)
        for i, j in list(itertools.combinations(order, 2))[: max(0, 50 - asked)]:
            asked += 1
            for high, low in ((i, j), (j, i)):
                sums.setdefault((group[high], group[low]), []).append(p[high] - p[low] - d[high, low])
    assert asked == 50 == learner.answers(t.state)
    assert len(sums) == 4
    assert max(float(np.mean(excess)) for excess in sums.values()) <= ALPHA + 1e-9


def test_a_pair_once_cut_as_alike_is_never_reported_again():
    t = played(b.FairLeader(F, alpha=ALPHA), T=200)
    pairs = [t.rows[people].tobytes() for people in t.pair_people]
    assert len(pairs) == len(set(pairs)) > 5


# Batchwise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [near, broken])
def test_the_program_on_a_batch_is_the_least_expected_error_of_fair_decisions(distance):
    learner = b.Batchwise(F, alpha=ALPHA, distance=b.Known(distance))
    t, state = played(learner, distance=distance), learner.init()
    assert not t.violations.any()
    for round_ in t:
        q = Merit(state.inverse, state.moments).estimates(F, round_.batch.rows)[0]
        pairs = list(itertools.permutations(range(K), 2))
        rows, allowed = np.zeros((len(pairs), K)), distance(round_.batch.view)
        for row, (i, j) in zip(rows, pairs, strict=True):
            row[i], row[j] = 1.0, -1.0
        best = linprog(1 - 2 * q, rows, [allowed[pair] + ALPHA for pair in pairs], bounds=(0, 1))
        assert (1 - 2 * q) @ round_.probabilities == pytest.approx(best.fun, abs=1e-5)
        state = learner.update(state, round_)


def test_every_batch_is_fair_by_the_distance_that_the_learner_goes_by():
    for name in ("Batchwise, submetric", "Batchwise, learned", "Batchwise, full form"):
        learner = MAKE[name](F)
        t, state, binding = played(learner), learner.init(), 0
        for round_ in t:
            p, d = round_.probabilities, learner.distance.between(state.memory, round_.batch.view)
            excess = p[:, None] - p - d
            assert excess.max() <= ALPHA + 1e-9
            binding += excess.max() > ALPHA - 1e-6
            state = learner.update(state, round_)
        assert binding > 5, name


def test_a_submetric_is_below_a_metric_but_not_below_what_is_none():
    few = b.Submetric(near, representatives=5)
    memory = few.after(np.empty(0), lw.Round(lw.Batch(F.encode(X[:9]), Y[:9], X[:9]), np.zeros(9)), ALPHA)
    assert len(memory) == 5 * 3
    assert (few.between(memory, X) <= near(X) + 1e-12).all()
    chosen = memory.reshape(5, 3)
    apart = near(np.concatenate([chosen, X]))[:5, 5:]
    by_hand = [max(abs(apart[r, i] - apart[r, j]) for r in range(5)) for i, j in ((0, 1), (7, 33))]
    np.testing.assert_allclose(few.between(memory, X)[[0, 7], [1, 33]], by_hand)
    wrong = b.Submetric(broken, representatives=5)
    assert (wrong.between(memory, X) > broken(X) + 0.5).any()


def test_batchwise_is_fair_if_the_distance_is_a_metric_and_is_not_if_it_is_none():
    learner = b.Batchwise(F, alpha=ALPHA, distance=b.Submetric(near))
    assert not played(learner).violations.any()
    wrong = b.Batchwise(F, alpha=ALPHA, distance=b.Submetric(broken))
    assert played(wrong, distance=broken).violations.sum() > 5


@pytest.mark.parametrize("form", ["diagonal", "full"])
def test_a_report_puts_the_pair_where_the_learned_form_must_have_it(form):
    source = b.Learned(form, shrink=0.5)
    people = X[:4]
    round_ = lw.Round(lw.Batch(F.encode(people), Y[:4], people), np.array([0.9, 0.1, 0.5, 0.5]), (lw.Report(0, 1),))
    memory = source.after(np.empty(0), round_, ALPHA)
    if source.between(np.empty(0), people)[0, 1] > 0.35:
        assert source.between(memory, people)[0, 1] <= 0.5 * (0.8 - ALPHA) + 1e-9
    values = np.linalg.eigvalsh(memory[3:].reshape(3, 3))
    assert values.min() >= -1e-12
    quiet = source.after(memory, round_._replace(reports=()), ALPHA)
    np.testing.assert_array_equal(quiet, memory)


def test_a_floor_is_kept_towards_everybody_decided_before():
    def excess(t):
        """By how much anybody got less than somebody before them implies."""
        d = near(t.view)
        earlier = np.repeat(np.arange(t.rounds), K)
        before = earlier[:, None] < earlier
        return float(np.where(before, t.shown[:, None] - t.shown - d, -1.0).max())

    known = b.Known(near)
    floored = played(b.Batchwise(F, alpha=ALPHA, distance=known, floor=True), T=150)
    assert floored.shown.max() > 0.5, "or nothing was bound"
    assert excess(floored) <= ALPHA + 1e-9
    assert excess(played(b.Batchwise(F, alpha=ALPHA, distance=known))) > ALPHA + 0.1


def test_a_policy_that_compares_a_batch_has_no_average_and_answers_for_whole_batches_only():
    learner = MAKE["Batchwise, known"](F)
    t = played(learner, T=5)
    with pytest.raises(NotSupported, match="compare the people of a batch"):
        t.average_policy.probability(X)
    with pytest.raises(NotSupported, match=r"ask `on\(batch\)`"):
        learner.act(t.state, lw.Key(0, lw.Role.LEARNER, 6)).at(t.rows)


def test_people_who_look_the_same_get_the_same():
    learner = MAKE["Batchwise, known"](F)
    t = played(learner)
    twins = np.array([0, 1, 0, 1, 0])
    p = learner.act(t.state, lw.Key(0, lw.Role.LEARNER, 61)).on(lw.Batch(F.encode(X[twins]), Y[twins], X[twins]))
    assert len(np.unique(p)) == len(np.unique(p[:2]))
    np.testing.assert_array_equal(p, p[twins])


# Merit --------------------------------------------------------------------------------------------------------


def test_merit_is_ridge_regression():
    merit = Merit.of(F)
    rows = F.encode(X)
    for start in range(0, 80, 7):
        merit = merit.after(F, rows[start : start + 7], Y[start : start + 7])
    phi = F.predict_rows(rows).T.astype(float)
    np.testing.assert_array_equal(coordinates(F, rows), phi)
    V = np.eye(F.size) + phi.T @ phi
    q, width = merit.estimates(F, rows)
    np.testing.assert_allclose(q, np.clip(0.5 + phi @ np.linalg.solve(V, phi.T @ (Y - 0.5)), 0, 1), atol=1e-9)
    np.testing.assert_allclose(width**2, np.diag(phi @ np.linalg.solve(V, phi.T)), atol=1e-9)


def test_on_cells_merit_is_the_mean_label_of_a_cell_shrunk_towards_a_half():
    rows = CELLS.encode(X)
    q, _ = Merit.of(CELLS).after(CELLS, rows, Y).estimates(CELLS, rows)
    counts, ones = np.bincount(rows, minlength=8), np.bincount(rows, Y, 8)
    np.testing.assert_allclose(q, ((ones + 0.5) / (counts + 1))[rows], atol=1e-12)


def test_intervals_are_chained_by_overlaps():
    low = np.array([0.10, 0.30, 0.80, 0.55, 0.05])
    high = np.array([0.35, 0.50, 0.90, 0.70, 0.08])
    assert chains(low, high).tolist() == [1, 1, 3, 2, 0]
    assert chains(low, high + 0.06).tolist() == [0, 0, 1, 0, 0]


def test_nobody_is_favoured_over_a_person_who_may_be_better():
    learner = b.Meritocratic(F, width=0.5)
    t, state, favoured = played(learner), learner.init(), 0
    for round_ in t:
        q, spread = Merit(state.inverse, state.moments).estimates(F, round_.batch.rows)
        p = round_.probabilities
        for i, j in itertools.permutations(range(K), 2):
            if p[i] > p[j]:
                assert q[i] - 0.5 * spread[i] > q[j] + 0.5 * spread[j]
                favoured += 1
        state = learner.update(state, round_)
    assert favoured > 10
    unheard = [learner.update(learner.init(), t.round(0)._replace(reports=r)) for r in ((), (lw.Report(0, 1),))]
    np.testing.assert_array_equal(unheard[0].moments, unheard[1].moments)


# Words --------------------------------------------------------------------------------------------------------


def test_each_says_what_it_is_told_and_how_many_answers_that_took():
    expected = {
        "PrimalDual": ("pairs", 12), "FairLeader, reported": ("pairs", 12), "FairLeader, told": ("the distance", None),
        "FairLeader, asked": ("20 distances", 20), "Batchwise, known": ("the distance", None),
        "Batchwise, submetric": ("6 distances a person", 6 * 48), "Batchwise, learned": ("pairs", 12),
        "Meritocratic": ("labels only", 0),
    }  # fmt: skip
    for name, (knows, answers) in expected.items():
        learner = MAKE[name](F)
        assert (learner.knows, learner.answers(played(learner, T=12).state)) == (knows, answers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: b.PrimalDual(F, k=K), r"`alpha` must be in \[0, 1\], got None"),
        (lambda: b.PrimalDual(F, k=K, alpha=0.1, step=-1), "`step` must be at least 0, got -1"),
        (lambda: b.FairLeader(F, alpha=0.1, cut="close"), '`cut` must be "alike" or a positive number'),
        (lambda: b.FairLeader(F, alpha=0.1, asked=5), "`asked` must be left out unless `told` is a distance"),
        (lambda: b.FairLeader(lw.FiniteClass([by_sign], constants=()), alpha=0.1), "`hypotheses` must hold a constant"),
        (lambda: b.Batchwise(F, alpha=0.1, distance=near), r"`distance` must be Known\(d\), Submetric\(d\) or Learned"),
        (lambda: b.Learned("round"), "`form` must be one of"),
        (lambda: b.Submetric(near, 0), "`representatives` must be a whole number, at least 1, got 0"),
        (lambda: b.Meritocratic(F, width=-1), "`width` must be at least 0, got -1"),
    ],
)
def test_bad_input_gets_a_sentence(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()
