"""Adds the gateways that share a database, and the commands that they send each other."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables, empty."""
    op.create_table(
        "nodes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
    )
    op.create_table(
        "commands",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("turn", KEY, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=True),
        sa.Column("granted", sa.Boolean(), nullable=True),
        sa.Column("given_by", sa.Text(), server_default="", nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.key"], name=op.f("fk_commands_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_commands")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_commands_turn"), "commands", ["turn"], unique=False)
