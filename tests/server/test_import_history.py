"""Conversations of other programs through the API: once only, searchable, and continued with their seals."""

import asyncio
import io
import threading
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.importers.outline import FILES, zipped
from tests.importers.test_llm_logs import RESPONSE_TABLES, database
from tests.patience import PATIENCE_S
from tests.server.caller import Caller, quick_settings, start_gateway, wait_until

from thinkaloud.core.canon import (
    Entry,
    Finish,
    Refused,
    ReplyEnded,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.export.record import Exchange, SessionRecord, write_json
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.files import imports as import_files
from thinkaloud.gateway.server.http.errors import PayloadTooLarge
from thinkaloud.gateway.server.http.limits import GatewayLimits, ProcessLimits
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.rows import Session

SAMPLES = sorted(path for path in FILES.iterdir() if path.suffix != ".story")


async def post(caller: Caller, content: bytes, query: str = "", *, status: int = 201) -> Any:
    media_type = "application/json" if content[:1] in b"[{" else "application/octet-stream"
    async with caller.http.post(
        f"{caller.url}/api/import{query}", data=io.BytesIO(content), headers={"Content-Type": media_type}
    ) as response:
        body = await response.json()
        assert response.status == status, body
        return body


async def titles(caller: Caller) -> list[str]:
    return [row["title"] for row in (await caller.call("GET", "/api/sessions"))["items"]]


def test_dry_run_tells_what_an_import_adds_and_a_second_import_adds_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        files = [path.read_bytes() for path in SAMPLES]
        files += [database(tmp_path / "logs.db", RESPONSE_TABLES).read_bytes()]
        files += [zipped(conversations__json=files[0].replace(b"6925-gulls", b"7000-gulls"))]
        async with start_gateway(tmp_path) as caller:
            for content in files:
                plan = await post(caller, content, "?dry_run=true", status=200)
                count = len(await titles(caller))
                done = await post(caller, content)
                again = await post(caller, content, status=200)
                kept = ("title", "new", "turns", "turns_added", "thoughts", "calls")
                planned, added = (
                    [{name: row[name] for name in kept} for row in body["conversations"]]
                    for body in (plan, done)
                )
                assert [row | {"title": ""} for row in planned] == [row | {"title": ""} for row in added]
                assert plan["unread"] == done["unread"] == again["unread"]
                assert all(row["new"] and row["turns_added"] == row["turns"] for row in added)
                assert [row["turns_added"] for row in again["conversations"]] == [0] * len(added)
                assert [row["session"] for row in again["conversations"]] == [
                    row["session"] for row in done["conversations"]
                ]
                assert len(await titles(caller)) == count + len(added)

    asyncio.run(story())


def test_imported_thoughts_are_visible_and_found(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            for name in ("chatgpt.json", "claude_code.jsonl"):
                await post(caller, (FILES / name).read_bytes())
            found = await caller.call("GET", "/api/search?q=count+them+with+code&scope=thoughts")
            assert [hit["kind"] for hit in found["items"]] == ["thought"]
            session = await caller.call("GET", f"/api/sessions/{found['items'][0]['session']}")
            assert session["client"] == "ChatGPT"
            assert len(session["turns"]) == 2, "the branch that ChatGPT showed"
            turn = await caller.call("GET", f"/api/turns/{session['turns'][-1]['id']}")
            assert turn["reasoning_content"] == "**Checking**\n\nOnce more."
            rows = (await caller.call("GET", "/api/sessions"))["items"]
            agent = next(row for row in rows if row["title"].startswith("Agent: "))
            main = next(row for row in rows if row["title"] == "Gulls in north and south")
            assert agent["parent"] == main["id"]

    asyncio.run(story())


def test_grown_conversation_adds_only_what_is_new(tmp_path: Path) -> None:
    async def story() -> None:
        lines = (FILES / "claude_code.jsonl").read_bytes().splitlines(keepends=True)
        async with start_gateway(tmp_path) as caller:
            first = await post(caller, b"".join(lines[:12]))
            grown = await post(caller, b"".join(lines[:16]))
            assert grown["id"] == first["id"]
            (row,) = grown["conversations"]
            assert (row["new"], row["turns"], row["turns_added"]) == (False, 3, 2)
            session = await caller.call("GET", f"/api/sessions/{first['id']}")
            prompts = await caller.call("GET", f"/api/sessions/{first['id']}/messages")
            shown = [message["content"] for message in prompts["items"] if message["role"] == "user"]
            assert shown == ["Count the gulls in both files.", "Look in the east instead."]
            assert len(session["turns"]) == 2

    asyncio.run(story())


def test_damaged_file_adds_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        whole = (FILES / "chatgpt.json").read_bytes()
        two = b"[" + whole.strip()[1:-1] + b"," + whole.strip()[1:-1].replace(b"6925", b"6926") + b"]"
        async with start_gateway(tmp_path) as caller:
            refusal = await post(caller, two[:-300], status=422)
            assert refusal["error"]["message"].startswith("Line ")
            refusal = await post(caller, b'{"a": 1}', status=422)
            assert "The format is not known" in refusal["error"]["message"]
            assert "--" not in refusal["error"]["message"]  # the page shows it too, which has no options
            await post(caller, whole, "?format=word", status=422)
            await post(caller, b"[]", "?format=chatgpt", status=422)
            assert await titles(caller) == []

    asyncio.run(story())


def test_two_imports_of_one_conversation_at_once_make_one_session(tmp_path: Path) -> None:
    async def story() -> None:
        content = (FILES / "open_webui.json").read_bytes()

        async def attempt() -> int:
            async with caller.http.post(
                f"{caller.url}/api/import", data=content, headers={"Content-Type": "application/json"}
            ) as response:
                return response.status

        async with start_gateway(tmp_path) as caller:
            statuses = await asyncio.gather(*(attempt() for _ in range(GatewayLimits().imports_per_user)))
            assert 201 in statuses
            assert set(statuses) <= {200, 201, 422}
            assert await titles(caller) == ["Waders"]

    asyncio.run(story())


def test_import_adds_to_the_session_that_another_import_made_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first import finds no session. Before it creates one, the second import begins and ends."""
    of_conversation = sessions.of_conversation
    looked, go_on = threading.Event(), threading.Event()

    def look_and_wait(*arguments: Any, **options: Any) -> Session | None:
        session = of_conversation(*arguments, **options)
        if not looked.is_set():
            looked.set()
            assert go_on.wait(PATIENCE_S)
        return session

    async def story() -> None:
        content = (FILES / "open_webui.json").read_bytes()
        async with start_gateway(tmp_path) as caller:
            first = asyncio.create_task(post(caller, content, status=200))
            assert await asyncio.to_thread(looked.wait, PATIENCE_S)
            second = await post(caller, content)
            go_on.set()
            late = await first
            assert late["id"] == second["id"]
            assert [(row["new"], row["turns_added"]) for row in late["conversations"]] == [(False, 0)]
            assert await titles(caller) == ["Waders"]

    monkeypatch.setattr(sessions, "of_conversation", look_and_wait)
    asyncio.run(story())


SCRIPT: list[Any] = [
    {"thinking": "I look it up.", "tool_calls": [{"name": "look_up", "arguments": {"word": "gull"}}]},
    {"thinking": "A bird, so.", "text": "A gull is a bird."},
    {"thinking": "Terns too.", "text": "A tern is a bird as well."},
]
TOOL = {"name": "look_up", "description": "", "input_schema": {"type": "object", "properties": {}}}


async def recorded_log(caller: Caller) -> bytes:
    """Talk to the simulated Anthropic as Claude Code does, and return the log that it would write."""
    lines: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is a gull?"}]
    _log_line(lines, "user", messages[0])
    for _ in range(2):
        body = {
            "model": "claude-opus-4-5",
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [TOOL],
            "messages": messages,
        }
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
        address = f"{caller.simulator.url}/v1/messages"
        async with caller.http.post(address, json=body, headers=headers) as response:
            reply = await response.json()
            assert response.status == 200, reply
        for block in reply["content"]:
            _log_line(lines, "assistant", {**reply, "content": [block]})
        messages.append({"role": "assistant", "content": reply["content"]})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "a bird"}
            for block in reply["content"]
            if block["type"] == "tool_use"
        ]
        if results:
            messages.append({"role": "user", "content": results})
            _log_line(lines, "user", messages[-1])
    return b"\n".join(map(msgspec.json.encode, lines))


def _log_line(lines: list[dict[str, Any]], kind: str, message: dict[str, Any]) -> None:
    number = len(lines)
    lines.append(
        {
            "type": kind,
            "uuid": f"line-{number}",
            "parentUuid": f"line-{number - 1}" if number else None,
            "sessionId": "signed",
            "timestamp": f"2026-01-05T10:00:{number:02d}Z",
            "message": message,
        }
    )


def test_imported_claude_code_log_is_continued_with_its_signed_thoughts(tmp_path: Path) -> None:
    """The strict simulator refuses a thought that it did not sign, and gets back what it issued."""

    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", SCRIPT) as caller:
            log = await recorded_log(caller)
            imported = await post(caller, log)
            assert (imported["model"], imported["client"]) == ("claude-opus-4-5", "Claude Code")
            spec = {"name": "A", "model": caller.model, "thinking": True, "tools": [{"name": "look_up"}]}
            agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
            answered = await caller.run_turn(imported["id"], "And a tern?", agent=agent)
            assert answered.turn.answer == "A tern is a bird as well."
            assert caller.simulator.refusals == []
            sent = caller.simulator.requests[-1].body["messages"]
            thoughts = [
                block
                for message in sent
                if message["role"] == "assistant"
                for block in message["content"]
                if block["type"] == "thinking"
            ]
            assert [block["thinking"] for block in thoughts] == ["I look it up.", "A bird, so."]
            assert all(block["signature"].encode() in log for block in thoughts)

    asyncio.run(story())


def test_file_with_a_session_on_each_line_adds_all_or_nothing(tmp_path: Path) -> None:
    def session(title: str) -> bytes:
        entries = (Entry(0, TurnStarted()), Entry(1, TurnEnded(Finish.STOP)))
        exchange = Exchange((UserMessage(f"About {title}?"),), entries)
        return write_json(SessionRecord(title, 1, (exchange,)))

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            damaged = b"\n".join((session("Gulls"), session("Terns")[:-5]))
            refusal = await post(caller, damaged, status=422)
            assert refusal["error"]["message"].startswith("Line 2: This is not a Thinkaloud session")
            assert await titles(caller) == []
            body = await post(caller, b"\n".join((session("Gulls"), session("Terns"), b"")))
            assert [row["title"] for row in body["conversations"]] == ["Gulls", "Terns"]
            assert sorted(await titles(caller)) == ["Gulls", "Terns"]

    asyncio.run(story())


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"client": "", "conversation": "x"}},
        {"source": {"client": "x", "conversation": "x" * 301}},
        {"source": None},
        {"exchanges": [{"asked": [], "entries": [], "key": "k"}]},
    ],
)
def test_file_with_a_wrong_source_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    async def story() -> None:
        entries = [
            {"seq": 0, "event": {"type": "turn.started"}},
            {"seq": 1, "event": {"type": "turn.ended"}},
        ]
        body = {
            "thinkaloud": 1,
            "title": "",
            "created_ms": None,
            "exchanges": [{"asked": [], "entries": entries}],
            **change,
        }
        async with start_gateway(tmp_path) as caller:
            await caller.refusal_message("POST", "/api/import", body, status=422)

    asyncio.run(story())


@pytest.mark.usefixtures("in_processes")
def test_bombs_are_refused_and_the_gateway_goes_on(tmp_path: Path) -> None:
    """S16: files that are small, and large to read. Each is refused, within its bounds."""
    lists = b'[{"mapping": [' + b"[]," * 3_000_000 + b"[]]}]"
    text = msgspec.json.encode([{"role": "user", "content": "x" * 2_000_000}])
    zip_bomb = zipped(conversations__json=b"[" + b" " * 30_000_000 + b"]")
    cases = [
        (lists, ProcessLimits(memory_bytes=200 * MIB), 413, "more than 200 MiB of memory"),
        (text, ProcessLimits(output_bytes=MIB), 413, "more than 1 MiB"),
        (text, ProcessLimits(wall_s=0.01), 413, "longer than 0.01 s"),
        (zip_bomb, ProcessLimits(), 422, "200 times as large"),
    ]

    async def story(content: bytes, limits: ProcessLimits, status: int, message: str) -> None:
        async with start_gateway(tmp_path, settings=quick_settings(process=limits)) as caller:
            refusal = await post(caller, content, status=status)
            assert message in refusal["error"]["message"]
            session = await caller.create_session()
            await caller.run_turn(session)
            assert len(await titles(caller)) == 1
            await caller.call("DELETE", f"/api/sessions/{session}", status=204)

    for case in cases:
        asyncio.run(story(*case))


def test_file_with_a_count_out_of_range_is_refused() -> None:
    """Also within a turn of several replies, where each reply has its own usage."""
    usage = Usage(input=10**30)
    for reported in (UsageReported(usage), ReplyEnded(usage=usage)):
        events = (TurnStarted(), reported, TurnEnded(Finish.STOP))
        entries = tuple(Entry(seq, event) for seq, event in enumerate(events))
        record = SessionRecord("Gulls", 1, (Exchange((UserMessage("Terns?"),), entries),))
        with pytest.raises(Refused, match="out of range"):
            list(import_files._record_parts(record, import_files.ImportLimits(10, 10)))


def test_file_with_too_many_conversations_or_a_huge_turn_is_refused(tmp_path: Path) -> None:
    session = write_json(SessionRecord("Gulls", 1, ()))
    many = b"\n".join([session] * (import_files.MAX_CONVERSATIONS + 1))
    limits = import_files.ImportLimits(10, 10)
    with pytest.raises(PayloadTooLarge, match="more than 20,000 conversations"):
        list(import_files.read_import("application/json", many, limits))
    entries = (Entry(0, TurnStarted()), Entry(1, TurnEnded(Finish.STOP)))
    asked = UserMessage("x" * import_files.MAX_TURN_BYTES)
    huge = write_json(SessionRecord("Gulls", 1, (Exchange((asked,), entries),)))
    with pytest.raises(PayloadTooLarge, match="One turn takes more than 64 MiB"):
        list(import_files.read_import("application/json", huge, limits))
    output = io.BytesIO((import_files.MAX_TURN_BYTES + 1).to_bytes(4))
    with pytest.raises(ValueError, match="a part of"):
        import_files.next_part(output)


@pytest.mark.usefixtures("in_processes")
def test_import_ends_with_its_client(tmp_path: Path) -> None:
    """Its process is killed, and another import of the user need not wait for it."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            slow = asyncio.create_task(post(caller, b"[" + b'{"mapping":{}},' * 500_000 + b"{}]"))
            await wait_until(lambda: caller.gateway.imports._running)
            slow.cancel()
            await wait_until(lambda: not caller.gateway.imports._running)
            assert not caller.gateway.imports._users
            await post(caller, (FILES / "open_webui.json").read_bytes())

    asyncio.run(story())


@pytest.mark.usefixtures("in_processes")
def test_import_ends_with_its_token(tmp_path: Path) -> None:
    """A revoked token saves nothing more: what was saved of a new session is deleted."""

    async def story() -> None:
        settings = quick_settings(revoked_s=0.05)
        async with start_gateway(tmp_path, settings=settings) as caller:
            create = partial(users.create_token, user=caller.gateway.local_owner.user, name="", now_ms=1)
            token, secret = await caller.database.write(create)
            slow = b"[" + b'{"mapping":{}},' * 500_000 + b"{}]"
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
            request = caller.http.post(f"{caller.url}/api/import", data=io.BytesIO(slow), headers=headers)
            importing = asyncio.create_task(request.__aenter__())
            await wait_until(lambda: caller.gateway.imports._running)
            await caller.database.write(partial(users.revoke_token, token_id=token.id, now_ms=2))
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(importing, PATIENCE_S)
            await wait_until(lambda: not caller.gateway.imports._running)
            assert await titles(caller) == []

    asyncio.run(story())
