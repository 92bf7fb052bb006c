"""Pictures: the lines are the theorems' and hold, later gaps are those of the policies played, nothing overlaps."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise import drawing, figures
from likewise.errors import InvalidParameter, NotSupported
from likewise.figures.regret import course, promise
from likewise.figures.replay import moments, states
from likewise.figures.reports import Helped, LaterGaps, later_gaps, reports_helped
from likewise.figures.rounds import telling_round
from likewise.protocol import Key, Role


def made_up():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(float)


X, Y = made_up()
F = lw.Thresholds.quantiles(X, cuts=6)
T, K, ALPHA = 150, 4, 0.1


def distance(view):
    return np.abs(view[:, None, 1] - view[None, :, 1])


def people(y=Y, k=K):
    return lw.IID(X, y, k=k)


AUDITOR = lw.MetricAuditor(distance, ALPHA)
LEARNERS = {
    "paper": lw.ExponentialWeights(F, T=T, k=K),
    "hedge": lw.Hedge(F, T=T, k=K),
    "scheduled": lw.AdaHedge(F, T=T, k=K, alpha=ALPHA, penalty="growing"),
    "tilted": lw.AdaHedge(F, k=K, alpha=ALPHA, penalty="growing"),
    "kept": lw.AdaHedge(F, T=T, k=K, alpha=ALPHA),
    "fixed": lw.AdaHedge(F, T=T, k=K, penalty=20.0),
    "cells": lw.AdaHedge(lw.Cells.grid(X, bins=3), T=T, k=K, alpha=ALPHA, penalty="growing"),
    "costs": lw.AdaHedge(F, T=T, k=K, alpha=ALPHA, costs=(1.0, 3.0), penalty="growing"),
    "ftpl": lw.ContextFTPL(F, T=T, k=K, alpha=ALPHA, draws=30),
    "unconstrained": lw.Unconstrained(F, T=T, k=K),
    "leader": lw.FollowTheLeader(F, penalty=5.0),
}
PROVED = ("paper", "hedge", "scheduled", "tilted", "fixed", "cells", "costs")


@pytest.fixture(scope="module")
def plays():
    return {name: lw.play(learner, people(), AUDITOR, T) for name, learner in LEARNERS.items()}


# The lines are the theorems' ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROVED)
def test_after_every_round_regret_and_violations_are_below_the_theorems_lines(plays, name):
    found = course(plays[name], LEARNERS[name], points=T)
    assert len(found.after) == T
    assert (found.regret <= found.limit + 1e-9).all()
    assert (found.violations <= found.violations_limit + 1e-9).all()
    assert found.regret[-1] == pytest.approx(plays[name].lagrangian_regret)


@pytest.mark.parametrize("name", ["kept", "ftpl", "leader"])
def test_a_learner_without_a_pathwise_theorem_gets_no_line(plays, name):
    found = course(plays[name], LEARNERS[name])
    assert found.limit is None
    assert found.violations_limit is None


def test_a_learner_that_never_hears_the_auditor_gets_no_limit_of_violations(plays):
    found = course(plays["unconstrained"], LEARNERS["unconstrained"])
    assert found.limit is not None
    assert found.violations_limit is None


def test_the_regret_so_far_is_the_regret_of_the_play_that_stopped_there(plays):
    stopped = lw.play(LEARNERS["tilted"], people(), AUDITOR, 40)
    found = course(plays["tilted"], points=T)
    assert found.regret[39] == pytest.approx(stopped.lagrangian_regret)
    assert found.violations[39] == stopped.violations.sum()


def test_reports_below_their_level_take_the_limit_of_violations_away():
    learner = LEARNERS["scheduled"]
    t = lw.play(learner, people(), lw.NoisyAuditor(AUDITOR, false_reports=0.5), T)
    assert (t.gaps[t.reported] <= ALPHA).any()
    assert course(t, learner).violations_limit is None


def test_a_promise_is_for_the_end_of_a_play_of_the_planned_length(plays):
    learner = LEARNERS["scheduled"]
    assert promise(plays["scheduled"], learner) == learner.bound(ALPHA)
    assert promise(lw.play(learner, people(), AUDITOR, 40), learner) is None
    anytime = LEARNERS["tilted"]
    assert promise(plays["tilted"], anytime) == anytime.bound(ALPHA, T=T)
    assert promise(plays["leader"], LEARNERS["leader"]) is None


# Later gaps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tilted", "leader", "ftpl"])
def test_later_gaps_are_those_of_the_play_that_stopped_there(plays, name):
    learner, found = LEARNERS[name], later_gaps(plays[name], LEARNERS[name], looks=T)
    stopped = lw.play(learner, people(), AUDITOR, 60)
    policy = learner.act(stopped.state, Key(0, Role.LEARNER, 61))
    assert len(stopped.pairs) > 0
    for row, (i, pair) in enumerate(zip(stopped.report_rounds, stopped.pairs, strict=True)):
        high, low = policy.at(stopped.round(i).batch.rows[list(pair)])
        assert found.later[row, 59] == pytest.approx(high - low)
        assert found.first[row] == pytest.approx(stopped.gaps[i])


@pytest.mark.parametrize("name", LEARNERS)
def test_replayed_policies_gave_the_recorded_probabilities(plays, name):
    t, learner = plays[name], LEARNERS[name]
    for state, moment in zip(states(t, learner, [1, 80, T - 1]), [1, 80, T - 1], strict=True):
        policy = learner.act(state, Key(0, Role.LEARNER, moment + 1))
        seen = t.round(moment)
        np.testing.assert_allclose(policy.at(seen.batch.rows), seen.probabilities, atol=1e-12)


def test_a_pair_is_looked_at_only_after_its_report(plays):
    found = later_gaps(plays["paper"], LEARNERS["paper"], looks=20)
    known = np.isfinite(found.later)
    np.testing.assert_array_equal(known, found.after[None, :] >= found.rounds[:, None])
    assert known[:, -1].all()


def test_the_work_is_bounded_by_looks_and_pairs(plays):
    found = later_gaps(plays["unconstrained"], LEARNERS["unconstrained"], pairs=10)
    assert found.later.shape[0] == 10
    assert found.later.shape[1] <= 60
    assert found.rounds[0] - 1 == np.flatnonzero(plays["unconstrained"].reported)[0]


@pytest.mark.parametrize("name", ["unconstrained", "scheduled"])
def test_gap_minus_distance_is_drawn_and_the_caption_answers_first(plays, name):
    t, learner = plays[name], LEARNERS[name]
    found, helped = later_gaps(t, learner), reports_helped(t, learner, distance)
    settled, excess = 0, []
    for report, i, gap in zip(found.reports, found.rounds - 1, found.last, strict=True):
        a, b = t.pairs[report]
        d = distance(t.view_of(i))[a, b]
        settled += abs(gap) <= d + ALPHA
        excess.append((t.pair_gaps[report] - d, abs(gap) - d))
    np.testing.assert_allclose(np.column_stack([helped.first, helped.after[:, -1]]), excess)
    assert (helped.first > ALPHA).all(), "every report was true"
    figure = figures.did_reports_help(t, learner, distance=distance)
    (dots,) = [line for line in figure.axes[0].lines if line.get_label() == "as reported"]
    np.testing.assert_allclose(dots.get_ydata(), helped.first)
    assert (settled > 0) == (name == "scheduled")
    which = f"of {len(excess)} of the {len(t.pairs)}" if len(excess) < len(t.pairs) else f"of {len(excess)}"
    partly = "Mostly" if 2 * settled > len(excess) else "Only partly"
    answer = {0: "No", len(excess): "Yes"}.get(int(settled), partly)
    start = f"{answer}: {which} reported pairs, the last policy keeps {settled} within their distance plus {ALPHA:g}."
    assert figures.caption(figure).startswith(start)


def test_a_distance_by_direction_counts_for_whoever_is_ahead_now():
    later = LaterGaps(*(np.array(x) for x in ([0, 1], [1, 1], [0.8, 0.8], [2], [[0.5], [-0.5]])))
    helped = Helped(later, np.array([[0.1, 0.4], [0.1, 0.4]]), alpha=0.1, level=0.1, rounds=2, reports=2)
    np.testing.assert_allclose(helped.after[:, 0], [0.4, 0.1])
    assert helped.settled == 1
    assert replace(helped, allowed=None).answer.startswith("Yes: of 2 reported pairs, the last policy keeps 2 closer")
    assert replace(helped, allowed=np.zeros((2, 2))).answer.startswith("No: of 2 reported pairs")


def test_another_learner_or_half_a_play_can_not_be_replayed(plays):
    with pytest.raises(InvalidParameter, match=r"must be the play's own AdaHedge, got one with a different T\."):
        figures.did_reports_help(plays["scheduled"], lw.AdaHedge(F, T=T + 1, k=K, alpha=ALPHA, penalty="growing"))
    later = lw.play(LEARNERS["tilted"], people(), AUDITOR, 10, state=plays["tilted"])
    with pytest.raises(InvalidParameter, match="`transcript` must start at round 1"):
        figures.did_reports_help(later, LEARNERS["tilted"])
    drawn = figures.violations_and_regret(later, LEARNERS["tilted"])
    assert "theorem" not in figures.caption(drawn)


# The plane ----------------------------------------------------------------------------------------------------


def test_the_frontier_in_the_plane_is_exact(plays):
    t = plays["scheduled"]
    frontier = lw.frontier(t, distance, [0.0, ALPHA, 0.3, 0.6])
    points = figures.frontier_points(frontier, t, distance)
    assert [p.alpha for p in points] == [0.0, ALPHA, 0.3, 0.6, None]
    np.testing.assert_allclose([p.error * len(t.y) for p in points[:-1]], frontier.errors)
    assert points[-1].error * len(t.y) == pytest.approx(t.unconstrained_error)
    assert [p.violations for p in points[:2]] == [0.0, 0.0]
    judge = lw.MetricAuditor(distance, ALPHA + 1e-7)
    policy, violating = frontier.points[3].policy, 0
    for seen in t:
        violating += judge.audit(seen.batch, policy.at(seen.batch.rows), Key(0, Role.AUDITOR, 1)) is not None
    assert violating > 0
    assert points[3].violations == pytest.approx(violating / T)


def test_several_plays_are_one_dot_with_bars(plays):
    several = [lw.play(LEARNERS["tilted"], people(), AUDITOR, 50, seed=seed) for seed in range(3)]
    point = figures.Point.of(several)
    assert point.error == pytest.approx(np.mean([t.error_per_person for t in several]))
    assert point.error_spread == pytest.approx(np.std([t.error_per_person for t in several], ddof=1))
    assert figures.Point.of(several[0]).error_spread == 0
    drawn = figures.plane({"mean of three": several, "one": several[0], "given": point})
    assert {container.get_label() for container in drawn.axes[0].containers} == {"mean of three", "one", "given"}


# One round ----------------------------------------------------------------------------------------------------


def test_people_are_ranked_and_the_reported_pair_is_joined_above_the_band(plays):
    t = plays["scheduled"]
    i = telling_round(t)
    assert t.gaps[i] == t.gaps.max()
    drawn = figures.one_round(t).axes[0]
    dots = np.concatenate([c.get_offsets() for c in drawn.collections if str(c.get_label()).startswith("label")])
    dots = dots[np.argsort(dots[:, 0])]
    np.testing.assert_allclose(dots[:, 1], -np.sort(-t.round(i).probabilities))
    assert dots[:, 0].tolist() == list(range(1, len(dots) + 1))
    (pair,) = [line for line in drawn.lines if line.get_label() == "reported pair"]
    low, high = pair.get_ydata()
    assert high - low == pytest.approx(t.gaps[i])
    (band,) = drawn.patches
    assert band.get_y() == pytest.approx(low)
    assert band.get_height() == pytest.approx(ALPHA)
    assert high > band.get_y() + band.get_height()


def test_a_round_that_was_not_played_is_refused(plays):
    with pytest.raises(InvalidParameter, match="`i` must be the position of one of 150 rounds, got 150"):
        figures.one_round(plays["scheduled"], 150)


# Captions and files -------------------------------------------------------------------------------------------


def test_captions_carry_the_plays_own_numbers(plays):
    t, learner = plays["scheduled"], LEARNERS["scheduled"]
    text = figures.caption(
        figures.violations_and_regret(t, learner, hindsight=lw.best_in_hindsight(t, distance, ALPHA))
    )
    assert f"{t.violations.sum()} of {T} rounds had a reported violation" in text
    assert f"ended {t.lagrangian_regret:,.0f} above" in text
    assert f"{t.reported.sum()} reported pairs" in figures.caption(figures.did_reports_help(t, learner))
    assert f"Round {telling_round(t) + 1}" in figures.caption(figures.one_round(t))
    assert f"{t.error_per_person:.3f}" in figures.caption(figures.learning_curves({"ours": t}))
    assert f"{t.error_per_person:.3f}" in figures.caption(figures.plane({"ours": t}))
    best = lw.certify(t).redraw.fairness[0]
    assert f"α' = {np.ceil(best.alpha * 1000) / 1000:.3f}" in figures.caption(figures.certificate_curve(lw.certify(t)))


def test_the_same_play_gives_the_same_file_with_its_caption_inside(plays, tmp_path):
    for ending in ("svg", "png"):
        files = [figures.save(figures.one_round(plays["scheduled"]), tmp_path / f"{n}.{ending}") for n in (1, 2)]
        first, second = (file.read_bytes() for file in files)
        assert first == second
        assert b"the reviewer pointed at the ringed pair" in first


def test_without_matplotlib_one_sentence_names_the_extra(plays, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotSupported, match="pip install matplotlib"):
        figures.one_round(plays["scheduled"])


def test_moments_are_few_and_hold_both_ends():
    assert moments(100_000, 60).tolist()[::59] == [1, 100_000]
    assert moments(3, 60).tolist() == [1, 2, 3]


# How it looks -------------------------------------------------------------------------------------------------


def drawn_from(t, learner):
    """Every picture of a play, by name."""
    yield "course", figures.violations_and_regret(t, learner)
    yield "round", figures.one_round(t)
    yield "later", figures.did_reports_help(t, learner)
    yield "certificate", figures.certificate_curve(lw.certify(t))


def words_of(figure):
    """Every text of a figure that is drawn, with its box."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [*figure.texts]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    texts += [text for legend in legends for text in legend.get_texts()]
    return [(text, text.get_window_extent(renderer)) for text in texts if text.get_text().strip()]


def odd_plays():
    """Plays with something missing, too few or too many."""
    estimators = lw.EstimatorClass(LogisticRegression(), pool=X)
    cells = lw.Cells.grid(X, bins=3)
    unknown = np.where(np.random.default_rng(8).random(len(Y)) < 0.5, np.nan, Y)

    def ours(T, k=K, F=F, **options):
        return lw.AdaHedge(F, T=T, k=k, alpha=ALPHA, **options)

    return {
        "usual": (LEARNERS["scheduled"], people(), AUDITOR, T),
        "far below its promise": (LEARNERS["ftpl"], people(), AUDITOR, T),
        "one round": (ours(1), people(), AUDITOR, 1),
        "one person a round": (ours(20, k=1), people(k=1), AUDITOR, 20),
        "thirty people a round": (ours(20, k=30), people(k=30), AUDITOR, 20),
        "nobody reviewed": (ours(20), people(), lw.ScriptedAuditor({}, ALPHA), 20),
        "labels missing": (ours(40, costs=(1.0, 2.0)), people(unknown), AUDITOR, 40),
        "no label at all": (ours(20), people(np.full(len(Y), np.nan)), AUDITOR, 20),
        "cells": (ours(40, F=cells), people(), AUDITOR, 40),
        "estimators": (lw.SmoothedFTPL(estimators, T=14, k=K, draws=2), people(), AUDITOR, 14),
        "false reports": (ours(60), people(), lw.NoisyAuditor(AUDITOR, 0.2, 0.5), 60),
        "a margin": (ours(60), people(), lw.MetricAuditor(distance, ALPHA, margin=0.05), 60),
    }


ODD = list(odd_plays())


@pytest.mark.parametrize("name", ODD)
def test_in_no_picture_of_any_play_do_words_overlap_or_get_too_small(name):
    learner, environment, auditor, rounds = odd_plays()[name]
    t = lw.play(learner, environment, auditor, rounds)
    for picture, figure in drawn_from(t, learner):
        looks_fine(figure, picture)


def test_side_by_side_and_in_the_plane_words_do_not_overlap_either(plays):
    several = {f"{name}, with a name that takes some room": t for name, t in plays.items() if name != "kept"}
    looks_fine(figures.learning_curves(several, title="Ten plays"), "learning")
    t = plays["scheduled"]
    points = figures.frontier_points(lw.frontier(t, distance, [0.0, 0.05, ALPHA, 0.3]), t, distance)
    looks_fine(figures.plane(several, points), "plane")


def looks_fine(figure, picture):
    """No words over words, none too small, legends beside the panels and inside the picture, a caption."""
    assert figures.caption(figure).endswith("."), picture
    words = words_of(figure)
    for (a, one), (b, other) in itertools.combinations(words, 2):
        assert not one.overlaps(other), f"{picture}: {a.get_text()!r} over {b.get_text()!r}"
    # Half the width of a page is 5 inches, and 6 points are the least that one reads.
    assert min(text.get_fontsize() for text, _ in words) * 5 / figure.get_figwidth() >= 6, picture
    for legend in figure.legends:
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes), picture
        assert box.x0 >= 0, picture
        assert box.x1 <= figure.bbox.x1, picture


def test_no_two_of_ten_plays_look_the_same_and_three_differ_in_more_than_colour(plays):
    lines = figures.learning_curves(plays).axes[0].lines
    looks = [(line.get_color(), str(line._linestyle), line._unscaled_dash_pattern) for line in lines]
    assert len(set(looks)) == len(plays)
    assert len({look[1:] for look in looks[:3]}) == 3
    dots = [container.lines[0] for container in figures.plane(plays).axes[0].containers]
    assert len({(dot.get_color(), dot.get_marker()) for dot in dots}) == len(plays)
    assert len({dot.get_marker() for dot in dots[:3]}) == 3


def test_colours_stay_apart_without_red_or_green():
    # Viénot, Brettel and Mollon (1999): what is left of linear RGB for dichromats.
    views = {
        "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    }
    from matplotlib.colors import to_rgb

    linear = np.array([to_rgb(colour) for colour in drawing.COLOURS]) ** 2.2
    for view in views.values():
        seen = np.clip(linear @ np.array(view).T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None, :], axis=2)
        assert apart[np.triu_indices(len(seen), 1)].min() > 0.1


# The scorecard -------------------------------------------------------------------------------------------------------


def mixed(F, seed=0):
    return lw.Mixture(F, np.random.default_rng(seed).dirichlet(np.ones(F.size)))


def test_a_scorecard_draws_the_steps_of_the_policy():
    policy = mixed(lw.Thresholds.quantiles(X, cuts=5))
    figure, card = figures.scorecard(policy), policy.scorecard()
    panels = [axes for axes in figure.axes if axes.axison]
    ranked = sorted(card.columns, key=lambda steps: -steps.highest)
    assert [axes.get_title(loc="left") for axes in panels] == [steps.column for steps in ranked]
    for axes, steps in zip(panels, ranked, strict=True):
        heights, edges, _ = axes.patches[-1].get_data()
        np.testing.assert_allclose(heights, steps.amounts)
        np.testing.assert_allclose(edges[1:-1], [float(cut.value) for cut in steps.cuts])
    assert f"{card.base:.3f}" in figures.caption(figure)


def test_a_scorecard_of_a_constant_says_so():
    F = lw.Thresholds.quantiles(X, cuts=5)
    figure = figures.scorecard(lw.Mixture(F, 0.3 * F.constant(1) + 0.7 * F.constant(0)))
    assert figures.caption(figure) == "No column changes the probability: everybody gets 0.300."


def test_a_scorecard_needs_cut_offs_on_columns():
    with pytest.raises(NotSupported, match="cut-offs on columns"):
        figures.scorecard(lw.Mixture(lw.Cells.grid(X, bins=2), np.full(8, 0.5)))
