"""``likewise user``: who may ask the service for what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from likewise.cli.output import AsJson, console, print_json
from likewise.cli.service import Config, Database, erasures, open_tokens
from likewise.errors import InvalidParameter
from likewise.wording import plural

EXAMPLES = """
Examples:

    likewise user add bank --role decider --stream loans

    likewise user add ann --role auditor --stream loans --days 90

    likewise user list

    likewise user revoke ann

    likewise user erase ann
"""
user = typer.Typer(no_args_is_help=True, help="Who may ask the service for what: add, list, revoke and erase.")


@user.command(epilog=EXAMPLES)
def add(
    name: Annotated[str, typer.Argument(help="The name that pages will show.")],
    role: Annotated[str, typer.Option(help="admin, decider, auditor or viewer.")],
    stream: Annotated[
        list[str] | None, typer.Option(help="A stream that the token is for; may be repeated; all if not given.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="Days until it expires; never if not given.")] = None,
    erasable: Annotated[
        bool,
        typer.Option(
            "--erasable/--in-log",
            help="Whether the log gets a commitment in place of the name, which can be erased, or the name itself.",
        ),
    ] = True,
    database: Database = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a token, which is shown once and never again."""
    with open_tokens(database, config, new=True) as tokens:
        token, expires = tokens.add(name, role, stream or None, days, erasable=erasable)
        to_come = tokens.unknown(stream or [])
    if as_json:
        about = {"name": name, "role": role, "streams": stream or None, "streams_to_come": to_come}
        print_json({"token": token} | about | {"expires_at": expires})
        return
    until = "" if expires is None else f", until {_time(expires)}"
    console.print(f"The token of {name} ({role}{until}), shown only now:", markup=False, highlight=False)
    console.print(token, markup=False, highlight=False, soft_wrap=True)
    for missing in to_come:
        message = f"There is no stream {missing!r} yet; the token will work once there is."
        console.print(message, markup=False, highlight=False, soft_wrap=True)


@user.command("list")
def listed(database: Database = None, config: Config = None, as_json: AsJson = False) -> None:
    """List all tokens ever made, oldest first; never the tokens themselves."""
    with open_tokens(database, config) as tokens:
        records = tokens.list()
    if as_json:
        print_json({"tokens": records})
        return
    from rich.table import Table

    table = Table("token", "name", "role", "streams", "made", "state")
    for token in records:
        streams = "all" if token["streams"] is None else " ".join(token["streams"])
        table.add_row(token["token"], token["name"], token["role"], streams, _time(token["created_at"]), _state(token))
    console.print(table, markup=False)


@user.command()
def revoke(
    who: Annotated[str, typer.Argument(help="A name, for all its tokens; or one token as the list shows it.")],
    database: Database = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Revoke tokens; a running service refuses them within a second."""
    with open_tokens(database, config) as tokens:
        count = tokens.revoke(who)
    if count == 0:
        raise InvalidParameter(f"`who` must be a name or a token of the list that isn't revoked, got {who!r}.")
    if as_json:
        print_json({"who": who, "revoked": count})
        return
    console.print(f"Revoked {plural(count, 'token')}.")


@user.command()
def erase(
    name: Annotated[str, typer.Argument(help="The name of somebody who was not added with --in-log.")],
    database: Database = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Erase a name: the log keeps what they did, and nobody can tell any more who it was. Revoke their tokens first."""
    with open_tokens(database, config) as tokens:
        tokens.erase_name(name, erasures(database, config))
    if as_json:
        print_json({"erased": name})
        return
    console.print("The name is erased.")


def _state(token: dict[str, Any]) -> str:
    if token["revoked_at"] is not None:
        return f"revoked {_time(token['revoked_at'])}"
    expires = token["expires_at"]
    if expires is None:
        return "valid"
    return f"{'expired' if expires <= datetime.now(UTC).timestamp() else 'valid until'} {_time(expires)}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
