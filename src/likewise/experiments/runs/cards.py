"""A model card and a data sheet of a run, in the forms that others read.

    model-card.md       Markdown with the metadata and the headings of the Hugging Face Hub
    model-card.json     the schema of the Model Card Toolkit, v0.0.2
    datasheet.md        the headings of Gebru et al., Datasheets for Datasets

Both are written from what the run left behind and from what people say (owner, purpose, licence). What nobody said
stands there as not stated: a card that fills gaps with guesses is worse than one with gaps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from likewise.experiments.runs.deployed import NOT_DEPLOYED
from likewise.experiments.runs.folder import RunFolder
from likewise.scoreboard.measured import CONSTANT

NOT_SAID = "Not stated by whoever made this card."
LIMITS = (
    "It speaks of likeness as this reviewer, or this written measure, sees it. Another one may see other pairs.",
    "Treating similar people alike doesn't make groups equal.",
    "An error is a difference from the label on record. If labels carry past unfairness, so does this count.",
    "Claims hold for people who come as those did who were held out.",
)
PAPER = "Bechavod, Jung, Wu: Metric-Free Individual Fairness in Online Learning (NeurIPS 2020)"


@dataclass(frozen=True)
class Told:
    """What only people can say.

    Attributes
    ----------
    owner, contact
        Who answers for the policy, and how to reach them.
    purpose
        What it is meant to decide, and what not.
    licence
        Of the policy: an SPDX identifier, or a name of your own.
    """

    owner: str = ""
    contact: str = ""
    purpose: str = ""
    licence: str = ""


def write_cards(folder: RunFolder, told: Told | None = None) -> list[str]:
    """Write all three into the folder of a run that has a result; their names."""
    card = Card(folder.read_json("result.json"), folder.read_json("settings.json"), told or Told())
    texts = {
        "model-card.md": card.markdown(),
        "model-card.json": json.dumps(card.toolkit(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "datasheet.md": card.datasheet(),
    }
    for name, text in texts.items():
        folder.write_text(name, text)
    return list(texts)


@dataclass(frozen=True)
class Card:
    """The cards of a run, from its ``result.json`` and ``settings.json``."""

    result: dict[str, Any]
    noted: dict[str, Any]
    told: Told

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was asked to do."""
        return dict(self.noted["settings"])

    @property
    def data(self) -> dict[str, Any]:
        """What is known of the people."""
        return dict(self.result["data"])

    @property
    def name(self) -> str:
        """What the policy is called."""
        return f"A policy learned on {self.data['name']}"

    # Numbers --------------------------------------------------------------------------------------------------------

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Every number on the held-out people: its type, value, slice and interval."""
        board = self.result["scoreboard"]
        for row in () if board is None else board["rows"]:
            if row["exact"]:
                continue
            slice_ = {} if row["name"] == self._deployed else {"slice": row["name"]}
            yield _metric(board["unit"], row["error"], row["error_low"], row["error_high"]) | slice_
            if row["unfair"] is not None:
                yield _metric("share of unfair pairs", row["unfair"], row["unfair_low"], row["unfair_high"]) | slice_
        yield from self._by_group()

    @property
    def _deployed(self) -> str:
        """The row of the scoreboard about what is deployed: the learned policy, or one answer for everybody."""
        learned = next(row["name"] for row in self.result["scoreboard"]["rows"] if row["bold"])
        return CONSTANT if learned == NOT_DEPLOYED else str(learned)

    def _by_group(self) -> Iterator[dict[str, Any]]:
        kinds = {"selected": "selection rate", "impact": "impact ratio", "wrong_yes": "false positive rate",
                 "wrong_no": "false negative rate"}  # fmt: skip
        groups = self.result["groups"]
        whose = "" if groups is None or self._deployed != CONSTANT else f"{NOT_DEPLOYED}, "
        for table in () if groups is None else groups["tables"]:
            for group in table["groups"]:
                for key, kind in kinds.items():
                    rate = group[key]
                    if rate["value"] is not None:
                        slice_ = {"slice": f"{whose}{table['column']} = {group['name']}"}
                        yield _metric(kind, rate["value"], rate["low"], rate["high"]) | slice_

    # Sentences ------------------------------------------------------------------------------------------------------

    @property
    def made(self) -> str:
        """How it was learned."""
        s, people = self.settings, self.result["people"]
        reviewer = "a person at the terminal" if s["ask"] else "a simulated reviewer with a written measure"
        return (
            f"A mixture of yes-or-no rules ({s['hypotheses']}), learned online in {self.result['rounds']:,} rounds of "
            f"{s['k']} people by {s['learner']} from labels and from pairs that {reviewer} pointed at. "
            f"{people['to_fit']:,} people to fit rules on, {people['to_play']:,} to play with, "
            f"{people['held_out']:,} held out until the end."
        )

    @property
    def limits(self) -> list[str]:
        """What is known to limit it."""
        known = [self.result["sensitive_columns"], *self.data["problems"], *LIMITS]
        return [sentence for sentence in known if sentence]

    @property
    def purpose(self) -> str:
        """What it is for."""
        return self.told.purpose or NOT_SAID

    # Forms ----------------------------------------------------------------------------------------------------------

    def markdown(self) -> str:
        """The model card with the metadata and headings of the Hugging Face Hub."""
        listed = "\n".join(f"- {limit}" for limit in self.limits)
        owner, contact = self.told.owner or NOT_SAID, self.told.contact or NOT_SAID
        parts = [
            f"---\n{self._metadata()}---",
            f"# Model Card for {self.name}",
            self.result["headline"],
            f"## Model Details\n\n### Model Description\n\n{self.made}\n\n- **Developed by:** {owner}\n"
            f"- **Model type:** a mixture of {self.result['hypotheses']} yes-or-no rules; gives probabilities\n"
            f"- **License:** {self.told.licence or NOT_SAID}\n- **Paper:** {PAPER}",
            f"## Uses\n\n### Direct Use\n\n{self.purpose}\n\n### Out-of-Scope Use\n\nAnybody who does not come as the "
            "people of the file did; decisions for which a lottery is not acceptable, unless probabilities are only "
            "used to rank or to look again.",
            f"## Bias, Risks, and Limitations\n\n{listed}\n\n### Recommendations\n\n{self._advice()}",
            "## How to Get Started with the Model\n\n    likewise score policy.json people.csv",
            f"## Training Details\n\n### Training Data\n\n{self.data['described']} See datasheet.md.\n\n"
            f"### Training Procedure\n\n{self.made} Seed {self.settings['seed']}; `likewise play --again` repeats it.",
            self._evaluation(),
            "## Environmental Impact\n\nNot measured.",
            f"## Model Card Contact\n\n{contact}",
        ]
        return "\n\n".join(parts) + "\n"

    def _metadata(self) -> str:
        """The YAML; every text is a JSON string, which YAML reads."""
        metrics = [m for m in self.metrics() if "slice" not in m]
        lines = ["library_name: likewise", "tags:", "- individual-fairness", "- tabular-classification"]
        lines += [f"license: {json.dumps(self.told.licence)}"] if self.told.licence else []
        if metrics:
            name, data = json.dumps(self.name), json.dumps(self.data["name"])
            lines += ["model-index:", f"- name: {name}", "  results:"]
            lines += ["  - task:", "      type: tabular-classification"]
            lines += ["    dataset:", f"      name: {data}", f"      type: {data}", "    metrics:"]
            for metric in metrics:
                lines += [f"    - type: {json.dumps(metric['type'])}", f"      value: {json.dumps(metric['value'])}"]
        return "".join(f"{line}\n" for line in lines)

    def _advice(self) -> str:
        choice = self.result["choice"]
        if choice is None:
            return "Nobody was held out, so nothing is claimed about new people."
        sure = f"{1 - choice['delta']:.0%}"
        return f"{choice['headline']} Claims were made with {sure} confidence; certificate.txt has each with its terms."

    def _evaluation(self) -> str:
        board, groups = self.result["scoreboard"], self.result["groups"]
        if board is None:
            return "## Evaluation\n\nNobody was held out, so there is nothing to evaluate on."
        tables = [_table(board["header"], [row["cells"] for row in board["table"]])]
        for table in () if groups is None else groups["tables"]:
            tables += [_table(table["header"], table["cells"]), table["sentence"]]
        notes = "\n\n".join([*board["notes"], *([] if groups is None else groups["notes"])])
        results = "\n\n".join(tables)
        return (
            f"## Evaluation\n\n### Testing Data, Factors & Metrics\n\n{board['of_whom']} {self.data['distance']}\n\n"
            f"### Results\n\n{results}\n\n{notes}"
        )

    def toolkit(self) -> dict[str, Any]:
        """The model card in the schema of the Model Card Toolkit, v0.0.2."""
        owner = {key: value for key, value in (("name", self.told.owner), ("contact", self.told.contact)) if value}
        parts = self.result["people"]
        described = ", ".join(f"{count:,} {part.replace('_', ' ')}" for part, count in parts.items())
        data = {"name": self.data["name"], "description": f"{self.data['described']} {described}.",
                "sensitive": {"sensitive_data": list(self.data["sensitive"])}}  # fmt: skip
        return {
            "schema_version": "0.0.2",
            "model_details": {
                "name": self.name,
                "overview": self.result["headline"],
                "documentation": self.made,
                "owners": [owner] if owner else [],
                "version": {"name": f"rules {self.noted['class']['sha256'][:16]}"},
                "licenses": [{"identifier": self.told.licence}] if self.told.licence else [],
                "citations": [{"style": "plain", "citation": PAPER}],
            },
            "model_parameters": {
                "model_architecture": f"mixture of {self.result['hypotheses']} yes-or-no rules",
                "data": [data],
                "input_format": f"a table with the columns {', '.join(self.data['columns'])}",
                "output_format": "the probability of a yes, in [0, 1]",
            },
            "quantitative_analysis": {"performance_metrics": list(self.metrics())},
            "considerations": {
                "use_cases": [{"description": self.purpose}],
                "limitations": [{"description": limit} for limit in self.limits],
                "tradeoffs": [{"description": self.result["scoreboard"]["gain"]}] if self.result["scoreboard"] else [],
                "ethical_considerations": [
                    {"name": "A lottery decides between probabilities.",
                     "mitigation_strategy": "likewise notice tells everybody what part of their answer was drawn."}
                ],
            },
        }  # fmt: skip

    def datasheet(self) -> str:
        """The data sheet with the headings of Gebru et al.; what the file doesn't say is not stated."""
        d = self.data
        columns = "\n".join(f"- {name}{self._role(name)}" for name in d["columns"])
        problems = (
            "\n".join(f"- {problem}" for problem in d["problems"]) or "- None that we know of, which says little."
        )
        parts = [
            f"# Datasheet for {d['name']}",
            f"## Motivation\n\n{d['origin']}",
            f"## Composition\n\n{d['rows']} {d['described']} The label: {d['positive']}\n\n{columns}\n\n"
            f"Known problems:\n\n{problems}{self._held}",
            f"## Collection Process\n\n{d['source']}",
            f"## Preprocessing/cleaning/labeling\n\nNumbers are scaled and categories get a column per level, fitted "
            f"on the {self.result['people']['to_fit']:,} people to fit on alone. {d['distance']}",
            f"## Uses\n\n{self.made}",
            f"## Distribution\n\n{d['licence']}",
            f"## Maintenance\n\n{self.told.contact or NOT_SAID}",
        ]
        return "\n\n".join(parts) + "\n"

    @property
    def _held(self) -> str:
        """What the files of a suggested class hold of people: its anchors are people."""
        held = self.result.get("class_holds")  # runs of before have none
        if not held:
            return ""
        listed = "\n".join(f"- {sentence}" for sentence in held)
        fitted, players = (f"{self.result['people'][part]:,}" for part in ("to_fit", "to_play"))
        return (
            f"\n\nOf the {fitted} people to fit on, the class of rules (models.zip) holds:\n\n{listed}\n\nOf the "
            f"{players} people to play with, transcript.npz holds the labels, the scores and what they are compared by."
        )

    def _role(self, name: str) -> str:
        roles = {"compare_by": "compared by", "sensitive": "sensitive"}
        told = [words for role, words in roles.items() if name in self.data[role]]
        return f" ({', '.join(told)})" if told else ""


def _metric(kind: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": kind, "value": value}
    if low is not None and high is not None:
        plain["confidence_interval"] = {"lower_bound": low, "upper_bound": high}
    return plain


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
