"""Adds a client's own id of its conversation, and the session whose agent started a session."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns. What clients said about earlier sessions is unknown."""
    for name in ("client_conversation", "parent"):
        op.add_column("sessions", sa.Column(name, sa.Text(), server_default="", nullable=False))
    op.create_index(
        op.f("ix_sessions_client_conversation"), "sessions", ["client_conversation"], unique=False
    )
