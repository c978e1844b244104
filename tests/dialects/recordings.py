"""Recorded responses for tests: the project's own, each with its story, and those of real providers.

The project's own recordings are in tests/recordings. The recordings of real providers are not part of the
project: they are in the folder named by THINKALOUD_RECORDINGS, or beside the checkout.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from thinkaloud import Reader, Turn, fold
from thinkaloud.core.canon import Event, Seal
from thinkaloud.core.dialects import AUTO
from thinkaloud.core.transcript import Block
from thinkaloud.core.wire import DEFAULT_LIMITS, Frame, NdjsonDecoder, TextDecoder, sniff_framing

ROOT = Path(__file__).parents[2]
OWN_RECORDINGS = ROOT / "tests" / "recordings"
REAL_RECORDINGS = Path(os.environ.get("THINKALOUD_RECORDINGS") or ROOT.parent / "shared" / "recordings")
MISSING_REASON = f"no recordings of real providers in {REAL_RECORDINGS}; only the project's own are read"

JsonObject = dict[str, Any]


class Recording(NamedTuple):
    """A response body with its expected story and the options to read it."""

    name: str
    dialect: str
    body: bytes
    story: JsonObject
    model: str = ""
    tags: str = ""

    def events(self, chunks: Iterable[bytes] | None = None, dialect: str = AUTO) -> list[Event]:
        """Return all events of the body, read whole or in these chunks."""
        reader = Reader(dialect, model=self.model, tags=self.tags)
        events = [event for chunk in chunks or [self.body] for event in reader.feed(chunk)]
        return events + reader.close()

    def turn(self, chunks: Iterable[bytes] | None = None, dialect: str = AUTO) -> Turn:
        return fold(self.events(chunks, dialect))

    def in_chunks(self, size: int) -> list[bytes]:
        """Return the body in chunks of `size` bytes."""
        return [self.body[start : start + size] for start in range(0, len(self.body), size)]

    def frames(self) -> list[Frame]:
        """Return the frames of the body, without events that have no data."""
        framing = sniff_framing(self.body, final=True) or TextDecoder
        if self.dialect == "text" and framing is not NdjsonDecoder:
            framing = TextDecoder
        decoder = framing(DEFAULT_LIMITS)
        return [frame for frame in decoder.feed(self.body) + decoder.close() if frame.data]


def _load_own(folder: Path) -> Recording:
    story = json.loads((folder / "story.json").read_text("utf-8"))
    (body,) = folder.glob("body.*")
    name = folder.relative_to(OWN_RECORDINGS).as_posix()
    return Recording(name, story["dialect"], body.read_bytes(), story, **story.get("options", {}))


RECORDINGS = {
    recording.name: recording
    for recording in (_load_own(path.parent) for path in sorted(OWN_RECORDINGS.rglob("story.json")))
}
"""The project's own recordings by name."""

_DIALECT_BY_PROTOCOL = {
    "raw-text-tokens": "text",
    "http-error": AUTO,
}
"""The dialect of recorded protocols whose name differs from the dialect's."""


def _load_real(folder: Path) -> Recording:
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    protocol = meta["protocol"]
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    dialect = _DIALECT_BY_PROTOCOL.get(protocol, protocol.replace("-", "_"))
    model = meta["model"] if dialect == "text" else ""
    return Recording(meta["id"], dialect, (folder / meta["body"]).read_bytes(), expected, model)


REAL_BY_NAME = {
    recording.name: recording
    for recording in (_load_real(path.parent) for path in sorted(REAL_RECORDINGS.glob("*/*/meta.json")))
}
"""The recordings of real providers by name; their story is the output of an independent reader."""


_DEFAULT_BLOCK: JsonObject = {
    "text": "",
    "name": "",
    "call_id": "",
    "seals": [],
    "result": None,
    "error": "",
    "status": "done",
}
"""The defaults of a block in a story."""


def turn_as_story(turn: Turn, story: JsonObject) -> JsonObject:
    """Return a turn in the format of a story, with the optional fields that this story has."""
    assert turn.outcome is not None, "the turn has no end"
    story_blocks = [*story["blocks"], *({} for _ in turn.blocks)]
    return {
        "dialect": turn.dialect,
        "model": turn.model,
        "blocks": [
            _block_as_story(block, story_block)
            for block, story_block in zip(turn.blocks, story_blocks, strict=False)
        ],
        "outcome": {"ending": turn.outcome.ending.value, "cause": turn.outcome.cause},
        "usage": msgspec.to_builtins(turn.usage),
        "notices": [notice.code for notice in turn.notices],
    }


def _block_as_story(block: Block, story_block: JsonObject) -> JsonObject:
    names = ("text", "name", "call_id", "result", "error")
    fields: JsonObject = {name: getattr(block, name) for name in names}
    fields |= {"kind": block.kind.value, "status": block.status.value}
    story_payloads = [*(seal["payload"] for seal in story_block.get("seals", ())), *("" for _ in block.seals)]
    fields["seals"] = [
        {
            "form": seal.form.value,
            "payload": seal.payload if isinstance(story_payload, str) else json.loads(seal.payload),
        }
        for seal, story_payload in zip(block.seals, story_payloads, strict=False)
    ]
    return fields | ({"provenance": block.provenance.value} if "provenance" in story_block else {})


def complete_story(partial: JsonObject) -> JsonObject:
    """Return a story with its defaults filled in."""
    story = {field: partial[field] for field in ("dialect", "model", "outcome")}
    story["blocks"] = [_DEFAULT_BLOCK | block for block in partial["blocks"]]
    return story | {"usage": partial.get("usage", {}), "notices": partial.get("notices", [])}


def seals_of(turn: Turn) -> list[Seal]:
    return [seal for block in turn.blocks for seal in block.seals]
