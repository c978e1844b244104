"""Runs the migrations on the caller's connection, in the caller's transaction."""

from alembic import context

from thinkaloud.gateway.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
