"""Export and import: no thinking by default, lossless on request, all or nothing."""

import asyncio
import copy
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from sqlalchemy import Connection
from tests.patience import PATIENCE_S
from tests.server.caller import ENDLESS_SCRIPT, Caller, quick_settings, start_gateway, wait_until

from thinkaloud.core.canon import Entry, Finish, TurnEnded, TurnStarted
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.gateway.server.handlers import transfer
from thinkaloud.gateway.store.log.finish import finished_from_entries, save_imported
from thinkaloud.gateway.store.queries import sessions, users
from thinkaloud.gateway.store.queries.turns import NewTurnRow

SCRIPT: list[dict[str, Any]] = [
    {
        "thinking": "Canary thought: ```look``` it up.",
        "tool_calls": [{"name": "look_up", "arguments": {"word": "gull"}}],
    },
    {"thinking": "Canary thought, again.", "text": "A gull is a bird.\n\n```\nfenced\n```"},
]


NOTHING_SAID = {
    "asked": [],
    "entries": [{"seq": 0, "event": {"type": "turn.started"}}, {"seq": 1, "event": {"type": "turn.ended"}}],
}


def test_download_of_an_export_ends_with_its_token(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(revoked_s=0.05)) as caller:
            owner, streams = caller.gateway.local_owner, caller.gateway.streams
            create = partial(users.create_token, user=owner.user, name="", now_ms=1)
            token, secret = await caller.database.write(create)

            def fill(conn: Connection) -> str:
                session = sessions.create(conn, owner, now_ms=1, title="Long")
                sessions.hide(conn, session)
                long = NewTurnRow(messages=(UserMessage("word " * 4_000_000),), model="m", imported=True)
                ended = [Entry(seq=0, event=TurnStarted()), Entry(seq=1, event=TurnEnded(Finish.STOP))]
                save_imported(conn, session, long, finished_from_entries(ended), created_ms=1)
                return sessions.end_import(conn, session, 1).id

            url = f"{caller.url}/api/sessions/{await caller.database.write(fill)}/export"
            async with caller.http.get(url, headers={"Authorization": f"Bearer {secret}"}) as response:
                assert response.status == 200
                await caller.database.write(partial(users.revoke_token, token_id=token.id, now_ms=2))
                await wait_until(lambda: not streams.token_hashes)
                with pytest.raises(aiohttp.ClientPayloadError):
                    await response.read()

    asyncio.run(story())


async def filled(caller: Caller) -> str:
    """Create a session with a tool loop at a provider that signs its thinking."""
    spec = {"name": "A", "model": caller.model, "thinking": True, "tools": [{"name": "look_up"}]}
    agent = (await caller.call("POST", "/api/agents", spec, status=201))["id"]
    session = await caller.create_session(agent=agent)
    called = await caller.run_turn(session, "What is a gull?")
    results = [
        {"call_id": block.call_id, "result": "a bird"} for block in called.turn.blocks if block.call_id
    ]
    await caller.run_turn(session, "", tool_results=results)
    return session


async def exported(caller: Caller, session: str, query: str = "") -> tuple[str, Mapping[str, str]]:
    async with caller.http.get(f"{caller.url}/api/sessions/{session}/export{query}") as response:
        assert response.status == 200
        return await response.text(), response.headers


async def imported(caller: Caller, text: str, media_type: str, status: int = 201) -> Any:
    async with caller.http.post(
        f"{caller.url}/api/import", data=text.encode(), headers={"Content-Type": media_type}
    ) as response:
        body = await response.json()
        assert response.status == status, body
        return body


async def turns(caller: Caller, session: str) -> list[Any]:
    """Return everything visible of a session's turns, except ids."""
    turn_results = []
    for turn in (await caller.call("GET", f"/api/sessions/{session}"))["turns"]:
        result = await caller.read_stream(turn["id"])
        body = await caller.call("GET", f"/api/turns/{turn['id']}")
        turn_results.append(
            (result.turn, {name: body[name] for name in body.keys() - {"id", "session", "events", "agent"}})
        )
    return turn_results


def test_text_export_contains_no_thinking(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", SCRIPT) as caller:
            session = await filled(caller)
            text, headers = await exported(caller, session)
            assert text == (
                "What is a gull?\n\nYou:\nWhat is a gull?\n\n"
                f"{caller.model}:\nA gull is a bird.\n\n```\nfenced\n```\n"
            )
            assert headers["Content-Type"] == "text/plain; charset=utf-8"
            assert headers["Content-Disposition"] == 'attachment; filename="what-is-a-gull.txt"'
            omitted, _ = await exported(caller, session, "?format=markdown&thinking=omit")
            for export in (text, omitted):
                assert "anary" not in export
                assert "signature" not in export
            for thinking in ("details", "markers", "callout"):
                export, _ = await exported(caller, session, f"?format=markdown&thinking={thinking}")
                assert "Canary thought, again." in export
            export, _ = await exported(caller, session, "?lang=pt-BR")
            assert "Você:\n" in export
            await caller.refusal_message("GET", f"/api/sessions/{session}/export?lang=xx", status=422)
            await caller.refusal_message("GET", f"/api/sessions/{session}/export?format=pdf", status=400)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("query", "media_type"),
    [
        ("json", "application/json"),
        ("markdown", "text/markdown"),
        ("markdown&thinking=markers", "text/markdown"),
    ],
)
def test_r137_export_and_import_round_trip(tmp_path: Path, query: str, media_type: str) -> None:
    """R137: thinking, seals, tools, times and counts are kept, and the copy can be continued."""

    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", [*SCRIPT, {"text": "Yes."}]) as caller:
            session = await filled(caller)
            text, _ = await exported(caller, session, f"?format={query}")
            copied = await imported(caller, text, media_type)
            assert copied["id"] != session
            assert copied["title"] == "What is a gull?"
            agent = (await caller.call("GET", f"/api/sessions/{session}"))["agent"]
            assert agent
            assert copied["agent"] == agent
            elsewhere = await imported(caller, text.replace(agent, "agt_elsewhere"), media_type)
            assert elsewhere["agent"] == "", "an agent that is not here is left out"
            await caller.call("DELETE", f"/api/sessions/{elsewhere['id']}", status=204)
            original_turns, imported_turns = await turns(caller, session), await turns(caller, copied["id"])
            for (one, result), (other, other_result) in zip(original_turns, imported_turns, strict=True):
                assert other_result == result
                assert [block.seals for block in other.blocks] == [block.seals for block in one.blocks]
            again, _ = await exported(caller, copied["id"], f"?format={query}")
            assert again == text
            listed = (await caller.call("GET", "/api/sessions"))["items"]
            assert listed[0]["id"] == copied["id"], "it was used last"
            assert (await caller.run_turn(copied["id"], "Really?")).turn.answer == "Yes."
            assert caller.simulator.refusals == []
            hits = (await caller.call("GET", "/api/search?q=gull"))["items"]
            assert {hit["session"] for hit in hits} == {session, copied["id"]}

    asyncio.run(story())


def test_export_leaves_out_a_running_turn(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=[{"text": "One."}, *ENDLESS_SCRIPT]) as caller:
            session = await caller.create_session()
            await caller.run_turn(session, "First?")
            _, headers = await exported(caller, session, "?format=json")
            assert "Thinkaloud-Left-Out" not in headers
            await caller.start_turn(session, "Second?")
            for form in ("markdown", "json"):
                text, headers = await exported(caller, session, f"?format={form}")
                assert headers["Thinkaloud-Left-Out"] == "running"
                assert "Second?" not in text
            text, headers = await exported(caller, session)
            assert headers["Thinkaloud-Left-Out"] == "running"
            assert "Second?" in text, "the prompt is exported, the running answer is not"

    asyncio.run(story())


def test_failed_import_saves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=[{"text": "One."}, {"text": "Two."}]) as caller:
            session = await caller.create_session()
            await caller.run_turn(session, "First?")
            await caller.run_turn(session, "Second?")
            body = await caller.call("GET", f"/api/sessions/{session}/export?format=json")
            for broken in breakages(body):
                await caller.refusal_message("POST", "/api/import", broken, status=422)
            await imported(caller, "# Just a page", "text/markdown", status=422)
            await imported(caller, "not json", "application/json", status=422)
            await imported(caller, "", "text/markdown", status=422)
            async with caller.http.post(
                f"{caller.url}/api/import", data=b"\xff\xfe", headers={"Content-Type": "text/markdown"}
            ) as response:
                assert response.status == 400
            await imported(caller, "x", "text/html", status=415)
            many = {**body, "exchanges": [NOTHING_SAID] * 2001}
            await caller.refusal_message("POST", "/api/import", many, status=413)
            assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1

    asyncio.run(story())


def breakages(exported: Any) -> list[Any]:
    """Yield the file with its last exchange broken in different ways."""

    def broken(change: Any) -> Any:
        file = copy.deepcopy(exported)
        change(file["exchanges"][-1], file)
        return file

    return [
        broken(lambda last, file: last["entries"].pop()),
        broken(lambda last, file: last["entries"].pop(0)),
        broken(lambda last, file: last["entries"][-1].update(seq=99)),
        broken(lambda last, file: last["entries"][0].update(at_ms=2**63)),
        broken(lambda last, file: last["entries"][0].update(at_ms=-1)),
        broken(lambda last, file: last.update(created_ms=2**60)),
        broken(lambda last, file: file.update(created_ms=-5)),
        broken(lambda last, file: file.update(title="x" * 300)),
        broken(lambda last, file: file.update(thinkaloud=99)),
        broken(lambda last, file: last.update(entries=[])),
    ]


def test_import_with_too_many_blocks_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, "anthropic", SCRIPT, settings=quick_settings(blocks_per_turn=1)
        ) as caller:
            session = await caller.create_session()
            blocks = [
                {"type": kind, "block": block, **({"kind": "text"} if kind == "block.started" else {})}
                for block in range(2)
                for kind in ("block.started", "block.ended")
            ]
            events = [{"type": "turn.started"}, *blocks, {"type": "turn.ended"}]
            entries = [{"seq": seq, "event": event} for seq, event in enumerate(events)]
            exchange = {"asked": [], "entries": entries}
            text, _ = await exported(caller, session, "?format=json")
            record = {**msgspec.json.decode(text), "exchanges": [exchange]}
            body = await imported(caller, msgspec.json.encode(record).decode(), "application/json", 413)
            assert "limit blocks_per_turn" in body["error"]["message"]

    asyncio.run(story())


def test_provider_that_alternates_without_end_is_stopped_at_the_block_limit(tmp_path: Path) -> None:
    async def story() -> None:
        script = [{"thinking": "one", "text": "two"}]
        async with start_gateway(
            tmp_path, script=script, settings=quick_settings(blocks_per_turn=1)
        ) as caller:
            result = await caller.run_turn(await caller.create_session())
            assert result.state == "failed"
            assert result.turn.reasoning == "one"
            assert result.turn.outcome is not None
            assert "limit blocks_per_turn" in result.turn.outcome.message

    asyncio.run(story())


@pytest.mark.usefixtures("in_processes")
def test_long_session_is_exported_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is the same as in a thread, and so is what is refused."""

    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", SCRIPT) as caller:
            session = await filled(caller)
            formats = {"json": "application/json", "markdown": "text/markdown"}
            in_thread = [await exported(caller, session, f"?format={name}") for name in formats]
            monkeypatch.setattr(transfer, "MAX_IN_THREAD_BYTES", -1)
            in_process = [await exported(caller, session, f"?format={name}") for name in formats]
            assert [text for text, _ in in_process] == [text for text, _ in in_thread]
            for (text, _), (name, media_type) in zip(in_process, formats.items(), strict=True):
                copied = await imported(caller, text, media_type)
                again, _ = await exported(caller, copied["id"], f"?format={name}")
                assert again == text
            body = await imported(caller, '{"thinkaloud": 1}', "application/json", 422)
            assert "not a Thinkaloud session" in body["error"]["message"]
            monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
            body = await imported(caller, text, media_type, 503)
            assert "gone" in body["error"]["message"]

    asyncio.run(story())


def test_exports_do_not_keep_other_reads_waiting(tmp_path: Path) -> None:
    """Exports run in threads of their own."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            gate = threading.Event()
            for _ in range(20):
                caller.database._long_reader_pool.submit(gate.wait, PATIENCE_S)
            exports = [asyncio.create_task(exported(caller, session)) for _ in range(8)]
            try:
                await caller.call("GET", f"/api/sessions/{session}/messages")
                assert not any(export.done() for export in exports)
            finally:
                gate.set()
            assert len({text for text, _ in await asyncio.gather(*exports)}) == 1

    asyncio.run(story())


def test_bodies_of_all_requests_share_one_bound(tmp_path: Path) -> None:
    """What does not fit is refused for the moment, and the memory is free again when requests are over."""

    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(bodies_bytes=100_000)) as caller:
            gate, session = asyncio.Event(), await caller.create_session()

            async def slow_body() -> AsyncIterator[bytes]:
                yield b" " * 90_000
                await gate.wait()
                yield b"{}"

            url, headers = f"{caller.url}/api/sessions", {"Content-Type": "application/json"}
            first = asyncio.create_task(caller.http.post(url, data=slow_body(), headers=headers))
            await wait_until(lambda: caller.gateway.body_memory._used_bytes >= 90_000)
            prompt = {"prompt": "x" * 20_000}
            message = await caller.refusal_message(
                "POST", f"/api/sessions/{session}/turns", prompt, status=503
            )
            assert "limit bodies_bytes" in message
            gate.set()
            assert (await first).status == 201
            await caller.start_turn(session, prompt["prompt"])
            await wait_until(lambda: caller.gateway.body_memory._used_bytes == 0)

    asyncio.run(story())
