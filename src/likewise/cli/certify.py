"""``likewise certify``: what is proved of a run, as a letter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.output import AsJson, print_json, words
from likewise.errors import InvalidParameter, LikewiseError

if TYPE_CHECKING:
    from likewise.certificates import Choice
    from likewise.game import Transcript

EXAMPLES = """
Examples:

    likewise certify people-run

    likewise certify people-run --delta 0.01 --json

    likewise certify transcript.npz
"""


def certify(
    source: Annotated[Path, typer.Argument(help="The folder of a run, or a transcript that was saved as a file.")],
    delta: Annotated[
        float | None,
        typer.Option(help="One minus the confidence, between 0 and 1; that of the run by default, or else 0.05."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="The level of the comparison with fair policies; the reviewer's by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is proved of a run, from what was observed, with every assumption beside it.

    The letter comes first, with at most 200 words; its appendix has every limit and assumption. Nothing here knows the
    reviewer's distance. A run that has not finished is certified up to its last round.
    """
    from likewise import certificates

    with words(as_json).status("Certifying…"):
        choice = _choice(source, delta)
        sure = (0.05 if choice is None else choice.delta) if delta is None else delta
        certificate = certificates.certify(_transcript(source), alpha, sure, choice=choice)
    if as_json:
        print_json(certificate.to_dict())
    else:
        text = f"{certificate}\n\n\n{certificate.appendix()}"
        words(as_json).print(text, markup=False, highlight=False, soft_wrap=True)


def _choice(source: Path, delta: float | None) -> Choice | None:
    """What was chosen on held-out people when the run ended; nothing is chosen again, for another confidence."""
    from likewise.certificates import Choice
    from likewise.experiments.runs import RunFolder

    if source.is_file() or not (source / "result.json").exists():
        return None
    chosen = RunFolder.open(source).read_json("result.json").get("choice")
    return Choice.from_dict(chosen) if chosen is not None and delta in (None, chosen["delta"]) else None


def _transcript(source: Path) -> Transcript:
    from likewise.experiments.runs import Run, RunFolder

    if source.is_file():
        return _loaded(source)
    folder = RunFolder.open(source)
    if folder.transcript_file.exists():
        return _loaded(folder.transcript_file)
    transcript = Run.resume(source).transcript()
    if transcript is None:
        raise InvalidParameter(f"`source` must be a run with at least one round, got {source}.")
    return transcript


def _loaded(path: Path) -> Transcript:
    from zipfile import BadZipFile

    from likewise.game import Transcript

    try:
        return Transcript.load(path)
    except LikewiseError:
        raise
    except (ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InvalidParameter(f"`source` must be a saved transcript, got {path}: {error}.") from None
