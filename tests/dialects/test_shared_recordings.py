"""Responses that real providers sent read as an independent reader concatenated them.

They are no part of the project. Where they are missing these tests are skipped and say so; the project's own
recordings are read in any case.
"""

import hashlib
import json
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from tests.chunks import SPLIT_POINTS, split_at
from tests.dialects.recordings import (
    MISSING_REASON,
    REAL_BY_NAME,
    REAL_RECORDINGS,
    JsonObject,
    Recording,
    seals_of,
)

from thinkaloud import Turn
from thinkaloud.canon import Kind, SealForm
from thinkaloud.dialects import AUTO
from thinkaloud.transcript import Ending

pytestmark = pytest.mark.skipif(not REAL_BY_NAME, reason=MISSING_REASON)

NAMES = sorted(REAL_BY_NAME)
CHUNKED = [name for name in NAMES if (REAL_RECORDINGS / name / "chunks.json").exists()]
SMALL = 20_000
"""Bytes; larger bodies are not read byte by byte."""

READ_DIFFERENTLY: dict[str, str] = {}
"""A recording that cannot be read as expected, and why. There is none."""

AS_KIND = {"redacted": "reasoning", "encrypted": "reasoning", "server_tool_call": "tool_call"}
CALLS = ("tool_call", "server_tool_call")


def plain(text: str, expected: JsonObject) -> str:
    """Text as it is compared: the independent reader drops white space round tags."""
    return text.strip() if "think_tags" in expected else text


def as_json(text: str) -> Any:
    """Arguments by their meaning; a call without any is a call with an empty object."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def summary(turn: Turn) -> tuple[object, ...]:
    """What has to be the same however the body was cut."""
    blocks = [(block.kind, block.text, block.name, block.call_id, block.status) for block in turn.blocks]
    return blocks, seals_of(turn), turn.usage, turn.outcome, turn.notices, turn.message, turn.model


def sha(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()[:16]


def opaque(turn: Turn) -> set[str]:
    """Hashes of all seals, and of what is encrypted inside an item."""
    payloads = [seal.payload for seal in seals_of(turn)]
    items = [json.loads(payload) for payload in payloads if turn.dialect == "openai_responses"]
    return {sha(payload) for payload in payloads} | {
        sha(item.get("encrypted_content") or "") for item in items
    }


def order(turn: Turn) -> list[str]:
    """Kinds in order, runs of one kind as one; what shows nothing and hides nothing is left out."""
    hides = {
        block.number: any(seal.form is not SealForm.ITEM for seal in block.seals) for block in turn.blocks
    }
    expected_text = [
        block
        for block in turn.blocks
        if block.kind is Kind.TOOL_CALL or not block.blank or hides[block.number]
    ]
    return [kind for kind, _ in groupby(block.kind.value for block in expected_text)]


def expected_order(expected: JsonObject) -> list[str]:
    """The same of what is expected, where a result belongs to its call."""
    if "think_tags" in expected:  # there the blocks are not told apart, but a thought can only come first
        text_by_kind = {"reasoning": expected["reasoning"], "text": expected["answer"]}
        calls = ["tool_call" for block in expected["blocks"] if block["kind"] in CALLS]
        kinds = [kind for kind, text in text_by_kind.items() if text.strip()] + calls
    else:
        kinds = [AS_KIND.get(block["kind"], block["kind"]) for block in expected["blocks"] if shows(block)]
    return [kind for kind, _ in groupby(kinds)]


def shows(block: JsonObject) -> bool:
    opaque = any(field.endswith("_sha256_16") for field in block)
    return block["kind"] in CALLS or opaque or bool(block.get("text", "").strip())


@pytest.fixture(params=[name for name in NAMES if name not in READ_DIFFERENTLY])
def real(request: pytest.FixtureRequest) -> Recording:
    return REAL_BY_NAME[str(request.param)]


def test_thoughts_and_answer_are_as_expected(real: Recording) -> None:
    """R001, R002, R006-R010: real answers of every provider, and nobody said whose they are."""
    expected, turn = real.story, real.turn()
    assert plain(turn.reasoning, expected) == plain(expected["reasoning"], expected)
    assert plain(turn.answer, expected) == plain(expected["answer"], expected)
    parts = [plain(block.text, expected) for block in turn.own_blocks(Kind.REASONING) if not block.blank]
    assert parts == [plain(part, expected) for part in expected["reasoning_parts"] if part.strip()]
    assert order(turn) == expected_order(expected)


def test_calls_are_as_expected(real: Recording) -> None:
    calls = real.turn().own_blocks(Kind.TOOL_CALL)
    expected = [block for block in real.story["blocks"] if block["kind"] in CALLS]
    assert len(calls) == len(expected)
    for call, block in zip(calls, expected, strict=True):
        if "arguments" in block:  # the independent reader does not look into tools that the provider runs
            assert (call.name, call.call_id) == (block["name"], block.get("id") or "")
            assert as_json(call.text) == as_json(block["arguments"])


def test_nothing_opaque_is_lost(real: Recording) -> None:
    blocks = real.story["blocks"]
    expected = {block[field] for block in blocks for field in block if field.endswith("_sha256_16")}
    assert not expected - opaque(real.turn())


def test_the_end_is_as_expected(real: Recording) -> None:
    turn, expected = real.turn(), real.story
    assert turn.outcome is not None
    if expected["errors"]:
        assert turn.outcome.ending is Ending.FAILED or turn.notices
    else:
        finish = str(expected["finish"] or "unknown").removeprefix("incomplete:")
        assert turn.outcome.cause == finish
        assert turn.outcome.ending is not Ending.FAILED


def test_the_dialect_is_found(real: Recording) -> None:
    """R002: detection agrees with what the recording is known to be."""
    if real.dialect != AUTO:
        assert real.turn().dialect == real.dialect
        assert summary(real.turn(dialect=real.dialect)) == summary(real.turn())


def test_cut_bytes_tell_the_same_story(real: Recording) -> None:
    whole_turn = summary(real.turn())
    for size in (1,) if len(real.body) < SMALL else (64, 997, 1024):
        assert summary(real.turn(real.in_chunks(size))) == whole_turn


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None)
@given(split_points=SPLIT_POINTS)
def test_any_cut_tells_the_same_story(name: str, split_points: list[int]) -> None:
    real = REAL_BY_NAME[name]
    spread = [position * 7919 for position in split_points]  # so that cuts reach the end of large bodies
    assert summary(real.turn(split_at(real.body, spread))) == summary(real.turn())


@pytest.mark.parametrize("name", CHUNKED)
def test_reads_as_the_network_cut_them_tell_the_same_story(name: str) -> None:
    real = REAL_BY_NAME[name]
    sizes = [
        size for size, _ in json.loads((REAL_RECORDINGS / name / "chunks.json").read_text("utf-8"))["chunks"]
    ]
    pieces, index = [], 0
    for size in sizes:
        pieces.append(real.body[index : index + size])
        index += size
    assert summary(real.turn([*pieces, real.body[index:]])) == summary(real.turn())


def test_only_recordings_that_exist_are_read_differently() -> None:
    assert not set(READ_DIFFERENTLY) - set(NAMES)
