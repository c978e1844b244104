"""Adds the number by which sessions are listed: a clock that goes back does not change their order."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_NUMBER_BY_TIME = """
    UPDATE sessions SET use_number = numbered.number FROM (
        SELECT key, row_number() OVER (PARTITION BY "user", workspace ORDER BY updated_ms, key) AS number
        FROM sessions
    ) AS numbered
    WHERE numbered.key = sessions.key
"""


def upgrade() -> None:
    """Add the column. Existing sessions keep their order."""
    op.add_column("sessions", sa.Column("use_number", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(_NUMBER_BY_TIME)
    op.drop_index("ix_sessions_user_workspace_updated_ms_key", table_name="sessions")
    op.create_index(
        op.f("ix_sessions_user_workspace_use_number_key"),
        "sessions",
        ["user", "workspace", "use_number", "key"],
        unique=False,
    )
