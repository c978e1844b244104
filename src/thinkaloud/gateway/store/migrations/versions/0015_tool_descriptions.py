"""Adds what a called tool does."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column. Of earlier calls it is not known."""
    op.add_column("parts", sa.Column("description", sa.Text(), server_default="", nullable=False))
