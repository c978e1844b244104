"""Users, workspaces and tokens."""

import hashlib
import re

import pytest
from sqlalchemy import Connection, select
from tests.store.log_fixtures import NOW_MS
from tests.store.query_fixtures import (
    HOSTILE_TEXTS,
    ask,
    exchange,
    finish,
    indexed_words,
    new_owner,
    new_session,
)

from thinkaloud.core.canon import Refused
from thinkaloud.gateway.store.queries import agents, preferences, sessions, users
from thinkaloud.gateway.store.queries.values import matches_id, new_id
from thinkaloud.gateway.store.rows import AgentSpec, Owner, Preferences, SearchKind
from thinkaloud.gateway.store.schema import metadata, tokens
from thinkaloud.gateway.store.search.find import find_hits


def test_local_user_is_created_once(conn: Connection) -> None:
    first = users.ensure_local(conn, NOW_MS)
    assert users.ensure_local(conn, NOW_MS + 1) == first
    assert [user.name for user in users.list_users(conn)] == ["local"]
    assert [place.name for place in users.workspaces_of(conn, first.user)] == ["default"]


def test_users_share_workspaces_and_may_have_several(conn: Connection) -> None:
    ana, ben = users.add_user(conn, "ana", NOW_MS), users.add_user(conn, "ben@example.org", NOW_MS, "lab")
    lab = users.add_member(conn, ana.key, "lab", NOW_MS)
    assert users.add_member(conn, ana.key, "lab", NOW_MS + 1) == lab
    assert [place.name for place in users.workspaces_of(conn, ana.key)] == ["default", "lab"]
    assert users.workspaces_of(conn, ben.key) == (lab,)
    assert users.user_named(conn, "ana") == ana
    assert users.list_users(conn) == (ana, ben)
    assert len({ana.id, ben.id, lab.id}) == 3


@pytest.mark.parametrize("name", ["", "a b", "a/b", "á", "a" * 65, "a\n", "a\x00", "\ud800"])
def test_invalid_user_and_workspace_names_are_refused(conn: Connection, name: str) -> None:
    with pytest.raises(Refused, match=r"name of a user\. Use 1 to 64 letters"):
        users.add_user(conn, name, NOW_MS)
    with pytest.raises(Refused, match=r"name of a workspace\. Use 1 to 64 letters"):
        users.add_user(conn, "fine", NOW_MS, name)


def test_duplicate_and_unknown_user_names_are_refused(conn: Connection) -> None:
    users.add_user(conn, "ana", NOW_MS)
    with pytest.raises(Refused, match="ana already"):
        users.add_user(conn, "ana", NOW_MS)
    with pytest.raises(Refused, match="no user 'ben'"):
        users.user_named(conn, "ben")
    with pytest.raises(Refused, match="There is no user"):
        users.remove_user(conn, "ben")


def test_token_is_valid_until_revoked(conn: Connection) -> None:
    ana = users.add_user(conn, "ana", NOW_MS)
    token, secret = users.create_token(conn, ana.key, "my laptop", NOW_MS)
    other, other_secret = users.create_token(conn, ana.key, "phone", NOW_MS)
    assert re.fullmatch(r"tka_[A-Za-z0-9_-]{43}", secret)
    assert users.token_user(conn, secret) == ana
    assert users.tokens_of(conn, ana.key) == (token, other)
    assert users.revoke_token(conn, token.id, NOW_MS + 5)
    assert not users.revoke_token(conn, token.id, NOW_MS + 9)
    assert users.token_user(conn, secret) is None
    assert users.token_user(conn, other_secret) == ana
    assert [stored.revoked_ms for stored in users.tokens_of(conn, ana.key)] == [NOW_MS + 5, None]


def test_only_the_hash_of_a_token_is_stored(conn: Connection) -> None:
    ana = users.add_user(conn, "ana", NOW_MS)
    _, secret = users.create_token(conn, ana.key, "laptop", NOW_MS)
    assert conn.scalar(select(tokens.c.hash)) == hashlib.sha256(secret.encode()).digest()
    stored = [row for table in metadata.sorted_tables for row in conn.execute(select(table))]
    assert secret not in repr(stored)
    assert secret[4:] not in repr(stored)


def test_invalid_tokens_are_rejected(conn: Connection) -> None:
    ana = users.add_user(conn, "ana", NOW_MS)
    token, secret = users.create_token(conn, ana.key, "laptop", NOW_MS)
    for shown in (*HOSTILE_TEXTS, secret[:-1], secret + "=", secret.upper(), secret[4:], token.id):
        assert users.token_user(conn, shown) is None
        assert not users.revoke_token(conn, shown, NOW_MS) or shown == token.id


def test_remove_user_deletes_all_their_data_and_nothing_else(conn: Connection) -> None:
    ana, ben = new_owner(conn, "ana"), new_owner(conn, "ben")
    for owner in (ana, ben):
        exchange(conn, new_session(conn, owner), "apples", "pears", "plums")
        agents.create(conn, owner, AgentSpec(name="Planner", model="m"), NOW_MS)
        preferences.write(conn, owner, Preferences(language="pt-BR"), NOW_MS)
        users.create_token(conn, owner.user, "t", NOW_MS)
    users.remove_user(conn, "ana")
    assert [user.name for user in users.list_users(conn)] == ["ben"]
    everything = frozenset(SearchKind)
    assert find_hits(conn, ana, "apples", kinds=everything, limit=9).items == ()
    assert len(find_hits(conn, ben, "apples", kinds=everything, limit=9).items) == 1
    assert len(agents.list_page(conn, ben, limit=9).items) == 1
    row_counts = {table.name: len(conn.execute(select(table)).all()) for table in metadata.sorted_tables}
    rows = {"users": 1, "members": 1, "sessions": 1, "turns": 1, "messages": 2, "parts": 2, "found": 3}
    assert row_counts.items() >= {**rows, "agents": 1, "preferences": 1, "tokens": 1}.items()


def test_keys_of_deleted_users_are_never_reused(conn: Connection) -> None:
    """Code that still holds the key, such as an open connection, must not act as another user."""
    removed_owner = new_owner(conn, "ana")
    session = new_session(conn, removed_owner)
    users.remove_user(conn, "ana")
    new = new_owner(conn, "ben")
    assert new.user != removed_owner.user
    assert new_session(conn, new).key != session.key


def test_remove_user_is_refused_while_a_turn_runs(conn: Connection) -> None:
    ana = new_owner(conn, "ana")
    turn = ask(conn, new_session(conn, ana), "Hm?").turn
    with pytest.raises(Refused, match="A turn of ana is running"):
        users.remove_user(conn, "ana")
    finish(conn, turn)
    users.remove_user(conn, "ana")
    assert users.list_users(conn) == ()
    assert indexed_words(conn) == []


def test_remove_user_is_refused_while_others_need_their_agent(conn: Connection) -> None:
    ana, ben = new_owner(conn, "ana"), new_owner(conn, "ben")
    needed_agent = agents.create(conn, ana, AgentSpec(name="Researcher", model="m"), NOW_MS)
    agents.create(conn, ana, AgentSpec(name="Mine", model="m", assistants=(needed_agent.id,)), NOW_MS)
    calling_agent = agents.create(
        conn, ben, AgentSpec(name="Planner", model="m", assistants=(needed_agent.id,)), NOW_MS
    )
    with pytest.raises(Refused, match=r"Planner .* calls Researcher"):
        users.remove_user(conn, "ana")
    agents.delete(conn, ben, calling_agent.id)
    users.remove_user(conn, "ana")
    assert agents.list_page(conn, ben, limit=9).items == ()


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_names_are_stored_or_refused(conn: Connection, text: str) -> None:
    ana = users.add_user(conn, "ana", NOW_MS)
    if not re.fullmatch(r"[\w.@-]{1,64}", text, re.ASCII):
        with pytest.raises(Refused):
            users.add_user(conn, text, NOW_MS)
        with pytest.raises(Refused):
            users.add_member(conn, ana.key, text, NOW_MS)
    with pytest.raises(Refused):
        users.user_named(conn, text)
    with pytest.raises(Refused):
        users.remove_user(conn, text)
    if len(text) > users.MAX_LABEL_CHARACTERS:
        with pytest.raises(Refused, match="at most 64"):
            users.create_token(conn, ana.key, text, NOW_MS)
    else:
        token, _ = users.create_token(conn, ana.key, text, NOW_MS)
        assert users.tokens_of(conn, ana.key) == (token,)
    assert users.list_users(conn) == (ana,)


def test_malformed_ids_are_not_looked_up() -> None:
    """S6: 128 random bits."""
    made = {new_id("ses") for _ in range(100)}
    assert len(made) == 100
    assert all(matches_id("ses", one) and len(one) == 26 for one in made)
    assert not any(matches_id("trn", one) or matches_id("ses", one + "A") for one in made)
    assert not any(matches_id("ses", text) for text in HOSTILE_TEXTS if text != "ses_" + "A" * 22)


def test_owner_without_rows_sees_nothing(conn: Connection) -> None:
    new_owner(conn, "ana")
    assert sessions.list_page(conn, Owner(99, 99), limit=9).items == ()
    assert users.workspaces_of(conn, 99) == ()
    assert users.tokens_of(conn, 99) == ()
