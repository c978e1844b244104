"""Asking: bytes become events, entries and turns; one connection serves many requests."""

import asyncio
from contextlib import aclosing

import pytest
from tests.client.upstream import (
    CHUNKED,
    KEY,
    REQUEST,
    STORY,
    STREAM,
    Seen,
    answer,
    chunk,
    client,
    run,
    serving,
    write,
)
from tests.patience import PATIENCE_S

from thinkaloud.canon import BlockGrew, Entry, Event, Refused, TurnEnded, TurnStarted
from thinkaloud.catalog.rows import Auth
from thinkaloud.client import ask, ask_sync, entries, steady_clock, stream, stream_sync
from thinkaloud.transcript import Ending, Turn, fold

WHOLE = (
    b'{"model":"m-1","choices":[{"message":{"role":"assistant","reasoning_content":'
    b'"Two and two \xe2\x86\x92 ?","content":"Four."},"finish_reason":"stop"}]}'
)


async def tell(seen: Seen) -> None:
    await seen.send(CHUNKED, *map(chunk, STORY), b"0\r\n\r\n")


def told(turn: Turn) -> tuple[str, str, Ending | None]:
    return turn.reasoning, turn.answer, turn.outcome.ending if turn.outcome else None


TOLD = ("Two and two → ?", "Four.", Ending.ANSWERED)


def test_a_stream_is_told_as_events() -> None:
    async def story() -> list[Event]:
        async with serving(tell) as upstream, client() as own:
            return [event async for event in stream(REQUEST, upstream.route(), client=own, write=write)]

    events = run(story())
    assert events[0] == TurnStarted("openai_chat", "m-1")
    assert isinstance(events[-1], TurnEnded)
    assert told(fold(events)) == TOLD


def test_a_whole_response_takes_the_same_way() -> None:
    async def whole(seen: Seen) -> None:
        await seen.send(answer("200 OK", WHOLE, Content_Type="application/json"))

    async def story() -> Turn:
        async with serving(whole) as upstream, client() as own:
            return await ask(REQUEST, upstream.route(), client=own, write=write)

    assert told(run(story())) == TOLD


def test_deltas_that_arrive_together_are_one_event() -> None:
    async def burst(seen: Seen) -> None:
        await seen.send(CHUNKED + chunk(b"".join(STORY)) + b"0\r\n\r\n")

    async def story() -> list[Event]:
        async with serving(burst) as upstream, client() as own:
            return [event async for event in stream(REQUEST, upstream.route(), client=own, write=write)]

    assert [event.text for event in run(story()) if isinstance(event, BlockGrew)] == list(TOLD[:2])


def test_a_turn_starts_when_its_request_went_out() -> None:
    async def slow(seen: Seen) -> None:
        await asyncio.sleep(0.2)
        await seen.send(STREAM, *STORY)

    async def story() -> list[Entry]:
        async with serving(slow) as upstream, client() as own:
            told = entries(REQUEST, upstream.route(), client=own, write=write, clock=lambda: 10_000)
            return [entry async for entry in told]

    stamped = run(story())
    assert [entry.seq for entry in stamped] == list(range(len(stamped)))
    assert (stamped[0].at_ms or 0) <= 9_810
    assert {entry.at_ms for entry in stamped[1:]} == {10_000}


def test_the_clock_is_near_the_time_of_day_and_never_goes_back() -> None:
    now_ms = steady_clock()
    first, second = now_ms(), now_ms()
    assert 1_600_000_000_000 < first <= second


def test_a_connection_is_kept_for_the_next_request() -> None:
    async def late_end(seen: Seen) -> None:
        await seen.send(CHUNKED, *map(chunk, STORY))
        await asyncio.sleep(0.05)
        await seen.send(b"0\r\n\r\n")

    async def story() -> list[int]:
        async with serving(late_end, keep=True) as upstream, client() as own:
            for _ in range(3):
                await ask(REQUEST, upstream.route(), client=own, write=write)
            return [seen.connection for seen in upstream.seen]

    assert run(story()) == [1, 1, 1]


def test_a_turn_that_is_over_is_not_held_up_by_a_connection_that_is_not() -> None:
    async def no_end(seen: Seen) -> None:
        await seen.send(CHUNKED, *map(chunk, STORY))
        await seen.gone()

    async def story() -> Turn:
        async with serving(no_end) as upstream, client() as own:
            return await asyncio.wait_for(ask(REQUEST, upstream.route(), client=own, write=write), PATIENCE_S)

    assert told(run(story())) == TOLD


@pytest.mark.parametrize(
    ("auth", "shown"),
    [
        (Auth.BEARER, f"authorization: bearer {KEY}"),
        (Auth.X_API_KEY, f"x-api-key: {KEY}"),
        (Auth.X_GOOG_API_KEY, f"x-goog-api-key: {KEY}"),
        (Auth.NONE, None),
    ],
)
def test_the_key_goes_into_the_header_that_the_row_names(auth: Auth, shown: str | None) -> None:
    async def story() -> str:
        async with serving(tell) as upstream, client() as own:
            await own.whole(upstream.provider(auth=auth), write(upstream.route(), REQUEST))
            return upstream.seen[0].head

    head = run(story()).lower()
    assert head.count(KEY) == (shown is not None)
    assert shown is None or shown in head
    assert head.startswith("post /v1/chat/completions http/1.1\r\n")
    assert "accept-encoding: identity\r\n" in head
    assert "cookie" not in head


def test_what_is_at_a_path_can_be_fetched() -> None:
    async def models(seen: Seen) -> None:
        await seen.send(answer("200 OK", b'{"data":[]}', Content_Type="application/json", Set_Cookie="a=b"))

    async def story() -> tuple[bytes, str]:
        async with serving(models, keep=True) as upstream, client() as own:
            await own.fetch(upstream.provider(), "/models")
            return await own.fetch(upstream.provider(), "/models"), upstream.seen[-1].head

    body, head = run(story())
    assert body == b'{"data":[]}'
    assert head.startswith("GET /v1/models HTTP/1.1")
    assert "ookie" not in head


def test_scripts_wait_in_an_ordinary_loop() -> None:
    """The server needs a loop of its own, so it runs in a thread here."""
    with asyncio.Runner() as runner:
        serve = serving(tell)
        upstream = runner.run(serve.__aenter__())
        loop = runner.get_loop()

        def script() -> tuple[Turn, list[Event], Event]:
            route = upstream.route()
            first = next(left := stream_sync(REQUEST, route, client=client(), write=write))
            del left
            events = list(stream_sync(REQUEST, route, client=client(), write=write))
            return ask_sync(REQUEST, route, client=client(), write=write), events, first

        async def in_a_thread() -> tuple[Turn, list[Event], Event]:
            return await loop.run_in_executor(None, script)

        turn, events, first = runner.run(in_a_thread())
        runner.run(serve.__aexit__(None, None, None))
    assert told(turn) == told(fold(events)) == TOLD
    assert isinstance(first, TurnStarted)


def test_scripts_are_told_when_a_loop_is_running() -> None:
    async def story() -> None:
        async with serving(tell) as upstream:
            with pytest.raises(Refused, match="await ask"):
                ask_sync(REQUEST, upstream.route(), write=write)
            with pytest.raises(Refused, match="async for event in stream"):
                stream_sync(REQUEST, upstream.route(), write=write)

    run(story())


def test_a_client_is_opened_once_and_before_it_sends() -> None:
    async def story() -> None:
        async with serving(tell) as upstream:
            with pytest.raises(Refused, match="not open"):
                await client().whole(upstream.provider(), write(upstream.route(), REQUEST))
            async with client() as own:
                with pytest.raises(Refused, match="open already"):
                    await own.__aenter__()

    run(story())


def test_leaving_early_drops_the_connection() -> None:
    left = asyncio.Event()

    async def endless(seen: Seen) -> None:
        await seen.send(STREAM, STORY[0])
        await seen.gone()
        left.set()

    async def story() -> None:
        async with serving(endless) as upstream, client() as own:
            async with aclosing(stream(REQUEST, upstream.route(), client=own, write=write)) as events:
                await anext(events)
            await asyncio.wait_for(left.wait(), PATIENCE_S)

    run(story())
