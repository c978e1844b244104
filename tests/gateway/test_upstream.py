"""What a provider can do to a live turn, seen by its readers: what was said is kept, and there is one end."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.client.upstream import CHUNKED, STORY, STREAM, Act, Seen, answer, chunk, delta, serving
from tests.gateway.reading import Tape, follow
from tests.patience import PATIENCE_S
from tests.server.calling import Caller, calling, quick

from thinkaloud.canon import TurnStarted
from thinkaloud.client import Client, Retries, Timeouts
from thinkaloud.simulators.faults import GARBAGE
from thinkaloud.transcript import Ending, Status

ROW = """
[providers.acme]
dialect = "openai_chat"
base_url = "{url}"
replay = "none"
local = true
fact = {{ as_of = "2026-01-01", source = "a test" }}
"""
BODY = b"".join(STORY)
SAID = [("Two", ""), (" and two → ?", ""), ("", "Fo"), ("", "ur."), ("", ""), ("", "")]
"""What each event of the story adds to thoughts and answer; the fifth says that it is over."""
RETRIES = Retries(most=2, first_s=0.01)


@asynccontextmanager
async def asking(
    folder: Path, *acts: Act, idle_s: float = PATIENCE_S, **given: Any
) -> AsyncIterator[tuple[Caller, list[Seen]]]:
    """A gateway before a provider that does this; what the provider has seen."""
    client = Client(retries=RETRIES, timeouts=Timeouts(idle_s=idle_s))
    async with serving(*acts) as upstream:
        rows = ROW.format(url=upstream.base_url)
        async with calling(folder, settings=quick(**given), client=client, more=rows) as caller:
            yield caller, upstream.seen


async def begun(caller: Caller) -> str:
    return await caller.begin(await caller.session(), model="acme/m-1")


async def told(caller: Caller) -> Tape:
    """A turn begun and read to its end."""
    tape = Tape()
    await follow(caller.url, await begun(caller), tape)
    return tape


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            await asyncio.sleep(0.002)


def check_end(tape: Tape, state: str, cause: str) -> None:
    """It came out like this, in one end, which is the last entry; and nothing is left open."""
    turn = tape.turn
    assert (tape.state, tape.ends) == (state, 1)
    assert tape.named == [("end", {"state": state})]
    assert turn.outcome is not None
    assert turn.outcome.cause == cause
    assert (turn.outcome.ending is Ending.ANSWERED) == (state == "done")
    assert all(block.status is not Status.RUNNING for block in turn.blocks)
    assert [type(entry.event) for entry in tape.entries].count(TurnStarted) == 1


def said_within(size: int) -> tuple[int, tuple[str, str]]:
    """How many events these bytes of the story hold, and what those say."""
    whole = BODY[:size].count(b"\n\n")
    thought, text = zip(*SAID[:whole], strict=True) if whole else ((), ())
    return whole, ("".join(thought), "".join(text))


def cuts() -> list[int]:
    """Every boundary between two events, and some places within each."""
    places, at = [0], 0
    for event in STORY:
        places += [at + 1, at + len(event) // 2, at + len(event) - 2, at + len(event)]
        at += len(event)
    return places


class Cutting:
    """A provider that says so many bytes and resets the connection, once their reader has seen them."""

    def __init__(self) -> None:
        self.size = 0
        self.go_on = asyncio.Event()

    async def act(self, seen: Seen) -> None:
        await seen.send(CHUNKED + b"%x\r\n" % len(BODY) + BODY[: self.size])
        await self.go_on.wait()
        seen.reset()

    async def cut(self, caller: Caller, seen: list[Seen], size: int) -> tuple[Tape, int]:
        """What a reader has of a turn that is cut there, and how often the provider was asked."""
        before, tape = len(seen), Tape()
        self.size = size
        self.go_on.clear()
        reading = asyncio.create_task(follow(caller.url, await begun(caller), tape))
        await until(lambda: tape.text == said_within(size)[1] and len(seen) > before)
        self.go_on.set()
        await reading
        return tape, len(seen) - before


def test_a_connection_that_is_reset_anywhere_keeps_what_had_come(tmp_path: Path) -> None:
    """Nothing is asked again once something was visible, and a turn that had said its end is done."""

    async def story() -> None:
        provider = Cutting()
        async with asking(tmp_path, provider.act) as (caller, seen):
            for size in cuts():
                tape, asked = await provider.cut(caller, seen, size)
                whole, text = said_within(size)
                assert tape.text == text, f"after {size} bytes"
                if whole >= 5:
                    check_end(tape, "done", "stop")
                elif whole:
                    check_end(tape, "failed", "cut_off")
                else:
                    assert (tape.state, tape.ends) == ("failed", 1)
                if whole or size == 0:
                    assert asked == (1 if whole else 1 + RETRIES.most), f"after {size} bytes"

    asyncio.run(story())


def test_a_provider_that_falls_silent_is_hung_up_on_with_signs_of_life_meanwhile(tmp_path: Path) -> None:
    left = asyncio.Event()

    async def act(seen: Seen) -> None:
        await seen.send(STREAM, *STORY[:2])
        await seen.gone()
        left.set()

    async def story() -> None:
        async with asking(tmp_path, act, idle_s=2.0, heartbeat_s=0.1) as (caller, seen):
            begun_s = time.monotonic()
            tape = await told(caller)
            took_s = time.monotonic() - begun_s
            check_end(tape, "failed", "stalled")
            assert tape.text == ("Two and two → ?", "")
            assert tape.comments >= 3
            assert took_s > 2.0
            await asyncio.wait_for(left.wait(), PATIENCE_S)
            assert len(seen) == 1

    asyncio.run(story())


UNFINISHED: dict[str, tuple[bytes, ...]] = {
    "at the end of the connection": (STREAM, *STORY[:4]),
    "in chunks, with a proper last one": (CHUNKED, *map(chunk, STORY[:4]), b"0\r\n\r\n"),
    "in chunks, without a last one": (CHUNKED, *map(chunk, STORY[:4])),
    "of a known length": (STREAM[:-2] + b"Content-Length: 5000\r\n\r\n", *STORY[:4]),
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_an_answer_without_its_last_event_is_no_success(tmp_path: Path, sent: tuple[bytes, ...]) -> None:
    async def act(seen: Seen) -> None:
        await seen.send(*sent)

    async def story() -> None:
        async with asking(tmp_path, act) as (caller, seen):
            tape = await told(caller)
            check_end(tape, "failed", "cut_off")
            assert tape.text == ("Two and two → ?", "Four.")
            assert len(seen) == 1

    asyncio.run(story())


@pytest.mark.parametrize("status", ["429 Too Many Requests", "529 Overloaded", "500 Internal Server Error"])
def test_a_refusal_before_the_first_word_is_tried_again_and_not_seen(tmp_path: Path, status: str) -> None:
    moments: list[float] = []

    async def refuse(seen: Seen) -> None:
        moments.append(time.monotonic())
        await seen.send(answer(status, b'{"error":{"message":"not now"}}', Retry_After="1"))

    async def say(seen: Seen) -> None:
        moments.append(time.monotonic())
        await seen.send(STREAM, *STORY)

    async def story() -> None:
        async with asking(tmp_path, refuse, say, heartbeat_s=0.2) as (caller, seen):
            tape = await told(caller)
            check_end(tape, "done", "stop")
            assert tape.text == ("Two and two → ?", "Four.")
            assert tape.comments >= 2, "the wait has its signs of life"
            assert len(seen) == 2
            assert moments[1] - moments[0] >= 1, "it was told when to come back"

    asyncio.run(story())


def test_a_provider_that_goes_on_refusing_is_asked_three_times(tmp_path: Path) -> None:
    async def refuse(seen: Seen) -> None:
        await seen.send(answer("503 Service Unavailable", b'{"error":{"code":"busy","message":"no"}}'))

    async def story() -> None:
        async with asking(tmp_path, refuse) as (caller, seen):
            tape = await told(caller)
            check_end(tape, "failed", "busy")
            assert tape.text == ("", "")
            assert len(seen) == 1 + RETRIES.most

    asyncio.run(story())


def test_garbage_in_the_middle_ends_the_turn_and_keeps_what_was_said(tmp_path: Path) -> None:
    async def act(seen: Seen) -> None:
        await seen.send(STREAM, *STORY[:3], GARBAGE)

    async def story() -> None:
        async with asking(tmp_path, act) as (caller, seen):
            tape = await told(caller)
            assert (tape.state, tape.ends) == ("failed", 1)
            assert tape.text == ("Two and two → ?", "Fo")
            assert len(seen) == 1

    asyncio.run(story())


async def _think(seen: Seen) -> None:
    while True:
        await seen.send(delta(reasoning_content="and again, " * 10))


async def _answer(seen: Seen) -> None:
    while True:
        await seen.send(delta(content="and again, " * 10))


async def _one_line(seen: Seen) -> None:
    await seen.send(b"data: ")
    while True:
        await seen.send(b"x" * 65536)


Endless = tuple[Callable[[Seen], Awaitable[None]], dict[str, int], str]
MOST_CHARS = 50_000
ENDLESS: dict[str, Endless] = {
    "thought": (_think, {"reasoning_chars_per_block": MOST_CHARS}, "reasoning_chars_per_block"),
    "answer": (_answer, {"said_chars_per_turn": MOST_CHARS}, "said_chars_per_turn"),
    "line": (_one_line, {}, ""),
}


@pytest.mark.parametrize(("talk", "limits", "named"), ENDLESS.values(), ids=ENDLESS.keys())
def test_what_has_no_end_is_given_one(tmp_path: Path, talk: Act, limits: dict[str, int], named: str) -> None:
    """R046: the limit is named, what was said until then stands, and the provider is hung up on."""
    left = asyncio.Event()

    async def act(seen: Seen) -> None:
        await seen.send(STREAM, STORY[0])
        try:
            await talk(seen)
        except ConnectionError:
            left.set()

    async def story() -> None:
        async with asking(tmp_path, act, **limits) as (caller, seen):
            tape = await told(caller)
            assert (tape.state, tape.ends) == ("failed", 1)
            await asyncio.wait_for(left.wait(), PATIENCE_S)
            assert len(seen) == 1
            outcome = tape.turn.outcome
            assert outcome is not None
            assert named in outcome.message
            thought, text = tape.text
            assert thought.startswith("Two")
            if limits:
                assert MOST_CHARS <= max(len(thought), len(text)) < 2 * MOST_CHARS + 300_000

    asyncio.run(story())
