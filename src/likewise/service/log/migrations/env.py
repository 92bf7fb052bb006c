"""What Alembic runs its steps in: the connection, and the transaction, of whoever called ``upgrade``."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
