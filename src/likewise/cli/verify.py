"""``likewise verify``: check the export of a stream, and run its learner again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import AsJson, bar, console, print_json, words
from likewise.errors import InvalidParameter

EXAMPLES = "Example: `likewise verify export.jsonl --key 7f3a… --checkpoints checkpoints.jsonl`"
FIRST = 10_000_000
"""Bytes of a file's first line that are looked at; no event is longer."""


def verify(
    export: Annotated[
        list[Path] | None, typer.Argument(help="The export, or its parts in order: one JSON object per line.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The public key that the service is known by: 64 hexadecimal digits.")
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(help="Signed checkpoints or receipts that were kept apart from the export.")
    ] = None,
    witness: Annotated[
        list[str] | None, typer.Option(help="A witness's key, name+id+key: how far did it cosign? May be repeated.")
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(help="Certificates of an authority, in PEM: when did it stamp checkpoints of the log?"),
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Where to write a proof of cheating, if the service signed two pasts.")
    ] = None,
    cheating: Annotated[Path | None, typer.Option(help="A proof of cheating to check, instead of an export.")] = None,
    person: Annotated[Path | None, typer.Option(help="A person's receipt to check, instead of an export.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="A certificate to check, instead of an export.")] = None,
    replay: Annotated[bool, typer.Option(help="Run the learner again and compare.")] = True,
    script: Annotated[
        bool, typer.Option("--script", help="Print the stand-alone checker instead: one file, standard library only.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the chain, checkpoints and commitments of a stream's export, and run its learner again.

    Exits with 0 if nothing is wrong, with 1 if something is, and with 3 if nothing is wrong but rounds of erased people
    could not be learned again.
    """
    if script:
        from likewise.service.proof.script import script as text

        typer.echo(text(), nl=False)
        return
    if cheating is not None:
        from likewise.service.proof.standalone import say_cheating

        if not cheating.is_file():
            raise InvalidParameter(f"There is no file {cheating} here.")
        raise typer.Exit(say_cheating(str(cheating), key))
    if person is not None:
        from likewise.service.proof.standalone import say_person

        if not person.is_file():
            raise InvalidParameter(f"There is no file {person} here.")
        raise typer.Exit(say_person(str(person), key))
    if certificate is not None:
        from likewise.service.proof.standalone import say_certificate

        if not certificate.is_file():
            raise InvalidParameter(f"There is no file {certificate} here.")
        raise typer.Exit(say_certificate(str(certificate), key))
    if not export:
        raise InvalidParameter("Give the export to check: likewise verify export.jsonl.")
    for file in export:
        _refuse_other_files(file)
    import gc

    from likewise.kernels import lean
    from likewise.service.proof import replay as checking

    pages = lean.CompilerPages()
    if replay:
        lean.load()
    gc.disable()  # nothing here is in a circle, and looking for some would take a fifth of the time
    with bar("Checking", words(as_json), hidden=as_json) as advance:

        def progress(fraction: float) -> None:
            pages.give_back()
            advance(int(100 * fraction), 100)

        report = checking.verify(
            *export,
            key=key,
            checkpoints=checkpoints,
            witnesses=witness or (),
            replay=replay,
            progress=progress,
        )
    stamped = None
    if authority is not None:
        from likewise.service.proof.stamps import stamps

        if checkpoints is None:
            raise InvalidParameter("`checkpoints` must be given with `authority`: the timestamps are in that file.")
        stamped = stamps(export, checkpoints, authority)
    if evidence is not None and report.findings.evidence is not None:
        evidence.write_text(json.dumps(report.findings.evidence, indent=2) + "\n", encoding="utf-8")
    if as_json:
        print_json(report.to_dict() | ({} if stamped is None else stamped.to_dict()))
    else:
        for sentence in [*(stamped.sentences() if stamped else ()), *checking.sentences(report)]:
            console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1 if stamped and stamped.wrong else report.exit_code)


def _refuse_other_files(path: Path) -> None:
    """A file that was never an export gets one sentence; one that was changed gets all that is wrong with it."""
    if not path.is_file():
        raise InvalidParameter(f"There is no file {path} here.")
    with path.open("rb") as file:
        first = file.readline(FIRST)
    if not (first.startswith(b"{") and b'"line"' in first):
        raise InvalidParameter(
            f"{path} is not an export of a stream; make one on the page Export, or with client.export."
        )
