"""The tables of the service, one step after another (Alembic), run when a store is opened.

Steps only go forward: a log is never taken back, and what hangs on it stays.
"""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from likewise.errors import InvalidParameter

RELEASE_1 = ("0001", "0002", "0003", "0004", "0005")
"""The steps of release 1, whose log had another format."""


_ONE_AT_A_TIME = threading.Lock()
"""Alembic hands steps their connection by way of module variables, which all threads share."""


class OtherVersion(InvalidParameter):
    """A database whose tables this release can't read."""


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest tables, within the caller's transaction; one that isn't ours stays as it is."""
    config = Config(attributes={"connection": connection})  # for env.py
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    known = {step.revision for step in ScriptDirectory.from_config(config).walk_revisions()}
    for version in MigrationContext.configure(connection).get_current_heads():
        if version not in known:
            raise OtherVersion(_sentence(version))
    with _ONE_AT_A_TIME:
        command.upgrade(config, "head")


def _sentence(version: str) -> str:
    if version in RELEASE_1:
        return (
            f"The database has tables of version {version}, from release 1, which this release can't read: "
            "keep it with the release that wrote it, and give a new database here."
        )
    return f"The database has tables of version {version}, from a later release: use that release, or a new database."
