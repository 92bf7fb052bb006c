"""A comparative file review: counts against brute force, draws that are uniform, claims that hold, also on noise."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import likewise as lw
from likewise import cli, theory
from likewise.errors import InvalidParameter
from likewise.file_review import Assignment, read_answers, scored_people, write_worksheet
from likewise.file_review.draws import OpenPairs, draw, needed
from likewise.file_review.page import audit_page, review_page
from likewise.file_review.worksheet import worksheet


def people(n=60, seed=0, **columns) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"income": rng.random(n).round(3), "home": rng.choice(["own", "rent"], n)})
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["score"] = rng.random(n).round(3)
    return frame.assign(**columns)


# Open pairs -------------------------------------------------------------------------------------------------------

tenths = st.lists(st.integers(0, 10).map(lambda i: i / 10), min_size=2, max_size=25)


@given(tenths, st.integers(0, 10).map(lambda i: i / 10))
@settings(max_examples=150, deadline=None)
def test_open_pairs_are_those_with_a_wide_enough_gap_ties_and_roundings_included(values, alpha):
    scores = np.array(values)
    pairs = OpenPairs.of(scores, alpha)
    numbered = [pairs.pair(number) for number in range(pairs.count)]
    n = len(scores)
    expected = {(i, j) for i in range(n) for j in range(n) if i != j and scores[i] - scores[j] > alpha}
    assert len(numbered) == len(set(numbered))
    assert set(numbered) == expected


def test_open_pairs_of_random_scores():
    scores = np.random.default_rng(0).random(300)
    assert OpenPairs.of(scores, 0.2).count == np.count_nonzero(scores[:, None] - scores > 0.2)


def test_every_open_pair_is_drawn_equally_often():
    scores = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    pairs = OpenPairs.of(scores, 0.3)
    counts = Counter()
    for seed in range(60):
        drawn = draw(scores, pairs, 0.3, 100, "file", seed)
        counts.update(dict(zip(drawn.pairs, drawn.times, strict=True)))
    assert sum(counts.values()) == 6000
    expected = 6000 / pairs.count
    chi2 = sum((counts[pairs.pair(i)] - expected) ** 2 / expected for i in range(pairs.count))
    assert pairs.count == 8
    assert chi2 < 24.3  # 99.9 % of a chi-square with 7 degrees of freedom


def test_disjoint_pairs_for_new_people_use_everybody_once_and_ask_only_about_open_ones():
    scores = np.random.default_rng(1).random(100)
    drawn = draw(scores, OpenPairs.of(scores, 0.1), 0.1, 50, "new", 3)
    places = [i for pair in drawn.pairs for i in pair]
    assert len(places) == len(set(places))
    assert all(scores[i] - scores[j] > 0.1 for i, j in drawn.pairs)
    assert drawn.draws == 50 > len(drawn.pairs)
    with pytest.raises(InvalidParameter, match="`pairs` must be at most 50"):
        draw(scores, OpenPairs.of(scores, 0.1), 0.1, 51, "new", 3)


# Claims -----------------------------------------------------------------------------------------------------------


def test_the_least_sample_is_that_of_the_exact_binomial_limit():
    for share, delta in ((1.0, 0.05), (0.3, 0.025)):
        for beta, count in needed(share, delta).items():
            if count:
                assert share * theory.holdout(0, count, delta) <= beta
                assert count == 1 or share * theory.holdout(0, count - 1, delta) > beta
            else:
                assert share <= beta


def test_a_claim_is_the_exact_interval_times_the_share_of_open_pairs():
    from scipy.stats import beta

    review = lw.audit(people(), "score", ["income"], pairs=40)
    answers = {pair: k < 5 for k, pair in enumerate(review.drawn.pairs)}
    claim = review.claim(answers)
    found = sum(times for pair, times in zip(review.drawn.pairs, review.drawn.times, strict=True) if answers[pair])
    share = review.open_pairs.share
    assert claim.lower == pytest.approx(share * beta.ppf(0.025, found, 41 - found))
    assert claim.upper == pytest.approx(share * beta.ppf(0.975, found + 1, 40 - found))


def test_what_nobody_judged_counts_against_the_claim_on_both_sides():
    review = lw.audit(people(), "score", ["income"], pairs=40)
    whole = review.claim(dict.fromkeys(review.drawn.pairs, False))
    half = review.claim(dict.fromkeys(review.drawn.pairs[:20], False))
    guilty = review.claim(dict.fromkeys(review.drawn.pairs[:20], False) | dict.fromkeys(review.drawn.pairs[20:], True))
    assert half.upper == pytest.approx(guilty.upper)
    assert half.lower == whole.lower == 0
    assert "count against it" in half.sentence


@pytest.mark.parametrize("about", ["file", "new"])
def test_on_noise_the_interval_holds_as_often_as_it_says(about):
    """Scores are noise, and so are the reviewer's opinions; the truth is known because everything was made up."""
    rng, missed, runs = np.random.default_rng(7), 0, 250
    for seed in range(runs):
        n = 60
        opinion = rng.random(n)  # two people are alike if these are close
        frame = pd.DataFrame({"x": rng.random(n), "score": rng.random(n)})
        review = lw.audit(frame, "score", ["x"], pairs=25, about=about, seed=seed)
        scores = review.people.scores
        too_different = (scores[:, None] - scores > 0.1) & (np.abs(opinion[:, None] - opinion) < 0.2)
        # |u − v| < 0.2 with probability 0.36, |s − t| > 0.1 with probability 0.81, of two independent people.
        truth = too_different.sum() / (n * (n - 1) / 2) if about == "file" else 0.36 * 0.81
        claim = review.claim({(i, j): bool(too_different[i, j]) for i, j in review.drawn.pairs})
        missed += not claim.lower <= truth <= claim.upper
    # 22 misses of 250 at 5 % would have a probability below 1 %.
    assert missed <= 21


def test_nothing_is_claimed_where_scores_hardly_differ():
    review = lw.audit(people(score=0.4), "score", ["income"])
    assert review.drawn.pairs == ()
    assert "nothing to review" in review.headline
    claim = review.claim({})
    assert (claim.lower, claim.upper) == (0.0, 0.0)
    assert "There is nothing to judge" in review_page(review, "t")


# Ranked pairs -----------------------------------------------------------------------------------------------------


def test_counts_and_ranks_equal_brute_force():
    review = lw.audit(people(80), "score", ["income", "home"], alpha=0.15)
    view, scores = review.people.view, review.people.scores
    distances = np.abs(view[:, None] - view).sum(axis=2)
    excess = scores[:, None] - scores - distances
    assert review.measured.violating == np.count_nonzero(excess > 0.15)
    first = review.ranked.pairs[0]
    assert (first.favoured, first.disfavoured) == np.unravel_index(excess.argmax(), excess.shape)
    assert [pair.excess for pair in review.ranked.pairs] == sorted(
        (p.excess for p in review.ranked.pairs), reverse=True
    )
    for row in (1, 17, 80):
        mine = excess[:, row - 1]
        higher = np.flatnonzero(scores > scores[row - 1])
        best = higher[np.argsort(-mine[higher], kind="stable")][:10]
        assert [one.row - 1 for one in review.compared_to_whom(row)] == best.tolist()


def test_a_long_file_is_ranked_among_some_by_lot(monkeypatch):
    monkeypatch.setattr("likewise.file_review.review.COMPARED", 30)
    review = lw.audit(people(100), "score", ["income"])
    assert len(review.compared) == 30
    assert "Among 30 people by lot" in audit_page(review, "t")


def test_groups_are_compared_beside_pairs():
    frame = people(200)
    frame["good"] = (frame["score"] > 0.5).astype(int)
    review = lw.audit(frame, "score", ["income"], sensitive=["sex"], label="good")
    assert "Rates are means of scores" in review.groups.notes[0], "no lot is drawn with them"
    decided = lw.audit(frame, "good", ["income"], sensitive=["sex"])
    assert "Rates are shares of yeses. Impact" in decided.groups.notes[0]
    by_hand = lw.groups(frame["score"].to_numpy(), frame, frame["good"], ["sex"], ids=np.arange(200))
    assert review.groups.tables == by_hand.tables
    with pytest.raises(InvalidParameter, match="`sensitive` must hold no column to compare by"):
        lw.audit(frame, "score", ["income"], sensitive=["income"])


# Scores -----------------------------------------------------------------------------------------------------------


def test_scores_may_be_decisions_points_or_ranks():
    frame = people(6, points=[300, 400, 400, 500, 850, 575], said=["yes", "no", "no", "yes", "no", "no"])
    points = scored_people(frame, "points", ["income"], between=(300, 850))
    assert points.scores[[0, 4, 5]].tolist() == [0.0, 1.0, 0.5]
    assert points.given[4] == "850"
    ranks = scored_people(frame, "points", ["income"], scale="rank")
    assert ranks.scores.tolist() == [0, 1 / 6, 1 / 6, 3 / 6, 5 / 6, 4 / 6]
    said = scored_people(frame, "said", ["income"])
    assert said.scores.tolist() == [1, 0, 0, 1, 0, 0]
    assert said.decisions
    assert not ranks.decisions
    assert not scored_people(frame, "score", ["income"]).decisions


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": "points"}, r"`score` must hold numbers from 0 to 1, got 'points' with 300 to 850; say between"),
        ({"score": "none"}, "`score` must be one of the columns"),
        ({"compare_by": ["score"]}, "`compare_by` must not hold the score"),
        ({"score": "town"}, "`score` must be a column of yes and no"),
        ({"score": "points", "between": (850, 300)}, "`between` must be the least and the largest score"),
        ({"scale": "log"}, "`scale` must be one of"),
        ({"show": ["shoe"]}, "`show` must be among the columns"),
        ({"score": "endless"}, "`endless` must be a column of finite numbers"),
    ],
)
def test_bad_scores_are_one_sentence(options, said):
    frame = people(6, points=[300, 400, 400, 500, 850, 575], town=list("abcdef"), endless=[0, 1, np.inf, 0, 0, 0])
    with pytest.raises(InvalidParameter, match=said):
        scored_people(frame, **{"score": "score", "compare_by": ["income"]} | options)


def test_rows_without_a_score_and_second_rows_of_a_person_are_left_out():
    frame = people(6, who=["a", "b", "b", "c", "d", "e"])
    frame.loc[3, "score"] = None
    found = scored_people(frame, "score", ["income"], ids="who")
    assert found.rows.tolist() == [1, 2, 5, 6]
    assert found.notes == ("1 row has no score and is left out.", "1 row is of a person already there and is left out.")
    with pytest.raises(InvalidParameter, match="at least two people with a score"):
        scored_people(frame.iloc[[0, 3]], "score", ["income"])


# Worksheets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.xlsx"])
def test_a_worksheet_comes_back_as_it_was_answered(tmp_path, name):
    review = lw.audit(people(40), "score", ["income", "home"], pairs=12)
    answers = {pair: (True, False, None)[k % 3] for k, pair in enumerate(review.drawn.pairs)}
    path = write_worksheet(tmp_path / name, review.people, review.drawn, review.seed, answers)
    assert read_answers(path, review.people, review.drawn, review.seed) == answers
    empty = write_worksheet(tmp_path / f"empty-{name}", review.people, review.drawn, review.seed)
    assert set(read_answers(empty, review.people, review.drawn, review.seed).values()) == {None}


def test_a_worksheet_shows_the_people_in_their_own_units_and_nothing_sensitive():
    review = lw.audit(people(40), "score", ["income"], pairs=12, sensitive=["sex"])
    table = worksheet(review.people, review.drawn, review.seed)
    assert not [name for name in table.columns if "sex" in name]
    frame = people(40)
    for _, line in table.iterrows():
        for side in "AB":
            person = frame.iloc[line[f"row {side}"] - 1]
            assert float(line[f"income {side}"]) == person["income"]
            assert float(line[f"score {side}"]) == person["score"]
    favoured_left = [line["score A"] > line["score B"] for _, line in table.iterrows()]
    assert 0 < sum(favoured_left) < len(favoured_left)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.assign(**{"row A": 1}), "must be the worksheet of this draw, got another pair in line"),
        (lambda t: t.assign(**{"too different?": "perhaps"}), "`answers` must be yes, no or empty"),
        (lambda t: t.drop(columns="row B"), "must be the worksheet that was written"),
        (lambda t: pd.concat([t, t]), "must have each pair once"),
    ],
)
def test_a_worksheet_of_something_else_is_refused(tmp_path, change, said):
    review = lw.audit(people(40), "score", ["income"], pairs=12)
    change(worksheet(review.people, review.drawn, review.seed)).to_csv(tmp_path / "sheet.csv", index=False)
    with pytest.raises(InvalidParameter, match=said.replace("?", r"\?")):
        read_answers(tmp_path / "sheet.csv", review.people, review.drawn, review.seed)


def test_pages_escape_what_people_wrote_and_hold_every_drawn_pair():
    frame = people(40, home=["<script>x</script>", "own"] * 20)
    review = lw.audit(frame, "score", ["income", "home"], pairs=12)
    pages = audit_page(review, "Audit"), review_page(review, "Judge")
    assert not any("<script>x" in page for page in pages)
    assert pages[1].count("<fieldset>") == len(review.drawn.pairs)
    assert "&lt;script&gt;x" in pages[1]
    assert "score" in pages[0]
    assert "<th>probability</th>" not in pages[0] + pages[1]


# The command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def audited(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(60).to_csv("scores.csv", index=False)
    asked = [
        "audit",
        "scores.csv",
        "--score",
        "score",
        "--compare-by",
        "income,home",
        "--pairs",
        "8",
        "--sensitive",
        "sex",
    ]
    done = CliRunner().invoke(cli.app, asked)
    assert done.exit_code == 0, done.output
    return tmp_path / "scores-audit"


def test_the_command_leaves_a_folder_to_read_and_to_judge(audited):
    names = {path.name for path in audited.iterdir()}
    assert names == {"audit.html", "audit.json", "review.html", "settings.json", "worksheet.csv"}
    result = json.loads((audited / "audit.json").read_text())
    library = lw.audit(people(60), "score", ["income", "home"], pairs=8, sensitive=["sex"])
    assert result["measured"]["violating"] == library.measured.violating
    assert result["drawn"]["rows"] == [[int(library.people.rows[i]) for i in pair] for pair in library.drawn.pairs]
    assert result["claim"] is None


def test_answers_of_a_worksheet_and_at_the_terminal_give_the_same_claim(audited):
    table = pd.read_csv(audited / "worksheet.csv", dtype=str)
    table["too different?"] = ["yes"] + ["no"] * (len(table) - 1)
    table.to_csv("filled.csv", index=False)
    read = CliRunner().invoke(cli.app, ["audit", str(audited), "--answers", "filled.csv", "--json"])
    assert read.exit_code == 0, read.output
    (audited / "answered.csv").unlink()
    typed = "y\n" + "\n" * (len(table) - 1)
    asked = CliRunner().invoke(cli.app, ["audit", str(audited), "--ask"], input=typed)
    assert asked.exit_code == 0, asked.output
    result = json.loads((audited / "audit.json").read_text())
    assert result["claim"] == json.loads(read.stdout)["claim"]
    assert result["claim"]["found"] >= 1
    page = (audited / "audit.html").read_text(encoding="utf-8")
    assert "What reviewers found" in page
    assert result["claim"]["assumptions"][0] in page


def test_a_worksheet_that_is_filled_in_where_it_lies_is_left_alone(audited):
    table = pd.read_csv(audited / "worksheet.csv", dtype=str)
    table["too different?"] = "yes"
    table.to_csv(audited / "worksheet.csv", index=False)
    assert CliRunner().invoke(cli.app, ["audit", str(audited), "--person", "3"]).exit_code == 0
    read = CliRunner().invoke(cli.app, ["audit", str(audited), "--answers", str(audited / "worksheet.csv"), "--json"])
    assert json.loads(read.stdout)["claim"]["found"] == 8
    assert set(pd.read_csv(audited / "worksheet.csv")["too different?"]) == {"yes"}


def test_whoever_stops_is_asked_only_about_the_rest(audited):
    first = CliRunner().invoke(cli.app, ["audit", str(audited), "--ask"], input="perhaps\ny\ns\nq\n")
    assert "Please type y" in first.output
    result = json.loads((audited / "audit.json").read_text())
    assert result["claim"]["unanswered"] == 7
    second = CliRunner().invoke(cli.app, ["audit", str(audited), "--ask"], input="\n" * 7)
    assert "Pair 1 of" not in second.output
    assert "Pair 2 of" in second.output
    assert json.loads((audited / "audit.json").read_text())["claim"]["unanswered"] == 0


def test_a_changed_file_and_changed_options_are_refused(audited, capsys):
    for words, said in (
        (["--alpha", "0.2"], "`--alpha` must be left out with the folder of an audit"),
        (["--person", "999"], "`--person` must be the row of somebody in the file"),
    ):
        with pytest.raises(SystemExit):
            cli.main(["audit", str(audited), *words])
        assert said in capsys.readouterr().err
    people(60, seed=1).to_csv("scores.csv", index=False)
    with pytest.raises(SystemExit):
        cli.main(["audit", str(audited)])
    assert "it has changed" in capsys.readouterr().err


def test_compared_to_whom(audited):
    done = CliRunner().invoke(cli.app, ["audit", str(audited), "--person", "3", "--json"])
    review = lw.audit(people(60), "score", ["income", "home"], pairs=8)
    expected = [one.row for one in review.compared_to_whom(3)]
    assert [one["row"] for one in json.loads(done.stdout)["compared_to_whom"]] == expected


# Several reviewers ------------------------------------------------------------------------------------------------


def test_every_pair_has_one_reviewer_evenly_and_a_share_has_two():
    drawn = lw.audit(people(300), "score", ["income"], pairs=200).drawn
    asked = Assignment.by_lot(drawn, ["ann", "bob", "cem"], second=0.3, seed=4)
    firsts = Counter(names[0] for names in asked.asked.values())
    assert max(firsts.values()) - min(firsts.values()) <= 1
    twice = [names for names in asked.asked.values() if len(names) == 2]
    assert len(twice) == round(0.3 * len(drawn.pairs))
    assert all(len(set(names)) == 2 for names in twice)
    assert len(Counter(names[1] for names in twice)) == 3
    assert asked == Assignment.by_lot(drawn, ["ann", "bob", "cem"], second=0.3, seed=4)
    assert asked.asked != Assignment.by_lot(drawn, ["ann", "bob", "cem"], second=0.3, seed=5).asked
    assert list(asked.asked) == list(drawn.pairs)


def test_agreement_is_that_of_the_theory_and_the_first_verdict_counts():
    """Two reviewers with known habits: the table of their verdicts, counted by hand, gives the same coefficient."""
    review = lw.audit(people(400), "score", ["income"], pairs=300)
    asked = Assignment.by_lot(review.drawn, ["ann", "bob"], second=0.5, seed=0)
    rng = np.random.default_rng(0)
    true = {pair: rng.random() < 0.4 for pair in review.drawn.pairs}
    verdicts = {
        name: {pair: bool(true[pair] and rng.random() < 0.8) for pair in asked.of(name)} for name in asked.names
    }
    skipped = asked.of("ann")[0]
    verdicts["ann"][skipped] = None
    counts = Counter()
    for pair, names in asked.asked.items():
        said = [verdicts[name][pair] for name in names]
        expected = said[0] if said[0] is not None else (said[1] if len(said) == 2 else None)
        assert asked.answers(verdicts)[pair] is expected
        if len(said) == 2 and None not in said:
            counts[tuple(said)] += 1
    agreement = asked.agreement(verdicts)
    both, one, other = counts[True, True], counts[True, False], counts[False, True]
    assert agreement.overlap[:4] == (both, one, other, counts[False, False])
    assert agreement.confirmed.estimate == pytest.approx(2 * both / (2 * both + one + other))
    assert agreement.confirmed == lw.theory.positive_agreement(agreement.overlap, 0.05)
    assert agreement.ac1 == lw.theory.ac1(agreement.overlap, 0.05)
    assert f"{agreement.overlap.rounds:,} pairs were judged by two" in agreement.sentence
    assert f"confirmed {agreement.confirmed.estimate:.0%}" in agreement.sentence


def test_with_reviewers_who_differ_the_interval_is_about_one_of_them_chosen_by_lot():
    """The truth is the mean of what each of the two would find among all pairs; coverage as of the exact limits."""
    rng, missed, runs = np.random.default_rng(3), 0, 250
    for seed in range(runs):
        opinion = rng.random(60)
        review = lw.audit(
            pd.DataFrame({"x": rng.random(60), "score": rng.random(60)}), "score", ["x"], pairs=24, seed=seed
        )
        scores = review.people.scores
        apart, close = scores[:, None] - scores > 0.1, np.abs(opinion[:, None] - opinion)
        finds = {"ann": apart & (close < 0.1), "bob": apart & (close < 0.5)}  # Bob minds far more
        truth = np.mean([found.sum() for found in finds.values()]) / (60 * 59 / 2)
        asked = Assignment.by_lot(review.drawn, ["ann", "bob"], second=0.25, seed=seed)
        verdicts = {name: {pair: bool(finds[name][pair]) for pair in asked.of(name)} for name in asked.names}
        claim = review.claim(asked.answers(verdicts))
        missed += not claim.lower <= truth <= claim.upper
    assert missed <= 21  # 22 misses of 250 at 5 % would have a probability below 1 %


def test_nothing_is_said_of_agreement_that_was_not_seen():
    review = lw.audit(people(60), "score", ["income"], pairs=8)
    asked = Assignment.by_lot(review.drawn, ["ann", "bob"], second=1)
    assert "nothing is known" in asked.agreement({}).sentence
    fine = {name: dict.fromkeys(asked.of(name), False) for name in asked.names}
    assert "neither found any" in asked.agreement(fine).sentence
    found = {name: dict.fromkeys(asked.of(name), True) for name in asked.names}
    assert "an interval takes 100 such pairs" in asked.agreement(found).sentence
    with pytest.raises(InvalidParameter, match="`reviewers` must be two different names"):
        Assignment.by_lot(review.drawn, ["ann"])
    with pytest.raises(InvalidParameter, match="`reviewers` must be names of letters"):
        Assignment.by_lot(review.drawn, ["ann", "../bob"])
    one = Assignment.by_lot(review.drawn, ["ann", "bob"], second=0)
    with pytest.raises(InvalidParameter, match="`answers` must hold what ann was asked about"):
        one.answers({"ann": dict.fromkeys(review.drawn.pairs, True)})


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(60).to_csv("scores.csv", index=False)
    words = ["audit", "scores.csv", "--score", "score", "--compare-by", "income", "--pairs", "12", "--xlsx"]
    done = CliRunner().invoke(cli.app, [*words, "--reviewers", "ann,bob b", "--second", "0.5"])
    assert done.exit_code == 0, done.output
    return tmp_path / "scores-audit"


def filled(path, answer):
    table = pd.read_csv(path, dtype=str) if path.suffix == ".csv" else pd.read_excel(path, dtype=str)
    table["too different?"] = answer
    out = path.with_name(f"filled-{path.name}")
    table.to_csv(out, index=False) if path.suffix == ".csv" else table.to_excel(out, index=False)
    return out


def test_each_reviewer_has_a_worksheet_and_the_folder_a_column_for_each(shared):
    names = {path.name for path in shared.iterdir()}
    assert {"worksheet-ann.csv", "worksheet-ann.xlsx", "worksheet-bob b.csv", "review-ann.html"} <= names
    assert "worksheet.csv" not in names
    theirs = [set(pd.read_csv(shared / f"worksheet-{name}.csv")["pair"]) for name in ("ann", "bob b")]
    assert len(theirs[0] | theirs[1]) == 12
    assert len(theirs[0] & theirs[1]) == 6
    files = filled(shared / "worksheet-ann.xlsx", "yes"), filled(shared / "worksheet-bob b.csv", "no")
    first = CliRunner().invoke(cli.app, ["audit", str(shared), "--answers", str(files[0])])
    assert first.exit_code == 0, first.output
    assert "Nobody judged" in " ".join(first.output.split())
    done = CliRunner().invoke(cli.app, ["audit", str(shared), "--answers", str(files[1]), "--json"])
    result = json.loads(done.stdout)
    assert result["claim"]["unanswered"] == 0
    overlap = result["agreement"]["overlap"]
    assert overlap["both"] == overlap["neither"] == 0
    assert overlap["first"] + overlap["second"] == 6
    assert result["agreement"]["confirmed"]["estimate"] == 0
    table = pd.read_csv(shared / "answered.csv")
    assert set(table["too different? ann"].dropna()) == {"yes"}
    assert set(table["too different? bob b"].dropna()) == {"no"}
    assert "How far do reviewers agree?" in (shared / "audit.html").read_text(encoding="utf-8")
    again = CliRunner().invoke(cli.app, ["audit", str(shared), "--json"])
    assert json.loads(again.stdout)["claim"] == result["claim"], "the folder holds all verdicts"


def test_without_openpyxl_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(60).to_csv("scores.csv", index=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        cli.main(["audit", "scores.csv", "--score", "score", "--compare-by", "income", "--xlsx"])
    assert "Excel files need openpyxl, which is not installed" in capsys.readouterr().err
    assert not (tmp_path / "scores-audit").exists()


def test_a_reviewer_is_asked_at_the_terminal_about_theirs_only(shared, capsys):
    count = len(pd.read_csv(shared / "worksheet-ann.csv"))
    done = CliRunner().invoke(cli.app, ["audit", str(shared), "--ask", "--as", "ann"], input="y\n" * 12)
    assert done.output.count("Treated too differently?") == count
    for words, said in (
        (["--ask"], "`--as` must say who judges, one of ann, bob b"),
        (["--ask", "--as", "cem"], "`reviewer` must be one of ann, bob b, got 'cem'"),
        (["--to", "http://127.0.0.1:1"], "`--to` must be left out with --reviewers"),
    ):
        with pytest.raises(SystemExit):
            cli.main(["audit", str(shared), *words])
        assert said in capsys.readouterr().err


# Sent by the command ----------------------------------------------------------------------------------------------


def test_sending_without_a_token_or_a_service_is_one_sentence(audited, capsys, monkeypatch):
    monkeypatch.delenv("LIKEWISE_TOKEN", raising=False)
    cases = [
        (["--to", "http://127.0.0.1:1"], "`LIKEWISE_TOKEN` must be set"),
        (["--fetch"], "`--fetch` must follow an"),
    ]
    cases.append((["--to", "localhost:8321"], "`--to` must be an address like https://"))
    for words, said in cases:
        if "localhost" in words[-1]:
            monkeypatch.setenv("LIKEWISE_TOKEN", "lw_x")
        with pytest.raises(SystemExit):
            cli.main(["audit", str(audited), *words])
        assert said in capsys.readouterr().err
