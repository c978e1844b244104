"""Sessions of compatible endpoints know the session whose agent started them."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, select
from tests.patience import PATIENCE_S
from tests.server.caller import SCRIPT, Caller, quick_settings, start_gateway

from thinkaloud.gateway.server.compatible import place
from thinkaloud.gateway.store.schema import sessions, turns

CLAUDE_CODE = {"User-Agent": "claude-cli/2.1.197 (external, sdk-cli)", "X-Claude-Code-Session-Id": "s-1"}


async def ask(caller: Caller, question: str, **headers: str) -> None:
    body: dict[str, Any] = {
        "model": caller.model,
        "max_tokens": 4000,
        "messages": [{"role": "user", "content": question}],
    }
    sent = CLAUDE_CODE | {name.replace("_", "-"): value for name, value in headers.items()}
    await caller.call("POST", "/v1/messages?beta=true", body, headers=sent)


def test_sub_agents_of_claude_code_are_child_sessions(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SCRIPT * 4) as caller:
            await ask(caller, "Main")
            await ask(caller, "Task", X_Claude_Code_Agent_Id="a-1")
            await ask(caller, "Subtask", X_Claude_Code_Agent_Id="a-2", X_Claude_Code_Parent_Agent_Id="a-1")
            await ask(caller, "Lost", X_Claude_Code_Agent_Id="a-3", X_Claude_Code_Parent_Agent_Id="unknown")
            own = await caller.call("POST", "/api/sessions", {"title": "Own"}, status=201)
            sessions = (await caller.call("GET", "/api/sessions"))["items"]
        by_title = {session["title"]: session for session in sessions}
        assert {title: session["client"] for title, session in by_title.items()} == {
            "Main": "Claude Code",
            "Task": "Claude Code",
            "Subtask": "Claude Code",
            "Lost": "Claude Code",
            "Own": "",
        }
        assert by_title["Main"]["parent"] == own["parent"] == by_title["Lost"]["parent"] == ""
        assert by_title["Task"]["parent"] == by_title["Main"]["id"]
        assert by_title["Subtask"]["parent"] == by_title["Task"]["id"]

    asyncio.run(story())


def test_title_leaves_out_what_programs_put_before_a_question(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SCRIPT * 2) as caller:
            reminder = "<system-reminder>\nUse <b>tools</b>.\n</system-reminder>\n"
            await ask(caller, f"{reminder}<env>x</env>\n\nWrite a poem")
            await ask(caller, "<note>Only this</note>")
            titles = [session["title"] for session in (await caller.call("GET", "/api/sessions"))["items"]]
        assert titles[1] == "Write a poem"
        assert "Only this" in titles[0]

    asyncio.run(story())


def test_changed_history_is_a_branch_that_copies_only_what_follows_the_change(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SCRIPT * 6) as caller:
            messages: list[dict[str, str]] = []
            for number in range(4):
                messages.append({"role": "user", "content": f"Question {number}"})
                await ask_chat(caller, messages)
            messages[5]["content"] = "An answer that the client changed"
            for number in (4, 5):
                messages.append({"role": "user", "content": f"Question {number}"})
                await ask_chat(caller, messages)
            (session,) = (await caller.call("GET", "/api/sessions"))["items"]
            path = f"/api/sessions/{session['id']}"
            stored = await caller.database.read(
                lambda conn: conn.scalar(select(func.count()).select_from(turns))
            )
            shown = (await caller.call("GET", f"{path}/messages"))["items"]
        assert [message["content"] for message in shown] == [message["content"] for message in messages]
        assert stored == 4 + 2 + 2  # the first four, copies of the third and the fourth, and two new ones

    async def ask_chat(caller: Caller, messages: list[dict[str, str]]) -> None:
        body = {"model": caller.model, "messages": messages}
        reply = await caller.call("POST", "/v1/chat/completions", body)
        messages.append({"role": "assistant", "content": reply["choices"][0]["message"]["content"]})

    asyncio.run(story())


UNKNOWN_HISTORY = [
    {"role": "user", "content": "Question 0"},
    {"role": "assistant", "content": "An answer that was given elsewhere"},
    {"role": "user", "content": "Question 1"},
]


async def no_session_is_stored(caller: Caller) -> None:
    """Wait until no session is stored, neither a hidden nor a visible one."""
    async with asyncio.timeout(PATIENCE_S):
        while await caller.database.read(
            lambda conn: conn.scalar(select(func.count()).select_from(sessions))
        ):
            await asyncio.sleep(0.01)


def test_copy_of_a_history_on_a_frozen_disk_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = threading.Event()

    def freeze(conn: Connection, **arguments: object) -> None:
        disk.wait(PATIENCE_S)

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(max_waiting_s=0.3)) as caller:
            monkeypatch.setattr(place, "_save_copy", freeze)
            body = {"model": caller.model, "messages": UNKNOWN_HISTORY}
            await caller.call("POST", "/v1/chat/completions", body, status=503)
            assert not disk.is_set()
            disk.set()
            await no_session_is_stored(caller)

    asyncio.run(story())


def test_client_that_leaves_before_its_turn_starts_leaves_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            starting = asyncio.Event()

            async def start(*arguments: object, **options: object) -> None:
                starting.set()
                await asyncio.Event().wait()

            monkeypatch.setattr(caller.gateway.turns, "start", start)
            body = {"model": caller.model, "messages": UNKNOWN_HISTORY}
            asking = asyncio.create_task(caller.call("POST", "/v1/chat/completions", body))
            await asyncio.wait_for(starting.wait(), PATIENCE_S)
            assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1
            asking.cancel()
            await no_session_is_stored(caller)

    asyncio.run(story())
