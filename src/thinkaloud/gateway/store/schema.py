"""The tables, for SQLite and PostgreSQL. The full-text index differs by engine: see `search_sqlite` and
`search_postgres`.

A new SQLite database is made from these tables. A change here needs a migration for all others. A test
compares the result of the migrations with these tables.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Key = BigInteger().with_variant(Integer, "sqlite")
"""SQLite generates keys only for a column of type INTEGER."""


def _key() -> Column[int]:
    # With `sqlite_autoincrement` SQLite never reuses the key of a deleted row, like PostgreSQL. Otherwise
    # code that still holds the key of a deleted user or turn could read the rows of another one.
    return Column("key", Key, primary_key=True, autoincrement=True)


def _foreign_key(table: str) -> Column[int]:
    reference = ForeignKey(f"{table}.key", ondelete="CASCADE")
    return Column(table.removesuffix("s"), Key, reference, nullable=False)


def _text(name: str, default: str | None = "", *, key: str = "") -> Column[str]:
    """Return a column of text. `key` is its name in the code if gateways of earlier versions know another."""
    if default is None:
        return Column(name, Text)
    return Column(name, Text, key=key or name, nullable=False, server_default=default)


def _timestamp_ms(name: str, *, required: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=not required)


facts = Table("facts", metadata, Column("name", Text, primary_key=True), _text("value"))
"""Facts about the store itself, such as the version of the search index."""

users = Table(
    "users",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    _timestamp_ms("created_ms", required=True),
    sqlite_autoincrement=True,
)

workspaces = Table(
    "workspaces",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    _timestamp_ms("created_ms", required=True),
    sqlite_autoincrement=True,
)

members = Table(
    "members",
    metadata,
    Column("user", Key, ForeignKey("users.key", ondelete="CASCADE"), primary_key=True),
    Column("workspace", Key, ForeignKey("workspaces.key", ondelete="CASCADE"), primary_key=True),
)

thinking_rules = Table(
    "thinking_rules",
    metadata,
    Column("user", Key, ForeignKey("users.key", ondelete="CASCADE"), primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("shown", Text, nullable=False),
)
"""What a user may see of the thinking of an agent; of all agents and models if `agent` is empty."""

tokens = Table(
    "tokens",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    _foreign_key("users"),
    _text("name"),
    Column("hash", LargeBinary, nullable=False, unique=True),
    _timestamp_ms("created_ms", required=True),
    _timestamp_ms("revoked_ms"),
)

sessions = Table(
    "sessions",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    _foreign_key("users"),
    _foreign_key("workspaces"),
    _text("title"),
    _text("titled_by"),
    _text("agent"),
    _text("model"),
    _text("client"),
    _text("client_conversation"),
    _text("parent"),
    Column("pinned", Boolean, nullable=False, server_default="0"),
    Column("whole", Boolean, nullable=False, server_default="1"),
    _timestamp_ms("created_ms", required=True),
    _timestamp_ms("updated_ms", required=True),
    Column("use_number", BigInteger, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)
"""While a session is imported, `whole` is false and the session is hidden. Incomplete imports are deleted.

`use_number` counts the uses of an owner's sessions: the session used last has the highest. `updated_ms` has
the time of the use, but clocks go back. `client` is the program that asked through a compatible endpoint;
empty for the page and the HTTP API. `client_conversation` is the program's own id of the conversation, and
`parent` the id of the session whose agent started this one, as the program says.
"""
Index(None, sessions.c.user, sessions.c.workspace, sessions.c.use_number, sessions.c.key)
Index(None, sessions.c.client_conversation)
# In PostgreSQL it has the same condition. To say so here would import that dialect into every process.
Index(
    "ix_sessions_pinned",
    sessions.c.user,
    sessions.c.workspace,
    sessions.c.use_number,
    sqlite_where=text("pinned = 1"),  # as a query writes it: SQLite uses the index only then
)

turns = Table(
    "turns",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    _foreign_key("sessions"),
    Column("position", Integer, nullable=False),
    Column("parent", Key),
    _text("state", "running"),
    _text("agent"),
    _text("model"),
    _text("provider"),
    _text("prefix"),
    _text("idempotency_key", None),
    Column("request_hash", LargeBinary),
    _timestamp_ms("created_ms", required=True),
    _timestamp_ms("ended_ms"),
    _text("writer"),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("timing_kept", Boolean, nullable=False, server_default="1"),
    _text("wishes", key="options"),
    Column("client_history", LargeBinary),
    Column("assistants", JSON(none_as_null=True)),
    UniqueConstraint("session", "position"),
    UniqueConstraint("session", "idempotency_key"),
    CheckConstraint("state IN ('running', 'done', 'failed', 'cancelled', 'interrupted')", name="state"),
    sqlite_autoincrement=True,
)
"""`parent` is the turn that a turn follows, and null for the first one of a branch.

`client_history` is the fingerprint of the history that a client of a compatible endpoint sent. `assistants`
has the ids of the agents that `agent` could call in this turn, also through others, and those of agents whose
prompts it used (`gateway/server/streams/thought_filter.py`); null if unknown.
"""
Index(None, turns.c.state)
Index(None, turns.c.session, turns.c.parent)
Index(None, turns.c.client_history)

log = Table(
    "log",
    metadata,
    Column("turn", Key, ForeignKey("turns.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("first_seq", Integer, primary_key=True, autoincrement=False),
    Column("last_seq", Integer, nullable=False),
    Column("packed", Boolean, nullable=False, server_default="0"),
    Column("entries", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""Entries as lines of JSON, several per row. Rows are compressed (`packed`) when their turn has ended."""

nodes = Table(
    "nodes",
    metadata,
    Column("id", Text, primary_key=True),
    _text("name"),
    _timestamp_ms("started_ms", required=True),
    _timestamp_ms("lease_until_ms", required=True),
)
"""The gateways that share this database. One is alive until its lease ends, by the clock of the database.

Whoever appends to turns holds a shared lock on the row of their writer, and whoever takes them over an
exclusive one.
"""

commands = Table(
    "commands",
    metadata,
    _key(),
    _foreign_key("turns"),
    Column("kind", Text, nullable=False),
    Column("block", Integer),
    Column("granted", Boolean),
    _text("given_by"),
    _timestamp_ms("created_ms", required=True),
    _text("state", "waiting"),
    _text("error"),
    sqlite_autoincrement=True,
)
"""What somebody asked of a turn that another gateway runs: to cancel, to answer now, to decide on a call."""
Index(None, commands.c.turn)

messages = Table(
    "messages",
    metadata,
    _key(),
    _foreign_key("turns"),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    _text("content"),
    _text("thinking", None),
    _text("images"),
    _text("call_id"),
    _text("name"),
    Column("failed", Boolean, nullable=False, server_default="0"),
    _text("dialect"),
    _text("model"),
    _timestamp_ms("request_sent_ms"),
    _timestamp_ms("first_reasoning_ms"),
    _timestamp_ms("last_reasoning_ms"),
    _timestamp_ms("first_text_ms"),
    _timestamp_ms("started_ms"),
    _timestamp_ms("ended_ms"),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cache_read_tokens", BigInteger),
    Column("cache_write_tokens", BigInteger),
    _text("raw", None),
    _text("outcome", None),
    _text("summary"),
    _text("summary_by"),
    _text("notices"),
    _text("replies"),
    UniqueConstraint("turn", "position"),
)

parts = Table(
    "parts",
    metadata,
    Column(
        "message", Key, ForeignKey("messages.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    _text("text"),
    _text("name"),
    _text("call_id"),
    _text("assistant_id"),
    Column("parent", Integer),
    _text("provenance"),
    _text("status"),
    _text("seals"),
    _text("result", None),
    _text("error"),
    _timestamp_ms("started_ms"),
    _timestamp_ms("ended_ms"),
    _text("approval"),
    _text("settled_by"),
    _text("images"),
    _text("description"),
)

turn_figures = Table(
    "turn_figures",
    metadata,
    Column("user", Key, primary_key=True, autoincrement=False),
    Column("workspace", Key, primary_key=True, autoincrement=False),
    Column("created_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("turn", Key, ForeignKey("turns.key", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    _text("model"),
    _text("agent"),
    _text("assistants", None),
    Column("thought", Boolean, nullable=False),
    Column("thinking_ms", BigInteger),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("nano_usd", BigInteger),
    Column("longest_ms", BigInteger),
    Column("longest_block", Integer),
    Column("stalls", Integer, nullable=False),
    Column("loops", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""One narrow row for each ended turn, from which figures are summed up; see `queries/figures.py`.

It is a cache: rows are made when figures are asked for. The primary key is the order in which they are read.
"""
Index(None, turn_figures.c.turn)

agents = Table(
    "agents",
    metadata,
    _key(),
    Column("id", Text, nullable=False, unique=True),
    _foreign_key("users"),
    _foreign_key("workspaces"),
    _text("name"),
    _text("spec"),
    _timestamp_ms("created_ms", required=True),
    _timestamp_ms("updated_ms", required=True),
)
Index(None, agents.c.workspace, agents.c.key)

preferences = Table(
    "preferences",
    metadata,
    Column("user", Key, ForeignKey("users.key", ondelete="CASCADE"), primary_key=True),
    Column("workspace", Key, ForeignKey("workspaces.key", ondelete="CASCADE"), primary_key=True),
    _text("wishes", key="settings"),
    _timestamp_ms("updated_ms", required=True),
)

search_rows = Table(
    "found",
    metadata,
    _key(),
    _foreign_key("messages"),
    Column("block", Integer),
    Column("kind", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""One row for each indexed text. The engine's full-text index uses the same key."""
Index(None, search_rows.c.message)

unindexed = Table(
    "unindexed",
    metadata,
    Column(
        "message", Key, ForeignKey("messages.key", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("after", Integer, nullable=False),
)
"""Long messages that are being indexed in slices. `after` is the position of the last indexed block, or -1.
"""
