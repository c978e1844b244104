"""What every command shares: its streams, its complaints, and numbers that make sense."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from thinkaloud.canon import Refused
from thinkaloud.surfaces.plain import PlainWriter, ShowThinking, TerminalOptions
from thinkaloud.surfaces.terminal import clean
from thinkaloud.view import LOCALES

STDIN = "-"
READ_SIZE_BYTES = 64 * 1024
EXIT_OK, EXIT_REFUSED, EXIT_FAILED, EXIT_STOPPED = 0, 2, 1, 130


def read_chunks(name: str, size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file as they come, or in pieces of one size; `-` is standard input."""
    with open(0 if name == STDIN else name, "rb", closefd=name != STDIN) as file:
        while chunk := file.read(size) if size else file.read1(READ_SIZE_BYTES):
            yield chunk


def read_bytes(name: str, expected: str) -> bytes:
    """All of a file, or a refusal that says what was looked for."""
    try:
        return b"".join(read_chunks(name))
    except OSError as error:
        raise Refused(
            f"{name} cannot be read: {error.strerror or error}. Name {expected}, or - for a pipe."
        ) from None


def plain_writer(locale: str, show: ShowThinking = ShowThinking.SHOW) -> PlainWriter:
    """The plain command line on our own streams, as well as they can show it."""
    return PlainWriter(sys.stdout, sys.stderr, locale=locale, show=show, terminal=terminal_options())


def terminal_options() -> TerminalOptions:
    """What the terminal can do, if there is one, and what its user wants."""
    if not sys.stderr.isatty():
        return TerminalOptions()
    colours = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        columns = 0
    return TerminalOptions(dim=colours, columns=columns or None, shared_screen=sys.stdout.isatty())


def positive(text: str) -> int:
    """A number of one or more, for argparse."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of one or more")


def print_error(text: str, code: int = EXIT_REFUSED) -> int:
    """Say in one line what went wrong; the exit code is handed back."""
    print(f"thinkaloud: {clean(text)}".replace("\n", " "), file=sys.stderr)
    return code


def print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    """A table for people; only its last column may be of any width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print(clean("  ".join([*cells, row[-1]])).rstrip())


def add_language_option(parser: argparse.ArgumentParser) -> None:
    """The option that every command which speaks has."""
    parser.add_argument(
        "--lang", default="en-US", metavar="L", help=f"{' or '.join(LOCALES)} (default: en-US)"
    )
