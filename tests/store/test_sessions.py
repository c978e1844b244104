"""Sessions: owners, titles and pages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select
from tests.store.engines import empty_tables
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import (
    HOSTILE_TEXTS,
    ask,
    exchange,
    finish,
    new_owner,
    new_session,
    titles,
)

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.queries import sessions
from thinkaloud.gateway.store.queries.pages import MAX_PAGE_ITEMS, encode_cursor
from thinkaloud.gateway.store.queries.sessions import TurnRunning
from thinkaloud.gateway.store.queries.values import matches_id
from thinkaloud.gateway.store.rows import Owner, SearchKind, Session, TitleSource
from thinkaloud.gateway.store.schema import log, messages, parts, search_rows, turns
from thinkaloud.gateway.store.search.find import find_hits
from thinkaloud.importers.files import MAX_TITLE_CHARACTERS


@pytest.fixture
def ana(conn: Connection) -> Owner:
    return new_owner(conn, "ana")


def all_pages(conn: Connection, owner: Owner, limit: int) -> list[Session]:
    all_sessions: list[Session] = []
    after = ""
    while True:
        page = sessions.list_page(conn, owner, limit=limit, after=after)
        assert len(page.items) <= limit
        all_sessions += page.items
        if not page.next:
            return all_sessions
        assert len(page.items) == limit
        after = page.next


def test_session_is_created_with_its_fields(conn: Connection, ana: Owner) -> None:
    made = sessions.create(conn, ana, now_ms=NOW_MS, title="Trip", agent="agt_x", model="demo")
    assert (made.owner, made.title, made.titled_by, made.agent, made.model) == (
        ana,
        "Trip",
        TitleSource.PERSON,
        "agt_x",
        "demo",
    )
    assert matches_id("ses", made.id)
    assert sessions.get(conn, ana, made.id) == made
    assert new_session(conn, ana).titled_by is TitleSource.NOBODY


def test_session_pages_list_all_most_recently_used_first(conn: Connection, ana: Owner) -> None:
    made = [new_session(conn, ana, NOW_MS + at // 3) for at in range(10)]
    for limit in (1, 2, 3, 10, MAX_PAGE_ITEMS):
        assert all_pages(conn, ana, limit) == made[::-1]
    ask(conn, made[2], "Hm?", now_ms=NOW_MS + 99)
    assert all_pages(conn, ana, 4)[0].id == made[2].id


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 5), max_size=6), st.integers(1, 4))
def test_session_pages_are_stable_while_sessions_are_added(
    old: list[int], new: list[int], limit: int
) -> None:
    with empty_tables() as conn:
        owner = new_owner(conn, "ana")
        ids_before = {new_session(conn, owner, NOW_MS + at).id for at in old}
        added = iter(new)
        session_ids: list[str] = []
        after = ""
        while True:
            page = sessions.list_page(conn, owner, limit=limit, after=after)
            session_ids += [session.id for session in page.items]
            if (at := next(added, None)) is not None:
                new_session(conn, owner, NOW_MS + at)
            if not page.next:
                break
            after = page.next
        assert len(session_ids) == len(set(session_ids))
        assert ids_before <= set(session_ids)


@pytest.mark.parametrize(
    "after",
    [
        *HOSTILE_TEXTS[1:],
        "AAAA",
        "W10",
        encode_cursor((1,)),
        encode_cursor((1, 2, 3)),
        encode_cursor((-1, 2)),
    ],
)
def test_invalid_cursor_is_refused(conn: Connection, ana: Owner, after: str) -> None:
    with pytest.raises(Refused, match="not a cursor of this list"):
        sessions.list_page(conn, ana, limit=5, after=after)


@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE_ITEMS + 1, 2**70])
def test_page_size_is_limited(conn: Connection, ana: Owner, limit: int) -> None:
    with pytest.raises(Refused, match="1 to 200 items"):
        sessions.list_page(conn, ana, limit=limit)


def test_forged_cursor_shows_no_foreign_rows(conn: Connection, ana: Owner) -> None:
    new_session(conn, new_owner(conn, "ben"))
    mine = new_session(conn, ana)
    far = encode_cursor((2**62, 2**62))
    assert sessions.list_page(conn, ana, limit=9, after=far).items == (mine,)


def test_title_by_a_person_is_never_replaced(conn: Connection, ana: Owner) -> None:
    plain, named = new_session(conn, ana), sessions.create(conn, ana, now_ms=NOW_MS, title="Mine")
    for session in (plain, named):
        sessions.title_from_question(conn, session.key, "From a question")
        sessions.title_from_question(conn, session.key, "From another")
    assert titles(sessions.list_page(conn, ana, limit=9).items) == ["Mine", "From a question"]
    renamed = sessions.rename(conn, ana, plain.id, "Better", NOW_MS + 7)
    assert renamed is not None
    assert (renamed.title, renamed.titled_by, renamed.updated_ms) == (
        "Better",
        TitleSource.PERSON,
        NOW_MS + 7,
    )
    sessions.title_from_question(conn, plain.key, "Again")
    assert sessions.get(conn, ana, plain.id) == renamed


def test_removed_title_is_set_by_the_next_question(conn: Connection, ana: Owner) -> None:
    session = sessions.create(conn, ana, now_ms=NOW_MS, title="Mine")
    sessions.rename(conn, ana, session.id, "", NOW_MS)
    sessions.title_from_question(conn, session.key, " \n")
    assert titles(sessions.list_page(conn, ana, limit=9).items) == [""]
    sessions.title_from_question(conn, session.key, "From a question" + "!" * 500)
    assert titles(sessions.list_page(conn, ana, limit=9).items) == ["From a question" + "!" * 44 + "…"]


def test_delete_session_removes_all_its_rows(conn: Connection, ana: Owner) -> None:
    deleted_session, stays = new_session(conn, ana), new_session(conn, ana)
    for session in (deleted_session, stays):
        exchange(conn, session, "apples", "pears", "plums")
    assert sessions.delete(conn, ana, deleted_session.id)
    assert not sessions.delete(conn, ana, deleted_session.id)
    assert sessions.get(conn, ana, deleted_session.id) is None
    hits = find_hits(conn, ana, "pears", kinds=frozenset(SearchKind), limit=9).items
    assert [hit.session for hit in hits] == [stays.id]
    row_counts = [
        len(conn.execute(select(table)).all()) for table in (turns, messages, parts, search_rows, log)
    ]
    assert row_counts == [1, 2, 2, 3, 1]


def test_delete_session_is_refused_while_a_turn_runs(conn: Connection, ana: Owner) -> None:
    session = new_session(conn, ana)
    turn = ask(conn, session, "Hm?").turn
    with pytest.raises(TurnRunning, match=turn.id):
        sessions.delete(conn, ana, session.id)
    finish(conn, turn)
    assert sessions.delete(conn, ana, session.id)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts_are_stored_or_refused(conn: Connection, ana: Owner, text: str) -> None:
    """S10."""
    mine = new_session(conn, ana)
    new_session(conn, new_owner(conn, "ben"))
    assert sessions.get(conn, ana, text) is None
    assert sessions.rename(conn, ana, text, "x", NOW_MS) is None
    assert sessions.delete(conn, ana, text) is False
    stored_text = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    if len(text) > MAX_TITLE_CHARACTERS:
        with pytest.raises(Refused, match="at most 200 characters"):
            sessions.rename(conn, ana, mine.id, text, NOW_MS)
    else:
        renamed = sessions.rename(conn, ana, mine.id, text, NOW_MS)
        assert renamed is not None
        assert renamed.title == stored_text
    made = sessions.create(conn, ana, now_ms=NOW_MS, agent=text, model=text)
    assert (made.agent, made.model) == (stored_text, stored_text)
    assert len(sessions.list_page(conn, ana, limit=9).items) == 2


def test_sessions_keep_the_order_of_their_use_when_the_clock_goes_back(conn: Connection) -> None:
    owner = new_owner(conn, "ana")
    first = sessions.create(conn, owner, now_ms=9_000, title="first")
    second = sessions.create(conn, owner, now_ms=5_000, title="second")
    assert [session.id for session in sessions.list_page(conn, owner, limit=9).items] == [second.id, first.id]
    ask(conn, first, "Again?")
    sessions.rename(conn, owner, second.id, "renamed", 1_000)
    page = sessions.list_page(conn, owner, limit=1)
    assert [session.id for session in page.items] == [second.id]
    rest = sessions.list_page(conn, owner, limit=1, after=page.next)
    assert [session.id for session in rest.items] == [first.id]
