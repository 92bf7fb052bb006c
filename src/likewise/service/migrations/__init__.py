"""The tables of the service, one step after another (Alembic), run when a store is opened."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest tables, within the caller's transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    script = ScriptDirectory.from_config(config)

    def steps(revision: object, context: object) -> object:
        return script._upgrade_revs("head", revision)  # type: ignore[arg-type]

    # The environment that Alembic's own `env.py` would set up, here without a file that runs on import.
    with EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()
