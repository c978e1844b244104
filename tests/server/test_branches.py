"""A question that replaces an earlier one: it is asked from before that turn, and both branches are kept."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from tests.event_loop import in_event_loop
from tests.server.caller import Caller, start_gateway
from tests.surfaces.memory_backend import asked

from thinkaloud.cli.gateway_client import GatewayClient
from thinkaloud.gateway.store.queries import branches, sessions, turns
from thinkaloud.gateway.store.rows import TurnRow

SCRIPT = [{"thinking": f"Thought {number}.", "text": f"Answer {number}."} for number in range(12)]


async def ask(caller: Caller, session: str, prompt: str, **body: Any) -> str:
    turn = await caller.start_turn(session, prompt, **body)
    assert (await caller.read_stream(turn)).state == "done"
    return turn


async def prompts(caller: Caller, session: str, query: str = "") -> list[str]:
    page = await caller.call("GET", f"/api/sessions/{session}/messages{query}")
    return [message["content"] for message in page["items"] if message["role"] == "user"]


def asked_prompts(caller: Caller) -> list[str]:
    """Return the prompts of the last request to the model."""
    messages = caller.simulator.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


@in_event_loop
async def test_replaced_turn_is_asked_from_before_it_and_both_branches_are_kept(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT) as caller:
        session = await caller.create_session()
        first = await ask(caller, session, "one")
        second = await ask(caller, session, "two")
        await ask(caller, session, "three")
        edited = await ask(caller, session, "two, edited", replaces=second)
        assert asked_prompts(caller) == ["one", "two, edited"]
        assert await prompts(caller, session) == ["one", "two, edited"]
        await ask(caller, session, "four")
        assert asked_prompts(caller) == ["one", "two, edited", "four"]
        assert await prompts(caller, session, f"?branch={second}") == ["one", "two", "three"]
        assert await prompts(caller, session, f"?turn={second}") == ["two", "three"]
        assert await prompts(caller, session, f"?turn={first}&branch={second}") == ["one", "two", "three"]
        elsewhere = f"/api/sessions/{session}/messages?turn={edited}&branch={second}"
        assert "is not in the branch of" in await caller.refusal_message("GET", elsewhere, status=422)
        assert await prompts(caller, session, f"?branch={first}&order=newest&limit=2") == [
            "two, edited",
            "four",
        ]
        again = await ask(caller, session, "two, again", replaces=edited)
        page = await caller.call("GET", f"/api/sessions/{session}/messages")
        versions = {message["turn"]: message["versions"] for message in page["items"]}
        assert versions == {first: [], again: [second, edited, again]}
        assert [turn["id"] for turn in (await caller.call("GET", f"/api/sessions/{session}"))["turns"]] == [
            first,
            again,
        ]


@in_event_loop
async def test_first_question_can_be_replaced_and_an_old_branch_continued(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT) as caller, GatewayClient.at(caller.url) as client:
        session = await caller.create_session()
        first = await ask(caller, session, "one")
        edited = await client.ask(session, asked("one, edited", replaces=first))
        await caller.read_stream(edited)
        assert asked_prompts(caller) == ["one, edited"]
        [past] = await client.turns(session)
        assert (past.prompt, past.versions) == ("one, edited", (first, edited))
        follow_up = await client.ask(session, asked("two", follows=first))
        await caller.read_stream(follow_up)
        assert asked_prompts(caller) == ["one", "two"]
        assert [turn.prompt for turn in await client.turns(session)] == ["one", "two"]
        assert [turn.prompt for turn in await client.turns(session, branch=edited)] == ["one, edited"]


@in_event_loop
async def test_json_export_keeps_all_branches_and_imports_them_again(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT) as caller, GatewayClient.at(caller.url) as client:
        session = await caller.create_session()
        await ask(caller, session, "one")
        second = await ask(caller, session, "two")
        await ask(caller, session, "two, edited", replaces=second)
        await ask(caller, session, "three")
        exported = await client.export(session, "json")
        assert "Answer 1." in exported
        assert "two, edited" in await client.export(session, "markdown")
        assert "Answer 1." not in await client.export(session, "markdown")
        imported = await client.import_file(exported.encode())
        assert await prompts(caller, imported.id) == ["one", "two, edited", "three"]
        assert await client.export(imported.id, "json") == exported
        straight = await caller.create_session()
        await ask(caller, straight, "one")
        assert '"follows"' not in await client.export(straight, "json")
        broken = exported.replace('"follows":0', '"follows":9')
        with pytest.raises(Exception, match="which is not before it"):
            await client.import_file(broken.encode())


@in_event_loop
async def test_replaced_turn_of_another_session_is_refused(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT) as caller:
        session, other = await caller.create_session(), await caller.create_session()
        turn = await ask(caller, other, "one")
        path = f"/api/sessions/{session}/turns"
        message = await caller.refusal_message("POST", path, {"prompt": "x", "replaces": turn}, status=422)
        assert "The session has no turn" in message
        body = {"prompt": "x", "replaces": turn, "follows": turn}
        assert "either" in await caller.refusal_message("POST", path, body, status=422)
        await caller.call("GET", f"/api/sessions/{session}/messages?branch={turn}", status=404)


def make_second_version(conn: Connection) -> None:
    """Take back what the migrations after the second one added."""
    for statement in (
        "ALTER TABLE parts DROP COLUMN description",
        "ALTER TABLE parts DROP COLUMN images",
        "ALTER TABLE turns ADD COLUMN lease_until_ms BIGINT",
        "DROP TABLE commands",
        "DROP TABLE nodes",
        "DROP TABLE turn_figures",
        "DROP INDEX ix_sessions_client_conversation",
        "ALTER TABLE sessions DROP COLUMN client_conversation",
        "ALTER TABLE sessions DROP COLUMN parent",
        "DROP INDEX ix_sessions_pinned",
        "ALTER TABLE sessions DROP COLUMN pinned",
        "ALTER TABLE sessions DROP COLUMN client",
        "ALTER TABLE turns DROP COLUMN assistants",
        "DROP TABLE thinking_rules",
        "DROP INDEX ix_sessions_user_workspace_use_number_key",
        "ALTER TABLE sessions DROP COLUMN use_number",
        "CREATE INDEX ix_sessions_user_workspace_updated_ms_key "
        "ON sessions (user, workspace, updated_ms, key)",
        "DROP TABLE unindexed",
        "DROP INDEX ix_turns_client_history",
        "ALTER TABLE turns DROP COLUMN client_history",
        "DROP INDEX ix_turns_session_parent",
        "ALTER TABLE turns DROP COLUMN parent",
        "UPDATE alembic_version SET version_num = '0002'",
    ):
        conn.execute(text(statement))


@in_event_loop
async def test_turns_of_old_databases_follow_each_other(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT) as caller:
        session = await caller.create_session()
        ids = [await ask(caller, session, prompt) for prompt in ("one", "two", "three")]

        await caller.database.write(make_second_version)
    async with start_gateway(tmp_path) as caller:
        owner = caller.gateway.local_owner

        def stored_turns(conn: Connection) -> tuple[TurnRow, ...]:
            stored_session = sessions.get(conn, owner, session)
            assert stored_session is not None
            return turns.of_all_branches(conn, stored_session)

        rows = await caller.database.read(stored_turns)
        assert [row.id for row in rows] == ids
        assert [row.parent for row in rows] == [None, rows[0].key, rows[1].key]
        assert await caller.database.read(lambda conn: branches.newest_leaf(conn, rows[0])) == rows[2].key
        assert await prompts(caller, session) == ["one", "two", "three"]
