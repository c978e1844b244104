"""Adds the list of messages that are being indexed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. All messages of existing sessions are indexed."""
    op.create_table(
        "unindexed",
        sa.Column("message", KEY, autoincrement=False, nullable=False),
        sa.Column("after", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message"], ["messages.key"], name=op.f("fk_unindexed_message"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message", name=op.f("pk_unindexed")),
    )
