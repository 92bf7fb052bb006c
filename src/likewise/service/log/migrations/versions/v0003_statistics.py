"""PostgreSQL keeps samples of every column for its planner, where erased people would live on: not of these."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COLUMNS = {"asides": ("person", "salt", "content"), "responses": ("request", "response"), "snapshots": ("state",)}


def upgrade() -> None:
    """Take no samples of columns that hold people."""
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in COLUMNS.items():
            for column in columns:
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")
