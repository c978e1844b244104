"""Turns: one at a time per session, one per idempotency key, with their messages."""

import pytest
from sqlalchemy import Connection, select
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import (
    HOSTILE_TEXTS,
    ask,
    block_events,
    exchange,
    finish,
    new_owner,
    new_session,
)

from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.gateway.store.queries import sessions, turns
from thinkaloud.gateway.store.queries.pages import encode_cursor
from thinkaloud.gateway.store.queries.sessions import SessionGone, TurnRunning
from thinkaloud.gateway.store.queries.turns import IdempotencyConflict, NewTurnRow
from thinkaloud.gateway.store.queries.values import matches_id
from thinkaloud.gateway.store.rows import Owner, SearchKind, Session, TurnState
from thinkaloud.gateway.store.schema import messages
from thinkaloud.gateway.store.schema import turns as turn_rows
from thinkaloud.gateway.store.search.find import find_hits


@pytest.fixture
def ana(conn: Connection) -> Owner:
    return new_owner(conn, "ana")


@pytest.fixture
def session(conn: Connection, ana: Owner) -> Session:
    return new_session(conn, ana)


def test_turn_is_started_with_its_fields(conn: Connection, ana: Owner, session: Session) -> None:
    request = NewTurnRow(
        messages=(UserMessage("Hm?"),),
        agent="agt_x",
        model="demo",
        provider="me",
        prefix="p",
        request_hash=b"h",
    )
    started = turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="me")
    turn = started.turn
    assert started.new
    assert matches_id("trn", turn.id)
    assert (turn.session, turn.position, turn.state, turn.epoch) == (session.key, 0, TurnState.RUNNING, 0)
    assert (turn.agent, turn.model, turn.provider, turn.prefix) == ("agt_x", "demo", "me", "p")
    assert (turn.created_ms, turn.ended_ms) == (NOW_MS, None)
    assert turns.get(conn, ana, turn.id) == turn
    assert conn.scalar(select(turn_rows.c.writer)) == "me"


@pytest.mark.parametrize(
    ("recorded", "assistants"), [((), ("b",)), (("a",), ("a", "b")), (("b", "c"), ("b", "c")), (None, None)]
)
def test_assistants_of_a_resumed_turn_are_added(
    conn: Connection,
    ana: Owner,
    session: Session,
    recorded: tuple[str, ...] | None,
    assistants: tuple[str, ...] | None,
) -> None:
    request = NewTurnRow(messages=(UserMessage("Hm?"),), model="demo", agent="x", assistants=recorded)
    started = turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="me")
    assert started.turn.assistants == recorded
    resumed = turns.add_assistants(conn, started.turn, ("b",))
    assert resumed.assistants == assistants
    assert turns.get(conn, ana, resumed.id) == resumed


def test_request_messages_are_returned_unchanged(conn: Connection, ana: Owner, session: Session) -> None:
    request_messages = (
        UserMessage("Look:", (Image("image/png", "aGk="), Image("image/gif", "aG8="))),
        ToolMessage("c1", "18 C", "get_weather", failed=True),
        ToolMessage("c2", ""),
        UserMessage("And?"),
    )
    request = NewTurnRow(messages=request_messages, model="demo")
    turn = turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="").turn
    finish(conn, turn, *block_events(0, Kind.TEXT, "Cold."))
    assert turns.request_messages(conn, ana, turn) == request_messages
    positions = select(messages.c.position, messages.c.role).order_by(messages.c.position)
    roles = ["user", "tool", "tool", "user", "assistant"]
    assert [tuple(row) for row in conn.execute(positions)] == list(enumerate(roles))


def test_prompt_is_searchable_immediately(conn: Connection, ana: Owner, session: Session) -> None:
    turn = ask(conn, session, "Weather in Lima", ToolMessage("c1", "18 C in Lima", "get_weather")).turn
    hits = find_hits(conn, ana, "lima", kinds=frozenset(SearchKind), limit=9).items
    assert [(hit.kind, hit.turn, hit.block) for hit in hits] == [
        (SearchKind.TOOL, turn.id, None),
        (SearchKind.PROMPT, turn.id, None),
    ]


def test_turn_can_start_without_messages(conn: Connection, ana: Owner, session: Session) -> None:
    turn = ask(conn, session).turn
    assert turns.request_messages(conn, ana, turn) == ()


def test_session_has_one_running_turn(conn: Connection, ana: Owner, session: Session) -> None:
    first = ask(conn, session, "One").turn
    with pytest.raises(TurnRunning, match=first.id):
        ask(conn, session, "Two")
    ask(conn, new_session(conn, ana), "Elsewhere")
    assert turns.running_of(conn, ana.user) == 2
    finish(conn, first)
    assert turns.running_of(conn, ana.user) == 1
    assert ask(conn, session, "Two").turn.position == 1


def test_repeated_idempotency_key_starts_one_turn(conn: Connection, session: Session) -> None:
    first = ask(conn, session, "One", key="k-1")
    again = ask(conn, session, "One", key="k-1", now_ms=NOW_MS + 5)
    assert (first.new, again.new, again.turn) == (True, False, first.turn)
    finish(conn, first.turn)
    later = ask(conn, session, "One", key="k-1")
    assert (later.new, later.turn.id, later.turn.state) == (False, first.turn.id, TurnState.DONE)
    assert len(conn.execute(select(messages).where(messages.c.role == "user")).all()) == 1


def test_idempotency_key_of_another_request_is_refused(
    conn: Connection, ana: Owner, session: Session
) -> None:
    ask(conn, session, "One", key="k-1")
    with pytest.raises(IdempotencyConflict, match="a different request"):
        ask(conn, session, "Two", key="k-1")
    assert ask(conn, new_session(conn, ana), "Two", key="k-1").new


@pytest.mark.parametrize("key", ["\x00", "\ud800", "é", "a b", "\n", "k" * 256])
def test_idempotency_key_is_visible_ascii(conn: Connection, session: Session, key: str) -> None:
    with pytest.raises(Refused, match="visible ASCII"):
        ask(conn, session, "One", key=key)


def test_requests_without_idempotency_key_are_always_new(conn: Connection, session: Session) -> None:
    finish(conn, ask(conn, session, "One").turn)
    assert ask(conn, session, "One").new


def test_turn_makes_its_session_the_most_recently_used(
    conn: Connection, ana: Owner, session: Session
) -> None:
    ask(conn, session, "One", now_ms=NOW_MS + 7)
    used = sessions.get(conn, ana, session.id)
    assert used is not None
    assert used.updated_ms == NOW_MS + 7


def test_turn_in_a_deleted_session_is_refused(conn: Connection, ana: Owner, session: Session) -> None:
    sessions.delete(conn, ana, session.id)
    with pytest.raises(SessionGone, match=session.id):
        ask(conn, session, "One")


def test_turn_pages_are_in_order(conn: Connection, ana: Owner, session: Session) -> None:
    made = [exchange(conn, session, f"{at}", "", f"{at}").id for at in range(7)]
    exchange(conn, new_session(conn, ana), "elsewhere", "", "")
    turn_ids, after = [], ""
    while True:
        page = turns.of_session(conn, session, limit=3, after=after)
        turn_ids += [turn.id for turn in page.items]
        if not (after := page.next):
            break
        made.append(exchange(conn, session, "more", "", "").id) if len(made) < 9 else None
    assert turn_ids == made
    assert [turn.position for turn in turns.of_session(conn, session, limit=9).items] == list(range(9))
    with pytest.raises(Refused, match="not a cursor"):
        turns.of_session(conn, session, limit=3, after=encode_cursor((1, 2)))


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts_are_stored_or_refused(
    conn: Connection, ana: Owner, session: Session, text: str
) -> None:
    """S10."""
    ask(conn, new_session(conn, new_owner(conn, "ben")), "secret")
    stored_text = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    request_messages = (UserMessage(text), ToolMessage(text, text, text))
    request = NewTurnRow(messages=request_messages, agent=text, model=text, provider=text, prefix=text)
    turn = turns.start_turn(conn, session, request, now_ms=NOW_MS, writer="w").turn
    assert (turn.agent, turn.model, turn.provider, turn.prefix) == (
        stored_text,
        stored_text,
        stored_text,
        stored_text,
    )
    assert turns.request_messages(conn, ana, turn) == (
        UserMessage(stored_text),
        ToolMessage(stored_text, stored_text, stored_text),
    )
    assert turns.get(conn, ana, text) is None
    assert len(turns.of_session(conn, session, limit=9).items) == 1
