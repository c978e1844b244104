"""What every command shares: its streams, its complaints, and numbers that make sense."""

import argparse
import os
import sys
from collections.abc import Iterator

from thinkaloud.canon import Refused
from thinkaloud.surfaces.terminal import clean
from thinkaloud.view import LOCALES

STDIN = "-"
READ_BYTES = 64 * 1024
DONE, NOT_READ, FAILED, STOPPED = 0, 2, 1, 130


def pieces(name: str, size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file as they come, or in pieces of one size; `-` is standard input."""
    with open(0 if name == STDIN else name, "rb", closefd=name != STDIN) as file:
        while piece := file.read(size) if size else file.read1(READ_BYTES):
            yield piece


def text_of(name: str, what: str) -> bytes:
    """All of a file, or a refusal that says what was looked for."""
    try:
        return b"".join(pieces(name))
    except OSError as error:
        raise Refused(
            f"{name} cannot be read: {error.strerror or error}. Name {what}, or - for a pipe."
        ) from None


def dim() -> bool:
    """Whether thoughts are dimmed: on a terminal that has colours and whose user wants them."""
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def positive(text: str) -> int:
    """A number of one or more, for argparse."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of one or more")


def complain(text: str, code: int = NOT_READ) -> int:
    """Say in one line what went wrong; the exit code is handed back."""
    print(f"thinkaloud: {clean(text)}".replace("\n", " "), file=sys.stderr)
    return code


def add_language(parser: argparse.ArgumentParser) -> None:
    """The option that every command which speaks has."""
    parser.add_argument(
        "--lang", default="en-US", metavar="L", help=f"{' or '.join(LOCALES)} (default: en-US)"
    )
