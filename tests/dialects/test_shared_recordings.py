"""Responses of real providers give the same result as an independent reader.

The recordings are not part of the project. These tests are skipped if they are missing; the project's own
recordings are always read.
"""

import hashlib
import json
from functools import cache
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
from thinkaloud.core.canon import Kind, SealForm
from thinkaloud.core.dialects import AUTO
from thinkaloud.core.transcript import Ending

pytestmark = pytest.mark.skipif(not REAL_BY_NAME, reason=MISSING_REASON)

NAMES = sorted(REAL_BY_NAME)
CHUNKED = [name for name in NAMES if (REAL_RECORDINGS / name / "chunks.json").exists()]
SMALL = 20_000
"""Size in bytes; larger bodies are not read byte by byte."""

READ_DIFFERENTLY: dict[str, str] = {}
"""Recordings with another result than the independent reader's, and the reason. None at present."""

KIND_BY_RECORDED_KIND = {"redacted": "reasoning", "encrypted": "reasoning", "server_tool_call": "tool_call"}
CALL_KINDS = ("tool_call", "server_tool_call")
SILENT_ITEMS = ("mcp_list_tools", "compaction")
"""Items that the independent reader takes for calls. They call nothing."""


def plain(text: str, expected: JsonObject) -> str:
    """Return the text to compare: the independent reader drops white space around tags."""
    return text.strip() if "think_tags" in expected else text


def as_json(text: str) -> Any:
    """Return arguments as a JSON value; missing arguments are an empty object."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def summary(turn: Turn) -> tuple[object, ...]:
    """Return the parts of a turn that must not depend on the chunking."""
    blocks = [(block.kind, block.text, block.name, block.call_id, block.status) for block in turn.blocks]
    return blocks, seals_of(turn), turn.usage, turn.outcome, turn.notices, turn.message, turn.model


@cache
def whole_summary(name: str) -> tuple[object, ...]:
    """Return the parts of the turn of a recording that is read in one piece."""
    return summary(REAL_BY_NAME[name].turn())


def sha(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()[:16]


def opaque(turn: Turn) -> set[str]:
    """Return the hashes of all seals and of the encrypted content of items."""
    payloads = [seal.payload for seal in seals_of(turn)]
    items = [json.loads(payload) for payload in payloads if turn.dialect == "openai_responses"]
    return {sha(payload) for payload in payloads} | {
        sha(item.get("encrypted_content") or "") for item in items
    }


def order(turn: Turn) -> list[str]:
    """Return the kinds in order, adjacent equal kinds merged; blocks without text and seals are left out."""
    hides = {
        block.number: any(seal.form is not SealForm.ITEM for seal in block.seals) for block in turn.blocks
    }
    expected_text = [
        block
        for block in turn.blocks
        if block.kind is Kind.TOOL_CALL or not block.blank or hides[block.number]
    ]
    return [kind for kind, _ in groupby(block.kind.value for block in expected_text)]


def is_call(block: JsonObject) -> bool:
    return block["kind"] in CALL_KINDS and block.get("name") not in SILENT_ITEMS


def expected_order(expected: JsonObject) -> list[str]:
    """Return the expected kinds in order; a result belongs to its call."""
    if "think_tags" in expected:  # its blocks are not separate, but reasoning can only come first
        text_by_kind = {"reasoning": expected["reasoning"], "text": expected["answer"]}
        calls = ["tool_call" for block in expected["blocks"] if is_call(block)]
        kinds = [kind for kind, text in text_by_kind.items() if text.strip()] + calls
    else:
        kinds = [
            KIND_BY_RECORDED_KIND.get(block["kind"], block["kind"])
            for block in expected["blocks"]
            if shows(block)
        ]
    return [kind for kind, _ in groupby(kinds)]


def shows(block: JsonObject) -> bool:
    opaque = any(field.endswith("_sha256_16") for field in block)
    return is_call(block) or opaque or bool(block.get("text", "").strip())


@pytest.fixture(params=[name for name in NAMES if name not in READ_DIFFERENTLY])
def real(request: pytest.FixtureRequest) -> Recording:
    return REAL_BY_NAME[str(request.param)]


def test_real_reasoning_and_answer(real: Recording) -> None:
    """R001, R002, R006-R010: real responses of every provider, with the dialect detected."""
    expected, turn = real.story, real.turn()
    assert plain(turn.reasoning, expected) == plain(expected["reasoning"], expected)
    assert plain(turn.answer, expected) == plain(expected["answer"], expected)
    parts = [plain(block.text, expected) for block in turn.own_blocks(Kind.REASONING) if not block.blank]
    assert parts == [plain(part, expected) for part in expected["reasoning_parts"] if part.strip()]
    assert order(turn) == expected_order(expected)


def test_real_tool_calls(real: Recording) -> None:
    calls = real.turn().own_blocks(Kind.TOOL_CALL)
    expected = [block for block in real.story["blocks"] if is_call(block)]
    assert len(calls) == len(expected)
    for call, block in zip(calls, expected, strict=True):
        if "arguments" in block:  # the independent reader does not look into tools that the provider runs
            assert (call.name, call.call_id) == (block["name"], block.get("id") or "")
            assert as_json(call.text) == as_json(block["arguments"])


def test_real_seals_are_kept(real: Recording) -> None:
    blocks = real.story["blocks"]
    expected = {block[field] for block in blocks for field in block if field.endswith("_sha256_16")}
    assert not expected - opaque(real.turn())


def test_real_outcome(real: Recording) -> None:
    turn, expected = real.turn(), real.story
    assert turn.outcome is not None
    if expected["errors"]:
        assert turn.outcome.ending is Ending.FAILED or turn.notices
    else:
        finish = str(expected["finish"] or "unknown").removeprefix("incomplete:")
        assert turn.outcome.cause == finish
        assert turn.outcome.ending is not Ending.FAILED


def test_real_dialect_is_detected(real: Recording) -> None:
    """R002: the detected dialect is the recorded one."""
    if real.dialect != AUTO:
        assert real.turn().dialect == real.dialect
        assert summary(real.turn(dialect=real.dialect)) == summary(real.turn())


@pytest.mark.some_cases(60)
def test_real_recording_in_small_chunks(real: Recording) -> None:
    whole_turn = summary(real.turn())
    for size in (1,) if len(real.body) < SMALL else (64, 997, 1024):
        assert summary(real.turn(real.in_chunks(size))) == whole_turn


@pytest.mark.some_cases(60)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, deadline=None)
@given(split_points=SPLIT_POINTS)
def test_real_recording_does_not_depend_on_chunking(name: str, split_points: list[int]) -> None:
    real = REAL_BY_NAME[name]
    spread = [position * 7919 for position in split_points]  # so that cuts reach the end of large bodies
    assert summary(real.turn(split_at(real.body, spread))) == whole_summary(name)


@pytest.mark.parametrize("name", CHUNKED)
def test_real_recording_in_network_chunks(name: str) -> None:
    real = REAL_BY_NAME[name]
    sizes = [
        size for size, _ in json.loads((REAL_RECORDINGS / name / "chunks.json").read_text("utf-8"))["chunks"]
    ]
    pieces, index = [], 0
    for size in sizes:
        pieces.append(real.body[index : index + size])
        index += size
    assert summary(real.turn([*pieces, real.body[index:]])) == summary(real.turn())


def test_read_differently_names_existing_recordings() -> None:
    assert not set(READ_DIFFERENTLY) - set(NAMES)
