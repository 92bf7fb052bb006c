"""A person's notice: what it says adds up, what it says would change it does, and the lot is the one that decided."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import likewise as lw
from likewise import cli
from likewise.errors import InvalidParameter
from likewise.report import notice_page
from likewise.scoring import FinishedPolicy, models_beside

SECRET = b"sixteen bytes and more"


def policy() -> lw.Mixture:
    F = lw.Thresholds([[20, 40], [0.5]], names=["income", "debt"])
    # always no, always yes, income ≥ 20, ≥ 40, debt ≥ .5, and their opposites
    weights = np.zeros(F.geometry.dim)
    weights[[0, 1, 2, 3]] = 0.2, 0.1, 0.3, 0.1
    weights[-1] = 0.3  # debt < 0.5
    return lw.Mixture(F, weights)


def test_reasons_add_up_to_the_probability_and_costly_ones_come_first():
    told = lw.notice(policy(), [[25.0, 0.7]], about="Ada")
    assert told.probability == pytest.approx(0.4)
    assert told.base + sum(reason.amount for reason in told.reasons) == pytest.approx(told.probability, abs=1e-12)
    assert [(reason.column, round(reason.lost, 9)) for reason in told.reasons] == [("debt", 0.3), ("income", 0.1)]
    assert [reason.column for reason in told.in_favour] == ["income"]


def test_changes_do_what_they_say():
    told = lw.notice(policy(), [[25.0, 0.7]])
    assert [change.column for change in told.changes] == ["debt", "income"]
    for change in told.changes:
        row = [25.0, 0.7]
        row[["income", "debt"].index(change.column)] = change.value
        assert policy().probability([row])[0] == pytest.approx(change.probability)
        assert change.difference > 0


def test_against_others_amounts_count_from_their_mean():
    others = [[10.0, 0.2], [50.0, 0.9], [30.0, 0.1]]
    told = lw.notice(policy(), [[25.0, 0.7]], compared_with=others)
    assert told.base == pytest.approx(policy().probability(others).mean())
    assert told.base + sum(reason.amount for reason in told.reasons) == pytest.approx(0.4, abs=1e-12)
    assert all(reason.amount < 0 for reason in told.against)
    assert "the mean of 3 other people" in told.start


@pytest.mark.parametrize("name", [f"person {i}" for i in range(12)])
def test_the_lot_and_the_answer_are_those_of_decide(name):
    person = [[25.0, 0.7]]
    told = lw.notice(policy(), person, id=name, secret=SECRET)
    assert told.decision == policy().decide(person, [name], SECRET)[0]
    assert told.decision == (told.lot < told.probability)
    assert f"The answer was {'yes' if told.decision else 'no'}." in told.lottery
    for change in told.changes:
        row = [25.0, 0.7]
        row[["income", "debt"].index(change.column)] = change.value
        turned = bool(policy().decide([row], [name], SECRET)[0]) and not told.decision
        assert ("with the same lot, a yes" in told.change_text(change)) == turned


def test_the_share_that_is_drawn():
    told = lw.notice(policy(), [[25.0, 0.7]])
    rng = np.random.default_rng(0)
    differ = np.mean((rng.random(20_000) < 0.4) != (rng.random(20_000) < 0.4))
    assert told.drawn == pytest.approx(0.48)
    assert differ == pytest.approx(told.drawn, abs=0.02)
    F = lw.Thresholds([[20]], names=["income"])
    sure = lw.notice(lw.Mixture(F, np.array([0, 0, 1.0, 0])), [[30.0]])
    assert sure.drawn == 0
    assert sure.lottery == "Nothing was left to a lot: everybody with the same values gets a yes."
    assert sure.changes == ()
    assert "No change of a single column" in sure.caution


def test_a_policy_that_gives_no_reasons_says_so():
    class Opaque:
        def probability(self, X):
            return np.full(len(X), 0.3)

        def reasons(self, X, compared_with=None):
            raise lw.errors.NotSupported("It only answers.")

    told = lw.notice(Opaque(), [[1.0]])
    assert (told.reasons, told.changes) == ((), ())
    assert told.start == "No reasons can be given. It only answers."


def test_one_answer_for_everybody_has_no_reasons():
    F = lw.Thresholds([[20]], names=["income"])
    told = lw.notice(lw.Mixture(F, np.array([0.0, 1.0, 0.0, 0.0])), [[30.0]], compared_with=[[10.0], [50.0]])
    assert told.start == "No column made a difference: the probability is 1.000, as it is for others."
    assert (told.against, told.in_favour, told.changes) == ((), (), ())


def test_cells_are_told_by_who_is_in_them():
    F = lw.Cells.grid(np.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)
    told = lw.notice(lw.Mixture(F, np.array([0.1, 0.2, 0.3, 0.9])), [[0.0, 1.0]])
    assert told.probability == pytest.approx(0.2)
    assert told.reasons[0].column == "cell"
    assert max(change.probability for change in told.changes) == pytest.approx(0.9)


def test_text_json_and_page_tell_the_same():
    told = lw.notice(policy(), [[25.0, 0.7]], about="Ada <b>", decision=False, contact="the loans desk.")
    text, page, plain = str(told), notice_page(told, told), json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for sentence in (told.lottery, told.start, told.caution, told.asked):
        assert sentence in flat
        assert sentence in plain["sentences"].values()
    assert told.asked == "Ask the loans desk."
    assert page.count("Ada &lt;b&gt;") == 2
    assert "<b>" not in page
    assert page.count("What would have changed it") == 2
    assert math.isclose(plain["base"] + sum(reason["amount"] for reason in plain["reasons"]), plain["probability"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"person": [[1.0, 2.0]] * 2}, "`person` must be one row"),
        ({"secret": SECRET}, "`id` must be given with `secret`"),
        ({"secret": SECRET, "id": "a", "decision": True}, "`decision` must be left out with `secret`"),
        ({"lot": 1.5}, r"`lot` must be in \[0, 1\]"),
        ({"top": 0}, "`top` must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence(given, said):
    with pytest.raises(InvalidParameter, match=said):
        lw.notice(policy(), **{"person": [[25.0, 0.7]]} | given)


# The command ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notice")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"name": [f"p{i}" for i in range(800)], "income": rng.random(800), "debt": rng.random(800)})
    frame["approved"] = (rng.random(800) < frame["income"]).astype(int)
    frame.to_csv(folder / "people.csv", index=False)
    frame.iloc[:3].to_csv(folder / "some.csv", index=False)
    asked = ["play", str(folder / "people.csv"), "--label", "approved", "--compare-by", "debt", "--rounds", "150",
             "--id", "name", "--no-pictures", "--out", str(folder / "run")]  # fmt: skip
    done = CliRunner().invoke(cli.app, asked)
    assert done.exit_code == 0, done.output
    (folder / "secret.key").write_bytes(SECRET)
    return folder


def test_the_command_tells_what_the_policy_of_the_run_gives(run):
    asked = ["notice", str(run / "run"), str(run / "some.csv"), "--id", "name",
             "--secret-file", str(run / "secret.key"), "--contact", "the desk",
             "--out", str(run / "notices.html"), "--json"]  # fmt: skip
    done = CliRunner().invoke(cli.app, asked)
    assert done.exit_code == 0, done.output
    plain = json.loads(done.stdout)
    policy = FinishedPolicy.load(run / "run" / "policy.json", models_beside(run / "run" / "policy.json"))
    people = pd.read_csv(run / "some.csv")
    given = policy.probability(people)
    for told, p, name in zip(plain["notices"], given, people["name"], strict=True):
        assert told["about"] == name
        assert told["probability"] == pytest.approx(p)
        assert told["base"] + sum(reason["amount"] for reason in told["reasons"]) == pytest.approx(p, abs=1e-9)
    decided = policy.decide(people, people["name"].tolist(), SECRET)
    assert [told["decision"] for told in plain["notices"]] == decided.tolist()
    assert (run / "notices.html").read_text(encoding="utf-8").count("<article") == 3


def test_the_command_prints_text_and_names_rows(run):
    done = CliRunner().invoke(cli.app, ["notice", str(run / "run"), str(run / "some.csv")])
    assert done.exit_code == 0, done.output
    assert "Notice about row 1 of some.csv" in done.output
    assert "Whom to ask. The notice was written without a name to ask." in " ".join(done.output.split())


def test_rows_are_chosen_by_their_number_in_the_file(run):
    done = CliRunner().invoke(cli.app, ["notice", str(run / "run"), str(run / "some.csv"), "--rows", "3,2"])
    assert done.output.index("row 3 of some.csv") < done.output.index("row 2 of some.csv")
    assert "row 1 of" not in done.output
    wrong = CliRunner().invoke(cli.app, ["notice", str(run / "run"), str(run / "some.csv"), "--rows", "4"])
    assert "`rows` must be numbers from 1 to 3" in str(wrong.exception)


def test_a_secret_without_ids_is_refused(run, capsys):
    with pytest.raises(SystemExit) as done:
        cli.main(["notice", str(run / "run"), str(run / "some.csv"), "--secret-file", str(run / "secret.key")])
    assert done.value.code == 2
    assert "`--id` must be given with --secret-file" in capsys.readouterr().err
