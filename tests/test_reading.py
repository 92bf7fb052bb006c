"""What a policy says about itself is true: words, units and decimals mean exactly the people that the policy means."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.datasets import Encoder
from likewise.errors import InvalidParameter, NotSupported
from likewise.hypotheses.cells import Grid
from likewise.policies import Committee
from likewise.reading.columns import NumberColumn, Split
from likewise.reading.decimals import brief, shortest, written
from likewise.reading.reading import reading_of
from likewise.scoring import FinishedPolicy


def applicants(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers with 0 to 2 decimals, a float32 column, one sometimes missing; categories with and without missing."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(10, 0.6, n), 2)
    income[rng.random(n) < 0.1] = np.nan
    home = rng.choice(["own", "rent", "family, friends"], n).astype(object)
    home[rng.random(n) < 0.1] = None
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": income,
            "rate": np.round(rng.normal(34.8, 3, n), 1).astype(np.float32),
            "home": home,
            "branch": rng.choice(["north", "south"], n),
        }
    )


PEOPLE = applicants()
ENCODER = Encoder.fit(PEOPLE)
FEATURES = ENCODER.transform(PEOPLE)


def random_policy(F, seed=0):
    rng = np.random.default_rng(seed)
    cube = isinstance(F, lw.Cells)
    return lw.Mixture(F, rng.random(F.geometry.dim) if cube else rng.dirichlet(np.full(F.geometry.dim, 0.3)))


def thresholds(cuts=6):
    return lw.Thresholds.quantiles(FEATURES, cuts=cuts)


def numbers_in(text):
    return [float(number.replace(",", "").replace("−", "-")) for number in re.findall(r"−?[\d,]*\d(?:\.\d+)?", text)]


def whom(text: str, people: pd.DataFrame) -> np.ndarray:
    """The people whom a statement means, by nothing but its words and the columns of the file."""
    mask = np.ones(len(people), dtype=bool)
    for statement in text.split(" and "):
        or_missing = statement.endswith(", or missing")
        column = next(name for name in people.columns if re.search(rf"\b{name}\b", statement))
        values = people[column]
        words = statement.removesuffix(", or missing").split(f"{column} ", 1)
        if re.search("[≥<>≤]", statement):
            holds = np.ones(len(people), dtype=bool)
            # The cut is read in the precision of the column, as whoever applies it to the file would.
            exact = values.dtype.type if values.dtype.kind == "f" else float
            sides = []
            if words[0]:
                number, sign = words[0].split()
                sides.append((sign.translate(str.maketrans("≤<", "≥>")), number))
            if words[1]:
                sides.append(tuple(words[1].split()))
            for sign, number in sides:
                cut = exact(numbers_in(number)[0])
                sided = {"≥": values >= cut, ">": values > cut, "<": values < cut, "≤": values <= cut}[sign]
                holds &= sided.to_numpy(dtype=bool)
            holds = holds | values.isna().to_numpy() if or_missing else holds
        elif words[1] == "is missing":
            holds = values.isna().to_numpy()
        elif words[1] == "is not missing":
            holds = values.notna().to_numpy()
        else:
            spelled = values.astype(object).where(values.notna(), "missing").to_numpy()
            negated = words[1].startswith("is not ")
            levels = words[1].removeprefix("is not ").removeprefix("is ")
            known = [
                level
                for level in (*set(spelled), "missing")
                if re.search(rf"(^|, | or ){re.escape(level)}(,| or |$)", levels)
            ]
            assert known, text
            holds = np.isin(spelled, known) ^ negated
        mask &= holds
    return mask


# Decimals and units -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_the_shortest_decimal_is_inside_and_no_shorter_one_is(seed):
    rng = np.random.default_rng(seed)
    low = float(rng.normal() * 10.0 ** rng.integers(-4, 6))
    high = low + abs(low) * 10.0 ** -float(rng.integers(1, 12))
    value = shortest(low, high, low)
    assert low <= float(value) <= high
    places = -int(value.as_tuple().exponent)
    coarser = 10.0 ** (places - 1)
    assert places <= 0 or np.floor(high * coarser) < np.ceil(low * coarser) + 1e-9


def test_an_interval_of_one_float_gives_its_own_decimal():
    assert [shortest(x, x, x) for x in (0.1, 34.8, 1e9, -2.5)] == [
        Decimal("0.1"),
        Decimal("34.8"),
        10**9,
        Decimal("-2.5"),
    ]
    assert shortest(-1.0, 1.0, 0.3) == 0


def test_numbers_are_written_as_people_do():
    assert [written(x) for x in (35.0, 9500.0, 25_000.0, -0.25)] == ["35", "9500", "25,000", "−0.25"]
    assert brief(float(np.float32(34.8))) == "34.8"
    assert brief(1 / 3) == "0.333333"


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_boundary_is_the_smallest_number_that_passes(seed, single):
    rng = np.random.default_rng(seed)
    column = NumberColumn("x", 0, float(rng.normal() * 10 ** rng.integers(0, 5)), float(rng.lognormal()))
    split = Split(float(rng.normal()), single)
    boundary = column.boundary(split)
    assert split.passes(column.encoded(boundary))
    assert not split.passes(column.encoded(float(np.nextafter(boundary, -np.inf))))


def test_a_cut_at_a_number_of_the_file_is_that_number():
    part = ENCODER.numbers[0]
    column = NumberColumn(part.name, 0, part.centre, part.spread)
    for age in range(18, 80):
        cut = column.cut(Split((age - part.centre) / part.spread))
        assert (cut.value, cut.inclusive, cut.about) == (age, True, False)


def test_a_column_of_single_precision_is_written_as_it_was():
    part = next(part for part in ENCODER.numbers if part.name == "rate")
    column = NumberColumn(part.name, 0, part.centre, part.spread)
    cut = column.cut(Split((float(np.float32(34.8)) - part.centre) / part.spread))
    assert str(cut.value) == "34.8"
    assert not cut.about


# Rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [3, 12])
def test_rules_applied_to_the_raw_file_are_the_policy(cuts):
    """Parsing the words, and nothing else, gives everybody's probability: Σ weight · 1[the rule means them]."""
    policy = FinishedPolicy(random_policy(thresholds(cuts)), ENCODER)
    others = applicants(500, seed=9)
    for people in (PEOPLE, others):
        total = np.zeros(len(people))
        for rule in policy.rules(top=None):
            assert "about" not in rule.text
            always = {"always yes": 1.0, "always no": 0.0}
            holds = always[rule.text] if rule.text in always else whom(rule.text, people)
            total += rule.weight * holds
        np.testing.assert_allclose(total, policy.probability(people), atol=1e-12)


def test_weights_of_all_rules_add_up_to_one_and_the_heaviest_come_first():
    rules = FinishedPolicy(random_policy(thresholds()), ENCODER).rules(top=None)
    weights = [rule.weight for rule in rules]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    assert len({rule.text for rule in rules}) == len(rules)


def test_rules_speak_in_the_units_of_the_file():
    F = lw.Thresholds([[(35 - part.centre) / part.spread] if part else [0.5] for part in _parts()], names=ENCODER.names)
    weights = np.zeros(F.size)
    weights[[2, 3, 2 + len(ENCODER.names) + 5]] = 0.5, 0.3, 0.2
    texts = [rule.text for rule in FinishedPolicy(lw.Mixture(F, weights), ENCODER).rules()]
    assert texts[0] == "age ≥ 35"
    assert texts[1] == "income ≥ 35, or missing"
    assert texts[2] == "home is not family, friends"


def _parts():
    return [ENCODER.numbers[0], ENCODER.numbers[1], None, ENCODER.numbers[2], None, None, None, None, None, None]


def test_cuts_that_nobody_wrote_down_are_rounded_and_say_so_unless_people_are_given():
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"skill": rng.normal(size=300), "effort": rng.normal(size=300)})
    encoder = Encoder.fit(people)
    policy = FinishedPolicy(random_policy(lw.Thresholds.quantiles(encoder.transform(people), cuts=8)), encoder)
    assert all("about" in rule.text or rule.text.startswith("always") for rule in policy.rules(None))
    total = np.zeros(len(people))
    for rule in policy.rules(None, people=people):
        assert "about" not in rule.text
        holds = {"always yes": 1.0, "always no": 0.0}.get(rule.text)
        total += rule.weight * (whom(rule.text, people) if holds is None else holds)
    np.testing.assert_allclose(total, policy.probability(people), atol=1e-12)


def test_a_mixture_without_an_encoder_speaks_of_its_own_columns():
    policy = lw.Mixture(lw.Thresholds([[0.5], [7.0]]), np.array([0, 0, 0.2, 0.3, 0.1, 0.4]))
    assert [str(rule) for rule in policy.rules(2)] == ["0.400  column 1 < 7", "0.300  column 1 ≥ 7"]


def test_rules_on_scores_name_the_model_and_its_columns_and_never_a_number():
    y = (PEOPLE["age"] > 50).to_numpy()
    models = [LogisticRegression(max_iter=500).fit(FEATURES, y), DecisionTreeClassifier(max_depth=3).fit(FEATURES, y)]
    policy = FinishedPolicy(random_policy(lw.Thresholds.scores(models, FEATURES, cuts=5)), ENCODER)
    texts = [rule.text for rule in policy.rules(None, people=PEOPLE)]
    assert {text.split(" on ")[0] for text in texts if " on " in text} == {
        "score of the logistic regression",
        "score of the decision tree",
    }
    assert not any("model" in text for text in texts)


# Cells ------------------------------------------------------------------------------------------------------------


def mixed_grid():
    """Age, income with its indicator, and all of home."""
    names = list(ENCODER.names)
    chosen = [n for n in names if n.startswith(("age", "income", "home"))]
    places = [names.index(n) for n in chosen]
    cuts = [np.unique(np.quantile(FEATURES[:, i], [0.3, 0.7], method="higher")) for i in places]
    cuts = [
        np.array([0.5]) if set(np.unique(FEATURES[:, i])) <= {0.0, 1.0} else c
        for i, c in zip(places, cuts, strict=True)
    ]
    grid = Grid(cuts, chosen, places, width=len(names))
    return lw.Cells(grid, grid.cells)


def tree():
    y = (PEOPLE["age"] + PEOPLE["income"].fillna(0) / 1000 + 20 * (PEOPLE["home"] == "own") > 70).to_numpy()
    return lw.Cells.tree(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(FEATURES, y))


@pytest.mark.parametrize("cells", [mixed_grid(), tree()], ids=["grid", "tree"])
def test_the_words_of_a_cell_mean_exactly_the_people_in_it(cells):
    reading = FinishedPolicy(random_policy(cells), ENCODER).reading()
    own = cells.encode(FEATURES)
    said = set()
    for cell in range(cells.geometry.dim):
        words = reading.cell_in_words(cell, FEATURES)
        inside = own == cell
        if words is None:
            assert not inside.any()
            continue
        np.testing.assert_array_equal(whom(words, PEOPLE), inside, err_msg=words)
        said |= {words} if inside.any() else set()
    assert len(said) == len(np.unique(own))


def test_cells_that_nobody_can_be_in_are_no_rules():
    cells = mixed_grid()
    rules = FinishedPolicy(random_policy(cells), ENCODER).rules(None)
    assert 0 < len(rules) < cells.geometry.dim
    assert not any("home is own and home is rent" in rule.text for rule in rules)


# Scorecards -------------------------------------------------------------------------------------------------------


def test_a_scorecard_is_the_policy_for_every_combination_of_steps():
    """Exhaustively: base + Σ_j g_j at one value of each interval, against the policy itself."""
    rng = np.random.default_rng(3)
    F = lw.Thresholds([np.array([1.0, 2.0]), np.array([5.0]), np.array([-1.0, 0.0, 3.0])], names=["a", "b", "c"])
    policy = lw.Mixture(F, rng.dirichlet(np.ones(F.size)))
    card = policy.scorecard()
    values = [[0.5, 1.0, 2.5], [4.0, 5.0], [-2.0, -0.5, 2.0, 3.0]]
    lowest = 1.0
    for places in product(*(range(len(v)) for v in values)):
        person = [[v[i] for v, i in zip(values, places, strict=True)]]
        total = card.base + sum(float(g.amounts[i]) for g, i in zip(card.columns, places, strict=True))
        assert total == pytest.approx(policy.probability(person)[0], abs=1e-12)
        lowest = min(lowest, total)
    assert card.base == pytest.approx(lowest, abs=1e-12)
    assert all(g.amounts.min() == pytest.approx(0, abs=1e-15) for g in card.columns)


def test_a_scorecard_adds_up_in_the_file_with_levels_and_missing_values():
    policy = FinishedPolicy(random_policy(thresholds()), ENCODER)
    card = policy.scorecard()
    total = np.full(len(PEOPLE), card.base)
    for g in card.columns:
        column = PEOPLE[g.column]
        if g.levels:
            table = dict(zip(g.levels, g.amounts, strict=True)) | {"missing": g.missing}
            total += [table[value] for value in column.fillna("missing")]
            continue
        cuts = np.array([float(cut.value) for cut in g.cuts])
        values = np.array([float(str(value)) for value in column.to_numpy()])  # a float32 as it is written
        interval = np.searchsorted(cuts, values, side="right")
        total += np.where(column.isna(), g.missing or 0.0, g.amounts[np.minimum(interval, len(cuts))])
    np.testing.assert_allclose(total, policy.probability(PEOPLE), atol=1e-12)


# Refusals ---------------------------------------------------------------------------------------------------------


def test_what_can_not_be_read_is_refused_in_one_sentence():
    listed = lw.Mixture(lw.FiniteClass([lambda X: X[:, 0] > 0]), np.array([0.2, 0.3, 0.5]))
    own_rule = lw.Mixture(lw.Cells(lambda X: (X[:, 0] > 0).astype(int), 2), np.array([0.2, 0.3]))
    estimators = lw.EstimatorClass(DecisionTreeClassifier(), [[0.0], [1.0]])
    committee = Committee(estimators, [1])
    average = lw.AveragePolicy()
    average.include(committee)
    for policy in (listed, own_rule, committee, average, FinishedPolicy(listed)):
        for ask in (
            policy.rules,
            policy.scorecard,
            lambda p=policy: p.reasons([[0.0]]),
            lambda p=policy: p.what_if([[0.0]]),
        ):
            with pytest.raises(NotSupported) as refused:
                ask()
            assert str(refused.value).endswith(".")
            assert ". " not in str(refused.value)


def test_a_scorecard_needs_cut_offs_on_columns():
    with pytest.raises(NotSupported, match="cut-offs on columns"):
        FinishedPolicy(random_policy(tree()), ENCODER).scorecard()


def test_bad_arguments_are_refused():
    policy = lw.Mixture(lw.Thresholds([[0.5]]), np.array([0, 0, 0.5, 0.5]))
    with pytest.raises(InvalidParameter, match="`top` must be"):
        policy.rules(0)
    with pytest.raises(InvalidParameter, match="`by` must be"):
        policy.what_if([[0.0]], by=0)
    with pytest.raises(InvalidParameter, match="`person` must be one row"):
        policy.what_if([[0.0], [1.0]])
    with pytest.raises(InvalidParameter, match="compared_with"):
        policy.reasons([[0.0]], compared_with=np.empty((0, 1)))


def test_models_that_do_not_say_what_they_read_ask_for_an_encoder():
    F = lw.Thresholds.scores([lambda X: np.asarray(X)[:, 0]], FEATURES, cuts=3)
    with pytest.raises(NotSupported, match="encoder"):
        random_policy(F).rules()


def test_an_average_policy_is_read_as_its_mixture():
    F = thresholds()
    average = lw.AveragePolicy()
    for seed in range(3):
        average.include(random_policy(F, seed))
    assert average.rules() == average.mixture().rules()
    assert reading_of(F, average.mixture().weights, ENCODER).columns[0].name == "age"
