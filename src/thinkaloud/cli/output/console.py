"""Shared by all commands: exit codes, input, output, error messages and option types."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TextIO

import msgspec

from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.core.view import LOCALES
from thinkaloud.core.view.translate import translate
from thinkaloud.surfaces.plain import PlainWriter, ShowThinking, TerminalOptions
from thinkaloud.surfaces.terminal import clean, clean_json

STDIN = "-"
"""The name that stands for standard input, and for standard output where something is written."""
READ_SIZE_BYTES = 64 * 1024
EXIT_OK, EXIT_REFUSED, EXIT_FAILED = 0, 2, 1
HEARTBEAT_MS = 10_000
SHOW_KEY = "t"
"""The key that shows and hides thoughts while `ask` runs."""
_MAX_PORT = 65_535


def read_chunks(name: str, size: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file as they arrive, or in chunks of `size`; `-` is standard input."""
    source = 0 if name == STDIN else name
    with open(source, "rb", closefd=name != STDIN) as file:
        # `read1` returns what is there; `read` waits until it has so many bytes.
        read = partial(file.read, size) if size else partial(file.read1, READ_SIZE_BYTES)
        while chunk := read():
            yield chunk


def read_bytes(name: str, expected: Wording, *, max_bytes: int | None = None) -> bytes:
    """Return all bytes of a file; refuse with a message that names what was `expected`."""
    content = bytearray()
    try:
        for chunk in read_chunks(name):
            content += chunk
            if max_bytes is not None and len(content) > max_bytes:
                raise Refused(
                    "{name} has more than {max_bytes} bytes. Give {expected}.",
                    name=name,
                    max_bytes=f"{max_bytes:,}",
                    expected=expected,
                )
        return bytes(content)
    except OSError as error:
        raise Refused(
            "Cannot read {name}: {reason}. Give {expected}, or - for standard input.",
            name=name,
            reason=reason_of(error),
            expected=expected,
        ) from None


def plain_writer(locale: str, show: ShowThinking = ShowThinking.SHOW) -> PlainWriter:
    """Return a writer for the standard streams, with the abilities of the terminal."""
    return PlainWriter(sys.stdout, sys.stderr, locale=locale, show=show, terminal=terminal_options())


def terminal_options() -> TerminalOptions:
    """Return what the terminal can do, if there is one, and what its user allows."""
    dim = colours_wanted(sys.stderr)
    if not sys.stderr.isatty():
        return TerminalOptions(dim=dim)
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        columns = 0
    static = static_terminal()
    return TerminalOptions(
        dim=dim,
        columns=columns or None,
        shared_screen=sys.stdout.isatty(),
        redraw=not static,
        heartbeat_ms=HEARTBEAT_MS if static else None,
        show_key=SHOW_KEY,
    )


def colours_wanted(stream: TextIO) -> bool:
    """Return whether colours and dimmed text are written: as the environment says, else on a terminal."""
    chosen = chosen_colours(os.environ)
    if chosen is not None:
        return chosen
    return stream.isatty() and not static_terminal()


def chosen_colours(environ: Mapping[str, str]) -> bool | None:
    """Return whether the environment asks for colours or forbids them; None if it does neither.

    NO_COLOR wins over FORCE_COLOR and CLICOLOR_FORCE, and these over CLICOLOR=0. A variable counts if it is
    set and not empty (no-color.org); CLICOLOR_FORCE=0 does not (bixense.com/clicolors).
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return False if environ.get("CLICOLOR") == "0" else None


def static_terminal() -> bool:
    """Return whether nothing may be redrawn: ACCESSIBLE is set, or the terminal is dumb."""
    return bool(os.environ.get("ACCESSIBLE")) or os.environ.get("TERM") == "dumb"


@contextmanager
def progress(text: Wording) -> Iterator[None]:
    """Show a line on stderr while something takes long, on a terminal only; it is erased at the end."""
    if not sys.stderr.isatty():
        yield
        return
    static = static_terminal()
    print(in_users_language(text), end="\n" if static else "", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if not static:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class ProgressLine:
    """A line on a terminal that is replaced as the work goes on; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty() and not static_terminal()

    def write(self, text: str) -> None:
        """Replace the line."""
        if self._shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        self.write("")


def open_missing_streams() -> None:
    """Open the null device for a standard stream that the caller closed, as in `thinkaloud sessions >&-`.

    Standard input comes first: the null device takes the lowest free number, which is its own. Otherwise the
    next file that is opened would be read as standard input.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def not_utf8_text(text: str) -> Wording:
    """Return the message for an argument with bytes that are not UTF-8."""
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return Wording(
        "The argument '{text}' is not UTF-8 text, so nothing was sent. Write it in UTF-8.", text=shown[:80]
    )


def invalid_value(template: str, /, **fields: object) -> argparse.ArgumentTypeError:
    """Return the error for a value of an option, in the user's language: `argparse` keeps only its text."""
    return argparse.ArgumentTypeError(in_users_language(Wording(template, **fields)))


def positive(text: str) -> int:
    """Parse a whole number of 1 or more, for argparse."""
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise invalid_value("{value} is not a whole number of 1 or more", value=repr(text))


def port(text: str) -> int:
    """Parse a TCP port, for argparse; 0 means any free port."""
    if text.isdecimal() and int(text) <= _MAX_PORT:
        return int(text)
    raise invalid_value(
        "{value} is not a port. Use 1 to {highest}, or 0 for any free port",
        value=repr(text),
        highest=_MAX_PORT,
    )


def print_error(message: Wording, code: int = EXIT_REFUSED) -> int:
    """Print an error in one line, in the user's language, and return the exit code."""
    print(f"thinkaloud: {clean(in_users_language(message))}".replace("\n", " "), file=sys.stderr)
    return code


def users_language() -> str:
    """Return the language of the settings, or of the environment if they cannot be read."""
    from thinkaloud.client.config import ConfigFile, language_of

    try:
        return ConfigFile().read().language
    except Refused:
        return language_of(os.environ)


def in_users_language(wording: Wording | str) -> str:
    """Return a text in the user's language."""
    return translate(wording, users_language())


def print_json(value: object) -> None:
    """Print a value as one line of JSON, with characters that a terminal could act on escaped."""
    print(clean_json(msgspec.json.encode(value).decode()))


def add_json_option(parser: argparse.ArgumentParser, shape: str) -> None:
    """Add `--json`, which every list has."""
    parser.add_argument("--json", action="store_true", help=f"print JSON: {shape}")


def add_thinking_option(parser: argparse.ArgumentParser) -> None:
    """Add `--thinking`, which every command with a request has."""
    parser.add_argument(
        "--thinking", default="", metavar="T", help="off, low, medium, high, max, or a number of tokens"
    )


def add_agent_option(parser: argparse.ArgumentParser) -> None:
    """Add `--agent`, which every command that asks has."""
    parser.add_argument(
        "--agent", default="", metavar="A", help="the agent that answers; `thinkaloud agents` lists them"
    )


def add_language_option(parser: argparse.ArgumentParser) -> None:
    """Add `--lang`, which every command with localized output has."""
    option = parser.add_argument(
        "--lang",
        metavar="L",
        help="language: %(languages)s (default: your setting, else LC_ALL, LC_MESSAGES or LANG)",
    )
    fill_help(option, languages=" or ".join(LOCALES))


def fill_help(option: argparse.Action, **fields: str) -> None:
    """Set what the help of an option says for `%(name)s`, besides the attributes of the option itself."""
    vars(option).update(fields)
