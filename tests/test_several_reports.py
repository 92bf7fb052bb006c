"""Several pairs reported in one round: they share the penalty evenly, and everything that is proved stays so."""

import itertools

import numpy as np
import pytest

import likewise as lw
from games import EveryPair, Town, best_fair_error, count
from likewise.certificates import brackets
from likewise.errors import ReportRefused
from likewise.experiments.runs.folder import RunFolder
from likewise.figures.reports import later_gaps
from likewise.figures.rounds import telling_round

ALPHA, K, T = 0.1, 5, 150
TOWN = Town(k=K)
CUTS = lw.Thresholds.quantiles(TOWN.X, cuts=4)
LISTED = lw.FiniteClass([lambda X, f=f: CUTS.predict(X)[f] for f in range(2, CUTS.size)], pool=TOWN.X)
LEARNERS = {
    "exponential weights": lambda F: lw.ExponentialWeights(F, T=T, k=K),
    "hedge": lambda F: lw.Hedge(F, T=T, k=K, penalty=4.0, costs=(0.7, 1.3)),
    "adahedge, fixed": lambda F: lw.AdaHedge(F, k=K, penalty=3.0),
    "adahedge, scheduled": lambda F: lw.AdaHedge(F, T=T, k=K, penalty=lw.Scheduled(2.0, 0.02)),
    "adahedge, tilted": lambda F: lw.AdaHedge(F, k=K, alpha=ALPHA, penalty="growing"),
    "adahedge, kept": lambda F: lw.AdaHedge(F, k=K, alpha=ALPHA),
    "follow the leader": lambda F: lw.FollowTheLeader(F, penalty=2.0),
    "ftpl": lambda F: lw.ContextFTPL(F, T=T, k=K, noise="growing", alpha=ALPHA, draws=20, noise_scale=0.02),
}


def near(view, t=0):
    """A town in which people are so alike that a policy easily breaks several pairs at once."""
    return TOWN.near(view) / 4


def everything(margin=0.0, lies=0.0):
    return EveryPair(near, ALPHA, margin, lies)


def played(name, F=CUTS, auditor=None, rounds=T, people=None, **options):
    return lw.play(LEARNERS[name](F), people or TOWN.iid(), auditor or everything(), rounds, seed=4, **options)


@pytest.fixture(scope="module", params=LEARNERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def t(name):
    return played(name, auditor=everything(lies=0.1))


def test_some_rounds_have_several_reports_and_some_have_none(t):
    assert t.report_counts.min() == 0
    assert t.report_counts.max() > 2
    assert len(t.pairs) == t.report_counts.sum() > t.reported.sum()


def test_the_regret_is_that_of_a_second_count_pair_by_pair(t):
    again = count(t, CUTS.predict_rows(t.rows))
    assert t.lagrangian.sum() == pytest.approx(again.lagrangian)
    assert t.lagrangian_regret == pytest.approx(again.regret)


def test_the_observed_bound_holds(t, name):
    limit = LEARNERS[name](CUTS).observed_bound(t.state)
    assert limit is None or count(t, CUTS.predict_rows(t.rows)).regret <= limit + 1e-9


def test_a_round_weighs_no_more_for_having_several_pairs(t):
    sums = np.add.reduceat(np.abs(t.signed_weights), t.starts[:-1])
    assert (sums <= max(t.costs) * t.sizes + 2 * t.penalties + 1e-9).all()
    np.testing.assert_allclose(
        np.bincount(t.report_rounds, t.pair_penalties, t.rounds)[t.reported], t.penalties[t.reported]
    )


def test_penalties_and_states_count_rounds_and_not_pairs(t, name):
    # A learner that keeps reports counts none of a gap within α: those are lies.
    counts = t.pair_gaps > (ALPHA if name == "adahedge, kept" else -np.inf)
    assert t.state.reports == len(np.unique(t.report_rounds[counts]))
    assert t.penalty_paid == pytest.approx(t.pair_penalties.sum())


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if kind not in ("ftpl", "follow the leader")])
def test_a_listed_class_learns_the_same_as_thresholds_with_their_compiled_steps(kind):
    """Not where draws or ties decide, which differ by class.

    Pairs of equal gaps are such a tie where reports are kept: their prices are set in another order, to a tolerance.
    """
    thresholds, listed = (played(kind, F, rounds=60) for F in (CUTS, LISTED))
    np.testing.assert_allclose(thresholds.shown, listed.shown, atol=1e-3 if kind == "adahedge, kept" else 1e-9)
    assert thresholds.reports == listed.reports


def test_a_play_is_saved_loaded_and_continued_bit_by_bit(t, name, tmp_path):
    first = played(name, auditor=everything(lies=0.1), rounds=70)
    first.save(tmp_path / "first.npz")
    stored = lw.Transcript.load(tmp_path / "first.npz")
    assert stored.reports == first.reports
    whole = stored + played(name, auditor=everything(lies=0.1), rounds=T - 70, state=stored)
    for array in ("shown", "report_rounds", "pairs", "violates", "false", "penalties", "starts", "reviewed"):
        np.testing.assert_array_equal(getattr(whole, array), getattr(t, array))
    assert whole.facts == t.facts
    assert all(np.array_equal(a, b) for a, b in zip(whole.state, t.state, strict=True))


def test_a_script_of_the_reports_gives_the_same_play(t, name):
    script = lw.ScriptedAuditor(t.reports, ALPHA, marks_false=True)
    again = played(name, auditor=script)
    np.testing.assert_array_equal(again.shown, t.shown)
    assert again.reports == t.reports


# What is proved ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("people", ["iid", "tempter", "gappy"])
@pytest.mark.parametrize("kind", ["hedge", "adahedge, fixed", "adahedge, scheduled", "adahedge, tilted"])
def test_the_regret_theorem_and_every_row_of_the_certificate_hold(kind, people, margin):
    """ErrReg(Q_{α_r−ε}) + εS ≤ LagrangianRegret, and ErrReg ≤ Err − LP(ε) ≤ LagrangianRegret − εS, for all ε."""
    t = played(kind, auditor=everything(margin), rounds=60, people=getattr(TOWN, people)())
    answers = CUTS.predict_rows(t.rows)
    again = count(t, answers)
    assert t.report_counts.max() > 1
    for epsilon in (0.0, t.level / 2, t.level):
        regret = again.error - best_fair_error(t, answers, near, max(0.0, t.level - epsilon))
        assert regret + epsilon * t.penalty_paid <= again.regret + 1e-6
    for r in lw.certify(t).regret[::5]:
        truth = again.error - best_fair_error(t, answers, near, max(0.0, ALPHA - r.epsilon))
        assert truth <= r.by_reports + 1e-6
        assert r.by_reports <= r.by_lagrangian + 1e-6
        assert r.by_lagrangian == pytest.approx(again.regret - (r.epsilon - margin) * t.penalty_paid)


def test_penalties_times_mean_gaps_are_at_most_the_regret_plus_what_the_best_constant_saves(t):
    room = t.lagrangian_regret + t.constant_errors[-1] - t.errors.sum()
    assert (t.penalties * t.gaps).sum() <= room + 1e-6


def test_a_certificate_counts_rounds_with_a_report(t):
    certificate = lw.certify(t)
    assert certificate.reports == t.reported.sum() < len(t.pairs)
    assert certificate.violations == t.violations.sum()


def test_brackets_hold_pair_by_pair():
    t = played("adahedge, fixed")
    found = brackets(t)
    together = [(b.round, b.favoured, b.disfavoured) for b in found]
    assert len({number for number, _, _ in together}) < len(together)  # some rounds gave several
    for b in found:
        d = near(t.view_of(b.round - 1))[b.favoured, b.disfavoured]
        gap = t.round(b.round - 1).probabilities[b.favoured] - t.round(b.round - 1).probabilities[b.disfavoured]
        assert b.lower <= d + 1e-12 < b.upper == pytest.approx(gap - ALPHA)


# What several pairs mean ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("F", [CUTS, LISTED, lw.Cells.grid(TOWN.X, bins=2)], ids=["thresholds", "listed", "cells"])
@pytest.mark.parametrize("kind", ["hedge", "adahedge, fixed", "adahedge, scheduled", "adahedge, tilted"])
def test_the_same_pair_of_twins_twice_teaches_what_one_report_teaches(kind, F):
    """People a, b, a, b without labels: two reports of C/2 each are one of C."""
    learner, X = LEARNERS[kind](F), TOWN.X[[0, 1, 0, 1]]
    p = np.array([0.9, 0.2, 0.9, 0.2])
    batch = lw.Batch(F.encode(X), np.full(4, np.nan), X)
    one = learner.update(learner.init(), lw.Round(batch, p, (lw.Report(0, 1),)))
    two = learner.update(learner.init(), lw.Round(batch, p, (lw.Report(0, 1), lw.Report(2, 3))))
    np.testing.assert_allclose(one.losses, two.losses, atol=1e-12)
    assert one.reports == two.reports == 1
    assert learner.penalty_at(one) == learner.penalty_at(two)


@pytest.mark.parametrize(
    ("known", "violation"),
    [((False, False), False), ((False, True), True), ((False, None), True), ((True, True), True)],
)
def test_a_round_is_a_violation_if_one_of_its_pairs_is_or_may_be(known, violation):
    reports = tuple(lw.Report(high, 0, violates) for high, violates in zip((1, 2), known, strict=True))
    people = lw.Adversary(lambda moment: (TOWN.X[[0, 1, 2]], [0, 1, 1]), k=3, sees_policy=False)
    script = lw.ScriptedAuditor([tuple(r._replace(false=True) for r in reports)], ALPHA, marks_false=True)
    assert lw.play(lw.AdaHedge(CUTS, k=3, penalty=1.0), people, script, 1).violations.tolist() == [violation]


def wide():
    """A round in which the leader says 1 to person 0 and 0 to persons 1 and 2."""
    F = lw.FiniteClass([lambda X: np.asarray(X)[:, 0] == 1.0], constants=(), pool=[[1.0], [0.0]])
    people = lw.Adversary(lambda moment: ([[1.0], [0.0], [0.0]], [1, 0, 0]), k=3, sees_policy=False)
    return lw.FollowTheLeader(F), people


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((lw.Report(0, 1), lw.Report(0, 1)), "must name different pairs"),
        ((lw.Report(0, 1), lw.Report(1, 0)), "must name different pairs"),
        ((lw.Report(0, 1), lw.Report(1, 2)), "gap must exceed"),
        ((lw.Report(0, 1), lw.Report(0, 3)), "must name two of 3 people"),
        ((lw.Report(0, 1), "2"), "must be a report, a tuple of reports"),
        ([lw.Report(0, 1)], "must be a report, a tuple of reports"),
    ],
)
def test_play_refuses_each_report_that_can_not_be_true(answer, why):
    with pytest.raises(ReportRefused, match=why):
        lw.play(*wide(), lw.ScriptedAuditor([answer], ALPHA), 1)


def test_an_auditor_who_found_nothing_says_none_and_not_an_empty_tuple():
    class Empty(lw.MetricAuditor):
        def audit(self, batch, probabilities, key):
            return ()

    with pytest.raises(ReportRefused, match="must be a report, a tuple of reports, None or SKIPPED"):
        lw.play(*wide(), Empty(near, ALPHA), 1)


def test_noise_loses_single_pairs_of_several():
    t = played("adahedge, fixed", auditor=lw.NoisyAuditor(everything(), misses=0.5))
    whole = EveryPair(near, ALPHA)
    kept = lost = 0
    for number, seen in enumerate(t, start=1):
        there = whole.audit(seen.batch, seen.probabilities, lw.Key(4, lw.Role.AUDITOR, number)) or ()
        assert set(seen.reports) <= set(there)
        kept, lost = kept + len(seen.reports), lost + len(there) - len(seen.reports)
    assert 0.4 < lost / (kept + lost) < 0.6


# What people see --------------------------------------------------------------------------------------------------


def test_a_frame_has_one_row_per_pair(t):
    frame = t.reports_frame()
    rows = [(i, report) for i, reports in enumerate(t.reports, start=1) for report in reports]
    assert frame["round"].tolist() == [i for i, _ in rows]
    assert frame[["favoured", "disfavoured"]].to_numpy().tolist() == [list(report[:2]) for _, report in rows]
    assert frame["violates"].tolist() == [report.violates for _, report in rows]
    assert frame["false"].tolist() == [report.false for _, report in rows]
    assert frame.groupby("round")["penalty"].sum().to_numpy() == pytest.approx(t.penalties[t.reported])


def test_a_frame_leaves_out_what_nobody_can_know():
    learner, people = wide()
    t = lw.play(learner, people, lw.ScriptedAuditor([(lw.Report(0, 1), lw.Report(0, 2, True))], ALPHA), 1)
    assert t.reports_frame()["violates"].isna().tolist() == [True, False]


def test_later_gaps_are_those_of_every_reported_pair():
    t = played("adahedge, fixed")
    found = later_gaps(t, LEARNERS["adahedge, fixed"](CUTS), pairs=10**6)
    np.testing.assert_array_equal(found.rounds, t.report_rounds + 1)
    policy = LEARNERS["adahedge, fixed"](CUTS).act(t.state, lw.Key(4, lw.Role.LEARNER, T + 1))
    favoured, disfavoured = policy.at(t.rows)[t.pair_people].T
    np.testing.assert_allclose(found.last, favoured - disfavoured)


def test_a_picture_of_a_round_says_how_many_pairs_were_reported(t):
    i = int(t.report_counts.argmax())
    caption = lw.figures.caption(lw.figures.one_round(t, i))
    assert f"pointed at the {t.report_counts[i]} ringed pairs" in caption
    assert f"{t.gaps[i]:.2f} on average" in caption
    assert t.pair_gaps.max() == t.pair_gaps[t.report_rounds == telling_round(t)].max()


def test_a_run_keeps_answers_with_several_pairs(tmp_path):
    folder = RunFolder.create(tmp_path / "run")
    answers = {1: None, 2: lw.SKIPPED, 3: lw.Report(1, 0), 4: (lw.Report(1, 0), lw.Report(2, 0))}
    for number, answer in answers.items():
        folder.add_answer(number, answer)
    assert folder.answers() == answers


def test_the_conformance_checks_pass_with_several_reports(name):
    passed = lw.checks.check_learner(LEARNERS[name](CUTS), TOWN.iid(), everything(), T=8)
    assert "permutation" in passed
    assert "levels" in lw.checks.check_auditor(everything(), TOWN.X)


def test_every_order_of_the_pairs_teaches_the_same():
    reports = (lw.Report(0, 1), lw.Report(2, 1), lw.Report(0, 3))
    batch = lw.Batch(CUTS.encode(TOWN.X[:4]), TOWN.y[:4], TOWN.X[:4])
    learner = LEARNERS["adahedge, tilted"](CUTS)
    states = [
        learner.update(learner.init(), lw.Round(batch, np.array([0.9, 0.1, 0.8, 0.2]), order))
        for order in itertools.permutations(reports)
    ]
    assert all(np.allclose(state.losses, states[0].losses, atol=1e-12) for state in states)
