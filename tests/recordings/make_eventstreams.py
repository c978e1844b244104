"""Writes each `body.eventstream` from the readable `events.json` beside it.

An AWS event stream is binary, so nobody could read or edit it by hand. Run this after editing one:
`python -m tests.recordings.make_eventstreams`. A test says when it was forgotten.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.wire.aws_encoder import encode_message, encode_text_header

HERE = Path(__file__).parent


def streams() -> Iterator[tuple[Path, bytes]]:
    """Every body that is made here, and what should be in it."""
    for source in sorted(HERE.rglob("events.json")):
        events = json.loads(source.read_text("utf-8"))
        yield source.with_name("body.eventstream"), b"".join(_written(event) for event in events)


def _written(event: dict[str, Any]) -> bytes:
    said = "exception" if "exception" in event else "event"
    payload = json.dumps(event["payload"], ensure_ascii=False, separators=(",", ":")).encode()
    name, kind = encode_text_header(f":{said}-type", event[said]), encode_text_header(":message-type", said)
    return encode_message(payload, name, encode_text_header(":content-type", "application/json"), kind)


if __name__ == "__main__":
    for body, made in streams():
        body.write_bytes(made)
        print(f"{body.relative_to(HERE)}: {len(made)} bytes")
