"""`thinkaloud read` and `thinkaloud replay`: what a provider sent, and what was recorded, in plain lines."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from thinkaloud.app.shared import DONE, add_language, complain, pieces, plain, positive
from thinkaloud.canon import Entry, Event, NotAResponse, TurnFailed, TurnStarted
from thinkaloud.dialects import AUTO, DIALECTS, PROFILES, Reader
from thinkaloud.surfaces.terminal import clean, clean_json
from thinkaloud.transcript import Turn, fold
from thinkaloud.view import Words, gateway, thinking_block

_entry = msgspec.json.Decoder(Entry)


def add_read(parser: argparse.ArgumentParser) -> None:
    """The options of `read`."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a response body, whole or streamed; - is standard input")
    add("--dialect", default=AUTO, metavar="D", help=f"auto (the default), {', '.join(sorted(DIALECTS))}")
    add("--model", default="", metavar="M", help="the model, where the response does not name it")
    add("--tags", default="", metavar="T", help=f"how text marks thoughts: {', '.join(PROFILES)}")
    add(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object per file; ndjson: the events",
    )
    add("--chunk-bytes", type=positive, metavar="N", help="feed the file in pieces of N bytes")
    add_language(parser)
    parser.set_defaults(run=_read)


def add_replay(parser: argparse.ArgumentParser) -> None:
    """The options of `replay`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="entries, one JSON object a line; - is standard input")
    add("--speed", type=_speed, default=1.0, metavar="X", help="times as fast; 0 is at once (default: 1)")
    add_language(parser)
    parser.set_defaults(run=_replay)


def _read(options: argparse.Namespace) -> int:
    show = {"plain": _show_plain, "json": _show_json, "ndjson": _show_ndjson}[options.format]
    worst = DONE
    for name in options.files:
        try:
            show(name, _responses_only(_events(name, options)), options)
        except NotAResponse as error:
            worst = complain(f"{name}: {error}")
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            worst = complain(f"{name}: cannot be read: {error.strerror or error}")
    return worst


def _events(name: str, options: argparse.Namespace) -> Iterator[Event]:
    reader = Reader(options.dialect, model=options.model, tags=options.tags)
    for piece in pieces(name, options.chunk_bytes):
        yield from reader.feed(piece)
    yield from reader.close()


def _responses_only(events: Iterable[Event]) -> Iterator[Event]:
    """Refuse what is no response at all: the first thing after its start is that it cannot be read."""
    started: Event | None = None
    for event in events:
        if started is None and isinstance(event, TurnStarted):
            started = event
            continue
        if isinstance(event, TurnFailed) and event.code == "bad_frame" and started is not None:
            raise NotAResponse(event.message)
        if started is not None:
            yield started
            started = None
        yield event


def _show_plain(name: str, events: Iterator[Event], options: argparse.Namespace) -> None:
    told = plain(options.lang)
    for seq, event in enumerate(events):
        if seq == 0 and len(options.files) > 1:
            print(f"==> {clean(name)} <==", file=sys.stderr)
        told.feed(Entry(seq, event))


def _show_json(name: str, events: Iterator[Event], options: argparse.Namespace) -> None:
    print(clean_json(msgspec.json.encode({"file": name, **summary(fold(events))}).decode()))


def _show_ndjson(_: str, events: Iterator[Event], __: argparse.Namespace) -> None:
    for event in events:
        print(clean_json(msgspec.json.encode(event).decode()))


def summary(turn: Turn) -> dict[str, object]:
    """A turn as `--format json` writes it."""
    return {
        **msgspec.structs.asdict(gateway(turn)),
        "thinking": thinking_block(turn),
        "outcome": None if turn.outcome is None else msgspec.structs.asdict(turn.outcome),
        "usage": msgspec.structs.asdict(turn.usage),
        "notices": turn.notices,
        "dialect": turn.dialect,
        "model": turn.model,
    }


def _replay(options: argparse.Namespace) -> int:
    words = Words(options.lang)
    try:
        entries = [
            _entry.decode(line) for line in b"".join(pieces(options.file)).splitlines() if line.strip()
        ]
    except (OSError, msgspec.MsgspecError) as error:
        return complain(f"{options.file}: is not a recorded turn: {error}")
    print(clean(words.say("cli.replaying", name=Path(options.file).name)), file=sys.stderr)
    told = plain(options.lang)
    before_ms: int | None = None
    for entry in entries:
        if before_ms is not None and entry.at_ms is not None and options.speed:
            time.sleep(max(0, entry.at_ms - before_ms) / 1000 / options.speed)
        before_ms = entry.at_ms if entry.at_ms is not None else before_ms
        told.feed(entry)
    return DONE


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if 0 <= speed < float("inf"):
        return speed
    raise argparse.ArgumentTypeError(f"{text!r} is not a speed; 1 is as recorded, 2 twice as fast, 0 at once")
