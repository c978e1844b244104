"""Adds the rows from which figures are summed up. They are made when figures are asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table, empty."""
    op.create_table(
        "turn_figures",
        sa.Column("user", _KEY, autoincrement=False, nullable=False),
        sa.Column("workspace", _KEY, autoincrement=False, nullable=False),
        sa.Column("created_ms", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("turn", _KEY, autoincrement=False, nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        sa.Column("assistants", sa.Text(), nullable=True),
        sa.Column("thought", sa.Boolean(), nullable=False),
        sa.Column("thinking_ms", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("nano_usd", sa.BigInteger(), nullable=True),
        sa.Column("longest_ms", sa.BigInteger(), nullable=True),
        sa.Column("longest_block", sa.Integer(), nullable=True),
        sa.Column("stalls", sa.Integer(), nullable=False),
        sa.Column("loops", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn"], ["turns.key"], name=op.f("fk_turn_figures_turn"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user", "workspace", "created_ms", "turn", name=op.f("pk_turn_figures")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_turn_figures_turn"), "turn_figures", ["turn"], unique=False)
