"""Speed of reading bytes into events, per dialect, compared with only decoding the same JSON.

`json.loads` is what any simple reader needs before it looks at a value. Decoding into the struct of the
dialect is the lower bound: no reader with this decoder can be faster.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from benchmarks.report import Goal, Section, WrongAnswer, table
from benchmarks.response_bodies import Body, all_bodies
from benchmarks.timing import Timing, Work, race
from thinkaloud import Event, Reader, fold
from thinkaloud.core.dialects.anthropic_messages import read as anthropic_messages
from thinkaloud.core.dialects.bedrock_converse import read as bedrock_converse
from thinkaloud.core.dialects.cohere_v2 import read as cohere_v2
from thinkaloud.core.dialects.gemini import read as gemini
from thinkaloud.core.dialects.ollama import read as ollama
from thinkaloud.core.dialects.openai_chat import chunk as openai_chat_chunk
from thinkaloud.core.dialects.openai_chat import read as openai_chat
from thinkaloud.core.dialects.openai_responses import read as openai_responses
from thinkaloud.core.transcript import Ending

TITLE = "From bytes to events"
MAX_MICROSECONDS = 6.0
READ_SIZE = 16_384

_STRUCTS: dict[str, type[msgspec.Struct]] = {
    anthropic_messages.NAME: anthropic_messages.Update,
    bedrock_converse.NAME: bedrock_converse.Update,
    cohere_v2.NAME: cohere_v2.Update,
    gemini.NAME: gemini.ResponseChunk,
    ollama.NAME: ollama.ResponseLine,
    openai_chat.NAME: openai_chat_chunk.Chunk,
    openai_responses.NAME: openai_responses.Update,
}

_ONE_EVENT_READS, _LARGE_READS, _JSON, _MSGSPEC = "one event a read", "16 KB a read", "json.loads", "msgspec"
_COLUMNS = (
    *("frames", "bytes/frame", "µs/frame", "median", "events", "events/s", "MB/s"),
    *("`json.loads`, µs", "msgspec, µs", "× msgspec"),
)


class BodyTimings(NamedTuple):
    """The measurements of one body."""

    body: Body
    event_counts: dict[str, int]
    timings: dict[str, Timing]

    def micros(self, work: str) -> Timing:
        """Microseconds per frame."""
        return self.timings[work].per(len(self.body.events)).times(1e6)


def measure(*, deltas: int, rounds: int) -> Section:
    """Read every body in small and in large reads."""
    measured = [_measure(body, rounds) for body in all_bodies(deltas)]
    chat = measured[0].micros(_ONE_EVENT_READS)
    goal = Goal(
        f"{measured[0].body.name}, one event a read: at most {MAX_MICROSECONDS:.0f} µs per frame",
        f"{chat.least:.2f} µs (median {chat.median:.2f})",
        chat.least <= MAX_MICROSECONDS,
    )
    tables = (
        table((read_mode, *_COLUMNS), (_row(result, read_mode) for result in measured))
        for read_mode in (_ONE_EVENT_READS, _LARGE_READS)
    )
    return Section(TITLE, "\n\n".join(tables), (goal,))


def _measure(body: Body, rounds: int) -> BodyTimings:
    reads = {_ONE_EVENT_READS: body.events, _LARGE_READS: body.reads(READ_SIZE)}
    event_counts = {read_mode: _checked_event_count(body, pieces) for read_mode, pieces in reads.items()}
    decode = msgspec.json.Decoder(_STRUCTS[body.dialect]).decode
    work: dict[str, Work] = {
        _ONE_EVENT_READS: lambda: _read(reads[_ONE_EVENT_READS]),
        _LARGE_READS: lambda: _read(reads[_LARGE_READS]),
        _JSON: lambda: _decode(json.loads, body.payloads),
        _MSGSPEC: lambda: _decode(decode, body.payloads),
    }
    return BodyTimings(body, event_counts, race(work, rounds))


def _read(reads: list[bytes]) -> None:
    reader = Reader()
    feed = reader.feed
    for data in reads:
        feed(data)
    reader.close()


def _decode(decode: Callable[[bytes], object], payloads: list[bytes]) -> None:
    for payload in payloads:
        decode(payload)


def _checked_event_count(body: Body, reads: list[bytes]) -> int:
    """The number of events that the reads give, after checking that they are correct."""
    reader = Reader()
    events: list[Event] = [event for data in reads for event in reader.feed(data)]
    events += reader.close()
    turn = fold(events)
    ending = turn.outcome and turn.outcome.ending
    facts = (turn.dialect, ending, turn.reasoning, turn.answer)
    if facts != (body.dialect, Ending.ANSWERED, body.thought, body.answer):
        raise WrongAnswer(f"{body.name} was read as {facts}")
    return len(events)


def _row(result: BodyTimings, read_mode: str) -> list[str]:
    body, seconds = result.body, result.timings[read_mode].least
    micros, plain, floor = (result.micros(work) for work in (read_mode, _JSON, _MSGSPEC))
    return [
        body.name,
        f"{len(body.events):,}",
        f"{body.size / len(body.events):.0f}",
        f"{micros.least:.2f}",
        f"{micros.median:.2f}",
        f"{result.event_counts[read_mode]:,}",
        f"{result.event_counts[read_mode] / seconds:,.0f}",
        f"{body.size / seconds / 1e6:.0f}",
        f"{plain.least:.2f}",
        f"{floor.least:.2f}",
        f"{micros.least / floor.least:.1f}",
    ]
