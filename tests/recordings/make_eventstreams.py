"""Writes each `body.eventstream` from the `events.json` beside it.

An AWS event stream is binary and cannot be edited by hand. After editing an `events.json`, run
`python -m tests.recordings.make_eventstreams`; a test fails if the files differ.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.wire.aws_encoder import encode_message, encode_text_header

HERE = Path(__file__).parent


def streams() -> Iterator[tuple[Path, bytes]]:
    """Yield every generated file and its expected content."""
    for source in sorted(HERE.rglob("events.json")):
        events = json.loads(source.read_text("utf-8"))
        yield source.with_name("body.eventstream"), b"".join(_encode(event) for event in events)


def _encode(event: dict[str, Any]) -> bytes:
    message_type = "exception" if "exception" in event else "event"
    payload = json.dumps(event["payload"], ensure_ascii=False, separators=(",", ":")).encode()
    return encode_message(
        payload,
        encode_text_header(f":{message_type}-type", event[message_type]),
        encode_text_header(":content-type", "application/json"),
        encode_text_header(":message-type", message_type),
    )


if __name__ == "__main__":
    for path, body in streams():
        path.write_bytes(body)
        print(f"{path.relative_to(HERE)}: {len(body)} bytes")
