"""The stream of a turn: whoever joins, resumes or replays ends where the first reader does."""

import asyncio
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, select
from tests.client.upstream import STORY, STREAM, Seen, serving
from tests.patience import PATIENCE_S
from tests.server.calling import (
    ACME,
    ANSWER,
    ENDLESS,
    SLOW,
    THOUGHT,
    Caller,
    Told,
    calling,
    eventually,
    impatient,
    quick,
)

from thinkaloud.canon import TurnFailed, TurnStarted
from thinkaloud.canon.requests import UserMessage
from thinkaloud.store import schema, sessions, turns
from thinkaloud.store.folding import forget_timing
from thinkaloud.store.log import Pace
from thinkaloud.store.turns import Asked
from thinkaloud.transcript import Ending, Status

STALLED = [{"thinking": "a b c", "text": "d", "fault": {"kind": "stall", "after_events": 2, "seconds": 30}}]


async def first_entries(caller: Caller, turn: str, count: int) -> Told:
    """So many entries of a stream, and then the connection is dropped."""
    told = Told()
    async for _ in caller.follow(turn, told):
        if len(told.entries) >= count:
            break
    return told


def joined(*parts: Told) -> Told:
    """Parts of one stream, read one after the other."""
    whole = Told()
    for part in parts:
        assert not whole.entries.keys() & part.entries.keys(), "an entry came twice"
        whole.entries |= part.entries
    return whole


def test_r003_thoughts_and_answer_come_on_channels_of_their_own(tmp_path: Path) -> None:
    """R003 R030: every delta says of which block it is, and the block of what kind."""

    async def story() -> None:
        async with calling(tmp_path) as caller:
            told = await caller.answered(await caller.session())
            assert (told.turn.reasoning, told.turn.answer, told.state) == (THOUGHT, ANSWER, "done")
            assert list(told.entries) == list(range(len(told.entries)))
            assert told.data.startswith(b"retry: 1000\n\nid: 0\ndata: {")
            assert told.data.endswith(b'event: end\ndata: {"state":"done"}\n\n')

    asyncio.run(story())


def test_two_tabs_a_late_joiner_and_a_replay_end_in_the_same_state(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            tabs = [asyncio.create_task(caller.read(turn)) for _ in range(2)]
            await eventually(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            await caller.thinking(turn, "one two")
            assert caller.gateway.runs.live == 1
            late = asyncio.create_task(caller.read(turn))
            first, second, third = await asyncio.gather(*tabs, late)
            after, replayed = await caller.read(turn), await caller.read(turn, "?speed=50")
            for told in (second, third, after, replayed):
                assert told.entries == first.entries
                assert told.turn == first.turn
                assert told.named == first.named == [("end", {"state": "done"})]

    asyncio.run(story())


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_a_reader_that_was_cut_off_goes_on_where_it_was(tmp_path: Path, count: int) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            before = await first_entries(caller, turn, count)
            last = max(before.entries)
            by_header = asyncio.create_task(caller.read(turn, Last_Event_ID=str(last)))
            by_query = await caller.read(turn, f"?after={last}")
            whole = await caller.read(turn)
            assert by_query.entries == (await by_header).entries
            assert joined(before, by_query).entries == whole.entries

    asyncio.run(story())


def test_a_browser_that_comes_back_brings_both_places(tmp_path: Path) -> None:
    """It asks for the address it had, with its old `after`, and adds the newer id in a header."""

    async def story() -> None:
        async with calling(tmp_path) as caller:
            turn = await caller.begin(await caller.session())
            whole = await caller.read(turn)
            back = await caller.read(turn, "?after=1", Last_Event_ID="4")
            assert list(back.entries) == list(whole.entries)[5:]
            for header, query in (("1", "?after=4"), ("four", ""), ("-1", ""), ("9" * 40, "")):
                assert (await caller.read(turn, query, Last_Event_ID=header)).status == 400
            for query in ("?after=x", "?after=-2", "?speed=0", "?speed=101", "?before=1"):
                assert (await caller.read(turn, query)).status == 400

    asyncio.run(story())


def test_an_id_that_is_not_in_the_log_is_answered_by_a_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            turn = await caller.begin(await caller.session())
            whole = await caller.read(turn)
            last = max(whole.entries)
            ahead = await caller.read(turn, f"?after={last + 1}")
            assert ahead.named == [("reset", {"reason": "unknown_id", "last": last}), *whole.named]
            assert ahead.entries == whole.entries

    asyncio.run(story())


def test_ids_of_a_log_whose_timing_was_forgotten_are_not_taken_for_the_new_ones(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            whole = await caller.read(turn)
            forget = partial(forget_timing, before_ms=caller.gateway.now_ms() + 1)
            assert await caller.gateway.database.write(forget) == 1
            again = await caller.read(turn, "?after=3")
            assert again.named[0][0] == "reset"
            assert again.named[0][1]["reason"] == "renumbered"
            assert len(again.entries) < len(whole.entries)
            assert (again.turn.reasoning, again.turn.answer) == (whole.turn.reasoning, whole.turn.answer)
            assert (await caller.read(turn, f"?after={max(again.entries)}")).status == 204

    asyncio.run(story())


def test_who_has_all_of_a_finished_turn_is_told_not_to_come_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            turn = await caller.begin(await caller.session())
            last = max((await caller.read(turn)).entries)
            for query, header in ((f"?after={last}", {}), ("", {"Last_Event_ID": str(last)})):
                told = await caller.read(turn, query, **header)
                assert (told.status, told.data) == (204, b"")
            assert (await caller.read(turn, f"?after={last - 1}")).status == 200

    asyncio.run(story())


def test_a_silent_stream_says_that_it_lives(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=STALLED, settings=quick(heartbeat_s=0.05)) as caller:
            turn = await caller.begin(await caller.session())
            told = Told()
            async for _ in caller.follow(turn, told):
                if told.comments >= 3:
                    break
            assert told.data.count(b": alive\n\n") == told.comments
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)

    asyncio.run(story())


def test_a_turn_that_waits_for_its_first_word_has_an_empty_stream(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def act(seen: Seen) -> None:
        await go_on.wait()
        await seen.send(STREAM, *STORY)

    async def story() -> None:
        async with (
            serving(act) as upstream,
            calling(tmp_path, more=ACME.format(url=upstream.base_url)) as caller,
        ):
            turn = await caller.begin(await caller.session(), model="acme/m-1")
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "running"
            async with caller.http.get(f"{caller.url}/api/turns/{turn}/events") as response:
                assert response.headers["Content-Type"] == "text/event-stream"
                assert await response.content.readany() == b"retry: 1000\n\n"
            go_on.set()
            assert (await caller.read(turn)).turn.answer == "Four."

    asyncio.run(story())


def test_a_run_goes_on_when_its_readers_leave(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            await first_entries(caller, turn, 3)
            await eventually(lambda: caller.gateway.runs.live == 0)
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


@pytest.mark.parametrize(("fault", "code", "said"), FAILING, ids=[fault["kind"] for fault, _, _ in FAILING])
def test_what_goes_wrong_upstream_ends_the_turn_and_keeps_what_was_said(
    tmp_path: Path, fault: dict[str, Any], code: str, said: str
) -> None:
    """R046: the failure is shown; nothing is asked elsewhere, and nobody waits for ever."""

    async def story() -> None:
        script = [{**SLOW[0], "fault": {**fault, "again": False}}]
        # Only a stall may end for its silence: on a busy machine, all streams have some.
        idle_s = 1.0 if code == "stalled" else PATIENCE_S
        async with calling(tmp_path, script=script, client=impatient(idle_s=idle_s)) as caller:
            told = await caller.answered(await caller.session())
            assert told.state == "failed"
            outcome = told.turn.outcome
            assert outcome is not None
            assert outcome.ending in (Ending.FAILED, Ending.CUT_OFF)
            assert outcome.message
            assert outcome.cause == code or not said
            assert told.turn.reasoning.startswith(said)
            assert isinstance(told.entries[0].event, TurnStarted)
            assert all(block.status is not Status.RUNNING for block in told.turn.blocks)
            assert len(caller.simulator.requests) == 1

    asyncio.run(story())


def test_more_readers_than_the_limit_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=ENDLESS, settings=quick(readers_per_turn=2)) as caller:
            turn = await caller.begin(await caller.session())
            readers = [asyncio.create_task(caller.read(turn)) for _ in range(2)]
            await eventually(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            refused = await caller.refused("GET", f"/api/turns/{turn}/events", status=429)
            assert "2 readers" in refused
            await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
            assert [told.state for told in await asyncio.gather(*readers)] == ["cancelled"] * 2
            assert (await caller.read(turn)).state == "cancelled"

    asyncio.run(story())


def test_a_reader_that_takes_nothing_is_given_up_and_holds_no_one_back(tmp_path: Path) -> None:
    words = " ".join(["x" * 4000] * 1500)

    async def story() -> None:
        script = [{"text": words}]
        async with calling(tmp_path, script=script, settings=quick(send_timeout_s=2.0)) as caller:
            turn = await caller.begin(await caller.session())
            stuck = socket.create_connection(("127.0.0.1", int(caller.url.rpartition(":")[2])))
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.sendall(f"GET /api/turns/{turn}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            told = await caller.read(turn)
            assert told.turn.answer == words
            await eventually(lambda: b"readers_live 0" in caller.gateway.metrics.text())
            stuck.close()

    asyncio.run(story())


def test_a_replay_keeps_the_gaps_and_a_faster_one_divides_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            stamps = [entry.at_ms for entry in (await caller.read(turn)).entries.values()]
            assert stamps[0] is not None
            assert stamps[-1] is not None
            took_s = (stamps[-1] - stamps[0]) / 1000
            assert took_s > 0.4
            clock = asyncio.get_running_loop().time

            async def read(speed: str) -> float:
                begun = clock()
                await caller.read(turn, speed)
                return clock() - begun

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


def test_an_hour_of_silence_does_not_stall_a_replay(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, settings=quick(heartbeat_s=0.02)) as caller:
            session = await caller.session()
            await caller.answered(session)
            kept = await caller.call("GET", f"/api/sessions/{session}/export?format=json")
            for entry in kept["exchanges"][0]["entries"][4:]:
                entry["at_ms"] += 3_600_000
            copied = await caller.call("POST", "/api/import", kept, status=201)
            turn = (await caller.call("GET", f"/api/sessions/{copied['id']}"))["turns"][0]["id"]
            begun = asyncio.get_running_loop().time()
            async with asyncio.timeout(60):  # of the hour there would be three minutes
                told = await caller.read(turn, "?speed=20")
            assert asyncio.get_running_loop().time() - begun > 0.24
            assert told.comments > 2, "a long pause has its signs of life too"

    asyncio.run(story())


SOON = Pace(retry_s=0.02)


async def read(caller: Caller, turn: str, told: Told) -> None:
    """A turn's stream to its end, for somebody who looks at it meanwhile."""
    async for _ in caller.follow(turn, told):
        pass


def test_what_is_not_on_disk_is_shown_and_said_to_be_unsaved(tmp_path: Path) -> None:
    go_on, finish = asyncio.Event(), asyncio.Event()

    async def act(seen: Seen) -> None:
        await seen.send(STREAM, *STORY[:2])
        await go_on.wait()
        await seen.send(*STORY[2:4])
        await finish.wait()
        await seen.send(*STORY[4:])

    async def story() -> None:
        async with (
            serving(act) as upstream,
            calling(tmp_path, settings=quick(pace=SOON), more=ACME.format(url=upstream.base_url)) as caller,
        ):
            turn = await caller.begin(await caller.session(), model="acme/m-1")
            told = Told()
            reading = asyncio.create_task(read(caller, turn, told))
            await caller.thinking(turn, "Two")
            await caller.set_read_only(True)
            go_on.set()
            await eventually(lambda: not caller.gateway.log.saved)
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "not_saved"
            await caller.call("POST", "/api/sessions", {}, status=503)
            await eventually(lambda: told.named)
            await caller.set_read_only(False)
            await eventually(lambda: len(told.named) > 1)
            finish.set()
            await reading
            assert told.named == [
                ("storage", {"saved": False}),
                ("storage", {"saved": True}),
                ("end", {"state": "done"}),
            ]
            assert (await caller.read(turn)).entries == told.entries
            assert (await caller.call("GET", "/readyz"))["status"] == "ok"

    asyncio.run(story())


def test_a_turn_that_outgrows_the_memory_for_what_is_unsaved_ends_once_there_is_room(tmp_path: Path) -> None:
    pace = Pace(retry_s=0.02, held_bytes=2000)

    async def story() -> None:
        async with calling(tmp_path, script=ENDLESS, settings=quick(pace=pace)) as caller:
            turn = await caller.begin(await caller.session())
            reading = asyncio.create_task(caller.read(turn))
            await caller.thinking(turn, "again and")
            await caller.set_read_only(True)
            await eventually(lambda: caller.gateway.log.held_bytes > 2000)
            await asyncio.sleep(0.1)
            await caller.set_read_only(False)
            told = await reading
            assert told.state == "failed"
            outcome = told.turn.outcome
            assert outcome is not None
            assert outcome.cause == "not_saved"
            assert list(told.entries) == list(range(len(told.entries)))
            assert (await caller.read(turn)).entries == told.entries

    asyncio.run(story())


def test_a_gateway_that_stops_ends_its_turns_and_lets_its_readers_go(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=[*SLOW, *ENDLESS]) as caller:
            session = await caller.session()
            finished = await caller.begin(session)
            await caller.read(finished)
            turn = await caller.begin(session)
            live = asyncio.create_task(caller.read(turn))
            replay = asyncio.create_task(caller.read(finished, "?speed=0.01"))
            await eventually(lambda: b"readers_live 2" in caller.gateway.metrics.text())
            await caller.thinking(turn, "again and again")
            await caller.gateway.stop()
            told = await live
            assert told.state == "interrupted"
            assert isinstance(told.entries[max(told.entries)].event, TurnFailed)
            assert told.turn.reasoning.startswith("again and again")
            assert (await replay).named == [], "who is not at the end comes back with the last id"
            assert (await caller.call("GET", "/readyz", status=503))["status"] == "stopping"
            await caller.refused("POST", f"/api/sessions/{session}/turns", {"prompt": "More?"}, status=503)
            assert (await caller.read(turn)).status == 503
        async with calling(tmp_path) as caller:
            assert (await caller.read(turn)).entries == told.entries

    asyncio.run(story())


def test_a_turn_that_was_left_behind_is_interrupted_at_the_next_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path) as caller:
            session = await caller.session()
            owner, now_ms = caller.gateway.local, caller.gateway.now_ms()

            def leave(conn: Connection) -> str:
                row = sessions.get(conn, owner, session)
                assert row is not None
                asked = Asked(messages=(UserMessage("x"),), model="m")
                return turns.start(conn, row, asked, now_ms=now_ms, writer="gone", lease_until_ms=0).turn.id

            turn = await caller.database.write(leave)
        async with calling(tmp_path) as caller:
            told = await caller.read(turn)
            assert told.state == "interrupted"
            assert (await caller.call("GET", f"/api/turns/{turn}"))["state"] == "interrupted"
            assert (await caller.answered(session)).state == "done"

    asyncio.run(story())


def test_the_lease_on_a_live_turn_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thinkaloud.server.runs.LEASE_MS", 60)

    async def story() -> None:
        async with calling(tmp_path, script=ENDLESS) as caller:
            turn = await caller.begin(await caller.session())

            async def lease_ms() -> int:
                column = schema.turns.c.lease_until_ms
                query = select(column).where(schema.turns.c.id == turn)
                return await caller.database.read(lambda conn: conn.scalars(query).one())

            first = await lease_ms()
            async with asyncio.timeout(PATIENCE_S):
                while await lease_ms() <= first + 60:
                    await asyncio.sleep(0.02)

    asyncio.run(story())


def test_the_pace_of_old_turns_is_forgotten_where_that_is_wished(tmp_path: Path) -> None:
    async def story() -> None:
        async with calling(tmp_path, script=SLOW) as caller:
            turn = await caller.begin(await caller.session())
            whole = await caller.read(turn)
        async with calling(tmp_path, settings=quick(forget_timing_after_days=0)) as caller:
            async with asyncio.timeout(PATIENCE_S):
                while len((told := await caller.read(turn)).entries) >= len(whole.entries):
                    await asyncio.sleep(0.02)
            assert told.turn.reasoning == whole.turn.reasoning

    asyncio.run(story())


def test_lines_go_out_as_they_are_kept(tmp_path: Path) -> None:
    """Nothing is decoded on the way: the bytes of the stream are the bytes of the log."""

    async def story() -> None:
        async with calling(tmp_path, script=[{"text": "\u2028 ü 💭 \r\n\n data: x"}]) as caller:
            turn = await caller.begin(await caller.session())
            told = await caller.read(turn)
            sent = [line[6:] for line in told.data.split(b"\n") if line.startswith(b'data: {"seq"')]
            assert sent == [msgspec.json.encode(entry) for entry in told.entries.values()]
            assert told.turn.answer == "\u2028 ü 💭 \r\n\n data: x"

    asyncio.run(story())
