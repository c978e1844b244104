"""Adds the assistants that could take part in a turn. Who may see its thinking depends on them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column. The assistants of earlier turns are unknown."""
    op.add_column("turns", sa.Column("assistants", sa.JSON(none_as_null=True), nullable=True))
