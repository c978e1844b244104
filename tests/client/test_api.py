"""Asking a model: bytes become events, entries and turns; one connection serves many requests."""

import asyncio
from contextlib import aclosing

import pytest
from tests.client.upstream import (
    CHUNKED,
    KEY,
    REQUEST,
    STORY,
    STREAM,
    UpstreamRequest,
    http_chunk,
    http_response,
    make_client,
    prepared,
    run,
    serve_upstream,
    write_request,
)
from tests.patience import PATIENCE_S

from thinkaloud.client import Options, ask, ask_sync, entries, monotonic_clock, stream, stream_sync
from thinkaloud.core.canon import BlockGrew, Entry, Event, Refused, TurnEnded, TurnStarted
from thinkaloud.core.catalog.rows import AuthScheme
from thinkaloud.core.transcript import Ending, Turn, fold

WHOLE = (
    b'{"model":"m-1","choices":[{"message":{"role":"assistant","reasoning_content":'
    b'"Two and two \xe2\x86\x92 ?","content":"Four."},"finish_reason":"stop"}]}'
)


async def send_story(request: UpstreamRequest) -> None:
    await request.send(CHUNKED, *map(http_chunk, STORY), b"0\r\n\r\n")


def summary(turn: Turn) -> tuple[str, str, Ending | None]:
    return turn.reasoning, turn.answer, turn.outcome.ending if turn.outcome else None


SUMMARY = ("Two and two → ?", "Four.", Ending.ANSWERED)


def test_stream_yields_events() -> None:
    async def scenario() -> list[Event]:
        async with serve_upstream(send_story) as upstream, make_client() as http_client:
            return [
                event
                async for event in stream(prepared(upstream.route()), options=Options(client=http_client))
            ]

    events = run(scenario())
    assert events[0] == TurnStarted("openai_chat", "m-1")
    assert isinstance(events[-1], TurnEnded)
    assert summary(fold(events)) == SUMMARY


def test_a_whole_response_gives_the_same_events() -> None:
    async def whole(request: UpstreamRequest) -> None:
        await request.send(http_response("200 OK", WHOLE, Content_Type="application/json"))

    async def scenario() -> Turn:
        async with serve_upstream(whole) as upstream, make_client() as http_client:
            return await ask(prepared(upstream.route()), options=Options(client=http_client))

    assert summary(run(scenario())) == SUMMARY


def test_deltas_that_arrive_together_are_one_event() -> None:
    async def burst(request: UpstreamRequest) -> None:
        await request.send(CHUNKED + http_chunk(b"".join(STORY)) + b"0\r\n\r\n")

    async def scenario() -> list[Event]:
        async with serve_upstream(burst) as upstream, make_client() as http_client:
            return [
                event
                async for event in stream(prepared(upstream.route()), options=Options(client=http_client))
            ]

    assert [event.text for event in run(scenario()) if isinstance(event, BlockGrew)] == list(SUMMARY[:2])


def test_a_turn_starts_when_its_request_was_sent() -> None:
    async def slow(request: UpstreamRequest) -> None:
        await asyncio.sleep(0.2)
        await request.send(STREAM, *STORY)

    async def scenario() -> list[Entry]:
        async with serve_upstream(slow) as upstream, make_client() as http_client:
            answer_entries = entries(
                prepared(upstream.route()), options=Options(client=http_client), clock=lambda: 10_000
            )
            return [entry async for entry in answer_entries]

    stamped_entries = run(scenario())
    assert [entry.seq for entry in stamped_entries] == list(range(len(stamped_entries)))
    assert (stamped_entries[0].at_ms or 0) <= 9_810
    assert {entry.at_ms for entry in stamped_entries[1:]} == {10_000}


def test_monotonic_clock_is_near_the_time_of_day_and_never_goes_back() -> None:
    now_ms = monotonic_clock()
    first, second = now_ms(), now_ms()
    assert 1_600_000_000_000 < first <= second


def test_a_connection_is_kept_for_the_next_request() -> None:
    async def late_end(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, *map(http_chunk, STORY))
        await asyncio.sleep(0.05)
        await request.send(b"0\r\n\r\n")

    async def scenario() -> list[int]:
        async with serve_upstream(late_end, keep=True) as upstream, make_client() as http_client:
            for _ in range(3):
                await ask(prepared(upstream.route()), options=Options(client=http_client))
            return [request.connection for request in upstream.requests]

    assert run(scenario()) == [1, 1, 1]


def test_an_ended_turn_does_not_wait_for_its_connection() -> None:
    async def no_end(request: UpstreamRequest) -> None:
        await request.send(CHUNKED, *map(http_chunk, STORY))
        await request.wait_closed()

    async def scenario() -> Turn:
        async with serve_upstream(no_end) as upstream, make_client() as http_client:
            return await asyncio.wait_for(
                ask(prepared(upstream.route()), options=Options(client=http_client)), PATIENCE_S
            )

    assert summary(run(scenario())) == SUMMARY


@pytest.mark.parametrize(
    ("auth", "shown"),
    [
        (AuthScheme.BEARER, f"authorization: bearer {KEY}"),
        (AuthScheme.X_API_KEY, f"x-api-key: {KEY}"),
        (AuthScheme.X_GOOG_API_KEY, f"x-goog-api-key: {KEY}"),
        (AuthScheme.NONE, None),
    ],
)
def test_the_key_is_sent_in_the_header_of_the_auth_scheme(auth: AuthScheme, shown: str | None) -> None:
    async def scenario() -> str:
        async with serve_upstream(send_story) as upstream, make_client() as http_client:
            await http_client.read_all(upstream.provider(auth=auth), write_request(upstream.route(), REQUEST))
            return upstream.requests[0].head

    head = run(scenario()).lower()
    assert head.count(KEY) == (shown is not None)
    assert shown is None or shown in head
    assert head.startswith("post /v1/chat/completions http/1.1\r\n")
    assert "accept-encoding: identity\r\n" in head
    assert "cookie" not in head


def test_fetch_returns_what_is_at_a_path() -> None:
    async def models(request: UpstreamRequest) -> None:
        await request.send(
            http_response("200 OK", b'{"data":[]}', Content_Type="application/json", Set_Cookie="a=b")
        )

    async def scenario() -> tuple[bytes, str]:
        async with serve_upstream(models, keep=True) as upstream, make_client() as http_client:
            await http_client.fetch(upstream.provider(), "/models")
            return await http_client.fetch(upstream.provider(), "/models"), upstream.requests[-1].head

    body, head = run(scenario())
    assert body == b'{"data":[]}'
    assert head.startswith("GET /v1/models HTTP/1.1")
    assert "ookie" not in head


def test_ask_sync_and_stream_sync() -> None:
    """The server runs in a thread, because it needs its own event loop."""
    with asyncio.Runner() as runner:
        serve = serve_upstream(send_story)
        upstream = runner.run(serve.__aenter__())
        loop = runner.get_loop()

        def script() -> tuple[Turn, list[Event], Event]:
            route = upstream.route()
            first = next(
                events_iterator := stream_sync(prepared(route), options=Options(client=make_client()))
            )
            del events_iterator
            events = list(stream_sync(prepared(route), options=Options(client=make_client())))
            return ask_sync(prepared(route), options=Options(client=make_client())), events, first

        async def in_a_thread() -> tuple[Turn, list[Event], Event]:
            return await loop.run_in_executor(None, script)

        turn, events, first = runner.run(in_a_thread())
        runner.run(serve.__aexit__(None, None, None))
    assert summary(turn) == summary(fold(events)) == SUMMARY
    assert isinstance(first, TurnStarted)


def test_a_client_is_opened_once_and_before_it_sends() -> None:
    async def scenario() -> None:
        async with serve_upstream(send_story) as upstream:
            with pytest.raises(Refused, match="not open"):
                await make_client().read_all(upstream.provider(), write_request(upstream.route(), REQUEST))
            async with make_client() as http_client:
                with pytest.raises(Refused, match="already open"):
                    await http_client.__aenter__()

    run(scenario())


def test_leaving_early_drops_the_connection() -> None:
    client_left = asyncio.Event()

    async def endless(request: UpstreamRequest) -> None:
        await request.send(STREAM, STORY[0])
        await request.wait_closed()
        client_left.set()

    async def scenario() -> None:
        async with serve_upstream(endless) as upstream, make_client() as http_client:
            async with aclosing(
                stream(prepared(upstream.route()), options=Options(client=http_client))
            ) as events:
                await anext(events)
            await asyncio.wait_for(client_left.wait(), PATIENCE_S)

    run(scenario())
