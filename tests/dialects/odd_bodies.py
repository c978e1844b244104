"""Builds bodies that servers send beside their documentation, and reads them whole and byte by byte."""

import json
from typing import Any

from tests.chunks import one_by_one

import thinkaloud
from thinkaloud import Reader, Turn, fold

DONE = b"data: [DONE]\n\n"


def sse(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def chat(*deltas: Any, finish: str | None = "stop") -> bytes:
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    return sse(*chunks, {"choices": [{"delta": {}, "finish_reason": finish}]}) + DONE


def read(body: bytes, **options: Any) -> Turn:
    """Read a body whole and byte by byte, which must give the same turn."""
    whole = thinkaloud.read(body, **options)
    reader = Reader(**options)
    events = [turn_event for data in one_by_one(body) for turn_event in reader.feed(data)] + reader.close()
    apart = fold(events)
    assert (apart.outcome, apart.notices, apart.message) == (whole.outcome, whole.notices, whole.message)
    assert [(block.kind, block.text, block.seals) for block in apart.blocks] == [
        (block.kind, block.text, block.seals) for block in whole.blocks
    ]
    return whole


def blocks(turn: Turn) -> list[tuple[str, str]]:
    return [(block.kind.value, block.text) for block in turn.blocks]


def ending(turn: Turn) -> tuple[str, str]:
    assert turn.outcome is not None
    return turn.outcome.ending.value, turn.outcome.cause


def cause(turn: Turn) -> str:
    assert turn.outcome is not None
    return turn.outcome.message


def message(turn: Turn) -> Any:
    assert turn.message is not None
    return json.loads(turn.message.payload)
