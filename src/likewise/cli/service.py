"""What the commands of the service share: where its database is, and a sentence if its packages aren't installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.errors import NotSupported

if TYPE_CHECKING:
    from likewise.service.accounts.tokens import Tokens
    from likewise.service.log.erasure import ErasureFile

Database = Annotated[
    str | None, typer.Option(help="A SQLite file, or postgresql://…; likewise.db, or LIKEWISE_DATABASE, if not given.")
]
Config = Annotated[
    Path | None, typer.Option(help="A TOML file of settings; options and LIKEWISE_… variables override it.")
]


@contextmanager
def service_part() -> Iterator[None]:
    """Around the imports of a command: a missing package is named together with the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = 'the extra "service" of likewise brings it (in a clone: pip install ".[service]")'
        raise NotSupported(f"The service needs {error.name}, which is not installed; {extra}.") from None


@contextmanager
def open_tokens(database: str | None, config: Path | None, *, new: bool = False) -> Iterator[Tokens]:
    """The tokens of a service, whether it runs or not; ``new`` if its database may be made for them."""
    with service_part():
        from likewise.service.accounts.tokens import Tokens
        from likewise.service.configuration import configured
        from likewise.service.log import Store
        from likewise.service.log.connections import require_there
    url = configured(config, database=database).database
    if not new:
        require_there(url)
    with Store(url) as store:
        store.migrate()
        yield Tokens(store)


def erasures(database: str | None, config: Path | None) -> ErasureFile:
    """Where the service lists what was erased."""
    with service_part():
        from likewise.service.configuration import configured
        from likewise.service.log.erasure import ErasureFile
    return ErasureFile(configured(config, database=database).erasure_file)
