"""Groups: the same numbers as fairlearn's on the same predictions, closed forms, and intervals that hold."""

from __future__ import annotations

import re

import fairlearn.metrics as fairlearn
import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.scoreboard.group_rates import impact_ratios, limits, members


def people(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n, p=[0.35, 0.65]), "x": rng.random(n)})
    frame["region"] = rng.choice(["north", "east", "south", "west"], n)
    p = np.clip(frame["x"] - 0.2 * (frame["sex"] == "f"), 0, 1).to_numpy()
    return frame, (rng.random(n) < 0.2 + 0.6 * frame["x"]).to_numpy(dtype=float), p


def frame_of(y: np.ndarray, decisions: np.ndarray, groups: pd.Series, weight: np.ndarray) -> pd.DataFrame:
    from sklearn.metrics import precision_score

    metrics = {
        "selected": fairlearn.selection_rate,
        "wrong_yes": fairlearn.false_positive_rate,
        "wrong_no": fairlearn.false_negative_rate,
        "label_if_yes": precision_score,
    }
    sample = {name: {"sample_weight": weight} for name in metrics}
    return fairlearn.MetricFrame(
        metrics=metrics, y_true=y, y_pred=decisions, sensitive_features=groups, sample_params=sample
    ).by_group


@pytest.mark.parametrize("column", ["sex", "region"])
@pytest.mark.parametrize("soft", [False, True])
def test_numbers_equal_those_of_fairlearn_on_the_same_predictions(column, soft):
    frame, y, p = people(900)
    given = p if soft else (p > 0.4).astype(int)
    table = lw.groups(given, frame, y, [column]).table(column)
    # A probability is both answers, each with its weight.
    twice = pd.concat([frame[column]] * 2, ignore_index=True)
    theirs = frame_of(np.tile(y, 2), np.repeat([1, 0], len(y)), twice, np.concatenate([given, 1.0 - given]))
    assert {group.name for group in table.groups} == set(theirs.index)
    for group in table.groups:
        row = theirs.loc[group.name]
        for name in ("selected", "wrong_yes", "wrong_no"):
            assert getattr(group, name).value == pytest.approx(row[name], abs=1e-12)
        assert group.label_if_yes == pytest.approx(row["label_if_yes"], abs=1e-12)
    ratio = theirs["selected"].min() / theirs["selected"].max()
    assert table.impact_ratio == pytest.approx(ratio, abs=1e-12)
    if not soft:
        assert table.impact_ratio == fairlearn.demographic_parity_ratio(y, given, sensitive_features=frame[column])


def test_a_policy_may_be_an_object_and_columns_a_mapping():
    frame, y, p = people(300)

    class Policy:
        def probability(self, X):
            return p[np.asarray(X.index)]

    own = lw.groups(Policy(), frame, y, "sex")
    assert own.tables == lw.groups(p, frame, y, {"sex": frame["sex"]}).tables


def test_small_groups_are_counted_and_not_shown():
    sex = np.array(["a"] * 50 + ["b"] * 30 + ["c"] * 29 + ["d"] * 3)
    table = lw.groups(np.full(112, 0.5), np.arange(112.0)[:, None], np.zeros(112), {"sex": sex}).table("sex")
    assert [group.name for group in table.groups] == ["a", "b"]
    assert (table.left_out, table.people_left_out) == (2, 32)
    assert "2 groups with fewer than 30 people (32 people in all) not shown" in table.sentence
    assert "'c'" not in str(table.cells())
    assert table.groups[0].wrong_no.value is None  # nobody has label 1


def test_one_group_or_nobody_selected_has_no_ratio_and_says_why():
    one = lw.groups(np.full(40, 0.5), np.arange(40.0)[:, None], np.zeros(40), {"s": ["a"] * 40}).table("s")
    assert one.impact_ratio is None
    assert "one group only" in one.sentence
    nobody = lw.groups(np.zeros(80), np.arange(80.0)[:, None], np.zeros(80), {"s": ["a", "b"] * 40}).table("s")
    assert nobody.impact_ratio is None
    assert "nobody gets a yes" in nobody.sentence
    assert nobody.groups[0].label_if_yes is None


def test_calibration_bands_compare_labels_with_probabilities():
    p = np.repeat([0.1, 0.9, 1.0], 40)
    y = np.concatenate([np.repeat([1.0, 0.0], [4, 36]), np.repeat([1.0, 0.0], [30, 10]), np.ones(40)])
    group = lw.groups(p, np.arange(120.0)[:, None], y, {"s": ["a"] * 120}).table("s").groups[0]
    assert [(band.low, band.people, round(band.label, 3)) for band in group.bands] == [(0.0, 40, 0.1), (0.8, 80, 0.875)]
    assert group.bands[1].probability == pytest.approx(0.95)
    assert group.label_if_yes == pytest.approx((0.1 * 4 + 0.9 * 30 + 40) / (4 + 36 + 40))
    assert group.label_if_no == pytest.approx((0.9 * 4 + 0.1 * 30) / (36 + 4))


def test_missing_labels_count_for_selection_and_not_for_errors():
    frame, y, p = people(400)
    half = np.where(np.arange(400) % 2, y, np.nan)
    whole, part = (lw.groups(p, frame, labels, "sex").table("sex").groups for labels in (y, half))
    assert [group.selected for group in whole] == [group.selected for group in part]
    some = (frame["sex"] == part[0].name).to_numpy() & np.isfinite(half) & (half == 0)
    assert part[0].wrong_yes.value == pytest.approx(p[some].mean())


def test_numbers_with_many_values_are_compared_in_quarters():
    ages = np.arange(18, 98.0)
    groups = members(np.append(ages, np.nan))
    assert [len(rows) for rows in groups.values()] == [20, 20, 20, 20, 1]
    assert list(groups)[-1] == "missing"
    assert (ages[groups["37.75 to below 57.5"]] < 57.5).all()
    assert list(members([3, 1, 1])) == ["1", "3"]
    assert sum(len(rows) for rows in members(np.r_[np.zeros(99), np.arange(12.0)]).values()) == 111


def test_intervals_are_left_out_where_nothing_is_claimed():
    frame, y, p = people(200)
    learned = lw.groups(p, frame, y, "sex", held_out=False)
    assert learned.table("sex").groups[0].selected.low is None
    assert "took part in learning" in str(learned)
    twice = lw.groups(np.tile(p, 2), pd.concat([frame, frame], ignore_index=True), np.tile(y, 2), "sex")
    assert twice.table("sex").groups[0].impact.low is None
    assert "no ids tell" in str(twice)
    once = lw.groups(
        np.tile(p, 2), pd.concat([frame] * 2, ignore_index=True), np.tile(y, 2), "sex", ids=[*range(200)] * 2
    )
    assert once.tables == lw.groups(p, frame, y, "sex").tables


def test_fewer_than_a_hundred_people_claim_nothing_about_others():
    frame, y, p = people(99)
    few = lw.groups(p, frame, y, "sex", chosen_from=3)
    assert all(group.selected.low is None and group.impact.low is None for group in few.table("sex").groups)
    assert "that takes at least 100 people" in str(few)
    assert "intervals" not in str(few)


def test_a_chosen_policy_has_wider_intervals():
    frame, y, p = people(300)
    alone, chosen = (lw.groups(p, frame, y, "sex", chosen_from=j).table("sex").groups[-1] for j in (1, 3))
    assert chosen.impact.low < alone.impact.low
    assert chosen.selected.high > alone.selected.high


def test_whole_numbers_get_exact_limits():
    from scipy.stats import beta

    low, high = limits(np.repeat([1, 0], [7, 33]), 0.025)
    assert (low, high) == pytest.approx((beta.ppf(0.025, 7, 34), beta.ppf(0.975, 8, 33)), abs=1e-9)


@pytest.mark.parametrize("means", [(0.15, 0.3), (0.3, 0.3), (0.05, 0.4, 0.38, 0.4)])
@pytest.mark.parametrize("kind", ["probabilities", "decisions"])
def test_intervals_of_impact_ratios_hold_as_often_as_they_say(means, kind):
    """Each by itself, at any number of people: also where the most selected group is not known, or tied."""
    rng, runs = np.random.default_rng(5), 120
    truth = np.array(means) / max(means)
    missed = np.zeros(len(means))
    for _ in range(runs):
        samples = [rng.beta(4 * mean, 4 * (1 - mean), 40) for mean in means]
        if kind == "decisions":
            samples = [(rng.random(40) < mean).astype(int) for mean in means]
        ratios = impact_ratios(samples, 0.05)
        missed += [
            not (rate.low - 1e-12 <= ratio <= rate.high + 1e-12) for rate, ratio in zip(ratios, truth, strict=True)
        ]
    # Ten misses of 120 at 5 % have a probability of 6 %, eleven of 3 %; the intervals are meant to be cautious.
    assert missed.max() <= 10


def test_intervals_shrink_and_surround_their_value():
    rng = np.random.default_rng(1)
    few, many = ([rng.random(n) * 0.5, rng.random(n)] for n in (60, 3000))
    narrow, wide = impact_ratios(many, 0.05)[0], impact_ratios(few, 0.05)[0]
    assert wide.low < wide.value < wide.high
    assert narrow.high - narrow.low < 0.25 * (wide.high - wide.low)
    assert narrow.low < 0.5 < narrow.high


def test_bad_input_is_named():
    frame, y, p = people(60)
    with pytest.raises(InvalidParameter, match=r"`sensitive` must be columns of `people`.*\['race'\]"):
        lw.groups(p, frame, y, ["race"])
    with pytest.raises(InvalidParameter, match="`sensitive` must have 60 values in 'sex', got 2"):
        lw.groups(p, frame, y, {"sex": ["a", "b"]})


def test_it_is_plain_json_and_markdown():
    import json

    frame, y, p = people(200)
    found = lw.groups(p, frame, y, ["sex"], others={"labels alone": np.full(200, 0.5)})
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    (table,) = plain["tables"]
    assert table["impact_ratio"] == found.table("sex").impact_ratio
    assert table["others"] == {"labels alone": 1.0}
    assert "labels alone: 1.00" in table["sentence"]
    assert found.markdown().startswith("| sex | people | selection rate |")


# In a run ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose label favours men, played to its end; what it wrote and what it deployed."""
    from likewise.experiments import runs
    from likewise.experiments.runs.deployed import deployed

    folder = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"income": rng.random(1200), "sex": rng.choice(["f", "m"], 1200)})
    likely = 0.05 + 0.6 * frame["income"] + 0.3 * (frame["sex"] == "m")
    frame["approved"] = (rng.random(1200) < likely).astype(int)
    frame.to_csv(folder / "people.csv", index=False)
    given = {"label": "approved", "compare_by": ("income",), "sensitive": ("sex",), "k": 4, "T": 120, "cuts": 6}
    settings = runs.Settings(**runs.located(str(folder / "people.csv")), **given)
    started = runs.Run.start(settings, folder / "run")
    assert started.play()
    transcript = started.transcript()
    return started, deployed(started.setup, transcript), runs.write_outputs(started, transcript)


def test_a_run_compares_groups_on_the_held_out_people(run):
    started, outcome, result = run
    held = started.setup.held_out
    table = outcome.groups.table("sex")
    given = outcome.learned.probability(held.X)
    sex = held.sensitive["sex"].to_numpy()
    means = {group.name: group.selected.value for group in table.groups}
    assert means == pytest.approx({name: given[sex == name].mean() for name in ("f", "m")})
    assert sum(group.people for group in table.groups) == len(held.y) == 600
    assert result["groups"]["tables"][0]["impact_ratio"] == pytest.approx(min(means.values()) / max(means.values()))
    assert set(table.others) == {"labels alone"}


def test_the_page_and_the_terminal_show_the_same_groups(run):
    from io import StringIO

    from rich.console import Console

    from likewise.cli.output import groups_table

    started, outcome, result = run
    page = (started.folder.path / "report.html").read_text(encoding="utf-8")
    assert "How do groups fare?" in page
    assert outcome.groups.table("sex").sentence in page
    for width, shown in ((120, "label 1 if yes"), (60, "impact")):
        text = StringIO()
        Console(file=text, width=width).print(groups_table(result["groups"], width))
        assert all(word in " ".join(text.getvalue().split()) for word in [*shown.split(), "By sex: the smallest"])


def test_it_is_said_whether_rules_may_use_sensitive_columns(run, tmp_path):
    import dataclasses

    from likewise.experiments.runs import prepare, sensitive_columns

    started, _, result = run
    said = "Rules may use the sensitive column sex; to forbid it, use --drop as well."
    assert sensitive_columns(started.setup) == result["sensitive_columns"] == said
    settings = started.setup.settings
    without = prepare(dataclasses.replace(settings, drop=("sex",)))
    assert sensitive_columns(without).startswith("Rules may not use the sensitive column sex.")
    assert without.held_out.sensitive is not None
    cells = prepare(dataclasses.replace(settings, hypotheses="cells"))
    assert sensitive_columns(cells).startswith("Rules may not use")
    assert sensitive_columns(prepare(dataclasses.replace(settings, sensitive=()))) == ""


def test_the_sentence_rounds_its_limits_outwards_and_names_a_group_that_is_a_number():
    given = np.repeat([0, 1, 0, 1], [170, 130, 111, 189])
    table = lw.groups(given, np.arange(600.0)[:, None], given.astype(float), {"owner": np.repeat([0, 1], 300)}).table(
        "owner"
    )
    impact = table.smallest.impact
    low, high = re.search(r"\(owner 0, between (.*) and (.*)\)", table.sentence).groups()
    assert impact.low - 0.01 < float(low) <= impact.low
    assert impact.high <= float(high) < impact.high + 0.01


def test_people_without_rows_are_one_sentence():
    with pytest.raises(InvalidParameter, match="`people` must have a row per person"):
        lw.groups([0.5, 0.3], None, [1, 0], {"sex": ["f", "m"]})


def test_dropping_the_sensitive_column_changes_no_rule_and_keeps_the_table(run):
    """What a class may read is found out by changing the column, too."""
    import dataclasses

    from likewise.experiments.runs import prepare

    started, _, _ = run
    setup = prepare(dataclasses.replace(started.setup.settings, drop=("sex",)))
    swapped = setup.data.people.assign(sex=setup.data.people["sex"].map({"f": "m", "m": "f"}))
    np.testing.assert_array_equal(setup.data.encoder.transform(swapped), setup.data.features)
    with_sex = started.setup.data
    assert not np.array_equal(with_sex.encoder.transform(swapped), with_sex.features)
