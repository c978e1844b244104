"""Search: kinds, scope, order, removal and rebuild of the index."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, func, select, text, update
from tests.store.engines import ENGINES, POSTGRES, empty_tables
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import (
    HOSTILE_TEXTS,
    ask,
    block_events,
    exchange,
    finish,
    indexed_words,
    new_owner,
    new_session,
    tool_call,
)

from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.canon.requests import ToolMessage
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.queries.pages import encode_cursor
from thinkaloud.gateway.store.queries.values import storable
from thinkaloud.gateway.store.rows import Owner, SearchHit, SearchKind, Session
from thinkaloud.gateway.store.schema import facts, messages, search_rows
from thinkaloud.gateway.store.search import index as search_index
from thinkaloud.gateway.store.search.find import find_hits
from thinkaloud.gateway.store.search.normalize import IndexEntry
from thinkaloud.gateway.store.search.query import find_phrases, parse_query

EVERYTHING = frozenset(SearchKind)
DEFAULT = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})


@pytest.fixture
def ana(conn: Connection) -> Owner:
    return new_owner(conn, "ana")


@pytest.fixture
def session(conn: Connection, ana: Owner) -> Session:
    return new_session(conn, ana)


def find(
    conn: Connection, owner: Owner, words: str, kinds: frozenset[SearchKind] = EVERYTHING
) -> tuple[SearchHit, ...]:
    return find_hits(conn, owner, words, kinds=kinds, limit=200).items


def kinds_of(conn: Connection, owner: Owner, words: str) -> list[tuple[SearchKind, int | None]]:
    return [(hit.kind, hit.block) for hit in find(conn, owner, words)]


def test_search_finds_every_kind_of_text(conn: Connection, ana: Owner, session: Session) -> None:
    """R138, K28: thoughts are searchable and have their own kind."""
    turn = ask(conn, session, "prompt common", ToolMessage("c1", "asked common", "tool_asked")).turn
    thought = block_events(0, Kind.REASONING, "thought common")
    call = tool_call(1, "lookup", '{"q": "given"}', "got")
    finish(conn, turn, *thought, *call, *block_events(2, Kind.TEXT, "answer common"))
    assert kinds_of(conn, ana, "common") == [
        (SearchKind.ANSWER, 2),
        (SearchKind.THOUGHT, 0),
        (SearchKind.TOOL, None),
        (SearchKind.PROMPT, None),
    ]
    for words in ("lookup", "given", "got", "lookup given got", '"lookup q given got"'):
        assert kinds_of(conn, ana, words) == [(SearchKind.TOOL, 1)]
    assert kinds_of(conn, ana, "tool_asked") == [(SearchKind.TOOL, None)]


def test_search_finds_thoughts_only_on_request(conn: Connection, ana: Owner, session: Session) -> None:
    """K28: included, excluded, or alone."""
    exchange(conn, session, "plum", "plum", "plum")
    for kinds in (DEFAULT, frozenset({SearchKind.TOOL}), frozenset({SearchKind.THOUGHT}), EVERYTHING):
        assert {hit.kind for hit in find(conn, ana, "plum", kinds)} == kinds - {SearchKind.TOOL}
    with pytest.raises(Refused, match="one or more of prompt, answer, thought, tool"):
        find(conn, ana, "plum", frozenset())


def test_search_lists_text_of_an_assistant_as_tool_result(
    conn: Connection, ana: Owner, session: Session
) -> None:
    turn = ask(conn, session, "Hm?").turn
    call, *other_events = tool_call(0, "Researcher", "task", "done")
    thought, answer_events = (
        block_events(1, Kind.REASONING, "inner thought", parent=0),
        block_events(2, Kind.TEXT, "inner", parent=0),
    )
    finish(conn, turn, call, *thought, *answer_events, *other_events)
    assert kinds_of(conn, ana, "inner") == [(SearchKind.TOOL, 2), (SearchKind.THOUGHT, 1)]


def test_search_hit_names_session_turn_and_block(conn: Connection, ana: Owner) -> None:
    session = sessions.create(conn, ana, now_ms=NOW_MS, title="Fruit")
    turn = exchange(conn, session, "Which?", "", "Maybe  a\nplum?")
    assert find(conn, ana, "PLUM") == (
        SearchHit(SearchKind.ANSWER, session.id, "Fruit", turn.id, 1, "Maybe a plum?", ((8, 12),), NOW_MS),
    )


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("Ação e reação", "acao"),
        ("acao", "AÇÃO"),
        ("我喜欢中文字典", "中文"),
        ("日本語のテキスト", "テキスト"),
        ("한국어를 배웁니다", "국어"),
        ("สวัสดีครับ", "ดีครับ"),
        ("the big apple", '"big apple"'),
        ("applesauce", "apples*"),
        ("snake_case_name", "snake_case"),
        ("it works 👍🏽", "👍"),
        ("Straße", "strasse"),
    ],
)
def test_search_matches_words_as_people_type_them(
    conn: Connection, ana: Owner, session: Session, prompt: str, typed: str
) -> None:
    ask(conn, session, prompt)
    (hit,) = find(conn, ana, typed)
    assert hit.snippet == prompt
    assert len(hit.marks) == 1


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("big red apple", '"big apple"'),
        ("apple", "apples"),
        ("apples", "apple"),
        ("中国文学", "中文"),
        ("one", "one two"),
        ("prompt", "u1w1prompt"),
    ],
)
def test_search_does_not_find_missing_words(
    conn: Connection, ana: Owner, session: Session, prompt: str, typed: str
) -> None:
    ask(conn, session, prompt)
    assert find(conn, ana, typed) == ()


WORDS = st.sampled_from(["ape", "apes", "é", "É", "中", "中文", "x-y", "½", "👍", "u1w1prompt", "or"])
PROMPTS = st.lists(WORDS, max_size=4).map(" ".join)
FORMS = st.sampled_from(["{}", '"{}"', "{}*", '"{}"*'])


@pytest.mark.parametrize("engine", ENGINES)
@settings(deadline=None)
@given(prompts=st.lists(PROMPTS, min_size=1, max_size=5), words=PROMPTS, form=FORMS)
def test_search_engine_and_marks_agree(engine: str, prompts: list[str], words: str, form: str) -> None:
    """The index finds a text exactly if the marks find a match in it."""
    typed = form.format(words)
    with empty_tables(engine) as conn:
        owner = new_owner(conn, "ana")
        for prompt in prompts:
            ask(conn, new_session(conn, owner), prompt)
        if not words or typed.endswith(("y*", 'y"*', "½*", '½"*', "é*", 'é"*', "É*", 'É"*')):
            with pytest.raises(Refused, match=r"search has no word|too short"):
                find(conn, owner, typed)
            return
        phrases, hits = parse_query(typed), find(conn, owner, typed)
        expected = [
            prompt
            for prompt in reversed(prompts)
            if all(any(find_phrases(prompt, [phrase])) for phrase in phrases)
        ]
        assert [hit.snippet for hit in hits] == expected
        assert all(hit.marks for hit in hits)


def test_search_pages_are_stable_and_newest_first(conn: Connection, ana: Owner) -> None:
    made = [ask(conn, new_session(conn, ana), f"plum {at}").turn.id for at in range(7)]
    ask(conn, new_session(conn, new_owner(conn, "ben")), "plum")
    turn_ids, after = [], ""
    while True:
        page = find_hits(conn, ana, "plum", kinds=DEFAULT, limit=3, after=after)
        turn_ids += [hit.turn for hit in page.items]
        if not (after := page.next):
            break
        ask(conn, new_session(conn, ana), "plum, later")
    assert turn_ids == made[::-1]


@pytest.mark.parametrize("after", ["x", encode_cursor((1, 2)), "\x00", "é", *HOSTILE_TEXTS[1:5]])
def test_invalid_cursor_is_refused(conn: Connection, ana: Owner, after: str) -> None:
    with pytest.raises(Refused, match="not a cursor"):
        find_hits(conn, ana, "plum", kinds=DEFAULT, limit=3, after=after)
    with pytest.raises(Refused, match="1 to 200"):
        find_hits(conn, ana, "plum", kinds=DEFAULT, limit=0)


def test_search_pages_are_not_shortened_by_other_users_texts(
    conn: Connection, ana: Owner, session: Session
) -> None:
    """The engine searches only within the scope, however many newer rows are outside."""
    mine = [exchange(conn, session, "plum", "plum", "pear").id for _ in range(2)]
    lab = Owner(ana.user, users.add_member(conn, ana.user, "lab", NOW_MS).key)
    for owner in (new_owner(conn, "ben"), lab):
        for _ in range(3):
            ask(conn, new_session(conn, owner), "plum")
    page = find_hits(conn, ana, "plum", kinds=frozenset({SearchKind.PROMPT}), limit=2)
    assert [hit.turn for hit in page.items] == mine[::-1]
    assert page.next == ""


def test_search_never_finds_texts_of_other_owners(conn: Connection, ana: Owner, session: Session) -> None:
    """S7: neither of another user nor of the same user in another workspace."""
    lab = Owner(ana.user, users.add_member(conn, ana.user, "lab", NOW_MS).key)
    ben = new_owner(conn, "ben")
    mine = exchange(conn, session, "plum", "plum", "plum").id
    assert {hit.turn for hit in find(conn, ana, "plum")} == {mine}
    for owner in (lab, ben, Owner(ben.user, lab.workspace), Owner(0, 0)):
        assert find(conn, owner, "plum") == ()


def test_search_scope_holds_even_with_a_wrong_index(conn: Connection, ana: Owner, session: Session) -> None:
    """S7: the owner of each hit is checked again."""
    ben = new_owner(conn, "ben")
    ask(conn, session, "plum")
    key = conn.scalars(select(search_rows.c.key)).one()
    forged: IndexEntry = {"key": key, "norm": "forged", "tags": f"u{ben.user}w{ben.workspace}prompt"}
    backend = search_index._BACKENDS[conn.dialect.name]
    if conn.dialect.name == POSTGRES:  # it has one row for each key
        conn.execute(text("DELETE FROM search_text"))
    backend.add(conn, [forged])
    assert find(conn, ben, "forged") == ()


def test_removed_messages_leave_no_words_in_the_index(conn: Connection, ana: Owner, session: Session) -> None:
    for at in range(3):
        turn = ask(conn, session, "Ação 中文 ½", ToolMessage("c", "result", "name")).turn
        finish(conn, turn, *tool_call(0, "lookup", "{}", "got"), *block_events(1, Kind.TEXT, f"answer {at}"))
    assert "acao" in indexed_words(conn)
    keys = conn.scalars(select(messages.c.key)).all()
    search_index.remove_messages(conn, keys)
    search_index.remove_messages(conn, keys)
    assert indexed_words(conn) == []
    assert find(conn, ana, "answer") == ()
    assert conn.execute(select(search_rows)).all() == []


def test_deleted_session_leaves_no_words_in_the_index(conn: Connection, ana: Owner, session: Session) -> None:
    exchange(conn, session, "Ação", "thought", "answer")
    sessions.delete(conn, ana, session.id)
    assert indexed_words(conn) == []


def test_index_of_other_rules_is_rebuilt(conn: Connection, ana: Owner, session: Session) -> None:
    for at in range(search_index.BATCH_SIZE // 2 + 1):
        exchange(conn, session, f"plum {at}", "a thought", "a pear")
    oldest = select(func.min(messages.c.key)).scalar_subquery()
    # PostgreSQL now has the oldest message behind all others.
    conn.execute(update(messages).where(messages.c.key == oldest).values(name=messages.c.name))
    hits_before = find(conn, ana, "plum"), find(conn, ana, "pear"), find(conn, ana, "thought")
    assert search_index.index_current(conn)
    conn.execute(update(facts).values(value="0, Unicode 3.0"))
    assert not search_index.index_current(conn)
    search_index.rebuild_index(conn)
    assert search_index.index_current(conn)
    assert (find(conn, ana, "plum"), find(conn, ana, "pear"), find(conn, ana, "thought")) == hits_before
    sessions.delete(conn, ana, session.id)
    assert indexed_words(conn) == []


def test_index_without_version_is_not_current(conn: Connection) -> None:
    conn.execute(delete(facts))
    assert not search_index.index_current(conn)
    search_index.rebuild_index(conn)
    assert search_index.index_current(conn)


def test_messages_without_words_can_be_indexed(conn: Connection, ana: Owner, session: Session) -> None:
    search_index.index_messages(conn, [])
    search_index.remove_messages(conn, [])
    search_index.remove_messages(conn, [999])
    turn = ask(conn, session, "", "…", "\x00").turn
    finish(conn, turn, *block_events(0, Kind.REASONING, ""))
    search_index.remove_messages(conn, conn.scalars(select(messages.c.key)).all())
    assert indexed_words(conn) == []


@pytest.mark.parametrize("typed", HOSTILE_TEXTS)
def test_hostile_queries_are_answered_or_refused(
    conn: Connection, ana: Owner, session: Session, typed: str
) -> None:
    """S10: a query cannot contain an operator of the engine, and finds no foreign text."""
    ben = new_session(conn, new_owner(conn, "ben"))
    stored_text = storable(typed)  # no provider can say half of a surrogate pair: its JSON would be none
    exchange(conn, ben, "secret", f"secret {stored_text}", "secret")
    mine = exchange(conn, session, typed, stored_text, stored_text).id
    try:
        hits = find(conn, ana, typed)
    except Refused:
        return
    assert {hit.turn for hit in hits} == {mine}


@pytest.mark.parametrize("engine", ENGINES)
@settings(deadline=None)
@given(typed=st.text(max_size=30))
def test_any_query_is_answered_or_refused(engine: str, typed: str) -> None:
    with empty_tables(engine) as conn:
        owner, other = new_owner(conn, "ana"), new_owner(conn, "ben")
        ask(conn, new_session(conn, other), f"secret {typed}")
        ask(conn, new_session(conn, owner), typed)
        try:
            hits = find(conn, owner, typed)
        except Refused:
            return
        assert len(hits) == 1
