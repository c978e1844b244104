"""How Alembic gets at the database: on the connection, and in the transaction, of whoever migrates."""

from alembic import context

from thinkaloud.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
