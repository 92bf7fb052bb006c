"""``likewise witness``: cosign the checkpoints of others, so that they can't show two logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.output import console
from likewise.cli.service import service_part
from likewise.errors import InvalidParameter

EXAMPLES = """
Example:

    likewise witness --name witness.example --log bank.example/=7f3a… --folder witness
"""


def witness(
    name: Annotated[str, typer.Option(help="The name that it signs under, for example its host.")],
    log: Annotated[
        list[str],
        typer.Option(help="A log that it cosigns, ORIGIN=KEY; all logs of a service, NAME/=KEY. May be repeated."),
    ],
    folder: Annotated[Path, typer.Option(help="Where its key and what it cosigned are kept.")] = Path("witness"),
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8322,
) -> None:
    """Cosign checkpoints of other services' logs, over HTTP, if each is consistent with those before it."""
    with service_part():
        import uvicorn

        from likewise.service.log.signing import Signer
        from likewise.service.run.witness import Witness, witness_app
    known = Witness(Signer.at(folder / "key"), name, dict(map(_log, log)), folder)
    for sentence in (
        f"The witness listens at http://{host}:{port}.",
        f"Give its key to the services that it cosigns for, and to whoever checks: {known.key}",
    ):
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    uvicorn.run(witness_app(known), host=host, port=port, log_level="warning")


def _log(text: str) -> tuple[str, str]:
    origin, _, key = text.rpartition("=")
    if not origin or len(key) != 64 or set(key) - set("0123456789abcdef"):
        raise InvalidParameter(f"`log` must be the name of a log, =, and 64 hexadecimal digits, got {text!r}.")
    return origin, key
