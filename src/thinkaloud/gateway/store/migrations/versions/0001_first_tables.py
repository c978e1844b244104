"""Creates the first tables and the search index."""

import sqlalchemy as sa
from alembic import op

from thinkaloud.gateway.store.search import index as search_index

revision = "0001"
down_revision = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables, each after the tables it refers to."""
    _people()
    _sessions()
    _turns()
    _messages()
    _settings()
    _search()


def _people() -> None:
    op.create_table(
        "users",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_users")),
        sa.UniqueConstraint("id", name=op.f("uq_users_id")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "workspaces",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_workspaces")),
        sa.UniqueConstraint("id", name=op.f("uq_workspaces_id")),
        sa.UniqueConstraint("name", name=op.f("uq_workspaces_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "members",
        sa.Column("user", KEY, nullable=False),
        sa.Column("workspace", KEY, nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.key"], name=op.f("fk_members_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["workspace"], ["workspaces.key"], name=op.f("fk_members_workspace"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user", "workspace", name=op.f("pk_members")),
    )
    op.create_table(
        "tokens",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user", KEY, nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("revoked_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.key"], name=op.f("fk_tokens_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
        sa.UniqueConstraint("id", name=op.f("uq_tokens_id")),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user", KEY, nullable=False),
        sa.Column("workspace", KEY, nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("titled_by", sa.Text(), server_default="", nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("whole", sa.Boolean(), server_default="1", nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.key"], name=op.f("fk_sessions_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["workspace"], ["workspaces.key"], name=op.f("fk_sessions_workspace"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sessions")),
        sa.UniqueConstraint("id", name=op.f("uq_sessions_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_sessions_user_workspace_updated_ms_key"),
        "sessions",
        ["user", "workspace", "updated_ms", "key"],
        unique=False,
    )


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("provider", sa.Text(), server_default="", nullable=False),
        sa.Column("prefix", sa.Text(), server_default="", nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_hash", sa.LargeBinary(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("writer", sa.Text(), server_default="", nullable=False),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("timing_kept", sa.Boolean(), server_default="1", nullable=False),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'cancelled', 'interrupted')", name=op.f("ck_turns_state")
        ),
        sa.ForeignKeyConstraint(
            ["session"], ["sessions.key"], name=op.f("fk_turns_session"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_turns")),
        sa.UniqueConstraint("id", name=op.f("uq_turns_id")),
        sa.UniqueConstraint("session", "idempotency_key", name=op.f("uq_turns_session_idempotency_key")),
        sa.UniqueConstraint("session", "position", name=op.f("uq_turns_session_position")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_turns_state"), "turns", ["state"], unique=False)
    op.create_table(
        "log",
        sa.Column("turn", KEY, autoincrement=False, nullable=False),
        sa.Column("first_seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("packed", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.key"], name=op.f("fk_log_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", "first_seq", name=op.f("pk_log")),
        sqlite_with_rowid=False,
    )


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("turn", KEY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), server_default="", nullable=False),
        sa.Column("thinking", sa.Text(), nullable=True),
        sa.Column("images", sa.Text(), server_default="", nullable=False),
        sa.Column("call_id", sa.Text(), server_default="", nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("failed", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("dialect", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("request_sent_ms", sa.BigInteger(), nullable=True),
        sa.Column("first_reasoning_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_reasoning_ms", sa.BigInteger(), nullable=True),
        sa.Column("first_text_ms", sa.BigInteger(), nullable=True),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("summary_by", sa.Text(), server_default="", nullable=False),
        sa.Column("notices", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.key"], name=op.f("fk_messages_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_messages")),
        sa.UniqueConstraint("turn", "position", name=op.f("uq_messages_turn_position")),
    )
    op.create_table(
        "parts",
        sa.Column("message", KEY, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("call_id", sa.Text(), server_default="", nullable=False),
        sa.Column("assistant_id", sa.Text(), server_default="", nullable=False),
        sa.Column("parent", sa.Integer(), nullable=True),
        sa.Column("provenance", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.Text(), server_default="", nullable=False),
        sa.Column("seals", sa.Text(), server_default="", nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["message"], ["messages.key"], name=op.f("fk_parts_message"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message", "position", name=op.f("pk_parts")),
    )


def _settings() -> None:
    op.create_table(
        "agents",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user", KEY, nullable=False),
        sa.Column("workspace", KEY, nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("spec", sa.Text(), server_default="", nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.key"], name=op.f("fk_agents_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["workspace"], ["workspaces.key"], name=op.f("fk_agents_workspace"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_agents")),
        sa.UniqueConstraint("id", name=op.f("uq_agents_id")),
    )
    op.create_index(op.f("ix_agents_workspace_key"), "agents", ["workspace", "key"], unique=False)
    op.create_table(
        "preferences",
        sa.Column("user", KEY, nullable=False),
        sa.Column("workspace", KEY, nullable=False),
        sa.Column("wishes", sa.Text(), server_default="", nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user"], ["users.key"], name=op.f("fk_preferences_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace"], ["workspaces.key"], name=op.f("fk_preferences_workspace"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user", "workspace", name=op.f("pk_preferences")),
    )


def _search() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
    op.create_table(
        "found",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("message", KEY, nullable=False),
        sa.Column("block", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message"], ["messages.key"], name=op.f("fk_found_message"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_found")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_found_message"), "found", ["message"], unique=False)
    # Uses the current code, unlike the tables above: the index is rebuilt whenever its format changes.
    search_index.create(op.get_bind())
