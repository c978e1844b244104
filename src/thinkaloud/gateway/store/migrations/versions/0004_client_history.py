"""Adds the fingerprint of the history that a client of a compatible endpoint sent with its request."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column. Turns that were started otherwise have none."""
    op.add_column("turns", sa.Column("client_history", sa.LargeBinary(), nullable=True))
    op.create_index(op.f("ix_turns_client_history"), "turns", ["client_history"], unique=False)
