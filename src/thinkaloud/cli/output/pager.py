"""Shows long output through a pager, on a terminal only.

The pager is `THINKALOUD_PAGER`, else `PAGER`, else `less`. An empty value and `cat` mean none. Output that
fits on the screen is printed as it is.
"""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LESS_OPTIONS = "FRX"
"""Quit if it fits one screen, show colours, leave the text on the screen."""


@contextmanager
def paged() -> Iterator[None]:
    """Collect what is printed inside, and show it: through the pager if it is longer than the screen."""
    if not sys.stdout.isatty():
        yield
        return
    text = io.StringIO()
    try:
        with redirect_stdout(text):
            yield
    finally:
        _show(text.getvalue())


def _show(text: str) -> None:
    command = _pager_command()
    size = shutil.get_terminal_size()
    if not command or _screen_lines(text, size.columns) < size.lines:
        sys.stdout.write(text)
        return
    environ = {"LESS": _LESS_OPTIONS, "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ)
    except OSError as error:
        print(f"thinkaloud: Cannot start the pager {command[0]}: {error.strerror}.", file=sys.stderr)
        sys.stdout.write(text)
        return
    ctrl_c = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        with suppress(BrokenPipeError):  # the user has left the pager
            pager.communicate(text.encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, ctrl_c)


def _screen_lines(text: str, columns: int) -> int:
    """Return how many lines of a terminal a text takes, long ones wrapped."""
    return sum(max(1, -(-len(_COLOUR.sub("", line)) // columns)) for line in text.splitlines())


def _pager_command() -> list[str]:
    wanted = os.environ.get("THINKALOUD_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(wanted)
    except ValueError:
        words = []
    if words in ([], ["cat"]) or (words == ["less"] and shutil.which("less") is None):
        return []
    return words
