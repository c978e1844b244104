"""Removes the lease of each turn: a gateway has one lease for all its turns."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Remove the column."""
    op.drop_column("turns", "lease_until_ms")
