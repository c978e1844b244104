"""`thinkaloud read` and `thinkaloud replay`: show a provider's response, or a recorded turn."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from thinkaloud.cli.output.console import (
    EXIT_OK,
    add_language_option,
    fill_help,
    invalid_value,
    plain_writer,
    positive,
    print_error,
    read_chunks,
)
from thinkaloud.core.canon import Entry, Event, NotAResponse, TurnFailed, TurnStarted, Wording, reason_of
from thinkaloud.core.dialects import AUTO, DIALECTS, Reader
from thinkaloud.core.transcript import ReplayTimeline, Turn, fold
from thinkaloud.core.view import Words, gateway_answer, thinking_block
from thinkaloud.surfaces.terminal import clean, clean_json

_entry_decoder = msgspec.json.Decoder(Entry)


def add_read(parser: argparse.ArgumentParser) -> None:
    """Add the options of `read`."""
    add_option = parser.add_argument
    add_option(
        "files", nargs="+", metavar="FILE", help="a response body, whole or streamed; - reads standard input"
    )
    dialect = add_option(
        "--dialect",
        default=AUTO,
        metavar="D",
        help="wire format: auto (the default), %(dialects)s",
    )
    fill_help(dialect, dialects=", ".join(sorted(DIALECTS)))
    add_option("--model", default="", metavar="M", help="the model, if the response does not name it")
    add_option(
        "--tags",
        default="",
        metavar="T",
        help="tag profile of the text, if the model's name does not select the right one: off, think, "
        "think_inside (the text starts in the thought), think_anywhere, harmony; an unknown name lists all",
    )
    add_option(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object per file; "
        "ndjson: one event per line",
    )
    add_option("--json", dest="format", action="store_const", const="json", help="short for --format json")
    add_option("--chunk-bytes", type=positive, metavar="N", help="read the file in chunks of N bytes")
    add_language_option(parser)
    parser.set_defaults(run=_run_read)


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Add the options of `replay`."""
    from thinkaloud.cli.gateway_client import add_server_options  # not needed, and slow to import, for `read`

    add_option = parser.add_argument
    add_option(
        "file",
        metavar="FILE|TURN",
        help="a recording of `ask --format ndjson`, - for standard input, the id of a stored turn, or "
        "`latest` for the last one",
    )
    add_option(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="X",
        help="speed factor; 0 shows it without pauses (default: 1)",
    )
    add_server_options(parser)
    add_language_option(parser)
    parser.set_defaults(run=_run_replay)


def _run_read(options: argparse.Namespace) -> int:
    show = {"plain": _print_plain, "json": _print_json, "ndjson": _print_ndjson}[options.format]
    exit_code = EXIT_OK
    for name in options.files:
        try:
            show(name, _refuse_non_responses(_events(name, options)), options)
        except NotAResponse as error:
            exit_code = print_error(Wording("{file}: {reason}", file=name, reason=error.wording))
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            exit_code = print_error(_unreadable(name, error))
    return exit_code


def _events(name: str, options: argparse.Namespace) -> Iterator[Event]:
    reader = Reader(options.dialect, model=options.model, tags=options.tags)
    for chunk in read_chunks(name, options.chunk_bytes):
        yield from reader.feed(chunk)
    yield from reader.close()


def _refuse_non_responses(events: Iterable[Event]) -> Iterator[Event]:
    """Refuse a file that is no response: its first event after the start is that it cannot be read."""
    started: Event | None = None
    for event in events:
        if started is None and isinstance(event, TurnStarted):
            started = event
            continue
        if isinstance(event, TurnFailed) and event.code == "bad_frame" and started is not None:
            raise NotAResponse(wording=Wording.received(event.message, event.wording))
        if started is not None:
            yield started
            started = None
        yield event


def _print_plain(name: str, events: Iterator[Event], options: argparse.Namespace) -> None:
    writer = plain_writer(options.lang)
    for seq, event in enumerate(events):
        if seq == 0 and len(options.files) > 1:
            print(f"==> {clean(name)} <==", file=sys.stderr)
        writer.feed(Entry(seq, event))


def _print_json(name: str, events: Iterator[Event], options: argparse.Namespace) -> None:
    print(clean_json(msgspec.json.encode({"file": name, **turn_as_json(fold(events))}).decode()))


def _print_ndjson(_: str, events: Iterator[Event], __: argparse.Namespace) -> None:
    for event in events:
        print(clean_json(msgspec.json.encode(event).decode()))


def turn_as_json(turn: Turn) -> dict[str, object]:
    """Return a turn in the shape of `--format json`."""
    return {
        **msgspec.structs.asdict(gateway_answer(turn)),
        "thinking": thinking_block(turn),
        "outcome": turn.outcome
        and {"ending": "", "cause": "", "message": "", **msgspec.to_builtins(turn.outcome)},
        "usage": msgspec.structs.asdict(turn.usage),
        "notices": turn.notices,
        "dialect": turn.dialect,
        "model": turn.model,
    }


def _run_replay(options: argparse.Namespace) -> int:
    from thinkaloud.cli.commands.show import replay_stored, stored_turn_named
    from thinkaloud.cli.gateway_client.find import TURN_PREFIX

    if stored_turn_named(options.file) and not Path(options.file).exists():
        return replay_stored(options)
    words = Words(options.lang)
    try:
        entries = [
            _entry_decoder.decode(line)
            for line in b"".join(read_chunks(options.file)).splitlines()
            if line.strip()
        ]
    except FileNotFoundError:
        return print_error(
            Wording(
                "There is no file {file}, and no such turn. Give the path of a recording, the id of a turn, "
                "which begins with {prefix}, or `latest`.",
                file=repr(options.file),
                prefix=TURN_PREFIX,
            )
        )
    except OSError as error:
        return print_error(_unreadable(options.file, error))
    except msgspec.MsgspecError as error:
        return print_error(
            Wording(
                "{file} is not a recorded turn: {reason}. Record one with `thinkaloud ask --format ndjson`.",
                file=options.file,
                reason=error,
            )
        )
    if not entries:
        return print_error(
            Wording(
                "{file} is empty. Record a turn with `thinkaloud ask --format ndjson`.", file=options.file
            )
        )
    print(clean(words.text("cli.replaying", name=Path(options.file).name)), file=sys.stderr)
    writer = plain_writer(options.lang)
    timeline = ReplayTimeline()
    for entry in entries:
        shown_ms = timeline.due_ms
        pause_ms = timeline.add(entry.at_ms) - shown_ms
        if pause_ms and options.speed:
            time.sleep(pause_ms / 1000 / options.speed)
        writer.feed(entry)
    return EXIT_OK


def _unreadable(name: str, error: OSError) -> Wording:
    return Wording("Cannot read {file}: {reason}. Check the path.", file=name, reason=reason_of(error))


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if 0 <= speed < float("inf"):
        return speed
    raise invalid_value(
        "{value} is not a speed. Use 1 for the recorded speed, 2 for twice as fast, 0 for no pauses",
        value=repr(text),
    )
