"""``likewise card``: the model card and the data sheet of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, print_json, words

EXAMPLES = """
Examples:

    likewise card people-run

    likewise card people-run --owner "Credit team" --contact credit@example.org --purpose "Small loans"
"""


def card(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.")],
    owner: Annotated[str, typer.Option(help="Who answers for the policy.")] = "",
    contact: Annotated[str, typer.Option(help="How to reach them.")] = "",
    purpose: Annotated[str, typer.Option(help="What it is meant to decide, and what not.")] = "",
    licence: Annotated[str, typer.Option(help="Of the policy: an SPDX identifier or a name of your own.")] = "",
    as_json: AsJson = False,
) -> None:
    """Write the model card and the data sheet of a run again, with what only people can say.

    `model-card.md` (Hugging Face), `model-card.json` (Model Card Toolkit) and `datasheet.md` (Datasheets for Datasets)
    go into the run's folder. `likewise play` writes them too, with gaps where nobody said anything.
    """
    from likewise.experiments.runs import RunFolder
    from likewise.experiments.runs.cards import Told, write_cards

    names = write_cards(RunFolder.open(folder), Told(owner, contact, purpose, licence))
    if as_json:
        print_json({"folder": str(folder), "files": names})
        return
    for name in names:
        words(as_json).print(str(folder / name), markup=False, highlight=False, soft_wrap=True)
