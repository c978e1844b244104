"""The event stream: live, late, resumed and replayed readers end in the same state."""

import asyncio
import json
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from sqlalchemy import Connection, func, select, update
from tests.client.upstream import STORY, STREAM, UpstreamRequest, serve_upstream, sse_event
from tests.faults.format_clients import FORMATS, ClientFormat
from tests.patience import PATIENCE_S
from tests.server.caller import (
    ACME,
    ANSWER,
    ENDLESS_SCRIPT,
    SLOW_SCRIPT,
    THOUGHT,
    Caller,
    StreamResult,
    client_without_retries,
    quick_settings,
    start_gateway,
    wait_until,
)

from thinkaloud.core.canon import Entry, Finish, TurnEnded, TurnFailed, TurnStarted
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.transcript import BlockStatus, Ending
from thinkaloud.gateway.server.run import LOCAL_ONLY, bind_socket
from thinkaloud.gateway.store.engine.database import NotSaved
from thinkaloud.gateway.store.log.event_log import LogConfig
from thinkaloud.gateway.store.log.finish import drop_timing, finished_from_entries, save_imported
from thinkaloud.gateway.store.log.recovery import Reaper, recover
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.queries.turns import NewTurnRow
from thinkaloud.gateway.store.rows import TurnRow
from thinkaloud.gateway.store.schema import sessions as session_rows
from thinkaloud.gateway.store.schema import turns as turn_rows

STALLED = [{"thinking": "a b c", "text": "d", "fault": {"kind": "stall", "after_events": 2, "seconds": 30}}]


async def first_entries(caller: Caller, turn: str, count: int) -> StreamResult:
    """Read this many entries, then drop the connection."""
    result = StreamResult()
    async for _ in caller.follow_stream(turn, result):
        if len(result.entries) >= count:
            break
    return result


def joined(*parts: StreamResult) -> StreamResult:
    """Join parts of one stream that were read one after the other."""
    whole = StreamResult()
    for part in parts:
        assert not whole.entries.keys() & part.entries.keys(), "an entry was sent twice"
        whole.entries |= part.entries
    return whole


def test_r003_reasoning_and_answer_are_separate_blocks(tmp_path: Path) -> None:
    """R003 R030: the start of a block names its channel, and every delta its block."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            result = await caller.run_turn(await caller.create_session())
            assert (result.turn.reasoning, result.turn.answer, result.state) == (THOUGHT, ANSWER, "done")
            assert list(result.entries) == list(range(len(result.entries)))
            channels: dict[int, str] = {}
            texts = {"reasoning": "", "text": ""}
            for line in result.data.splitlines():
                if b'"seq"' not in line:
                    continue
                event = json.loads(line.removeprefix(b"data: "))["event"]
                if event["type"] == "block.started":
                    channels[event["block"]] = event["kind"]
                elif event["type"] == "block.grew":
                    texts[channels[event["block"]]] += event["text"]
            assert texts == {"reasoning": THOUGHT, "text": ANSWER}
            assert result.data.startswith(b"retry: 1000\n\nid: 0\ndata: {")
            assert result.data.endswith(b'event: end\ndata: {"state":"done"}\n\n')

    asyncio.run(story())


def test_live_late_and_replay_readers_end_in_the_same_state(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            tabs = [asyncio.create_task(caller.read_stream(turn)) for _ in range(2)]
            await wait_until(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            await caller.wait_for_reasoning(turn, "one two")
            assert caller.gateway.turns.running_count == 1
            late = asyncio.create_task(caller.read_stream(turn))
            first, second, third = await asyncio.gather(*tabs, late)
            after, replayed = await caller.read_stream(turn), await caller.read_stream(turn, "?speed=50")
            for result in (second, third, after, replayed):
                assert result.entries == first.entries
                assert result.turn == first.turn
                assert result.events == first.events == [("end", {"state": "done"})]

    asyncio.run(story())


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_resume_returns_each_entry_once(tmp_path: Path, count: int) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            first_part = await first_entries(caller, turn, count)
            last = max(first_part.entries)
            by_header = asyncio.create_task(caller.read_stream(turn, Last_Event_ID=str(last)))
            by_query = await caller.read_stream(turn, f"?after={last}")
            whole = await caller.read_stream(turn)
            assert by_query.entries == (await by_header).entries
            assert joined(first_part, by_query).entries == whole.entries

    asyncio.run(story())


def test_last_event_id_header_may_be_ahead_of_after(tmp_path: Path) -> None:
    """A browser reconnects to the same URL, with the old `after`, and adds the newer id as a header."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            turn = await caller.start_turn(await caller.create_session())
            whole = await caller.read_stream(turn)
            back = await caller.read_stream(turn, "?after=1", Last_Event_ID="4")
            assert list(back.entries) == list(whole.entries)[5:]
            for header, query in (("1", "?after=4"), ("four", ""), ("-1", ""), ("9" * 40, "")):
                assert (await caller.read_stream(turn, query, Last_Event_ID=header)).status == 400
            for query in ("?after=x", "?after=-2", "?speed=0", "?speed=101", "?before=1"):
                assert (await caller.read_stream(turn, query)).status == 400

    asyncio.run(story())


def test_unknown_id_gets_a_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            turn = await caller.start_turn(await caller.create_session())
            whole = await caller.read_stream(turn)
            last = max(whole.entries)
            ahead = await caller.read_stream(turn, f"?after={last + 1}")
            assert ahead.events == [("reset", {"reason": "unknown_id", "last": last}), *whole.events]
            assert ahead.entries == whole.entries

    asyncio.run(story())


def test_ids_from_before_dropped_timing_get_a_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            whole = await caller.read_stream(turn)
            forget = partial(drop_timing, before_ms=caller.gateway.now_ms() + 1)
            assert await caller.gateway.database.write(forget) == 1
            again = await caller.read_stream(turn, "?after=3")
            assert again.events[0][0] == "reset"
            assert again.events[0][1]["reason"] == "renumbered"
            assert len(again.entries) < len(whole.entries)
            assert (again.turn.reasoning, again.turn.answer) == (whole.turn.reasoning, whole.turn.answer)
            assert (await caller.read_stream(turn, f"?after={max(again.entries)}")).status == 204

    asyncio.run(story())


def test_reader_with_all_entries_gets_204(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            turn = await caller.start_turn(await caller.create_session())
            last = max((await caller.read_stream(turn)).entries)
            for query, header in ((f"?after={last}", {}), ("", {"Last_Event_ID": str(last)})):
                result = await caller.read_stream(turn, query, **header)
                assert (result.status, result.data) == (204, b"")
            assert (await caller.read_stream(turn, f"?after={last - 1}")).status == 200

    asyncio.run(story())


def test_silent_stream_sends_heartbeats(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, script=STALLED, settings=quick_settings(heartbeat_s=0.05)
        ) as caller:
            turn = await caller.start_turn(await caller.create_session())
            result = StreamResult()
            async for _ in caller.follow_stream(turn, result):
                if result.comments >= 3:
                    break
            assert result.data.count(b": alive\n\n") == result.comments
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)

    asyncio.run(story())


def test_event_source_stops_after_the_end_of_an_interrupted_turn(tmp_path: Path) -> None:
    """A crashed gateway may have sent other entries under these ids, so the first resume starts again."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            await first_entries(caller, turn, 4)
            claim = update(turn_rows).values(epoch=turn_rows.c.epoch + 1)
            await caller.database.write(lambda conn: conn.execute(claim).rowcount)
            await wait_until(lambda: caller.gateway.turns.running_count == 0)
            await recover(caller.database, Reaper(node="reaper", lease_ms=0), now_ms=caller.gateway.now_ms())
            result = await caller.read_stream(turn, Last_Event_ID="0")
            assert result.state == "interrupted"
            last = max(result.entries)
            again = await caller.read_stream(turn, Last_Event_ID=str(last))
            assert again.events[0] == ("reset", {"reason": "unknown_id", "last": last})
            assert again.last_id == result.last_id != str(last)
            finished = await caller.read_stream(turn, Last_Event_ID=again.last_id)
            assert (finished.status, finished.data) == (204, b"")

    asyncio.run(story())


def test_stream_of_a_revoked_token_is_disconnected(tmp_path: Path) -> None:
    async def story() -> None:
        settings = quick_settings(revoked_s=0.05)
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT, settings=settings) as caller:
            owner, turn = caller.gateway.local_owner, await caller.start_turn(await caller.create_session())
            create = partial(users.create_token, user=owner.user, now_ms=1)
            (kept, kept_secret), (revoked, secret) = [
                await caller.database.write(partial(create, name=name)) for name in ("kept", "revoked")
            ]
            assert kept.id != revoked.id
            results = [StreamResult(), StreamResult()]
            readers = [
                asyncio.create_task(read_into(caller, turn, result, Authorization=f"Bearer {sent}"))
                for result, sent in zip(results, (kept_secret, secret), strict=True)
            ]
            await wait_until(lambda: all(result.entries for result in results))
            await caller.database.write(partial(users.revoke_token, token_id=revoked.id, now_ms=2))
            with pytest.raises(aiohttp.ClientError):
                await readers[1]
            seen = len(results[0].entries)
            await wait_until(lambda: len(results[0].entries) > seen)
            readers[0].cancel()

    asyncio.run(story())


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("client_format", FORMATS, ids=lambda client_format: client_format.path)
def test_response_of_a_revoked_token_is_disconnected_on_a_compatible_endpoint(
    tmp_path: Path, client_format: ClientFormat, stream: bool
) -> None:
    async def story() -> None:
        settings = quick_settings(revoked_s=0.05)
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT, settings=settings) as caller:
            owner = caller.gateway.local_owner
            create = partial(users.create_token, user=owner.user, name="client", now_ms=1)
            token, secret = await caller.database.write(create)
            body = {"model": caller.model, "stream": stream, **client_format.body}
            headers = {"Authorization": f"Bearer {secret}"}
            url = caller.url + client_format.path

            async def ask() -> None:
                async with caller.http.post(url, json=body, headers=headers) as response:
                    await response.read()

            asking = asyncio.create_task(ask())
            await wait_until(lambda: caller.gateway.turns.running_count == 1)
            await caller.database.write(partial(users.revoke_token, token_id=token.id, now_ms=2))
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(asking, PATIENCE_S)
            await wait_until(lambda: caller.gateway.turns.running_count == 0)

    asyncio.run(story())


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has this option")
def test_dead_reader_is_noticed_by_the_kernel() -> None:
    """Accepted connections have a time limit for unacknowledged bytes, and keepalive: together below 45 s."""
    with bind_socket(LOCAL_ONLY) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            timeout_s = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
            assert 0 < timeout_s < 45 - 15, "0 is no limit; 15 s is the time between two heartbeats"
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            idle_s, interval_s, count = (
                accepted.getsockopt(socket.IPPROTO_TCP, option)
                for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            )
            assert idle_s + interval_s * count < 45


def test_stream_before_the_first_event_is_empty(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await go_on.wait()
        await request.send(STREAM, *STORY)

    async def story() -> None:
        async with (
            serve_upstream(act) as upstream,
            start_gateway(tmp_path, extra=ACME.format(url=upstream.base_url)) as caller,
        ):
            turn = await caller.start_turn(await caller.create_session(), model="acme/m-1")
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "running"
            async with caller.http.get(f"{caller.url}/api/turns/{turn}/events") as response:
                assert response.headers["Content-Type"] == "text/event-stream"
                assert await response.content.readany() == b"retry: 1000\n\n"
            go_on.set()
            assert (await caller.read_stream(turn)).turn.answer == "Four."

    asyncio.run(story())


def test_turn_with_counts_that_no_database_stores_is_saved(tmp_path: Path) -> None:
    """Before, its end could not be saved, and it ran for ever."""
    counts = sse_event('{"choices":[],"usage":{"prompt_tokens":' + "9" * 30 + ',"completion_tokens":4}}')

    async def act(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:-1], counts, STORY[-1])

    async def story() -> None:
        async with (
            serve_upstream(act) as upstream,
            start_gateway(tmp_path, extra=ACME.format(url=upstream.base_url)) as caller,
        ):
            result = await caller.run_turn(await caller.create_session(), model="acme/m-1")
            assert (result.state, result.turn.answer) == ("done", "Four.")
            assert (result.turn.usage.input, result.turn.usage.output) == (None, 4)

    asyncio.run(story())


def test_turn_continues_without_readers(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            await first_entries(caller, turn, 3)
            await wait_until(lambda: caller.gateway.turns.running_count == 0)
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "done"

    asyncio.run(story())


Failing = tuple[Any, str, str]
FAILING: Sequence[Failing] = (
    ({"kind": "status", "status": 401}, "RateLimitError", ""),
    ({"kind": "cut", "after_events": 4}, "cut_off", "one two"),
    ({"kind": "stall", "after_events": 4, "seconds": 30}, "stalled", "one two"),
    ({"kind": "html"}, "provider_error", ""),
    ({"kind": "empty"}, "cut_off", ""),
)


@pytest.mark.parametrize(
    ("fault", "code", "reasoning"), FAILING, ids=[fault["kind"] for fault, _, _ in FAILING]
)
def test_provider_fault_ends_the_turn_and_keeps_the_text(
    tmp_path: Path, fault: dict[str, Any], code: str, reasoning: str
) -> None:
    """R046: the failure is shown, there is no fallback, and no reader waits forever."""

    async def story() -> None:
        script = [{**SLOW_SCRIPT[0], "fault": {**fault, "again": False}}]
        # Only a stall may end for its silence: on a busy machine, all streams have some.
        idle_s = 1.0 if code == "stalled" else PATIENCE_S
        async with start_gateway(
            tmp_path, script=script, client=client_without_retries(idle_s=idle_s)
        ) as caller:
            result = await caller.run_turn(await caller.create_session())
            assert result.state == "failed"
            outcome = result.turn.outcome
            assert outcome is not None
            assert outcome.ending in (Ending.FAILED, Ending.CUT_OFF)
            assert outcome.message
            assert outcome.cause == code or not reasoning
            assert result.turn.reasoning.startswith(reasoning)
            assert isinstance(result.entries[0].event, TurnStarted)
            assert all(block.status is not BlockStatus.RUNNING for block in result.turn.blocks)
            assert len(caller.simulator.requests) == 1

    asyncio.run(story())


def test_readers_per_turn_limit(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, script=ENDLESS_SCRIPT, settings=quick_settings(readers_per_turn=2)
        ) as caller:
            turn = await caller.start_turn(await caller.create_session())
            readers = [asyncio.create_task(caller.read_stream(turn)) for _ in range(2)]
            await wait_until(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            refused = await caller.refusal_message("GET", f"/api/turns/{turn}/events", status=429)
            assert "2 readers" in refused
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            assert [result.state for result in await asyncio.gather(*readers)] == ["cancelled"] * 2
            assert (await caller.read_stream(turn)).state == "cancelled"

    asyncio.run(story())


def test_stalled_reader_is_disconnected_and_blocks_no_other(tmp_path: Path) -> None:
    words = " ".join(["x" * 4000] * 1500)

    async def story() -> None:
        script = [{"text": words}]
        async with start_gateway(
            tmp_path, script=script, settings=quick_settings(send_timeout_s=2.0)
        ) as caller:
            turn = await caller.start_turn(await caller.create_session())
            stuck = socket.create_connection(("127.0.0.1", int(caller.url.rpartition(":")[2])))
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.sendall(f"GET /api/turns/{turn}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            result = await caller.read_stream(turn)
            assert result.turn.answer == words
            await wait_until(lambda: b"readers_live 0" in caller.gateway.metrics.text())
            stuck.close()

    asyncio.run(story())


def test_replay_speed_divides_the_gaps(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            stamps = [entry.at_ms for entry in (await caller.read_stream(turn)).entries.values()]
            assert stamps[0] is not None
            assert stamps[-1] is not None
            took_s = (stamps[-1] - stamps[0]) / 1000
            assert took_s > 0.4
            clock = asyncio.get_running_loop().time

            async def read(speed: str) -> float:
                started_s = clock()
                await caller.read_stream(turn, speed)
                return clock() - started_s

            usual_s = await read("?speed=1")
            faster_s, at_once_s = [
                # Of several readings the quickest, since others keep the machine busy too.
                min([await read(speed) for _ in range(3)])
                for speed in ("?speed=4", "")
            ]
            assert usual_s > took_s * 0.9
            assert usual_s > faster_s > took_s / 4 * 0.9
            assert usual_s > at_once_s

    asyncio.run(story())


def test_replay_cuts_long_gaps(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(heartbeat_s=0.02)) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            body = await caller.call("GET", f"/api/sessions/{session}/export?format=json")
            for entry in body["exchanges"][0]["entries"][4:]:
                entry["at_ms"] += 3_600_000
            copied = await caller.call("POST", "/api/import", body, status=201)
            turn = (await caller.call("GET", f"/api/sessions/{copied['id']}"))["turns"][0]["id"]
            started_s = asyncio.get_running_loop().time()
            async with asyncio.timeout(60):  # of the hour there would be three minutes
                result = await caller.read_stream(turn, "?speed=20")
            assert asyncio.get_running_loop().time() - started_s > 0.24
            assert result.comments, "a long pause has its signs of life too"

    asyncio.run(story())


SOON = LogConfig(retry_s=0.02, slow_commit_s=PATIENCE_S)


async def read_into(caller: Caller, turn: str, result: StreamResult, **headers: str) -> None:
    """A turn's stream to its end, for somebody who looks at it meanwhile."""
    async for _ in caller.follow_stream(turn, result, **headers):
        pass


def test_unsaved_entries_are_sent_with_a_storage_event(tmp_path: Path) -> None:
    go_on, finish = asyncio.Event(), asyncio.Event()

    async def act(request: UpstreamRequest) -> None:
        await request.send(STREAM, *STORY[:2])
        await go_on.wait()
        await request.send(*STORY[2:4])
        await finish.wait()
        await request.send(*STORY[4:])

    async def story() -> None:
        async with (
            serve_upstream(act) as upstream,
            start_gateway(
                tmp_path,
                settings=quick_settings(log_config=SOON),
                extra=ACME.format(url=upstream.base_url),
            ) as caller,
        ):
            turn = await caller.start_turn(await caller.create_session(), model="acme/m-1")
            result = StreamResult()
            reading = asyncio.create_task(read_into(caller, turn, result))
            await caller.wait_for_reasoning(turn, "Two")
            await caller.set_read_only(True)
            go_on.set()
            await wait_until(lambda: not caller.gateway.log.saved)
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "not_saved"
            await caller.call("POST", "/api/sessions", {}, status=503)
            await wait_until(lambda: result.events)
            await caller.set_read_only(False)
            await wait_until(lambda: len(result.events) > 1)
            finish.set()
            await reading
            assert result.events == [
                ("storage", {"saved": False}),
                ("storage", {"saved": True}),
                ("end", {"state": "done"}),
            ]
            assert (await caller.read_stream(turn)).entries == result.entries
            assert (await caller.call("GET", "/readyz"))["status"] == "ok"

    asyncio.run(story())


def test_turn_fails_when_unsaved_memory_is_full(tmp_path: Path) -> None:
    log_config = LogConfig(retry_s=0.02, max_unsaved_bytes=2000, slow_commit_s=PATIENCE_S)

    async def story() -> None:
        async with start_gateway(
            tmp_path, script=ENDLESS_SCRIPT, settings=quick_settings(log_config=log_config)
        ) as caller:
            turn = await caller.start_turn(await caller.create_session())
            reading = asyncio.create_task(caller.read_stream(turn))
            await caller.wait_for_reasoning(turn, "again and")
            await caller.set_read_only(True)
            await wait_until(lambda: caller.gateway.log.unsaved_bytes > 2000)
            await asyncio.sleep(0.1)
            await caller.set_read_only(False)
            result = await reading
            assert result.state == "failed"
            outcome = result.turn.outcome
            assert outcome is not None
            assert outcome.cause == "not_saved"
            assert list(result.entries) == list(range(len(result.entries)))
            assert (await caller.read_stream(turn)).entries == result.entries

    asyncio.run(story())


def test_stop_ends_turns_and_disconnects_readers(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=[*SLOW_SCRIPT, *ENDLESS_SCRIPT]) as caller:
            session = await caller.create_session()
            finished = await caller.start_turn(session)
            await caller.read_stream(finished)
            turn = await caller.start_turn(session)
            live = asyncio.create_task(caller.read_stream(turn))
            replay = asyncio.create_task(caller.read_stream(finished, "?speed=0.01"))
            await wait_until(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            await caller.wait_for_reasoning(turn, "again and again")
            await caller.gateway.stop()
            result = await live
            assert result.state == "interrupted"
            assert isinstance(result.entries[max(result.entries)].event, TurnFailed)
            assert result.turn.reasoning.startswith("again and again")
            assert (await replay).events == [], "who is not at the end comes back with the last id"
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "stopping"
            await caller.refusal_message(
                "POST", f"/api/sessions/{session}/turns", {"prompt": "More?"}, status=503
            )
            assert (await caller.read_stream(turn)).status == 503
        async with start_gateway(tmp_path) as caller:
            assert (await caller.read_stream(turn)).entries == result.entries

    asyncio.run(story())


def test_unfinished_turn_is_interrupted_at_the_next_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            owner, now_ms = caller.gateway.local_owner, caller.gateway.now_ms()

            def leave(conn: Connection) -> str:
                row = sessions.get(conn, owner, session)
                assert row is not None
                turn_request = NewTurnRow(messages=(UserMessage("x"),), model="m")
                return turns.start_turn(conn, row, turn_request, now_ms=now_ms, writer="gone").turn.id

            turn = await caller.database.write(leave)
        async with start_gateway(tmp_path) as caller:
            result = await caller.read_stream(turn)
            assert result.state == "interrupted"
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "interrupted"
            assert (await caller.run_turn(session)).state == "done"

    asyncio.run(story())


def test_sweep_ends_turns_that_nobody_runs_and_deletes_imports_that_were_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(sweep_s=0.02)) as caller:
            left, running = await caller.create_session(), await caller.create_session()
            gateway, owner = caller.gateway, caller.gateway.local_owner

            def leave(conn: Connection) -> str:
                row = sessions.get(conn, owner, left)
                assert row is not None
                half = sessions.create(conn, owner, now_ms=1, title="Half")
                conn.execute(update(session_rows).where(session_rows.c.key == half.key).values(whole=False))
                turn_request = NewTurnRow(messages=(UserMessage("x"),), model="m")
                new = sessions.create(conn, owner, now_ms=1, title="A conversation of long ago")
                sessions.hide(conn, new)
                imported = msgspec.structs.replace(turn_request, imported=True)
                ended = [Entry(seq=0, event=TurnStarted()), Entry(seq=1, event=TurnEnded(Finish.STOP))]
                save_imported(conn, new, imported, finished_from_entries(ended), created_ms=1)
                writer = gateway.node.id
                return turns.start_turn(conn, row, turn_request, now_ms=1, writer=writer).turn.id

            def hidden(conn: Connection) -> int | None:
                return conn.scalar(select(func.count()).where(~session_rows.c.whole))

            turn = await caller.database.write(leave)
            assert (await caller.run_turn(running)).state == "done", "a turn that runs is not swept"
            assert (await caller.read_stream(turn)).state == "interrupted"
            async with asyncio.timeout(PATIENCE_S):
                while await caller.database.read(hidden) == 2:
                    await asyncio.sleep(0.02)
            assert await caller.database.read(hidden) == 1, "an import that runs is left alone"

    asyncio.run(story())


def test_turn_that_cannot_be_ended_is_not_forgotten_and_keeps_the_sweep_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(sweep_s=0.02)) as caller:
            session, gateway = await caller.create_session(), caller.gateway
            write, failures = caller.database.write, 0

            def leave(conn: Connection) -> TurnRow:
                row = sessions.get(conn, gateway.local_owner, session)
                assert row is not None
                turn_request = NewTurnRow(messages=(UserMessage("x"),), model="m")
                return turns.start_turn(conn, row, turn_request, now_ms=1, writer=gateway.node.id).turn

            def give_up_import(conn: Connection) -> None:
                half = sessions.create(conn, gateway.local_owner, now_ms=1, title="Half")
                conn.execute(update(session_rows).where(session_rows.c.key == half.key).values(whole=False))

            def hidden(conn: Connection) -> int | None:
                return conn.scalar(select(func.count()).where(~session_rows.c.whole))

            async def fail_to_save(change: Any) -> Any:
                nonlocal failures
                if isinstance(change, partial) and change.keywords.get("key") == turn.key:
                    failures += 1
                    raise NotSaved("The row is locked.")
                return await write(change)

            async def fail_to_read(query: Any) -> Any:
                nonlocal failures
                failures += 1
                raise NotSaved("The database is away.")

            monkeypatch.setattr(caller.database, "write", fail_to_save)
            turn = await write(leave)
            await wait_until(lambda: failures)
            await write(give_up_import)
            async with asyncio.timeout(PATIENCE_S):
                while await caller.database.read(hidden):
                    await asyncio.sleep(0.02)
            with monkeypatch.context() as away:
                failures = 0
                away.setattr(caller.database, "read", fail_to_read)
                await wait_until(lambda: failures > 3)
                assert list(gateway.node._unfinished) == [turn.key]
            monkeypatch.undo()
            assert (await caller.read_stream(turn.id)).state == "interrupted"
            await wait_until(lambda: not gateway.node._unfinished)

    asyncio.run(story())


def test_timing_of_old_turns_is_dropped_if_configured(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            whole = await caller.read_stream(turn)
        async with start_gateway(tmp_path, settings=quick_settings(forget_timing_after_days=0)) as caller:
            async with asyncio.timeout(PATIENCE_S):
                while len((result := await caller.read_stream(turn)).entries) >= len(whole.entries):
                    await asyncio.sleep(0.02)
            assert result.turn.reasoning == whole.turn.reasoning

    asyncio.run(story())


def test_stream_sends_log_lines_unchanged(tmp_path: Path) -> None:
    """The bytes of the stream are the bytes of the log."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=[{"text": "\u2028 ü 💭 \r\n\n data: x"}]) as caller:
            turn = await caller.start_turn(await caller.create_session())
            result = await caller.read_stream(turn)
            sent_lines = [line[6:] for line in result.data.split(b"\n") if line.startswith(b'data: {"seq"')]
            assert sent_lines == [msgspec.json.encode(entry) for entry in result.entries.values()]
            assert result.turn.answer == "\u2028 ü 💭 \r\n\n data: x"

    asyncio.run(story())
