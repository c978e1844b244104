"""Writes what Python reads from recorded responses, for the element's tests to compare with.

`python -m tests.web.generate_vectors` rewrites `web/test/stream-vectors.json` from the project's own
recordings. It is committed, so that `npm test` needs no Python; a test compares it with what this module
would write. With a path, it writes the vectors of real providers' recordings there; those are not part of the
project.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from tests.dialects.recordings import OWN_RECORDINGS, REAL_BY_NAME, REAL_RECORDINGS, RECORDINGS, Recording

from thinkaloud import Turn
from thinkaloud.core.canon import Kind, NotAResponse
from thinkaloud.core.transcript import Block

VECTORS = Path(__file__).parents[2] / "web" / "test" / "stream-vectors.json"
DIALECTS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini", "ollama", "text")
"""The dialects that the element reads; it refuses the others."""


def own_vectors() -> list[dict[str, Any]]:
    """Return the vectors of the project's own recordings, each whole and cut off in the middle."""
    root = VECTORS.parents[2]
    # The element reads the gateway's own JSON as records, with the times that events do not have.
    names = [name for name in RECORDINGS if not name.startswith("thinkaloud_json/")]
    bodies = {name: next((OWN_RECORDINGS / name).glob("body.*")) for name in names}
    return [
        _vector(RECORDINGS[name], body.relative_to(root).as_posix(), part)
        for name, body in bodies.items()
        for part in (1, 1 / 2)
    ]


def real_vectors() -> list[dict[str, Any]]:
    """Return the vectors of real providers' recordings; empty if there are none."""
    return [
        _vector(recording, next((REAL_RECORDINGS / name).glob("body.*")).resolve().as_posix(), part)
        for name, recording in REAL_BY_NAME.items()
        for part in (1, 1 / 3, 2 / 3)
    ]


def encoded(vectors: Iterable[dict[str, Any]]) -> str:
    """Return vectors as JSON with one vector a line."""
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
    return f"[\n{lines}\n]\n"


def _vector(recording: Recording, body: str, part: float) -> dict[str, Any]:
    """Return the vector of the first part of a recording; `bytes` is its size."""
    options = {name: value for name in ("model", "tags") if (value := getattr(recording, name))}
    size = int(len(recording.body) * part)
    cut_off = recording._replace(body=recording.body[:size])
    return {
        "name": recording.name,
        "body": body,
        "bytes": size,
        "options": options,
        "expected": _expected(cut_off),
    }


def _expected(recording: Recording) -> dict[str, Any] | None:
    """Return the turn that the element must show; None if it must refuse the stream."""
    try:
        turn = recording.turn()
    except NotAResponse:
        return None
    return _turn(turn) if turn.dialect in DIALECTS else None


def _turn(turn: Turn) -> dict[str, Any]:
    assert turn.outcome is not None, "the turn has no end"
    return {
        "dialect": turn.dialect,
        "model": turn.model,
        "blocks": [_block(block) for block in turn.blocks],
        "outcome": {"ending": turn.outcome.ending.value, "cause": turn.outcome.cause},
        "usage": msgspec.to_builtins(turn.usage),
    }


def _block(block: Block) -> dict[str, Any]:
    fields = {name: getattr(block, name) for name in ("name", "call_id", "result", "error")}
    return {
        "kind": block.kind.value,
        "text": _compact(block.text) if block.kind is Kind.TOOL_CALL else block.text,
        **fields,
        "result": block.result and _compact(block.result),
        "status": block.status.value,
        "provenance": block.provenance.value,
        "seals": [seal.form.value for seal in block.seals],
    }


def _compact(text: str) -> str:
    """Return JSON without spaces: a browser cannot tell how it was written. Other text is unchanged."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return text


if __name__ == "__main__":
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(encoded(real_vectors()), "utf-8")
    else:
        VECTORS.write_text(encoded(own_vectors()), "utf-8")
