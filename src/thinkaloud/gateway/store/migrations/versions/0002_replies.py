"""Adds turns of several replies, and tool calls that wait for an approval."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ADDED = (("turns", "wishes"), ("messages", "replies"), ("parts", "approval"), ("parts", "settled_by"))


def upgrade() -> None:
    """Add the columns, empty in existing rows."""
    for table, column in _ADDED:
        op.add_column(table, sa.Column(column, sa.Text(), nullable=False, server_default=""))
