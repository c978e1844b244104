"""Adds the rules about who may see the thinking of which agent."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. Without a rule a user sees everything."""
    op.create_table(
        "thinking_rules",
        sa.Column("user", KEY, nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user"], ["users.key"], name=op.f("fk_thinking_rules_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user", "agent", name=op.f("pk_thinking_rules")),
    )
