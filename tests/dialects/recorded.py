"""Recorded responses for tests: the project's own, each with its story, and those that real providers sent.

The own ones are under tests/recordings. Those of real providers are no part of the project: they are where
THINKALOUD_RECORDINGS points, or beside the checkout.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from thinkaloud import Reader, Turn, fold
from thinkaloud.canon import Event, Seal
from thinkaloud.dialects import AUTO
from thinkaloud.transcript import Block
from thinkaloud.wire import LIMITS, Frame, Ndjson, Text, sniff

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "recordings"
SHARED = Path(os.environ.get("THINKALOUD_RECORDINGS") or ROOT.parent / "shared" / "recordings")
MISSING = f"recordings of real providers are not here ({SHARED}); the project's own are used"

JsonObject = dict[str, Any]


class Recording(NamedTuple):
    """A response body, and what a caller may know about it beforehand."""

    name: str
    dialect: str
    body: bytes
    story: JsonObject
    model: str = ""
    tags: str = ""

    def events(self, pieces: Iterable[bytes] | None = None, dialect: str = AUTO) -> list[Event]:
        """All events of the body, given whole or in these pieces."""
        reader = Reader(dialect, model=self.model, tags=self.tags)
        told = [event for piece in pieces or [self.body] for event in reader.feed(piece)]
        return told + reader.close()

    def turn(self, pieces: Iterable[bytes] | None = None, dialect: str = AUTO) -> Turn:
        return fold(self.events(pieces, dialect))

    def of_size(self, size: int) -> list[bytes]:
        """The body in pieces of so many bytes."""
        return [self.body[at : at + size] for at in range(0, len(self.body), size)]

    def frames(self) -> list[Frame]:
        """The body as its framing sees it, without events that have no data."""
        framing = sniff(self.body, final=True) or Text
        if self.dialect == "text" and framing is not Ndjson:
            framing = Text
        decoder = framing(LIMITS)
        return [frame for frame in decoder.feed(self.body) + decoder.close() if frame.data]


def _own(folder: Path) -> Recording:
    story = json.loads((folder / "story.json").read_text("utf-8"))
    (body,) = folder.glob("body.*")
    name = folder.relative_to(OWN).as_posix()
    return Recording(name, story["dialect"], body.read_bytes(), story, **story.get("options", {}))


RECORDINGS = {made.name: made for made in (_own(path.parent) for path in sorted(OWN.rglob("story.json")))}
"""The project's own, by name."""

_DIALECTS = {
    "raw-text-tokens": "text",
    "http-error": AUTO,
}
"""The protocols of real recordings whose name is not the dialect's."""


def _shared(folder: Path) -> Recording:
    said = json.loads((folder / "meta.json").read_text("utf-8"))
    protocol = said["protocol"]
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    dialect = _DIALECTS.get(protocol, protocol.replace("-", "_"))
    model = said["model"] if dialect == "text" else ""
    return Recording(said["id"], dialect, (folder / said["body"]).read_bytes(), expected, model)


REAL = {made.name: made for made in (_shared(path.parent) for path in sorted(SHARED.glob("*/*/meta.json")))}
"""What real providers sent, by name; their story is what an independent reader made of them."""


_PLAIN: JsonObject = {
    "text": "",
    "name": "",
    "call_id": "",
    "seals": [],
    "result": None,
    "error": "",
    "status": "done",
}
"""What a story need not say of a block."""


def told(turn: Turn, written: JsonObject) -> JsonObject:
    """A turn in the words of a story, with everything in it that this story asks for."""
    assert turn.outcome is not None, "the turn has no end"
    asked = [*written["blocks"], *({} for _ in turn.blocks)]
    return {
        "dialect": turn.dialect,
        "model": turn.model,
        "blocks": [_told_block(block, ask) for block, ask in zip(turn.blocks, asked, strict=False)],
        "outcome": {"ending": turn.outcome.ending.value, "cause": turn.outcome.cause},
        "usage": msgspec.to_builtins(turn.usage),
        "notices": [notice.code for notice in turn.notices],
    }


def _told_block(block: Block, asked: JsonObject) -> JsonObject:
    fields = ("text", "name", "call_id", "result", "error")
    heard: JsonObject = {field: getattr(block, field) for field in fields}
    heard |= {"kind": block.kind.value, "status": block.status.value}
    written = [*(seal["payload"] for seal in asked.get("seals", ())), *("" for _ in block.seals)]
    heard["seals"] = [
        {
            "form": seal.form.value,
            "payload": seal.payload if isinstance(as_, str) else json.loads(seal.payload),
        }
        for seal, as_ in zip(block.seals, written, strict=False)
    ]
    return heard | ({"provenance": block.provenance.value} if "provenance" in asked else {})


def in_full(written: JsonObject) -> JsonObject:
    """A story with what it leaves out."""
    story = {field: written[field] for field in ("dialect", "model", "outcome")}
    story["blocks"] = [_PLAIN | block for block in written["blocks"]]
    return story | {"usage": written.get("usage", {}), "notices": written.get("notices", [])}


def seals_of(turn: Turn) -> list[Seal]:
    return [seal for block in turn.blocks for seal in block.seals]
