"""The command line, and the one module that may know every other.

Exit codes: 0 when every file was read, 2 when one was not a response or could not be opened (the others are
still read), 130 when stopped by Ctrl-C.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from thinkaloud import __version__
from thinkaloud.canon import Entry, Event, NotAResponse, Refused, TurnFailed, TurnStarted
from thinkaloud.dialects import AUTO, DIALECTS, PROFILES, Reader
from thinkaloud.surfaces.plain import Plain
from thinkaloud.surfaces.terminal import clean, clean_json
from thinkaloud.transcript import Turn, fold
from thinkaloud.view import LOCALES, Words, gateway, thinking_block

STDIN = "-"
READ_BYTES = 64 * 1024
DONE, NOT_READ, STOPPED = 0, 2, 130
_entry = msgspec.json.Decoder(Entry)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the answer."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        return int(options.run(options))
    except Refused as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # Whoever read us has what it wanted; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="thinkaloud",
        description="Thoughts, tool calls and answer of any model's response, apart and exact.",
    )
    parser.add_argument("--version", action="version", version=f"thinkaloud {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_read(
        commands.add_parser(
            "read",
            help="read saved or piped responses",
            description="Read what a provider sent and show thoughts and answer apart. "
            "Works live: curl -N ... | thinkaloud read -",
        )
    )
    _add_replay(
        commands.add_parser(
            "replay",
            help="replay a recorded turn with its own timing",
            description="Show a recorded turn as it happened. Nothing is asked of any model.",
        )
    )
    return parser


def _add_read(parser: argparse.ArgumentParser) -> None:
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
    add("--chunk-bytes", type=_positive, metavar="N", help="feed the file in pieces of N bytes")
    _add_language(parser)
    parser.set_defaults(run=_read)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="entries, one JSON object a line; - is standard input")
    add("--speed", type=_speed, default=1.0, metavar="X", help="times as fast; 0 is at once (default: 1)")
    _add_language(parser)
    parser.set_defaults(run=_replay)


def _add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lang", default="en-US", metavar="L", help=f"{' or '.join(LOCALES)} (default: en-US)"
    )


def _read(options: argparse.Namespace) -> int:
    show = {"plain": _show_plain, "json": _show_json, "ndjson": _show_ndjson}[options.format]
    worst = DONE
    for name in options.files:
        try:
            show(name, _responses_only(_events(name, options)), options)
        except NotAResponse as error:
            worst = _complain(f"{name}: {error}")
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            worst = _complain(f"{name}: cannot be read: {error.strerror or error}")
    return worst


def _events(name: str, options: argparse.Namespace) -> Iterator[Event]:
    reader = Reader(options.dialect, model=options.model, tags=options.tags)
    for piece in _pieces(name, options.chunk_bytes):
        yield from reader.feed(piece)
    yield from reader.close()


def _pieces(name: str, size: int | None) -> Iterator[bytes]:
    """The bytes of a file as they come, or in pieces of one size."""
    with open(0 if name == STDIN else name, "rb", closefd=name != STDIN) as file:
        while piece := file.read(size) if size else file.read1(READ_BYTES):
            yield piece


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
    plain = Plain(sys.stdout, sys.stderr, locale=options.lang, dim=_dim())
    for seq, event in enumerate(events):
        if seq == 0 and len(options.files) > 1:
            print(f"==> {clean(name)} <==", file=sys.stderr)
        plain.feed(Entry(seq, event))


def _show_json(name: str, events: Iterator[Event], options: argparse.Namespace) -> None:
    print(clean_json(msgspec.json.encode({"file": name, **_summary(fold(events))}).decode()))


def _show_ndjson(_: str, events: Iterator[Event], __: argparse.Namespace) -> None:
    for event in events:
        print(clean_json(msgspec.json.encode(event).decode()))


def _summary(turn: Turn) -> dict[str, object]:
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
            _entry.decode(line) for line in b"".join(_pieces(options.file, None)).splitlines() if line.strip()
        ]
    except (OSError, msgspec.MsgspecError) as error:
        return _complain(f"{options.file}: is not a recorded turn: {error}")
    print(clean(words.say("cli.replaying", name=Path(options.file).name)), file=sys.stderr)
    plain = Plain(sys.stdout, sys.stderr, locale=options.lang, dim=_dim())
    before_ms: int | None = None
    for entry in entries:
        if before_ms is not None and entry.at_ms is not None and options.speed:
            time.sleep(max(0, entry.at_ms - before_ms) / 1000 / options.speed)
        before_ms = entry.at_ms if entry.at_ms is not None else before_ms
        plain.feed(entry)
    return DONE


def _dim() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes; give 1 or more")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if 0 <= speed < float("inf"):
        return speed
    raise argparse.ArgumentTypeError(f"{text!r} is not a speed; 1 is as recorded, 2 twice as fast, 0 at once")


def _complain(text: str) -> int:
    print(f"thinkaloud: {clean(text)}".replace("\n", " "), file=sys.stderr)
    return NOT_READ
