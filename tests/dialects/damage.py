"""Damages responses in every field and at random bytes, and checks that no text is lost and nothing raises.

`python -m tests.dialects.damage` (`make fuzz`) damages all recordings and prints the figures; the tests
damage a sample. The same seed gives the same damage. An exception of the reader ends the run.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.dialects.recordings import REAL_BY_NAME, RECORDINGS, Recording
from tests.wire.aws_encoder import encode_event

from thinkaloud import NotAResponse, Reader, Turn, fold
from thinkaloud.core.canon import Kind
from thinkaloud.core.dialects import AUTO
from thinkaloud.core.wire import Frame

WRONG_VALUES: tuple[Any, ...] = (None, 7, 1.5, 3.0, True, "odd", ["odd"], {"odd": 1})
TEXT_FIELDS = frozenset(
    (
        *("text", "content", "thinking", "thought", "summary", "refusal", "tool_plan", "response", "delta"),
        *("reasoning", "reasoning_content", "reasoning_text", "reasoning_details", "thinking_blocks"),
        *("parts", "steps"),
    )
)
"""The fields whose strings are text of the model: whoever replaces one of them damages the text itself."""

MAX_BYTES = 20_000
"""Longer responses are not damaged at random bytes, because most of their bytes are alike."""

Path = tuple[str | int, ...]


class Mutation(NamedTuple):
    """A recording in which one field of one frame has another value."""

    recording: Recording
    frame: int
    path: Path
    value: Any

    @property
    def label(self) -> str:
        place = ".".join("[]" if isinstance(step, int) else step for step in self.path)
        return f"{self.recording.name}, frame {self.frame}: {place} = {json.dumps(self.value)}"

    def body(self) -> bytes:
        """Return the damaged response, in the framing of the recording."""
        frames = self.recording.frames()
        frame = frames[self.frame]
        frames[self.frame] = Frame(
            json.dumps(_replaced(json.loads(frame.data), self.path, self.value)).encode(), frame.event
        )
        return encode_frames(self.recording, frames)


def encode_frames(recording: Recording, frames: list[Frame]) -> bytes:
    """Encode frames in the framing of a recording."""
    first_byte = recording.body.lstrip(b"\xef\xbb\xbf \r\n")[:1]
    if recording.body[:1] == b"\0":
        return b"".join(encode_event(frame.event, frame.data) for frame in frames)
    if first_byte == b"{":
        return b"\n".join(frame.data for frame in frames)
    if first_byte == b"[":
        return b"[" + b",\n".join(frame.data for frame in frames) + b"]"
    names = (b"event: %s\n" % frame.event.encode() if frame.event else b"" for frame in frames)
    return b"".join(
        name + b"".join(b"data: %s\n" % line for line in frame.data.splitlines()) + b"\n"
        for name, frame in zip(names, frames, strict=True)
    )


def mutations(recording: Recording) -> Iterator[Mutation]:
    """Yield every field of every frame with every value of another type, except fields that hold text."""
    for number, frame in enumerate(recording.frames()):
        try:
            value = json.loads(frame.data)
        except ValueError:
            continue
        for path, original in _fields(value):
            if not _holds_text(path, original) and path[-1] != "error":  # an object there is an error
                for wrong in WRONG_VALUES:
                    if type(wrong) is not type(original):
                        yield Mutation(recording, number, path, wrong)


def _fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in steps:
        yield (*path, step), child
        yield from _fields(child, (*path, step))


def _holds_text(path: Path, value: Any) -> bool:
    names = [step for step in path if isinstance(step, str)]
    inside_text = bool(names) and names[-1] in TEXT_FIELDS
    if isinstance(value, str):
        return bool(value) and inside_text
    if value is None:
        return inside_text
    leaves = ((deeper, leaf) for deeper, leaf in _fields(value) if isinstance(leaf, str))
    return any(_holds_text((*path, *deeper), leaf) for deeper, leaf in leaves)


def _replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy: Any = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def read(recording: Recording, body: bytes, chunk_bytes: int = 0) -> Turn:
    """Read a body as its recording is read, whole or in chunks."""
    reader = Reader(AUTO, model=recording.model, tags=recording.tags)
    size = chunk_bytes or len(body) or 1
    events = [
        event for start in range(0, len(body), size) for event in reader.feed(body[start : start + size])
    ]
    return fold(events + reader.close())


def text_of_turn(turn: Turn) -> str:
    """Return all words of the model in order, thought and answer alike."""
    return "".join(block.text for block in turn.blocks if block.kind in (Kind.REASONING, Kind.TEXT))


def lost_text(original: str, damaged: str) -> str:
    """Return the first of the original's words that are missing, in order; "" if all are there."""
    position = 0
    for number, character in enumerate(original):
        position = damaged.find(character, position) + 1
        if not position:
            return original[number : number + 40]
    return ""


def problem_of(mutation: Mutation, original: str) -> str:
    """Return what text the damaged response has lost; "" if none."""
    try:
        turn = read(mutation.recording, mutation.body())
    except NotAResponse:
        return "not recognised" if original else ""
    except Exception as error:
        error.add_note(mutation.label)
        raise
    return f"lost {lost!r}" if (lost := lost_text(original, text_of_turn(turn))) else ""


def damaged_bytes(recording: Recording, choose: random.Random) -> bytes:
    """Return a body with random bytes changed, removed, repeated or cut off."""
    body = bytearray(recording.body)
    for _ in range(choose.randint(1, 4)):
        start = choose.randrange(len(body) + 1)
        end = min(len(body), start + choose.randint(0, 30))
        match choose.randrange(5):
            case 0:
                body[start:end] = choose.randbytes(end - start)
            case 1:
                del body[start:end]
            case 2:
                body[start:start] = body[start:end]
            case 3:
                del body[start:]
            case _:
                body[start:end] = choose.choice(
                    (
                        b"null",
                        b"5.0",
                        b"{}",
                        b"[]",
                        b'"',
                        b"NaN",
                        b"\n",
                        b"\n\n",
                        b"\\ud83d",
                        b"\xff",
                        b"}",
                        b"]",
                    )
                )
    return bytes(body)


def problem_of_bytes(recording: Recording, body: bytes, chunk_bytes: int) -> str:
    """Return the difference between reading whole and in chunks; "" if there is none."""
    results = []
    for size in (0, chunk_bytes):
        try:
            turn = read(recording, body, size)
            results.append((turn.outcome, [(block.kind, block.text) for block in turn.blocks]))
        except NotAResponse:
            results.append((None, []))
        except Exception as error:
            error.add_note(f"{recording.name}: {body!r}")
            raise
    return "" if results[0] == results[1] else f"chunks of {chunk_bytes} give another turn"


def json_recordings() -> list[Recording]:
    """Return all recordings of JSON dialects that have text."""
    every = [*RECORDINGS.values(), *REAL_BY_NAME.values()]
    return [recording for recording in every if recording.dialect not in (AUTO, "text")]


def damage_fields(recordings: list[Recording], number: int, choose: random.Random) -> bool:
    """Damage about `number` fields, spread over all recordings; return whether all text was kept."""
    share = max(1, number // len(recordings))
    count = lost = 0
    for recording in recordings:
        original = text_of_turn(read(recording, recording.body))
        every = list(mutations(recording))
        for mutation in choose.sample(every, min(share, len(every))):
            count += 1
            if problem := problem_of(mutation, original):
                lost += 1
                print(f"{mutation.label}: {problem}", file=sys.stderr)
    print(f"{count:,} fields of another type in {len(recordings)} responses: {lost:,} lost text.")
    return not lost


def damage_bytes(recordings: list[Recording], number: int, choose: random.Random) -> bool:
    """Damage responses at random bytes; return whether the result never depended on the chunks."""
    different = 0
    short = [recording for recording in recordings if len(recording.body) < MAX_BYTES]
    for _ in range(number):
        recording = choose.choice(short)
        body = damaged_bytes(recording, choose)
        if problem := problem_of_bytes(recording, body, choose.randint(1, 200)):
            different += 1
            print(f"{recording.name}: {problem}: {body!r}", file=sys.stderr)
    print(f"{number:,} responses damaged at random bytes: {different:,} depended on chunks.")
    return not different


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.dialects.damage", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fields", type=int, default=60_000, help="number of fields to damage")
    parser.add_argument("--streams", type=int, default=20_000, help="number of responses to damage in bytes")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    recordings = json_recordings()
    kept = damage_fields(recordings, options.fields, choose)
    same = damage_bytes(recordings, options.streams, choose)
    sys.exit(not (kept and same))


if __name__ == "__main__":
    main()
