"""Cards: the sections and fields that others know, every number from the result, and gaps where nobody spoke."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from likewise import cli
from likewise.experiments import runs
from likewise.experiments.runs.cards import NOT_SAID, Card, Told
from likewise.experiments.runs.deployed import NOT_DEPLOYED
from likewise.scoreboard.measured import CONSTANT

HUB = [
    "Model Details", "Model Description", "Uses", "Direct Use", "Out-of-Scope Use", "Bias, Risks, and Limitations",
    "Recommendations", "How to Get Started with the Model", "Training Details", "Training Data", "Training Procedure",
    "Evaluation", "Testing Data, Factors & Metrics", "Results", "Environmental Impact", "Model Card Contact",
]  # fmt: skip
"""Of the template of the Hugging Face Hub, in its order."""
TOOLKIT = {
    "model_details": {"name", "overview", "documentation", "owners", "version", "licenses", "references", "citations"},
    "model_parameters": {"model_architecture", "data", "input_format", "output_format"},
    "quantitative_analysis": {"performance_metrics", "graphics"},
    "considerations": {"users", "use_cases", "limitations", "tradeoffs", "ethical_considerations"},
}
"""The fields of the Model Card Toolkit's schema, v0.0.2."""
DATASHEETS = ["Motivation", "Composition", "Collection Process", "Preprocessing/cleaning/labeling", "Uses",
              "Distribution", "Maintenance"]  # fmt: skip
"""Of Gebru et al."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cards")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.random(900), "sex": rng.choice(["f", "m"], 900)})
    frame["approved"] = (rng.random(900) < 0.1 + 0.8 * frame["income"]).astype(int)
    frame.to_csv(place / "people.csv", index=False)
    given = {"label": "approved", "compare_by": ("income",), "sensitive": ("sex",), "k": 4, "T": 100, "cuts": 5}
    run = runs.Run.start(runs.Settings(**runs.located(str(place / "people.csv")), **given), place / "run")
    assert run.play()
    runs.write_outputs(run, run.transcript(), pictures=False)
    return place / "run"


def headings(text):
    return re.findall(r"^#{2,3} (.+)$", text, re.MULTILINE)


def test_the_model_card_has_the_headings_and_metadata_of_the_hub(folder):
    import yaml

    text = (folder / "model-card.md").read_text(encoding="utf-8")
    assert headings(text) == HUB
    metadata = yaml.safe_load(text.split("---\n")[1])
    (model,) = metadata["model-index"]
    board = json.loads((folder / "result.json").read_text())["scoreboard"]
    this = next(row for row in board["rows"] if row["bold"])
    assert this["name"] == "this policy"
    metrics = {metric["type"]: metric["value"] for metric in model["results"][0]["metrics"]}
    assert metrics == {"error": this["error"], "share of unfair pairs": this["unfair"]}
    assert model["results"][0]["task"] == {"type": "tabular-classification"}


def test_the_json_has_only_fields_of_the_toolkit_and_every_number_of_the_groups(folder):
    card = json.loads((folder / "model-card.json").read_text())
    assert set(card) == {"schema_version", *TOOLKIT}
    for part, fields in TOOLKIT.items():
        assert set(card[part]) <= fields
    result = json.loads((folder / "result.json").read_text())
    metrics = card["quantitative_analysis"]["performance_metrics"]
    for group in result["groups"]["tables"][0]["groups"]:
        (rate,) = [m for m in metrics if m["type"] == "selection rate" and m["slice"] == f"sex = {group['name']}"]
        assert rate["value"] == group["selected"]["value"]
        assert rate["confidence_interval"]["lower_bound"] == group["selected"]["low"]
    assert card["model_parameters"]["data"][0]["sensitive"] == {"sensitive_data": ["sex"]}


def test_the_numbers_of_a_card_are_those_of_what_is_deployed():
    rows = [
        {"name": name, "exact": False, "bold": bold, "error": error, "error_low": None, "error_high": None,
         "unfair": unfair, "unfair_low": None, "unfair_high": None}
        for name, bold, error, unfair in ((CONSTANT, False, 0.13, 0.0), (NOT_DEPLOYED, True, 0.12, 0.01))
    ]  # fmt: skip
    rate = {"value": 0.9, "low": None, "high": None}
    group = {"name": "f", "selected": rate, "impact": rate, "wrong_yes": rate, "wrong_no": rate}
    groups = {"tables": [{"column": "sex", "groups": [group]}]}
    metrics = list(Card({"scoreboard": {"unit": "error", "rows": rows}, "groups": groups}, {}, Told()).metrics())
    assert [metric["value"] for metric in metrics if "slice" not in metric] == [0.13, 0.0]
    assert [metric["value"] for metric in metrics if metric.get("slice") == NOT_DEPLOYED] == [0.12, 0.01]
    assert {metric["slice"] for metric in metrics[4:]} == {f"{NOT_DEPLOYED}, sex = f"}


def test_the_datasheet_has_the_headings_of_its_authors_and_says_each_columns_role(folder):
    text = (folder / "datasheet.md").read_text(encoding="utf-8")
    assert headings(text) == DATASHEETS
    assert "- income (compared by)" in text
    assert "- sex (sensitive)" in text


def test_what_nobody_said_is_a_gap_and_what_somebody_says_fills_it(folder):
    assert (folder / "model-card.md").read_text(encoding="utf-8").count(NOT_SAID) == 4
    asked = ["card", str(folder), "--owner", "Credit", "--contact", "c@example.org", "--purpose", "Loans | small",
             "--licence", "proprietary", "--json"]  # fmt: skip
    done = CliRunner().invoke(cli.app, asked)
    assert json.loads(done.stdout)["files"] == ["model-card.md", "model-card.json", "datasheet.md"]
    text = (folder / "model-card.md").read_text(encoding="utf-8")
    assert NOT_SAID not in text
    assert "Loans | small" in text
    details = json.loads((folder / "model-card.json").read_text())["model_details"]
    assert details["owners"] == [{"name": "Credit", "contact": "c@example.org"}]
    assert details["licenses"] == [{"identifier": "proprietary"}]


def test_a_folder_without_a_result_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main(["card", str(tmp_path)])
    assert "which has no settings.json" in capsys.readouterr().err
