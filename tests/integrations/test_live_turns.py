"""Turns that browsers leave and come back to: cuts, two readers, wrong ids, limits, broken sources."""

import asyncio
import json
import re
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

import msgspec
import openai
import pytest
from tests.patience import PATIENCE_S

import thinkaloud
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Finish,
    Kind,
    Refused,
    Seal,
    SealForm,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Ending, Turn, fold_entries
from thinkaloud.integrations.live_turn import LiveLimits, TurnOptions
from thinkaloud.integrations.live_turns import TURN_HEADER, LiveTurns, StreamReply, reply
from thinkaloud.simulators import run_simulator

WORDS = ["Let ", "me ", "see.\n", "Õ", "k."]
THOUGHT = "".join(WORDS)


def chunks(count: int = 1) -> Iterator[dict[str, Any]]:
    """An answer of Chat Completions, as an SDK yields it."""
    for _ in range(count):
        for word in WORDS:
            yield {"choices": [{"index": 0, "delta": {"reasoning_content": word}}]}
    yield {"choices": [{"index": 0, "delta": {"content": "42."}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


async def async_chunks() -> AsyncIterator[dict[str, Any]]:
    for chunk in chunks():
        await asyncio.sleep(0)
        yield chunk


class Event(NamedTuple):
    """An event as a browser reads it."""

    id: str
    data: Any


def parse(data: bytes) -> list[Event]:
    """Read a stream by the rules of browsers; what a cut connection left unfinished is dropped."""
    events, last_id = [], ""
    for part in data.decode().split("\n\n")[:-1]:
        fields = [line.partition(": ")[::2] for line in part.split("\n")]
        last_id = next((value for name, value in fields if name == "id"), last_id)
        text = "\n".join(value for name, value in fields if name == "data")
        if text:
            events.append(Event(last_id, json.loads(text)))
    return events


def last_id(data: bytes) -> str:
    """Return the id with which a browser comes back."""
    return str(re.findall(r"^id: (.*)\n", data.decode().rpartition("\n\n")[0] + "\n", re.MULTILINE)[-1])


def turn_of(events: list[Event]) -> Turn:
    assert [event.data["seq"] for event in events] == list(range(len(events)))
    return fold_entries(msgspec.convert(event.data, Entry) for event in events)


@pytest.fixture
def turns() -> Iterator[LiveTurns]:
    made = LiveTurns()
    yield made
    made.close()


def ask(turns: LiveTurns, source: object, last: str = "", **options: Any) -> StreamReply:
    return reply(turns, source, last, "", TurnOptions(**options))


def error_of(answer: StreamReply) -> tuple[int, str]:
    body = b"".join(answer.frames())
    return answer.status, json.loads(body)["error"]["code"]


def read_all(answer: StreamReply) -> list[Event]:
    return parse(b"".join(answer.frames()))


def test_entries_are_events_with_ids(turns: LiveTurns) -> None:
    answer = ask(turns, chunks)
    events = read_all(answer)
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    turn = turn_of(events)
    assert (turn.reasoning, turn.answer) == (THOUGHT, "42.")
    assert [event.id for event in events] == [
        f"{answer.headers[TURN_HEADER]}.{seq}" for seq in range(len(events))
    ]
    assert [event.data["event"]["type"] for event in events].count("turn.ended") == 1
    assert all(event.data["at_ms"] for event in events)


@pytest.mark.parametrize("make", [chunks, lambda: [*chunks()], async_chunks])
def test_sources_of_all_kinds_are_read_in_a_thread(turns: LiveTurns, make: Callable[[], object]) -> None:
    assert turn_of(read_all(ask(turns, make))).reasoning == THOUGHT


@pytest.mark.parametrize("make", [chunks, async_chunks], ids=["sync", "async"])
@pytest.mark.parametrize("ready", [True, False], ids=["stream", "function"])
def test_sources_are_read_beside_an_event_loop(make: Callable[[], object], ready: bool) -> None:
    async def run() -> list[Event]:
        turns = LiveTurns()
        answer = ask(turns, make() if ready else make, loop=asyncio.get_running_loop())
        return parse(b"".join([frame async for frame in answer.frames_async()]))

    assert turn_of(asyncio.run(run())).answer == "42."


def test_awaitable_that_gives_a_blocking_stream_does_not_block_the_loop() -> None:
    async def source() -> object:
        return chunks()

    async def run() -> list[Event]:
        answer = ask(LiveTurns(), source, loop=asyncio.get_running_loop())
        return parse(b"".join([frame async for frame in answer.frames_async()]))

    assert turn_of(asyncio.run(run())).answer == "42."


@pytest.mark.parametrize("client", [openai.OpenAI, openai.AsyncOpenAI], ids=["blocking", "async"])
@pytest.mark.parametrize("looped", [True, False], ids=["loop", "thread"])
def test_response_of_an_sdk(client: Any, looped: bool) -> None:
    """A blocking client asks in the thread where its function is called; both read beside the loop."""

    async def run() -> list[Event]:
        async with run_simulator("deepseek", script=[{"thinking": "Six sevens.", "text": "42."}]) as server:
            made, turns = client(base_url=server.base_url, api_key="any-key"), LiveTurns()
            question: Any = [{"role": "user", "content": "6 times 7?"}]
            create = partial(
                made.chat.completions.create, model="deepseek-v4-pro", messages=question, stream=True
            )
            source = create if client is openai.AsyncOpenAI else partial(asyncio.to_thread, create)
            loop = asyncio.get_running_loop() if looped else None
            answer = ask(turns, source if looped else create, loop=loop)
            events = parse(b"".join([frame async for frame in answer.frames_async()]))
            if looped and client is openai.AsyncOpenAI:
                await made.close()
            return events

    turn = turn_of(asyncio.run(run()))
    assert (turn.reasoning, turn.answer) == ("Six sevens.", "42.")


def test_events_of_thinkaloud_are_followed_without_seals(turns: LiveTurns) -> None:
    seal = Seal("anthropic_messages", SealForm.SIGNATURE, "secret")
    events = [
        *(TurnStarted("anthropic_messages"), BlockStarted(0, Kind.REASONING), BlockGrew(0, "Hm.")),
        *(BlockSealed(0, seal), BlockEnded(0), TurnEnded(Finish.STOP, message=seal)),
    ]
    ended: list[Turn] = []
    data = b"".join(ask(turns, events, on_end=ended.append).frames())
    assert turn_of(parse(data)).reasoning == "Hm."
    assert b"secret" not in data
    wait_until(lambda: ended)
    [turn] = ended
    assert turn.blocks[0].seals == [seal]
    assert turn.message == seal


def test_events_of_thinkaloud_that_stop_are_cut_off(turns: LiveTurns) -> None:
    turn = turn_of(read_all(ask(turns, [TurnStarted(), BlockStarted(0, Kind.TEXT), BlockGrew(0, "Yes")])))
    assert turn.outcome is not None
    assert (turn.outcome.cause, turn.answer) == ("cut_off", "Yes")


class SlowSource:
    """Gives one piece for each event that a reader takes."""

    def __init__(self) -> None:
        self._taken = threading.Semaphore(1)

    def __call__(self) -> Iterator[object]:
        for chunk in chunks():
            self._taken.acquire()
            yield chunk

    def read_one(self, answer: StreamReply) -> bytes:
        """Read until one event is whole."""
        data, frames = b"", answer.frames()
        while not parse(data):
            data += next(frames)
            self._taken.release()
        frames.close()
        return data

    async def read_one_async(self, answer: StreamReply) -> bytes:
        data = b""
        async with aclosing(answer.frames_async()) as frames:
            while not parse(data):
                data += await anext(frames)
                self._taken.release()
        return data


@pytest.mark.parametrize("looped", [True, False], ids=["loop", "thread"])
def test_connection_cut_after_each_event_loses_and_doubles_nothing(turns: LiveTurns, looped: bool) -> None:
    """The browser comes back after every single event, while the turn runs and when it is over."""
    source, seen, last, cut = SlowSource(), list[Event](), "", 0
    while (answer := ask(turns, source, last)).status == 200:
        data = asyncio.run(source.read_one_async(answer)) if looped else source.read_one(answer)
        data = data[: len(data) - cut]  # sometimes within the last event
        seen += parse(data)
        last, cut = last_id(data), (cut + 1) % 3
    assert answer.status == 204
    assert turn_of(seen).reasoning == THOUGHT


def test_connection_cut_before_the_first_event_is_the_same_turn(turns: LiveTurns) -> None:
    waiting = threading.Event()

    def source() -> Iterator[object]:
        waiting.wait(PATIENCE_S)
        yield from chunks()

    answer = ask(turns, source)
    frames = answer.frames()
    last = last_id(next(frames))
    assert last == answer.headers[TURN_HEADER]
    waiting.set()
    assert turn_of(read_all(ask(turns, source, last))).answer == "42."


def test_two_readers_at_once_get_the_same(turns: LiveTurns) -> None:
    started = threading.Barrier(3)

    def source() -> Iterator[object]:
        started.wait(PATIENCE_S)
        yield from chunks(200)

    first = ask(turns, source)
    answers = [first, ask(turns, None, first.headers[TURN_HEADER])]
    read: list[bytes] = []

    def follow_stream(answer: StreamReply) -> None:
        started.wait(PATIENCE_S)
        read.append(b"".join(answer.frames()))

    threads = [threading.Thread(target=follow_stream, args=(answer,)) for answer in answers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parse(read[0]) == parse(read[1])
    assert turn_of(parse(read[0])).reasoning == THOUGHT * 200


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("17", (400, "bad_request")),
        ("../../etc", (400, "bad_request")),
        ("é" * 22, (400, "bad_request")),
        ("A" * 5000, (400, "bad_request")),
        ("A" * 22, (404, "not_found")),
        ("A" * 22 + ".3", (404, "not_found")),
        ("{turn}.999", (400, "bad_request")),
        ("{turn}.-1", (400, "bad_request")),
        ("{turn}.1\nid: x", (400, "bad_request")),
    ],
)
def test_wrong_ids_are_refused(turns: LiveTurns, last: str, expected: tuple[int, str]) -> None:
    answer = ask(turns, chunks)
    read_all(answer)
    called: list[str] = []
    refused = ask(turns, lambda: called.append("asked"), last.format(turn=answer.headers[TURN_HEADER]))
    assert TURN_HEADER not in refused.headers
    assert error_of(refused) == expected
    assert called == []


def test_turn_of_somebody_else_is_not_there(turns: LiveTurns) -> None:
    """The same answer, to the byte, as for an id that never was."""
    turn = ask(turns, chunks, owner="ana").headers[TURN_HEADER]
    foreign, unknown = (ask(turns, None, id, owner="ben") for id in (turn, "A" * 22))
    assert (foreign.status, [*foreign.frames()]) == (404, [*unknown.frames()])
    assert ask(turns, None, turn, owner="ana").status == 200
    assert error_of(ask(turns, None, turn)) == (404, "not_found")
    with pytest.raises(Refused, match="no such turn"):
        turns.stop(turn, "ben")


def test_ids_cannot_be_guessed(turns: LiveTurns) -> None:
    ids = {ask(turns, chunks).headers[TURN_HEADER] for _ in range(50)}
    assert {len(turn) for turn in ids} == {22}
    assert len({turn[:3] for turn in ids}) > 25


def test_positions_that_contradict_are_refused(turns: LiveTurns) -> None:
    first, second = (ask(turns, chunks).headers[TURN_HEADER] for _ in range(2))
    options = TurnOptions()
    assert error_of(reply(turns, None, f"{first}.1", f"{second}.1", options)) == (400, "bad_request")
    assert error_of(reply(turns, None, f"{first}.1", f"{first}.2", options)) == (400, "bad_request")
    assert error_of(reply(turns, None, "", "", options)) == (400, "bad_request")
    ahead = parse(b"".join(reply(turns, None, f"{first}.2", f"{first}.1", options).frames()))
    assert ahead[0].data["seq"] == 3


def test_error_of_the_source_keeps_what_arrived_and_names_no_secret(
    turns: LiveTurns, caplog: pytest.LogCaptureFixture
) -> None:
    def source() -> Iterator[object]:
        yield from list(chunks())[:3]
        raise ConnectionError("https://key:sk-secret@inner")

    data = b"".join(ask(turns, source).frames())
    turn = turn_of(parse(data))
    assert turn.outcome is not None
    assert (turn.outcome.ending, turn.outcome.cause) == (Ending.FAILED, "source_failed")
    assert turn.outcome.message == "The stream failed: ConnectionError"
    assert turn.reasoning == "".join(WORDS[:3])
    assert b"sk-secret" not in data
    assert "sk-secret" in caplog.text


@pytest.mark.parametrize("looped", [True, False], ids=["loop", "thread"])
@pytest.mark.parametrize("source", [lambda: 1 / 0, lambda: 5, lambda: None, lambda: iter([object()])])
def test_function_that_fails_or_returns_no_stream_fails_the_turn(
    caplog: pytest.LogCaptureFixture, looped: bool, source: object
) -> None:
    async def run() -> list[Event]:
        answer = ask(LiveTurns(), source, loop=asyncio.get_running_loop() if looped else None)
        return parse(b"".join([frame async for frame in answer.frames_async()]))

    turn = turn_of(asyncio.run(run()))
    assert turn.outcome is not None
    assert turn.outcome.cause == "source_failed"
    assert caplog.records


@pytest.mark.parametrize("wrong", [5, 1.5, object(), True])
def test_wrong_types_are_refused_at_once(turns: LiveTurns, wrong: object) -> None:
    with pytest.raises(thinkaloud.NotAResponse, match="neither a stream nor a response"):
        ask(turns, wrong)


@pytest.mark.parametrize("value", [0, -1, True, "many"])
def test_wrong_limits_are_refused(value: Any) -> None:
    with pytest.raises(Refused, match="kept_s must be a positive number"):
        LiveLimits(kept_s=value)


def test_stream_that_was_followed_before_is_refused(
    turns: LiveTurns, caplog: pytest.LogCaptureFixture
) -> None:
    followed = thinkaloud.follow(chunks())
    assert list(followed)
    with pytest.raises(Refused, match="followed before"):
        ask(turns, followed)
    assert b"followed before" in b"".join(ask(turns, lambda: followed).frames())


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Endless:
    """A source that never ends, and notes when it is closed."""

    def __init__(self, pause_s: float = 0.005, text: str = "on and on ") -> None:
        self.closed = threading.Event()
        self._pause_s, self._chunk = pause_s, {"choices": [{"delta": {"reasoning_content": text}}]}

    def __call__(self) -> Iterator[object]:
        try:
            while True:
                time.sleep(self._pause_s)
                yield self._chunk
        finally:
            self.closed.set()


class AsyncEndless(Endless):
    """The same, asynchronous."""

    def __call__(self) -> Any:
        return self._pieces()

    async def _pieces(self) -> AsyncIterator[object]:
        try:
            while True:
                await asyncio.sleep(self._pause_s)
                yield self._chunk
        finally:
            self.closed.set()


def ending_of(turns: LiveTurns, source: object, **options: Any) -> tuple[str, str]:
    outcome = turn_of(read_all(ask(turns, source, **options))).outcome
    assert outcome is not None
    return outcome.ending, outcome.cause


@pytest.mark.parametrize("kind", [Endless, AsyncEndless])
def test_source_that_never_ends_is_ended_by_a_limit(kind: type[Endless]) -> None:
    for limits, cause in (
        (LiveLimits(turn_s=0.3), "too_long"),
        (LiveLimits(turn_bytes=20_000), "too_large"),
        (LiveLimits(total_bytes=20_000), "too_large"),
    ):
        source, turns = kind(text="on " * 100), LiveTurns(limits)
        assert ending_of(turns, source) == ("failed", cause)
        assert source.closed.wait(PATIENCE_S)
        turns.close()


def test_turn_runs_on_without_readers_unless_asked(turns: LiveTurns) -> None:
    left, stopped = Endless(), Endless()
    first, second = ask(turns, left), ask(turns, stopped, stop_after_s=0.2)
    for answer in (first, second):
        frames = answer.frames()
        for _ in range(3):
            next(frames)
        frames.close()
    assert stopped.closed.wait(PATIENCE_S)
    turn = turn_of(read_all(ask(turns, None, second.headers[TURN_HEADER])))
    assert turn.outcome is not None
    assert turn.outcome.ending is Ending.CANCELLED
    assert not left.closed.is_set()
    turns.stop(first.headers[TURN_HEADER])
    assert left.closed.wait(PATIENCE_S)


def test_reader_that_stays_keeps_the_turn(turns: LiveTurns) -> None:
    source = Endless()
    frames = ask(turns, source, stop_after_s=0.1).frames()
    began = time.monotonic()
    while time.monotonic() < began + 1:
        next(frames)
    assert not source.closed.is_set()
    frames.close()
    assert source.closed.wait(PATIENCE_S)


def test_stopped_turn_in_a_loop_closes_its_source() -> None:
    source = AsyncEndless(pause_s=PATIENCE_S)

    async def run() -> list[Event]:
        turns = LiveTurns()
        answer = ask(turns, source, loop=asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        turns.stop(answer.headers[TURN_HEADER])
        events = parse(b"".join([frame async for frame in answer.frames_async()]))
        while not source.closed.is_set():
            await asyncio.sleep(0.01)
        return events

    outcome = turn_of(asyncio.run(run())).outcome
    assert outcome is not None
    assert outcome.ending is Ending.CANCELLED


def test_end_of_the_server_ends_the_turn() -> None:
    ended: list[Turn] = []

    async def run() -> None:
        ask(LiveTurns(), AsyncEndless(), loop=asyncio.get_running_loop(), on_end=ended.append)
        await asyncio.sleep(0.05)

    asyncio.run(run())
    [turn] = ended
    assert turn.outcome is not None
    assert turn.outcome.cause == "interrupted"


def test_turns_are_forgotten_by_time_and_number() -> None:
    turns = LiveTurns(LiveLimits(kept_s=0.2, kept=2, running=2))
    first, second = (ask(turns, chunks) for _ in range(2))
    for answer in (first, second):
        assert read_all(answer)
    wait_until(lambda: ask(turns, None, second.headers[TURN_HEADER]).status == 404)
    kept = LiveTurns(LiveLimits(kept=2))
    ids = []
    for _ in range(3):
        answer = ask(kept, chunks)
        read_all(answer)
        ids.append(answer.headers[TURN_HEADER])
    assert [ask(kept, None, turn).status for turn in ids] == [404, 200, 200]


def test_too_many_turns_and_readers_are_refused() -> None:
    turns = LiveTurns(LiveLimits(running=2, readers_per_turn=2))
    answers = [ask(turns, Endless()) for _ in range(2)]
    refused = ask(turns, chunks)
    assert refused.headers["retry-after"] == "1"
    assert error_of(refused) == (503, "unavailable")
    turn = answers[0].headers[TURN_HEADER]
    readers = [ask(turns, None, turn).frames() for _ in range(2)]
    for reader in readers:
        next(reader)
    assert error_of(ask(turns, None, turn)) == (429, "too_many_requests")
    readers[0].close()
    assert ask(turns, None, turn).status == 200
    turns.close()
    wait_until(lambda: ask(turns, chunks).status == 200)


def test_silence_is_filled_with_comments() -> None:
    turns = LiveTurns(LiveLimits(heartbeat_s=0.02))
    source = Endless(pause_s=0.3)
    frames = ask(turns, source).frames()
    assert [next(frames) for _ in range(4)][1:] == [b": alive\n\n"] * 3

    async def run() -> list[bytes]:
        stream = ask(turns, AsyncEndless(pause_s=1), loop=asyncio.get_running_loop()).frames_async()
        read = [await anext(stream) for _ in range(4)]
        await stream.aclose()
        return read

    assert asyncio.run(run())[1:] == [b": alive\n\n"] * 3
    turns.close()


def test_stream_that_nobody_needs_is_closed_unread(turns: LiveTurns) -> None:
    turn = ask(turns, chunks).headers[TURN_HEADER]
    source = Endless()
    unread = source()
    next(unread)
    ask(turns, unread, turn)
    assert source.closed.wait(PATIENCE_S)

    async def run() -> None:
        asked: list[str] = []

        async def create() -> object:
            asked.append("the model")
            return chunks()

        ask(turns, create(), turn, loop=asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        assert asked == []

    asyncio.run(run())


@pytest.mark.parametrize("on_end", ["sync", "async", "failing"])
def test_whole_turn_is_passed_on_once(
    turns: LiveTurns, on_end: str, caplog: pytest.LogCaptureFixture
) -> None:
    saved: list[str] = []

    async def save(turn: Turn) -> None:
        await asyncio.sleep(0)
        saved.append(turn.answer)

    def fail(turn: Turn) -> None:
        saved.append(turn.answer)
        raise OSError("disk full")

    function = {"sync": lambda turn: saved.append(turn.answer), "async": save, "failing": fail}[on_end]
    assert turn_of(read_all(ask(turns, chunks, on_end=function))).answer == "42."
    wait_until(lambda: saved)
    assert saved == ["42."]
    wait_until(lambda: ("disk full" in caplog.text) is (on_end == "failing"))


def test_large_thought_in_one_piece_is_sent_in_chunks(turns: LiveTurns) -> None:
    thought = "x" * 1_000_000
    frames = [*ask(turns, [{"choices": [{"delta": {"reasoning_content": thought}}]}, *chunks()]).frames()]
    assert max(map(len, frames)) <= 40_000
    assert turn_of(parse(b"".join(frames))).reasoning == thought + THOUGHT


def test_reader_of_a_large_thought_holds_little_memory(turns: LiveTurns) -> None:
    """A million characters in small pieces; a reader that stops in the middle holds a position."""
    turn = ask(turns, lambda: chunks(60_000 // len(WORDS)))
    wait_until(lambda: turn.turn is not None and turn.turn.ended_s)
    tracemalloc.start()
    readers = [ask(turns, None, turn.headers[TURN_HEADER]).frames() for _ in range(10)]
    for reader in readers:
        for _ in range(5):
            next(reader)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 4_000_000
    assert len(parse(b"".join(readers[0]))) > 50_000
