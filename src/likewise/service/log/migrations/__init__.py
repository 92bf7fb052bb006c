"""The tables of the service, one step after another (Alembic), run when a store is opened.

Steps only go forward: a log is never taken back, and what hangs on it stays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest tables, within the caller's transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    script = ScriptDirectory.from_config(config)

    def steps(revision: Any, context: object) -> list[Any]:
        return script._upgrade_revs("head", revision)  # what Alembic's own command asks, which wants a file of settings

    # The environment that Alembic's own `env.py` would set up, here without a file that runs on import.
    with EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()
