"""The reproduced paper: every experiment runs, its theorems hold, and the page needs nothing but itself."""

from __future__ import annotations

import csv
import importlib.util
import inspect
import itertools
import json
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import process_executor

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.experiments import demo, games
from likewise.experiments.compare.neighbours import NEIGHBOURS
from likewise.experiments.reproduce import (
    EXPERIMENTS,
    accepted,
    changes,
    drift,
    generalisation,
    identity,
    neighbours,
    no_metric,
    penalties,
    perturbed,
    real,
    reproduce,
)
from likewise.experiments.reproduce.measure import Curve
from likewise.experiments.reproduce.page import page
from likewise.experiments.reproduce.result import Check, Experiment, check
from likewise.experiments.reproduce.work import Workers
from likewise.report.html import number, typeset


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All experiments at their smallest."""
    out = tmp_path_factory.mktemp("reproduced")
    told = []
    found = reproduce(out, progress=lambda *words: told.append(words), jobs=1, mode="tiny")
    assert found == (out / "index.html", 0)
    assert f"{found}" == str(out / "index.html")
    assert {title.split()[0] for title, _, _ in told} == {str(number) for number in EXPERIMENTS}
    return out


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def test_no_theorem_fails_in_any_experiment(results):
    assert [e["number"] for e in results] == list(EXPERIMENTS)
    for experiment in results:
        assert experiment["checks"], experiment["title"]
        for found in experiment["checks"]:
            assert found["failures"] == 0, found
            assert found["checked"] > 0, found


def test_the_page_needs_nothing_but_itself(folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    sources = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'>\s)]*)""", text)
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "<script" not in text
    assert "@import" not in text


def test_every_figure_has_a_caption_and_every_bound_its_assumptions(folder, results):
    text = (folder / "index.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.DOTALL)
    captions = [caption for e in results for caption in e["captions"].values()]
    assert len(figures) == len(captions) == len(list(folder.glob("*.png"))) == len(list(folder.glob("*.svg"))) > 7
    for figure in figures:
        assert re.search(r"<figcaption>.{40,}</figcaption>", figure, flags=re.DOTALL)
    assert text.count("<th>assumes</th>") >= len(EXPERIMENTS)
    words = re.sub(r"data:[^\"]*|alt=\"[^\"]*\"", "", text)
    assert not re.search(r"[QTCR]_[\w{]|T\^|\bnan\b|\binf\b|\de[+-]\d", words)


def test_tables_are_written_twice_and_agree(folder, results):
    for experiment in results:
        for name, records in experiment["tables"].items():
            stem = folder / f"{experiment['number']}-{name}"
            assert json.loads(stem.with_suffix(".json").read_text(encoding="utf-8")) == records
            with open(stem.with_suffix(".csv"), newline="", encoding="utf-8") as file:
                assert len(list(csv.DictReader(file))) == len(records) > 0


def test_the_reduction_is_an_identity_on_random_plays():
    experiment = identity.run(identity.Size(plays=60, block=60), Workers(jobs=1))
    assert [found.failures for found in experiment.checks] == [0, 0, 0]
    assert sum(row[2] for row in experiment.tables[0].rows) > 5  # plays with a violation, or nothing was tested


def test_the_naive_sum_is_tight_with_exact_values():
    assert generalisation.tightness() == (Fraction(2, 9), Fraction(2, 9), Fraction(4, 9))


@pytest.mark.parametrize("game", [penalties.TWO, penalties.PAIRS])
def test_the_tilted_rule_has_the_predicted_slope(game):
    points = penalties.one_play(game, penalties.TILTED, (1000, 3000, 9000))
    slope = penalties.fitted(points, game, penalties.TILTED)
    assert slope == pytest.approx(penalties.predicted(penalties.TILTED, game)[1], rel=0.1)
    assert all(point.violations <= point.bound.violations for point in points)


@pytest.mark.parametrize("game", [penalties.TWO, penalties.PAIRS])
def test_the_closed_form_is_the_best_fair_policy(game):
    F = games.two_people_class() if game == penalties.TWO else games.Pairs().hypotheses
    people = games.two_people(F) if game == penalties.TWO else games.Pairs().tempter()
    t = lw.play(lw.AdaHedge(F, k=2, penalty=lw.Tilted(0.25)), people, lw.MetricAuditor(games.alike, 0.5), 400)
    for a in (0.5, 0.25):
        assert lw.best_in_hindsight(t, games.alike, a).error == pytest.approx((1 - a) * 400)


def test_experiment_4_covers_a_million_rounds_and_experiment_1_thousands_of_plays():
    assert penalties.SIZES["full"].horizons[::2] == (10**3, 10**4, 10**5, 10**6)
    assert min(identity.SIZES[mode].plays for mode in ("quick", "full")) >= 2000


def test_no_exponent_is_fitted_to_a_few_violations():
    few = Curve("a game", "a learner", [100, 200, 400], [3.0, 9.0, 29.0], [40.0, 80.0, 160.0], [None] * 3)
    assert np.isnan(few.exponents[0])
    assert few.exponents[1] == pytest.approx(1)
    assert few.fit == "too few to fit (from 3, 9, 29 violations)"
    assert few._replace(violations=[25.0, 50.0, 100.0]).fit == "T^1.00 (from 25, 50, 100 violations)"


def test_numbers_are_typeset():
    assert typeset("off by 1.8e-16") == "off by 1.8 × 10<sup>−16</sup>"
    assert typeset("Q_0.125, Q_{0.5}") == "Q<sub>0.125</sub>, Q<sub>0.5</sub>"
    assert number(-3e-9) == "−3.0 × 10<sup>−9</sup>"


def test_frontier_and_learners_share_a_plane(results):
    (real,) = (e for e in results if e["number"] == 7)
    shares = [row["rounds with a violation at α = 0.1"] for row in real["tables"]["frontier"]]
    levels = [row["fair at"] for row in real["tables"]["frontier"]]
    assert shares[: levels.index("0.1") + 1] == [0.0] * (levels.index("0.1") + 1)
    assert all(0 <= share <= 1 for share in shares)


def test_the_cells_are_two_to_the_64_hypotheses():
    assert perturbed.TOWN.cells.size == 2**64
    X, _ = perturbed.TOWN.sample(5000, np.random.default_rng(0))
    assert len(np.unique(perturbed.TOWN.cells.encode(X))) == 64


def test_a_distance_that_is_no_metric_is_none():
    from likewise.experiments.reproduce import auditors

    assert auditors.broken_triangles() > 0.01
    assert auditors.broken_triangles(auditors.TOWN.near) == 0


def test_a_tolerant_reviewer_is_no_metric_and_only_overlooks_small_differences():
    tolerant = no_metric.Tolerant("cityblock", tolerance=0.3)
    view = np.random.default_rng(0).random((40, 2))
    d, base = tolerant(view), lw.auditors.named_metric("cityblock")(view)
    np.testing.assert_array_equal(d, np.where(base > 0.3, base, 0.0))
    detours = (d[:, :, None] + d[None, :, :]).min(axis=1)
    assert (d > detours + 1e-12).any()


# Noise and drift ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd():
    return changes.People.of(lw.datasets.synthetic(1200), kind="thresholds")


def test_a_play_through_no_change_is_one_play(crowd):
    two_parts = changes.one_play(crowd, changes.DEFAULT, "none", 200, seed=3)
    people = crowd.drawn(lambda y, view: y, 1.0)
    learner = changes.learner_of(changes.DEFAULT, crowd.hypotheses, 200)
    t = lw.play(learner, people, lw.MetricAuditor(crowd.distance, changes.ALPHA), seed=3)
    np.testing.assert_array_equal(two_parts.errors, t.errors / changes.K)
    np.testing.assert_array_equal(two_parts.violations, t.violations)
    assert two_parts.behind == pytest.approx(t.errors.sum() - t.constant_errors[-1])


def test_half_of_the_people_flip_and_a_lenient_reviewer_sees_everybody_further_apart(crowd):
    y, view = crowd.y, crowd.view
    changed = changes.half_flipped(y, view) != y
    assert changed.mean() == pytest.approx(0.5, abs=0.02)
    assert view[changed, 0].min() > view[~changed, 0].max()
    distance = lw.auditors.named_metric(crowd.distance) if isinstance(crowd.distance, str) else crowd.distance
    looser = crowd.drawn(lambda y, view: y, changes.LOOSER).view
    np.testing.assert_allclose(distance(looser[:30]), changes.LOOSER * distance(view[:30]))


def test_whoever_accuses_falsely_names_the_widest_gap_above_alpha_and_marks_it(crowd):
    never, always = (changes.Accusing(lw.MetricAuditor(crowd.distance, 0.1), share) for share in (0.0, 1.0))
    learner = changes.learner_of(changes.DEFAULT, crowd.hypotheses, 100)
    honest, t = (lw.play(learner, crowd.drawn(lambda y, view: y, 1.0), who, 100, seed=1) for who in (never, always))
    assert not any(report.false for reports in honest.reports if reports for report in reports)
    false = [(round_, report) for round_, reports in zip(t, t.reports, strict=True) for report in reports or ()
             if report.false]  # fmt: skip
    assert len(false) >= 10
    for round_, report in false:
        p = round_.probabilities
        assert p[report.favoured] - p[report.disfavoured] == np.ptp(p) > 0.1


@pytest.mark.parametrize("change", changes.CHANGES)
def test_after_any_change_the_play_is_as_close_to_the_best_constant_as_was_proved(crowd, change):
    for seed in range(3):
        p = changes.one_play(crowd, changes.DEFAULT, change, 200, seed)  # it changes where the prior is mixed in
        assert p.recovered <= p.recovered_at_most < changes.K * 200
        assert p.behind <= p.behind_at_most


def test_what_was_given_up_comes_back_only_if_a_little_is_forgotten(crowd):
    default, never = (changes.one_play(crowd, name, "flip", 400, 0) for name in (changes.DEFAULT, changes.NOTHING))
    assert default.late_error < 0.5 < never.late_error
    after, later = drift.back(default), drift.back(never)
    assert after is not None
    assert later is None or after < later
    assert never.recovered_at_most is None


# One lot per round ----------------------------------------------------------------------------------------------------


def test_acceptances_vary_by_the_law_of_their_lots():
    p = np.array([0.25, 0.5, 0.5, 0.875])
    lots = (np.arange(8) + 0.5) / 8  # every probability is in eighths
    one = np.array([(lot < p).sum() for lot in lots])
    own = np.array([sum(lot < q for lot, q in zip(four, p, strict=True)) for four in itertools.product(lots, repeat=4)])
    batch = lw.Batch(np.zeros((4, 1)), np.zeros(4), np.zeros((4, 1)))
    round_ = lw.Round(batch, p, decisions=np.array([False, True, False, True]))
    desk = accepted._on_the_desk(round_, lw.DecisionAuditor("cityblock", 0.1, 0.1))
    sorts, (yes, expected, by_one, by_own, benign, benign_own) = list(desk[:4]), desk[4:]
    assert (by_one, by_own) == pytest.approx((one.var(), own.var()))
    assert (yes, expected) == (2, pytest.approx(one.mean()))
    # Different answers: the second and the first, the fourth and both; the second and the third are a tie.
    assert sorts == [3, 1, 0, 0]
    # Benign: a quarter's yes and a higher one's no, and a tie either way; one lot has none of them.
    assert benign == 0
    assert benign_own == pytest.approx(0.25 * (0.5 + 0.5 + 0.125) + 2 * 0.25 + 2 * 0.5 * 0.125)


def test_with_one_lot_nobody_is_passed_over_and_with_own_lots_somebody_is(results):
    (table,) = (e["tables"]["lots"] for e in results if e["number"] == 11)
    one, own = (row["lower probability got the yes"] for row in table)
    assert one == 0 < own


def test_who_ignores_unseen_labels_stays_stuck_after_a_bad_beginning_and_the_default_does_not():
    plays = {
        kind: [accepted.bad_first("", kind, 200, seed) for seed in range(3)]
        for kind in (accepted.NAIVE, accepted.RUNNING)
    }
    assert sum(p.stuck for p in plays[accepted.NAIVE]) >= 2
    assert not any(p.stuck for p in plays[accepted.RUNNING])
    for p in plays[accepted.RUNNING]:
        assert p.behind[0] <= p.behind[1] < np.inf


# Other worlds, a script of its own --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def other_worlds():
    """``benchmarks/other_worlds.py`` as a module."""
    path = Path(__file__).parent.parent / "benchmarks" / "other_worlds.py"
    spec = importlib.util.spec_from_file_location("other_worlds", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_four_of_six_distances_of_other_worlds_are_no_metrics(other_worlds):
    view = np.random.default_rng(0).random((30, 3))
    broken = {}
    for distance in other_worlds.DISTANCES:
        d = distance(view)
        np.testing.assert_array_equal(d, d.T)
        assert d.min() >= 0
        broken[distance.__name__] = bool((d > (d[:, :, None] + d[None]).min(axis=1) + 1e-9).any())
    assert [name for name, is_broken in broken.items() if not is_broken] == ["own", "strict"]


def test_worlds_are_drawn_before_anything_is_played_and_none_is_rare(other_worlds):
    worlds = other_worlds.worlds(160)
    assert worlds == other_worlds.worlds(160)
    for part, count in (("data", 7), ("distance", 6), ("T", 4), ("alpha", 5), ("k", 4), ("hypotheses", 2)):
        values = [getattr(world, part) for world in worlds]
        assert len(set(values)) == count
        assert min(values.count(value) for value in set(values)) >= 160 / count / 2


def test_in_a_world_the_best_fair_policy_and_the_best_constant_are_where_they_must_be(other_worlds):
    world = other_worlds.World("breast", "own", 0.2, 4, 120, "columns", 0)
    for play in other_worlds.played(world):
        assert play.gain >= -1e-9  # a constant is fair
        assert play.excess == pytest.approx(play.error - play.best)
        assert play.behind == pytest.approx(play.excess - play.gain)
        assert 0 <= play.violations <= 1


def test_every_baseline_there_is_has_a_row_beside_its_neighbours():
    assert set(NEIGHBOURS) <= set(neighbours.NAMES)
    assert {"adahedge", "weights", "unconstrained"} <= set(neighbours.NAMES)


def test_a_broken_theorem_is_seen(tmp_path):
    broken = check("three is at most two", [(1.0, 2.0), (3.0, 2.0)], "nothing")
    assert (broken.checked, broken.failures, broken.slack) == (2, 1, -1.0)
    text = page([Experiment(1, "A title", "A question?", checks=[broken])], [], tmp_path)
    assert "FAILED 1×" in text
    assert "1 of 2 checks of theorems FAILED" in text


def test_an_experiment_that_breaks_is_a_failed_row_and_the_others_still_run(tmp_path, monkeypatch):
    def breaks(size, workers):
        raise ValueError("out of luck")

    monkeypatch.setattr(identity, "run", breaks)
    assert reproduce(tmp_path, only=[1, 5], progress=False, jobs=1, mode="tiny").failures == 1
    first, second = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert first["checks"][0]["failures"] == 1
    assert "out of luck" in first["checks"][0]["claim"]
    assert second["checks"][0]["failures"] == 0
    assert "FAILED" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_unknown_experiments_are_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="`only` must name experiments 1 to 12"):
        reproduce(tmp_path, only=[13], progress=False)


def test_two_processes_find_what_one_finds():
    calls = [(penalties.TWO, penalties.THIRD, (200,)), (penalties.TWO, penalties.ROOT, (100,))]
    assert Workers(jobs=2).map(penalties.one_play, calls) == Workers(jobs=1).map(penalties.one_play, calls)


def test_a_process_of_joblib_that_stops_ends_no_thread_of_these_tests():
    """As an error the warning of it would end the thread that starts a new process, and plays would wait for ever."""
    said = "A worker stopped while some jobs were given"
    assert said in inspect.getsource(process_executor)
    warnings.warn(said, UserWarning, stacklevel=1)
    with pytest.raises(UserWarning):
        warnings.warn("Another one", UserWarning, stacklevel=1)


def test_a_check_of_nothing_holds():
    assert check("nothing", [(5.0, float("inf"))], "nothing") == Check("nothing", 0, 0, float("inf"), "nothing")


@pytest.mark.slow
def test_the_quick_run_finds_no_failure(tmp_path):
    assert reproduce(tmp_path, quick=True, progress=False).failures == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert sum(found["failures"] for e in results for found in e["checks"]) == 0


def test_every_learner_there_is_has_a_dot_on_real_people():
    setting = demo.prepare(lw.datasets.synthetic(3000), T=60)
    played = {type(learner).__name__ for learner in real.learners(setting, real.SIZES["tiny"]).values()}
    there_are = {name for name in lw.learners.__all__ if hasattr(getattr(lw.learners, name), "update")}
    there_are -= {"OnlineClassifier"}  # somebody else's classifier, over no class of hypotheses
    assert len(there_are) >= 7
    assert there_are <= played


def test_reviews_by_lot_find_no_more_than_there_is_and_every_round_reviewed_knows_it(results):
    (table,) = (e["tables"]["shares"] for e in results if e["number"] == 12)
    for row in table:
        assert row["rounds reported"] <= row["violating rounds"]
    every = next(row for row in table if row["reviewed"] == "every round")
    assert every["rounds reported"] == every["violating rounds"] == every["at most, 95%"]
