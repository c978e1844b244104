"""Adds the client program that a session was recorded from, and whether its owner pinned it."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns. The clients of earlier sessions are unknown."""
    op.add_column("sessions", sa.Column("client", sa.Text(), server_default="", nullable=False))
    op.add_column("sessions", sa.Column("pinned", sa.Boolean(), server_default="0", nullable=False))
    pinned = sa.text("pinned = 1") if op.get_bind().dialect.name == "sqlite" else sa.text("pinned")
    op.create_index(
        "ix_sessions_pinned",
        "sessions",
        ["user", "workspace", "use_number"],
        unique=False,
        sqlite_where=pinned,
        postgresql_where=pinned,
    )
