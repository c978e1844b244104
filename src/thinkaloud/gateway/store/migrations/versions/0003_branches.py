"""Adds the turn that each turn follows, so that a question can be replaced and its old answer kept."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_FOLLOW_THE_PREVIOUS = """
    UPDATE turns SET parent = (
        SELECT previous.key FROM turns AS previous
        WHERE previous.session = turns.session AND previous.position < turns.position
        ORDER BY previous.position DESC LIMIT 1
    )
"""


def upgrade() -> None:
    """Add the column. The turns of existing sessions follow each other in a straight line."""
    op.add_column("turns", sa.Column("parent", KEY, nullable=True))
    op.execute(_FOLLOW_THE_PREVIOUS)
    op.create_index(op.f("ix_turns_session_parent"), "turns", ["session", "parent"], unique=False)
