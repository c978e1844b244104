"""A command in a real terminal: tmux on a socket of its own, keys and mouse in, the screen out."""

import os
import re
import shlex
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.patience import PATIENCE_S

_COLOUR = re.compile("(^|;)(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;|$)")


class Terminal:
    """One tmux session with one command in it."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def tmux(self, *words: str) -> str:
        completed = subprocess.run(
            ["tmux", "-L", self._socket, *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        return completed.stdout

    @property
    def text(self) -> str:
        """The text on the screen."""
        return self.tmux("capture-pane", "-p")

    @property
    def colours(self) -> set[str]:
        """The colours on the screen, as the escape sequences name them."""
        sequences = re.findall("\x1b\\[([0-9;]*)m", self.tmux("capture-pane", "-p", "-e"))
        return {sequence for sequence in sequences if _COLOUR.search(sequence)}

    @property
    def scroll_back(self) -> str:
        """The text on the screen and above it."""
        return self.tmux("capture-pane", "-p", "-S", "-2000")

    def sees(self, *texts: str) -> None:
        """Wait until all texts are on the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while not all(text in (screen := self.text) for text in texts):
            assert time.monotonic() < deadline, f"never on the screen: {texts}\n{screen}"
            time.sleep(0.05)

    def lost_sight_of(self, text: str) -> None:
        """Wait until a text is gone from the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while text in (screen := self.text):
            assert time.monotonic() < deadline, f"still on the screen: {text}\n{screen}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does: between the marks of a paste, if the command asked for them."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            self.tmux("load-buffer", file.name)
        self.tmux("paste-buffer", "-p", "-r", "-d")

    def click(self, column: int, row: int) -> None:
        """Click with the left button, as a terminal with SGR mouse reports does; both count from 1."""
        self.type(f"\x1b[<0;{column};{row}M")
        self.type(f"\x1b[<0;{column};{row}m")

    @property
    def reports_mouse(self) -> bool:
        """Whether the command asked for reports of the mouse."""
        return self.tmux("display-message", "-p", "#{mouse_any_flag}").strip() == "1"

    def row_of(self, text: str) -> int:
        """Return the row of the first line with this text, from 1."""
        return next(row for row, line in enumerate(self.text.splitlines(), 1) if text in line)

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))


@contextmanager
def terminal(
    command: Sequence[str], columns: int = 100, rows: int = 30, variables: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run a command in a terminal of this size, then kill what is left of it.

    `variables` are added to the environment of the command.
    """
    socket = f"thinkaloud-test-{uuid.uuid4().hex[:12]}"
    environment = {**os.environ, "TEXTUAL_ANIMATIONS": "none"}
    environment.pop("NO_COLOR", None)
    environment.pop("TMUX", None)
    environment.update(variables or {})
    shell_line = f'{shlex.join(command)}; echo "exit code $?"; sleep 600'
    subprocess.run(
        [
            "tmux",
            "-L",
            socket,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(columns),
            "-y",
            str(rows),
            shell_line,
        ],
        env=environment,
        check=True,
        timeout=PATIENCE_S,
    )
    try:
        yield Terminal(socket)
    finally:
        subprocess.run(["tmux", "-L", socket, "kill-server"], check=False, timeout=PATIENCE_S)
