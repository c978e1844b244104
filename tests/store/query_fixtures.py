"""Shared helpers of the query tests: users, sessions and turns."""

from collections.abc import Iterable

from sqlalchemy import Connection, text
from tests.store.engines import POSTGRES
from tests.store.log_fixtures import NOW_MS, entries

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.gateway.store.log.finish import finished_from_entries, save_finished
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.queries.turns import NewTurnRow, StartedTurn
from thinkaloud.gateway.store.rows import Owner, Session, TurnRow

HOSTILE_TEXTS = (
    "",
    "'",
    '"',
    '"unbalanced',
    "'; DROP TABLE sessions; --",
    "' OR '1'='1",
    '" OR "1"="1',
    "1 UNION SELECT hash FROM tokens",
    "*",
    "**",
    "a*",
    "NEAR(one two, 5)",
    "NEAR(",
    "norm:secret",
    "tags : u1w1prompt",
    "{norm tags} : secret",
    "^secret",
    "- secret",
    "NOT secret",
    "secret OR secret",
    "secret AND",
    "(secret",
    "secret + secret",
    ":wanted",
    "%s %(name)s ?1 $1",
    "\x00",
    "secret\x00",
    "\ud800",
    "\udfff secret",
    "%_\\",
    "../../etc/passwd",
    "ses_" + "A" * 22,
    "ses_' OR 1=1 --",
    "-1",
    "\u202esecret",
    "e" + "\u0301" * 500,
    "x" * 100_000,
    "word " * 400,
    '"' * 999,
    "ﷺ" * 60,
)
"""Texts that have broken others: none may be more than a text here, in any parameter."""


def new_owner(conn: Connection, name: str, workspace: str = "default") -> Owner:
    """A new user in a workspace."""
    user = users.add_user(conn, name, NOW_MS, workspace)
    return Owner(user.key, users.add_member(conn, user.key, workspace, NOW_MS).key)


def new_session(conn: Connection, owner: Owner, now_ms: int = NOW_MS) -> Session:
    return sessions.create(conn, owner, now_ms=now_ms)


def ask(
    conn: Connection, session: Session, *prompts: str | ToolMessage, now_ms: int = NOW_MS, key: str = ""
) -> StartedTurn:
    """Start a turn with these messages; the request hash is made of them."""
    request_messages = tuple(UserMessage(prompt) if isinstance(prompt, str) else prompt for prompt in prompts)
    request = NewTurnRow(
        messages=request_messages,
        model="demo",
        idempotency_key=key,
        request_hash=repr(request_messages).encode(),
    )
    return turns.start_turn(conn, session, request, now_ms=now_ms, writer="w")


def finish(conn: Connection, turn: TurnRow, *events: Event) -> None:
    """End a turn with these events between its start and its end."""
    turn_events = [TurnStarted("openai_chat", "demo"), *events, TurnEnded(Finish.STOP)]
    save_finished(conn, turn.key, finished_from_entries(entries(turn_events)), turn.epoch)


def block_events(
    number: int, kind: Kind, text: str, name: str = "", parent: int | None = None
) -> list[Event]:
    return [BlockStarted(number, kind, name, parent=parent), BlockGrew(number, text), BlockEnded(number)]


def exchange(conn: Connection, session: Session, prompt: str, thought: str, answer: str) -> TurnRow:
    """Run a whole turn: prompt, thought and answer."""
    turn = ask(conn, session, prompt).turn
    finish(conn, turn, *block_events(0, Kind.REASONING, thought), *block_events(1, Kind.TEXT, answer))
    return turn


def tool_call(number: int, name: str, arguments: str, result: str) -> list[Event]:
    started, grew, ended = block_events(number, Kind.TOOL_CALL, arguments, name)
    return [started, grew, ended, ToolFinished(number, result)]


def titles(page: Iterable[Session]) -> list[str]:
    return [session.title for session in page]


def indexed_words(conn: Connection) -> list[str]:
    """Return the words in the engine's index."""
    if conn.dialect.name == POSTGRES:
        words = "SELECT word FROM ts_stat('SELECT words FROM search_text') WHERE word NOT LIKE '#%'"
        return list(conn.scalars(text(words)))
    conn.execute(text("CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(search_text, 'row')"))
    return list(conn.scalars(text("SELECT term FROM vocabulary")))
