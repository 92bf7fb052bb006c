"""People as a reader sees them: the right rows and columns of the file, and whom a policy treats most unfairly."""

from __future__ import annotations

import io
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import likewise as lw
from likewise.certificates.shown import ShownPeople, most_unfair
from likewise.errors import InvalidParameter
from likewise.experiments import runs
from likewise.experiments.runs.outputs import write_outputs
from likewise.experiments.runs.shown import shown_people, unfair_people
from likewise.protocol import Key, Role, numbered


@pytest.mark.parametrize("seed", range(6))
def test_the_most_unfair_pairs_and_people_are_those_of_every_pair(seed):
    rng = np.random.default_rng(seed)
    p, d = rng.random(12), rng.random((12, 12)) * 0.6
    places = rng.permutation(100)[:12]
    found = most_unfair(p, d, 0.1, top=4, places=places)
    excess = {(i, j): p[i] - p[j] - d[i, j] for i, j in itertools.permutations(range(12), 2)}
    unfair = sorted((pair for pair in excess if excess[pair] > 0.1), key=excess.get, reverse=True)
    greedy, used = [], set()
    for pair in unfair:
        if not used & {*pair} and len(greedy) < 4:
            greedy.append(pair)
            used |= {*pair}
    assert [(pair.favoured, pair.disfavoured) for pair in found.pairs] == [(places[i], places[j]) for i, j in greedy]
    assert [pair.excess for pair in found.pairs] == pytest.approx([excess[pair] for pair in greedy])
    assert [pair.distance for pair in found.pairs] == pytest.approx([d[pair] for pair in greedy])
    behind = {int(places[j]): sum(low == j for _, low in unfair) for j in range(12)}
    counts = sorted(behind.values(), reverse=True)[:4]
    assert [treated.behind for treated in found.people] == [count for count in counts if count]
    assert all(behind[treated.person] == treated.behind for treated in found.people)


def test_nobody_is_unfairly_treated_by_one_answer_for_everybody():
    found = most_unfair(np.full(5, 0.3), np.zeros((5, 5)), 0.0)
    assert (found.pairs, found.people, found.compared) == ((), (), 5)


def test_people_of_a_round_are_numbered_from_1_in_one_order_everywhere():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    F = lw.Thresholds.quantiles(X, cuts=3)
    auditor = lw.MetricAuditor(lambda view: np.zeros((len(view),) * 2), 0.1)
    t = lw.play(lw.Hedge(F, T=30, k=5), lw.IID(X, (X[:, 0] > 0.5).astype(float), k=5), auditor)
    assert len(t.pairs) > 5
    for j, (i, pair) in enumerate(zip(t.report_rounds, t.pairs, strict=True)):
        shown = t.round(int(i)).probabilities
        order = sorted(range(5), key=lambda place: -shown[place])
        assert t.numbers_of(j) == tuple(order.index(place) + 1 for place in pair)
        assert numbered(shown)[pair].tolist() == [*t.numbers_of(j)]
    for bracket in lw.certify(t).brackets:
        shown = t.round(bracket.round - 1).probabilities
        assert bracket.numbers == tuple(numbered(shown)[[bracket.favoured, bracket.disfavoured]])
        assert bracket.numbers[0] < bracket.numbers[1]


def test_what_a_person_types_are_the_numbers_that_the_letter_prints():
    lines = iter(["2 4"])
    screen = io.StringIO()
    auditor = lw.AskAuditor(0.1, ask=lambda prompt: next(lines), console=Console(file=screen, width=100))
    view = pd.DataFrame({"income": [3, 1, 4, 1, 5]}, index=pd.Index([17, 4, 203, 9, 11], name="row of people.csv"))
    p = np.array([0.2, 0.9, 0.5, 0.7, 0.0])
    report = auditor.audit(lw.Batch(np.empty((5, 0)), np.zeros(5), view), p, Key(0, Role.AUDITOR, 1))
    assert tuple(numbered(p)[[report.favoured, report.disfavoured]]) == (2, 4)
    rows = [line.replace("│", " ").split() for line in screen.getvalue().splitlines() if "│" in line]
    assert "row of people.csv" in screen.getvalue()
    assert [row[2] for row in rows] == ["4", "9", "203", "17", "11"]


def test_what_does_not_fit_is_refused():
    X = np.arange(8.0).reshape(4, 2)
    t = lw.play(lw.Hedge(lw.Thresholds.quantiles(X, 2), T=2, k=2), lw.IID(X, np.ones(4), k=2),
                lw.MetricAuditor("cityblock", 0.1))  # fmt: skip
    with pytest.raises(InvalidParameter, match="`values` must have 1 columns"):
        ShownPeople.of(t, ["a"], X)
    with pytest.raises(InvalidParameter, match="`came` must name each of the 4 people of the rounds, got 3"):
        ShownPeople.of(t, ["a", "b"], X, [0, 1, 2])
    seen = ShownPeople.seen(t, ["only one name"])
    assert seen.columns == ("column 1", "column 2")
    assert seen.where == ""


# Through a file, its missing labels and its split ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file in which every seventh row has no label, and a column that must never be shown."""
    rng = np.random.default_rng(5)
    n = 420
    table = pd.DataFrame(
        {
            "income": rng.integers(10, 90, n),
            "history": rng.choice(["good", "poor"], n),
            "town": rng.choice(["north", "south"], n),
            "name": [f"Secret{i}" for i in range(n)],
            "birthday": [f"Born{i}" for i in range(n)],
        }
    )
    yes = rng.random(n) < 1 / (1 + np.exp(-(table["income"] - 50) / 8 - 2 * (table["town"] == "north")))
    table["approved"] = np.where(np.arange(n) % 7 == 3, "", np.where(yes, "yes", "no"))
    path = tmp_path_factory.mktemp("file") / "people.csv"
    table.to_csv(path, index=False)
    return path, table


def started(file, out, person=None, **options):
    settings = runs.Settings(
        **runs.located(str(file[0])), label="approved", compare_by=("income", "history"), sensitive=("town",),
        drop=("name", "birthday"), k=4, T=60, cuts=6, **options,
    )  # fmt: skip
    return runs.Run.start(settings, out, person)


@pytest.fixture(scope="module")
def played(file, tmp_path_factory):
    run = started(file, tmp_path_factory.mktemp("played") / "run")
    assert run.play()
    t = run.transcript()
    write_outputs(run, t)
    return run, t


def test_rows_are_those_of_the_file(file, played):
    run, t = played
    _, table = file
    people = shown_people(run.setup, t)
    assert people.columns == ("income", "history")
    assert people.source == "people.csv"
    X = run.setup.built.X
    for place in range(0, len(t.y), 7):
        person = people.person(int(people.came[place]))
        row = table.iloc[person.row - 1]
        assert person.values == (str(row["income"]), row["history"])
        assert row["approved"] == ("yes" if t.y[place] else "no")
    for i in (0, 5):
        assert people.of_round(i + 1, 2) == people.person(int(people.came[int(t.starts[i]) + 2]))
        np.testing.assert_array_equal(
            run.setup.hypotheses.encode(X[people.came[t.starts[i]]][None]), t.round(i).batch.rows[:1]
        )


def test_the_most_unfair_are_held_out_people_by_their_rows(file, played):
    run, t = played
    unfair = unfair_people(run.setup, t.average_policy)
    people = shown_people(run.setup, t)
    held = {int(row) for row in run.setup.split.held_out}
    assert unfair.compared == len(held)
    for pair in unfair.pairs:
        assert {pair.favoured, pair.disfavoured} <= held
        both = run.setup.data.people.iloc[[pair.favoured, pair.disfavoured]]
        assert pair.distance == pytest.approx(run.setup.data.distance(run.setup.data.viewer.transform(both))[0, 1])
        assert people.person(pair.favoured).row == run.setup.data.row_numbers[pair.favoured]
        assert pair.excess > run.setup.settings.alpha


def test_letter_and_report_show_the_reported_people_and_never_a_dropped_column(file, played):
    run, t = played
    _, table = file
    assert t.reported.any()
    letter = (run.folder.path / "certificate.txt").read_text()
    report = (run.folder.path / "report.html").read_text()
    for text in (letter, report, (run.folder.path / "certificate.json").read_text()):
        assert not re.search(r"Secret|Born\d", text)
    rows = [int(row.replace(",", "")) for row in re.findall(r"row ([\d,]+)", letter) if row != "1"]
    incomes = re.findall(r"income +(\d+) +(\d+)", letter)
    assert len(rows) == 2 * len(incomes) > 0
    for first, second, values in zip(rows[::2], rows[1::2], incomes, strict=True):
        assert tuple(str(table.iloc[row - 1]["income"]) for row in (first, second)) == values
    assert "Rows are those of people.csv" in report
    assert report.count("<section class='card'>") >= 1
    assert "How good is it?" in report
    assert "one answer for everybody" in report


def test_who_is_asked_sees_rows_of_the_file(file, tmp_path):
    screen = io.StringIO()
    _, table = file
    person = lw.AskAuditor(0.1, ask=lambda prompt: "", console=Console(file=screen, width=120))
    run = started(file, tmp_path / "asked", person, ask=True)
    run.play(progress=lambda played: None)
    lines = [line.replace("│", " ").split() for line in screen.getvalue().splitlines() if "│" in line]
    assert "row of people.csv" in screen.getvalue()
    assert len(lines) > 20
    for _, _, row, income, history in lines:
        assert (str(table.iloc[int(row) - 1]["income"]), table.iloc[int(row) - 1]["history"]) == (income, history)
    assert "Secret" not in screen.getvalue()
