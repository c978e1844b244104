"""The client of a gateway: every method of a backend, its errors, and streams over bad connections."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.cli.cutting_proxy import cutting_proxy
from tests.event_loop import in_event_loop
from tests.patience import PATIENCE_S
from tests.server.caller import (
    ANSWER,
    ENDLESS_SCRIPT,
    SCRIPT,
    THOUGHT,
    start_gateway,
    wait_until,
)
from tests.surfaces.memory_backend import asked

from thinkaloud.cli.gateway_client import GatewayClient, GatewayRefusal, connection
from thinkaloud.cli.gateway_client.connection import FixedLocator, GatewayAddress, GatewayConnection
from thinkaloud.core.canon import Entry, Refused
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.transcript import Ending, Turn, apply
from thinkaloud.core.view import copy_text, gateway_answer
from thinkaloud.gateway.server.files.process_pool import Computation, UserPlace
from thinkaloud.gateway.server.handlers import transfer
from thinkaloud.surfaces.chat.backend import (
    Backend,
    BackendUnreachable,
    DisplayPreferences,
    Reconnecting,
    StreamItem,
)

PICTURE = Image("image/png", "aGVsbG8=")


class LastAddress:
    """Finds a gateway at the last of some addresses."""

    moving = False

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    async def find(self) -> GatewayAddress:
        return GatewayAddress(self._addresses[-1])


def fold(items: list[StreamItem]) -> Turn:
    turn = Turn()
    for item in items:
        if isinstance(item, Entry):
            apply(turn, item)
    return turn


async def read_turn(client: Backend, turn: str) -> list[StreamItem]:
    async with asyncio.timeout(PATIENCE_S):
        return [item async for item in client.stream(turn)]


@in_event_loop
async def test_client_asks_and_streams_a_turn_to_its_end(tmp_path: Path) -> None:
    async with start_gateway(tmp_path) as caller, GatewayClient.at(caller.url) as client:
        backend: Backend = client
        session = await backend.create_session(model=caller.model)
        turn = await backend.ask(session.id, asked("How much?", thinking="high", images=(PICTURE,)))
        folded = fold(await read_turn(backend, turn))
        assert copy_text(folded) == ANSWER
        assert gateway_answer(folded).reasoning_content == THOUGHT
        [past] = await backend.turns(session.id)
        assert (past.id, past.prompt, past.images, past.state) == (turn, "How much?", (PICTURE,), "done")
        assert copy_text(fold(list(past.entries))) == ANSWER
        assert [entry async for entry in client.replay(turn, speed=100)] == await read_turn(backend, turn)


@in_event_loop
async def test_client_waits_for_a_slow_import_and_a_slow_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine they take longer than any other request."""

    run = UserPlace.run

    async def run_slowly(place: UserPlace, compute: Computation, *arguments: object) -> BinaryIO:
        await asyncio.sleep(0.5)
        return await run(place, compute, *arguments)

    async with start_gateway(tmp_path) as caller, GatewayClient.at(caller.url) as client:
        session = (await client.create_session(model=caller.model)).id
        exported = await client.export(session, "json")
        monkeypatch.setattr(connection, "_RESPONSE_TIMEOUT_S", 0.1)
        monkeypatch.setattr(transfer, "MAX_IN_THREAD_BYTES", -1)
        monkeypatch.setattr(UserPlace, "run", run_slowly)
        assert (await client.import_file(exported.encode())).conversations[0].session
        assert await client.export(session, "json") == exported


@in_event_loop
async def test_client_lists_renames_searches_exports_and_deletes_sessions(tmp_path: Path) -> None:
    async with start_gateway(tmp_path, script=SCRIPT * 2) as caller, GatewayClient.at(caller.url) as client:
        sessions = [await client.create_session(model=caller.model) for _ in range(3)]
        await read_turn(client, await client.ask(sessions[0].id, asked("prompt-word")))
        await client.rename_session(sessions[0].id, "First")
        first_page, cursor = await client.sessions(limit=2)
        second_page, end = await client.sessions(limit=2, after=cursor)
        assert first_page[0].title == "First"
        assert {row.id for row in (*first_page, *second_page)} == {session.id for session in sessions}
        assert end == ""
        [hit] = await client.search("prompt-word")
        assert (hit.session, hit.kind, hit.session_title) == (sessions[0].id, "prompt", "First")
        assert await client.search("minus") == []
        assert [hit.kind for hit in await client.search("minus", thoughts=True)] == ["thought"]
        assert THOUGHT not in await client.export(sessions[0].id, "text")
        assert THOUGHT in await client.export(sessions[0].id, "markdown")
        await client.delete_session(sessions[0].id)
        with pytest.raises(GatewayRefusal) as refusal:
            await client.turns(sessions[0].id)
        assert refusal.value.code == "not_found"


@in_event_loop
async def test_client_lists_models_and_agents_and_keeps_other_preferences(tmp_path: Path) -> None:
    async with start_gateway(tmp_path) as caller, GatewayClient.at(caller.url) as client:
        models = {choice.id: choice for choice in await client.models()}
        assert any(choice.ready for choice in models.values())
        unready = next(choice for choice in models.values() if not choice.ready)
        assert unready.keyless
        names = list(models)
        unchecked = [name for name in names if models[name].unchecked]
        assert "solver" not in unchecked
        assert names.index("solver") < names.index(unchecked[0]) < names.index(unready.id)
        assert models["deepseek-r1"].thinking == "always"
        assert await client.agents()
        saved = await caller.call("GET", "/api/preferences")
        await caller.call("PUT", "/api/preferences", {**saved, "render": "plain"})
        display = {"preset": "trace"}
        await client.save_preferences(DisplayPreferences(display=display, language="pt-BR"))
        preferences = await client.preferences()
        assert (preferences.display["preset"], preferences.language) == ("trace", "pt-BR")
        assert (await caller.call("GET", "/api/preferences"))["render"] == "plain"


@in_event_loop
async def test_client_cancels_and_answers_now(tmp_path: Path) -> None:
    async with (
        start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller,
        GatewayClient.at(caller.url) as client,
    ):
        session = await client.create_session(model=caller.model)
        turn = await client.ask(session.id, asked("go"))
        await client.cancel(turn)
        outcome = fold(await read_turn(client, turn)).outcome
        assert outcome is not None
        assert outcome.ending is Ending.CANCELLED
        with pytest.raises(Refused, match="has ended"):
            await client.answer_now(turn)
        with pytest.raises(Refused, match="has ended"):
            await client.approve(turn, 0, granted=True)


@pytest.mark.parametrize("cut_after", [1500, 1777, 2003])
@in_event_loop
async def test_stream_resumes_after_cuts_and_yields_each_entry_once(tmp_path: Path, cut_after: int) -> None:
    script = [{"thinking": "one two three " * 10, "text": "four five", "delay_ms": 5}]
    async with start_gateway(tmp_path, script=script) as caller:
        session = await caller.create_session()
        turn = await caller.start_turn(session)
        async with cutting_proxy(caller.url, cut_after) as proxy, GatewayClient.at(proxy.url) as client:
            items = await read_turn(client, turn)
        expected = await caller.read_stream(turn)
    assert proxy.cuts > 2
    assert [item for item in items if isinstance(item, Entry)] == list(expected.entries.values())
    assert [item.attempt for item in items if isinstance(item, Reconnecting)] != []


@in_event_loop
async def test_stream_follows_a_gateway_that_was_restarted_on_another_port(tmp_path: Path) -> None:
    addresses: list[str] = []
    items: list[StreamItem] = []

    async def follow(turn: str) -> None:
        async with GatewayClient(LastAddress(addresses), address="") as client:
            async for item in client.stream(turn):
                items.append(item)

    async with start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller:
        addresses.append(caller.url)
        turn = await caller.start_turn(await caller.create_session())
        task = asyncio.create_task(follow(turn))
        await wait_until(lambda: len(items) > 10)
        await caller.gateway.turns.stop(0)
        await caller.gateway.reader_slots.close()
    await wait_until(lambda: task.done() or any(isinstance(item, Reconnecting) for item in items))
    async with start_gateway(tmp_path) as restarted:
        addresses.append(restarted.url)
        await asyncio.wait_for(task, PATIENCE_S)
        expected = await restarted.read_stream(turn)
    assert [item for item in items if isinstance(item, Entry)] == list(expected.entries.values())


@in_event_loop
async def test_unreachable_gateway_says_address_and_what_to_do() -> None:
    async with GatewayClient.at("http://127.0.0.1:9") as client:
        with pytest.raises(BackendUnreachable, match=r"127\.0\.0\.1:9.*thinkaloud serve"):
            await client.sessions()
        with pytest.raises(BackendUnreachable):
            await client.ask("ses_x", asked("x"))
    for address in ("nonsense", "file:///etc/passwd"):
        async with GatewayClient.at(address) as client:
            with pytest.raises(Refused, match="not an address"):
                await client.sessions()
    with pytest.raises(Refused, match="Invalid workspace"):
        GatewayClient.at("http://127.0.0.1:9", workspace="\x1b[31m")


@in_event_loop
async def test_lost_gateway_of_another_command_names_the_cause() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(break_off, "127.0.0.1", 0)
    address = GatewayAddress(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server:
        with (
            closing(GatewayConnection(FixedLocator(address, moving=True))) as connection,
            pytest.raises(BackendUnreachable, match=r"command that ran the gateway has ended.*ask -c"),
        ):
            await connection.send("GET", "/api/sessions")


@in_event_loop
async def test_another_server_is_not_taken_for_a_gateway() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n<html/>")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, GatewayClient.at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
        with pytest.raises(Refused, match="not a Thinkaloud gateway"):
            await client.sessions()


@in_event_loop
async def test_refused_question_has_the_gateways_own_words(tmp_path: Path) -> None:
    async with start_gateway(tmp_path) as caller, GatewayClient.at(caller.url) as client:
        session = await client.create_session(model=caller.model)
        with pytest.raises(Refused, match="neither a prompt"):
            await client.ask(session.id, asked(" "))
        with pytest.raises(Refused, match="Invalid thinking level: 'lots'"):
            await client.ask(session.id, asked("x", thinking="lots"))
        with pytest.raises(GatewayRefusal, match="malformed"):
            async with GatewayClient.at(caller.url, token="wrong") as other:
                await other.sessions()
