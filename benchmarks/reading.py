"""How fast bytes become events, per dialect, beside decoding the same JSON and doing nothing with it.

`json.loads` is what a plain reader pays before it has looked at anything. Decoding into the dialect's own
struct is the floor: no reader on this decoder can be faster.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from benchmarks.bodies import Body, bodies
from benchmarks.clock import Timing, Work, race
from benchmarks.report import Goal, Section, WrongAnswer, table
from thinkaloud import Event, Reader, fold
from thinkaloud.dialects import (
    anthropic_messages,
    bedrock_converse,
    cohere_v2,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from thinkaloud.transcript import Ending

TITLE = "From bytes to events"
MOST_MICROSECONDS = 6.0
READ_SIZE = 16_384

_STRUCTS: dict[str, type[msgspec.Struct]] = {
    anthropic_messages.NAME: anthropic_messages.Update,
    bedrock_converse.NAME: bedrock_converse.Update,
    cohere_v2.NAME: cohere_v2.Update,
    gemini.NAME: gemini.Piece,
    ollama.NAME: ollama.Line,
    openai_chat.NAME: openai_chat.Chunk,
    openai_responses.NAME: openai_responses.Update,
}

_ALONE, _TOGETHER, _JSON, _MSGSPEC = "one event a read", "16 KB a read", "json.loads", "msgspec"
_COLUMNS = (
    *("frames", "bytes/frame", "µs/frame", "median", "events", "events/s", "MB/s"),
    *("`json.loads`, µs", "msgspec, µs", "× msgspec"),
)


class Measured(NamedTuple):
    """What one body showed."""

    body: Body
    told: dict[str, int]
    taken: dict[str, Timing]

    def micros(self, work: str) -> Timing:
        """Microseconds per frame."""
        return self.taken[work].per(len(self.body.events)).times(1e6)


def measure(*, deltas: int, rounds: int) -> Section:
    """Read every body in both kinds of reads."""
    measured = [_measure(body, rounds) for body in bodies(deltas)]
    chat = measured[0].micros(_ALONE)
    goal = Goal(
        f"{measured[0].body.name}, one event a read: at most {MOST_MICROSECONDS:.0f} µs per frame",
        f"{chat.least:.2f} µs (median {chat.middle:.2f})",
        chat.least <= MOST_MICROSECONDS,
    )
    tables = (
        table((way, *_COLUMNS), (_row(found, way) for found in measured)) for way in (_ALONE, _TOGETHER)
    )
    return Section(TITLE, "\n\n".join(tables), (goal,))


def _measure(body: Body, rounds: int) -> Measured:
    reads = {_ALONE: body.events, _TOGETHER: body.reads(READ_SIZE)}
    told = {way: _checked(body, pieces) for way, pieces in reads.items()}
    decode = msgspec.json.Decoder(_STRUCTS[body.dialect]).decode
    work: dict[str, Work] = {
        _ALONE: lambda: _read(reads[_ALONE]),
        _TOGETHER: lambda: _read(reads[_TOGETHER]),
        _JSON: lambda: _decode(json.loads, body.payloads),
        _MSGSPEC: lambda: _decode(decode, body.payloads),
    }
    return Measured(body, told, race(work, rounds))


def _read(reads: list[bytes]) -> None:
    reader = Reader()
    feed = reader.feed
    for data in reads:
        feed(data)
    reader.close()


def _decode(decode: Callable[[bytes], object], payloads: list[bytes]) -> None:
    for payload in payloads:
        decode(payload)


def _checked(body: Body, reads: list[bytes]) -> int:
    """How many events the reads give, once they are known to tell the right story."""
    reader = Reader()
    events: list[Event] = [event for data in reads for event in reader.feed(data)]
    events += reader.close()
    turn = fold(events)
    ending = turn.outcome and turn.outcome.ending
    told = (turn.dialect, ending, turn.reasoning, turn.answer)
    if told != (body.dialect, Ending.ANSWERED, body.thought, body.answer):
        raise WrongAnswer(f"{body.name} was read as {told}")
    return len(events)


def _row(found: Measured, way: str) -> list[str]:
    body, seconds = found.body, found.taken[way].least
    micros, plain, floor = (found.micros(work) for work in (way, _JSON, _MSGSPEC))
    return [
        body.name,
        f"{len(body.events):,}",
        f"{body.size / len(body.events):.0f}",
        f"{micros.least:.2f}",
        f"{micros.middle:.2f}",
        f"{found.told[way]:,}",
        f"{found.told[way] / seconds:,.0f}",
        f"{body.size / seconds / 1e6:.0f}",
        f"{plain.least:.2f}",
        f"{floor.least:.2f}",
        f"{micros.least / floor.least:.1f}",
    ]
