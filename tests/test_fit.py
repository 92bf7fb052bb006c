"""One call from a dataframe to a policy, and a run's folder back to everything that it holds."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.auditors.asked import Silent
from likewise.cli import main
from likewise.errors import InvalidParameter, ModelMismatch, NotSupported
from likewise.experiments import runs
from likewise.experiments.runs import difference
from likewise.report.class_parts import NOT_KNOWN


def loans(n=800, seed=5):
    """Made-up loans: income and debt matter, the branch must not."""
    rng = np.random.default_rng(seed)
    income, debt, branch = rng.normal(50, 10, n).round(1), rng.normal(20, 5, n).round(1), rng.integers(0, 2, n)
    people = pd.DataFrame({"income": income, "debt": debt, "branch": np.where(branch == 1, "north", "south")})
    good = income - debt + 3 * branch + rng.normal(0, 4, n) > 30
    return people.assign(approved=np.where(good, "yes", "no"))


FRAME = loans()
ROLES = {"label": "approved", "compare_by": ["income", "debt"], "sensitive": ["branch"], "ids": "each-row"}
SMALL = {"rounds": 300, "hypotheses": "thresholds", "cuts": 8, "alpha": 0.2}


@pytest.fixture(scope="module")
def fitted():
    return lw.fit(FRAME, **ROLES, **SMALL)


def test_it_is_the_run_of_the_command_on_the_same_people_to_the_last_bit(fitted, tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    settings = runs.Settings(
        **runs.located(str(tmp_path / "people.csv")), label="approved", compare_by=("income", "debt"),
        sensitive=("branch",), id="each-row", hypotheses="thresholds", cuts=8, alpha=0.2, T=300,
        part=runs.rounds_in_a_part("adahedge", 300),
    )  # fmt: skip
    run = runs.Run.start(settings, tmp_path / "run")
    assert run.play()
    result = runs.write_outputs(run, run.transcript(), pictures=False)
    opened = lw.load_run(tmp_path / "run")
    assert difference(opened.transcript, fitted.transcript) is None
    assert result["headline"] == opened.headline == fitted.headline
    np.testing.assert_array_equal(opened.probability(FRAME), fitted.probability(FRAME))
    assert json.loads(json.dumps(opened.certificate.to_dict())) == fitted.certificate.to_dict()
    assert str(opened.scoreboard) == str(fitted.scoreboard)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("models", "cells")]


@pytest.mark.parametrize("kind", ["suggested", "thresholds", *SLOW])
def test_what_is_saved_comes_back_with_everything(kind, tmp_path):
    run = lw.fit(FRAME, **ROLES, **SMALL | {"rounds": 40, "hypotheses": kind, "cuts": None})
    again = lw.load_run(run.save(tmp_path / "run"))
    assert difference(again.transcript, run.transcript) is None
    assert again.settings == run.settings
    np.testing.assert_array_equal(again.probability(FRAME), run.probability(FRAME))
    encoded = run.setup.data.features
    np.testing.assert_array_equal(again.hypotheses.encode(encoded), run.hypotheses.encode(encoded))
    assert again.certificate.to_dict() == run.certificate.to_dict()
    assert again.scoreboard == run.scoreboard
    assert again.groups == run.groups is not None
    assert [table.column for table in run.groups.tables] == ["branch"]
    assert str(again.certificate) == str(run.certificate)
    copied = lw.load_run(again.save(tmp_path / "copy"))
    np.testing.assert_array_equal(copied.predict_proba(FRAME), run.predict_proba(FRAME))


def test_a_folder_scores_people_from_the_command(fitted, tmp_path, run_command):
    folder = fitted.save(tmp_path / "run")
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    code, said = run_command("score", str(folder), str(tmp_path / "people.csv"), "--out", str(tmp_path / "scores.csv"))
    assert code == 0, said
    scores = pd.read_csv(tmp_path / "scores.csv")["probability"]
    np.testing.assert_allclose(scores, fitted.probability(FRAME), atol=1e-12)
    code, said = run_command("certify", str(folder), "--json")
    assert json.loads(said) == fitted.certificate.to_dict()


@pytest.fixture
def run_command(capsys):
    def run(*words):
        try:
            main(list(words))
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_held_out_people_took_part_in_nothing(fitted):
    setup = fitted.setup
    parts = [set(part.tolist()) for part in (setup.split.fit, setup.split.play, setup.split.held_out)]
    assert sum(map(len, parts)) == len(FRAME) == len(set.union(*parts))
    assert fitted.scoreboard.people == len(parts[2]) == fitted.choice.people
    changed = FRAME.copy()
    places = sorted(parts[2])
    changed.loc[places, "approved"] = np.where(FRAME.loc[places, "approved"] == "yes", "no", "yes")
    other = lw.fit(changed, **ROLES, **SMALL)
    assert difference(other.transcript, fitted.transcript) is None
    assert other.headline != fitted.headline  # only what is said on them changes


def test_any_dataframe_will_do(fitted):
    other = lw.fit(pl.from_pandas(FRAME), **ROLES, **SMALL)
    assert difference(other.transcript, fitted.transcript) is None
    np.testing.assert_array_equal(other.probability(pl.from_pandas(FRAME)), fitted.probability(FRAME))


def test_reasons_add_up_and_find_people_to_compare_with(fitted, tmp_path):
    run = lw.fit(FRAME, **ROLES, **SMALL | {"hypotheses": "suggested", "cuts": None})
    assert run.policy.reading().on_scores, "this policy must need somebody to compare with"
    assert not fitted.policy.reading().on_scores
    for each in (fitted, run):
        reasons = each.reasons(FRAME[:3])
        np.testing.assert_allclose(reasons.base + reasons.amounts.sum(axis=1), each.policy.probability(FRAME[:3]))
    opened = lw.load_run(run.save(tmp_path / "run"))
    with pytest.raises(InvalidParameter, match="`compared_with` must be people"):
        opened.reasons(FRAME[:3])
    assert opened.reasons(FRAME[:3], compared_with=FRAME[:50]).amounts.shape[0] == 3


def test_a_report_is_one_page_about_this_run(fitted, tmp_path):
    page = fitted.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert fitted.headline.split(".")[0].split(":")[0] in page
    assert "300 rounds" in page
    assert "play --again" not in page, "a dataframe can't be played again from a folder"
    opened = lw.load_run(fitted.save(tmp_path / "run"))
    with pytest.raises(NotSupported, match="holds no report"):
        opened.report(tmp_path / "other.html")


def test_a_leak_is_said_aloud(caplog):
    with caplog.at_level(logging.WARNING, logger="likewise"):
        run = lw.fit(FRAME.assign(refused=(FRAME["approved"] == "no").astype(int)), **ROLES, **SMALL | {"rounds": 5})
    assert "refused is the opposite of approved" in caplog.text
    assert [finding.kind for finding in run.findings if "refused" in finding.columns] == ["leak"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"label": None}, "`label` must name the column"),
        ({"label": "aproved"}, "`label` must be one of the columns"),
        ({"compare_by": []}, "`compare_by` must"),
        ({"compare_by": ["salary"]}, "salary"),
        ({"positive": "maybe"}, "`positive` must be one of the values"),
        ({"alpha": 2.0}, r"`alpha` must be in \(0, 1\]"),
        ({"hypotheses": "forest"}, "`hypotheses` must be one of"),
        ({"split": (10, 0, 90)}, "`split` must leave at least k = 6 people"),
    ],
)
def test_bad_input_gets_one_sentence(changes, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        lw.fit(FRAME, **ROLES | SMALL | changes)


# Models as columns ------------------------------------------------------------------------------------------------


def two_columns(people):
    """A rule: what one has, less what one owes."""
    return np.asarray(people["skill"] + 2 * people["effort"])


@pytest.fixture(scope="module")
def with_models():
    data = lw.datasets.synthetic(900)
    frame = data.people.assign(approved=data.y.astype(int))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[["hobby", "skill"]][:300], data.y[:300])
    rest = frame[300:].reset_index(drop=True)
    roles = {"label": "approved", "compare_by": ["skill", "effort"], "ids": "each-row"}
    small = {"rounds": 40, "k": 4, "hypotheses": "thresholds"}
    return frame, model, lambda models: lw.fit(rest, **roles, **small, models=models)


def test_a_fitted_model_is_a_column_and_comes_along(with_models, tmp_path, run_command):
    frame, model, fit = with_models
    run = fit({"risk": model})
    assert "risk" in run.policy.encoder.columns
    assert set(run.policy.columns) == set(frame.columns) - {"approved"}, "people come without a score"
    new = frame[:40].drop(columns="approved")
    scored = new.assign(risk=model.predict_proba(new[["hobby", "skill"]])[:, 1])
    expected = run.policy.policy.probability(run.policy.encoder.transform(scored))
    np.testing.assert_array_equal(run.probability(new), expected)
    np.testing.assert_array_equal(run.probability(pl.from_pandas(new)), expected)
    np.testing.assert_array_equal(run.probability(new[run.policy.columns].to_numpy()), expected)
    by_column = run.learned.reasons(new[:3])
    np.testing.assert_allclose(by_column.amounts.sum(axis=1) + by_column.base, run.learned.probability(new[:3]))
    folder = run.save(tmp_path / "run")
    np.testing.assert_array_equal(lw.load_run(folder).probability(new), expected)
    np.testing.assert_array_equal(lw.load_run(folder).learned.probability(new), run.learned.probability(new))
    new.to_csv(tmp_path / "new.csv", index=False)
    scores = tmp_path / "scores.csv"
    code, problem = run_command("score", str(folder), str(tmp_path / "new.csv"), "--out", str(scores))
    assert code == 0, problem
    np.testing.assert_allclose(pd.read_csv(scores)["probability"], expected)


def test_a_file_of_a_model_is_a_column_for_the_command_too(with_models, tmp_path, run_command):
    """The play of the file is the play of the dataframe, bit for bit, and its folder scores new people by itself."""
    frame, model, fit = with_models
    lw.save_models([model], tmp_path / "risk.zip")
    expected = fit({"risk": model})
    s = expected.settings
    rest = expected.setup.data.people.drop(columns="risk").assign(approved=expected.setup.data.y.astype(int))
    rest.to_csv(tmp_path / "people.csv", index=False)
    words = ["play", str(tmp_path / "people.csv"), "--label", "approved", "--compare-by", ",".join(s.compare_by)]
    words += ["--id", "each-row", "--class", s.hypotheses, "--rounds", str(s.T), "--people", str(s.k), "--no-pictures"]
    words += ["--models", f"risk={tmp_path / 'risk.zip'}", "--out", str(tmp_path / "run")]
    code, problem = run_command(*words)
    assert code == 0, problem
    played = lw.load_run(tmp_path / "run")
    np.testing.assert_array_equal(played.transcript.shown, expected.transcript.shown)
    np.testing.assert_array_equal(played.learned.probability(frame[:9]), expected.learned.probability(frame[:9]))
    code, problem = run_command(
        "play", "--again", str(tmp_path / "run"), "--out", str(tmp_path / "again"), "--no-pictures"
    )
    assert code == 0, problem
    for wrong, said in (("risk", "must look like risk=models.zip"), ("risk=no.zip", "must be a file of models")):
        code, problem = run_command(*[wrong if word.startswith("risk=") else word for word in words[:-1]], "other")
        assert code == 2
        assert said in problem


def test_what_is_wrong_with_models_is_one_sentence(with_models, tmp_path):
    frame, model, fit = with_models
    other = LogisticRegression().fit(frame[["skill"]].rename(columns={"skill": "salary"}), frame["approved"])
    for models, said in (
        ([model], "`models` must be models by the names of their columns"),
        ({"skill": model}, "`models` must be called other than the columns of the frame, got"),
        ({"risk": other}, "'risk' wants, got \\['salary'\\]"),
        ({"risk": lambda people: np.zeros(3)}, "`models` must give one number for each of 600 people"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            fit(models)
    run = fit({"left": two_columns})
    assert run.probability(frame[:3]).shape == (3,)
    with pytest.raises(NotSupported, match="the function `two_columns`"):
        run.save(tmp_path / "run")
    folder = run.save(tmp_path / "without", models=False)
    again = lw.load_run(folder, models={"left": two_columns})
    np.testing.assert_array_equal(again.predict_proba(frame), run.predict_proba(frame))
    for models, said in (
        (None, "got none"),
        ({"right": two_columns}, "be those of the columns ..left"),
        ({"left": model}, "must be the model this was saved with"),
    ):
        with pytest.raises((InvalidParameter, ModelMismatch), match=said):
            lw.load_run(folder, models=models)
    with pytest.raises(InvalidParameter, match="`X` must have the columns that 'left' is scored from"):
        run.probability(frame[:3].drop(columns="effort"))
    with pytest.raises(InvalidParameter, match="`models` must be left out with a Dataset"):
        lw.fit(lw.datasets.synthetic(60), models={"left": two_columns})


@pytest.mark.parametrize("rounds", [-1, 0, 2.5, "many"])
def test_wrong_rounds_are_called_rounds(rounds):
    frame = lw.datasets.synthetic(60).people
    model = lw.LikewiseClassifier(compare_by=["skill"], rounds=rounds)
    with pytest.raises(InvalidParameter, match=f"^`rounds` must be a whole number, at least 1, got {rounds!r}"):
        model.fit(frame, np.arange(60) % 2)


def test_a_used_folder_is_refused_by_its_own_name(fitted, tmp_path):
    (tmp_path / "note.txt").write_text("somebody's")
    with pytest.raises(InvalidParameter, match=r"^`folder` must be a new or an empty folder"):
        fitted.save(tmp_path)
    saved = fitted.save(tmp_path / "run")
    with pytest.raises(InvalidParameter, match=r"^`folder` must be a new folder"):
        lw.load_run(saved).save(saved)


def test_somebody_else_may_point_at_pairs():
    nobody = lw.ScriptedAuditor([], alpha=0.2)
    run = lw.fit(FRAME, **ROLES, **SMALL | {"rounds": 20}, auditor=nobody)
    assert run.transcript.reported.sum() == 0
    assert run.transcript.facts.auditor.name == "ScriptedAuditor"
    # Whose measure is not known, of whom nothing is claimed.
    assert all(candidate.unfair_limit is None for candidate in run.choice.candidates)
    assert any("not by the reviewer's" in note for note in run.scoreboard.notes)


def test_a_person_is_shown_people_as_they_are_written():
    asked = []
    reviewer = lw.AskAuditor(0.2, ask=lambda prompt: asked.append(prompt) or "", console=Silent())
    run = lw.fit(FRAME, **ROLES, **SMALL | {"rounds": 6}, auditor=reviewer)
    assert run.settings.ask
    assert len(asked) == 6
    assert set(run.transcript.view.columns) == {"income", "debt"}
    assert set(run.transcript.view["income"]) <= {f"{value:g}" for value in FRAME["income"]}


def test_what_each_part_of_the_class_brings_is_on_the_page_if_the_reviewers_measure_is_known(tmp_path):
    suggested = SMALL | {"rounds": 20, "hypotheses": "suggested"}
    known = lw.fit(FRAME, **ROLES, **suggested)
    somebody = lw.fit(FRAME, **ROLES, **suggested, auditor=lw.ScriptedAuditor([], alpha=0.2))
    pages = [run.report(tmp_path / f"{name}.html").read_text() for name, run in {"a": known, "b": somebody}.items()]
    folders = [run.save(tmp_path / name) for name, run in {"known": known, "somebody": somebody}.items()]
    parts = known.setup.built.suggestion.parts
    table = (folders[0] / "class.txt").read_text().split("without\n")[1].splitlines()
    assert len(table) == len(parts)
    for part, line in zip(parts, table, strict=True):
        *_, so_far, without = line.split()
        row = re.search(f"<tr><td>{part.name}</td>.*?</tr>", pages[0])[0]
        assert re.findall(r"<td>(0\.\d{4})</td>", row) == [so_far, without]
        assert f"<td>{part.name}</td>" in pages[1]
    assert NOT_KNOWN in pages[1]
    assert "errors so far" not in pages[1]
    assert NOT_KNOWN in " ".join((folders[1] / "class.txt").read_text().split())
    for page, folder in zip(pages, folders, strict=True):
        assert "up to 2,000 people, as anchors" in page
        assert "up to 2,000 people, as anchors" in (folder / "datasheet.md").read_text()


def test_where_no_class_was_suggested_no_part_is_spoken_of(fitted, tmp_path):
    assert "class of rules is made of" not in fitted.report(tmp_path / "report.html").read_text()
    assert "anchors" not in (fitted.save(tmp_path / "run") / "datasheet.md").read_text()


# From a folder ----------------------------------------------------------------------------------------------------


def test_a_run_that_is_not_over_is_refused_with_how_to_go_on(fitted, tmp_path):
    folder = fitted.save(tmp_path / "run")
    (folder / "result.json").unlink()
    with pytest.raises(InvalidParameter, match=r"that has finished, got .*--resume"):
        lw.load_run(folder)
    with pytest.raises(InvalidParameter, match=r"has no settings\.json"):
        lw.load_run(tmp_path)


@pytest.mark.slow
def test_models_that_are_not_the_runs_own_are_refused(tmp_path):
    run = lw.fit(FRAME, **ROLES, **SMALL | {"rounds": 20, "hypotheses": "models", "cuts": None})
    folder = run.save(tmp_path / "run")
    lw.save_models(run.hypotheses.models[::-1], folder / "models.zip")
    with pytest.raises(ModelMismatch):
        lw.load_run(folder)


def test_a_run_on_a_dataframe_cannot_be_played_again_from_its_folder(fitted, tmp_path, run_command):
    folder = fitted.save(tmp_path / "run")
    code, said = run_command("play", "--again", str(folder), "--out", str(tmp_path / "again"))
    assert code == 2
    assert "call lw.fit again" in " ".join(said.split())
    assert not Path(tmp_path / "again").exists()
