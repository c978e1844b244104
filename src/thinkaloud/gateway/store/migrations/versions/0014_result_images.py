"""Adds the images of the result of a call."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column. Earlier results have no images."""
    op.add_column("parts", sa.Column("images", sa.Text(), server_default="", nullable=False))
