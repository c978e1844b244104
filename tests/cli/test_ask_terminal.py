"""`ask` on a real terminal: one key shows and hides thoughts, and the terminal is always given back."""

import io
import os
import pty
import re
import select
import signal
import termios
import time
import tomllib
from collections.abc import Callable, Iterator

import pytest
from tests.cli.environment import UserHome
from tests.cli.forked_command import ForkedCommand
from tests.patience import PATIENCE_S

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Finish,
    Kind,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.surfaces.plain import PlainWriter, ShowThinking, TerminalOptions

SLOW_PUZZLE = "reach 952 from 25 50 75 100 3 6"
ANSWER = "= 952"


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *words: str, **environ: str) -> None:
        self._controller, self.screen = pty.openpty()
        self.mode_before = termios.tcgetattr(self.screen)
        environment = {**os.environ, "TERM": "xterm", **environ}
        self.process = ForkedCommand(*words, env=environment, terminal=self.screen)
        self.output = ""

    def read(self) -> None:
        ready, _, _ = select.select([self._controller], [], [], 0.05)
        if ready:
            self.output += os.read(self._controller, 65536).decode(errors="replace")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, self.output
            self.read()

    def press(self, key: str) -> None:
        os.write(self._controller, key.encode())

    @property
    def reads_keys(self) -> bool:
        return not termios.tcgetattr(self.screen)[3] & termios.ICANON

    @property
    def restored(self) -> bool:
        return bool(termios.tcgetattr(self.screen) == self.mode_before)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.close()
        os.close(self.screen)
        os.close(self._controller)


Start = Callable[..., Terminal]


@pytest.fixture
def start(home: UserHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    for name in ("NO_COLOR", "FORCE_COLOR", "ACCESSIBLE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    terminals: list[Terminal] = []

    def start_command(*words: str, **environ: str) -> Terminal:
        terminals.append(Terminal(*words, **environ))
        return terminals[-1]

    yield start_command
    for terminal in terminals:
        terminal.close()


def test_r114_one_key_hides_and_shows_thoughts_while_ask_runs(start: Start, home: UserHome) -> None:
    """R055, R114, R116, R117: the key, its words, nothing lost, and the choice remembered."""
    terminal = start("ask", SLOW_PUZZLE)
    terminal.wait_for(lambda: "[think] From 25" in terminal.output and terminal.reads_keys)
    terminal.press("t")
    terminal.wait_for(lambda: "Thinking blocks: hidden" in terminal.output)
    hidden_from = len(terminal.output)
    terminal.wait_for(lambda: "(t shows thoughts)" in terminal.output[hidden_from:])
    assert "[think]" not in terminal.output[hidden_from:]
    terminal.press("T")
    terminal.wait_for(lambda: ANSWER in terminal.output and terminal.process.poll() is not None)
    shown = terminal.output[terminal.output.index("Thinking blocks: shown") :]
    shown = re.sub("\x1b\\[[0-9;]*m", "", shown)  # each piece that is shown live has its own colour
    assert "6 + 3 = 9 leaves" in shown, "what came while thoughts were hidden is lost"
    assert terminal.restored
    settings = tomllib.loads((home.folder / "config.toml").read_text())
    assert settings == {"thinking": {"display": {"show_thinking": True}}}


def test_hidden_thoughts_stay_hidden_and_the_setting_is_read(start: Start, home: UserHome) -> None:
    """R117, R119: with the setting off, a live status tells of the thinking, and no thought is written."""
    (home.folder / "config.toml").write_text("[thinking.display]\nshow_thinking = false\n")
    terminal = start("ask", SLOW_PUZZLE)
    terminal.wait_for(lambda: "(t shows thoughts)" in terminal.output)
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    terminal.read()
    assert "[think]" not in terminal.output
    assert terminal.output.rstrip().endswith(ANSWER)
    assert terminal.output.splitlines()[-1].rpartition("\x1b[K")[2].endswith(ANSWER), "the status is erased"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_terminal_is_restored_when_a_signal_ends_ask(start: Start, number: signal.Signals) -> None:
    exit_codes = [exit_code_after(start, number)]
    while exit_codes[-1] == 0 and len(exit_codes) < 10:  # the answer may be there before the signal
        exit_codes.append(exit_code_after(start, number))
    # While the answer streams, a signal cancels the turn like Ctrl-C; before and after, it ends the command.
    assert exit_codes[-1] in (130, -number)


def exit_code_after(start: Start, number: signal.Signals) -> int:
    """Ask, send a signal while the answer streams, and check that the terminal is as it was."""
    terminal = start("ask", SLOW_PUZZLE)
    terminal.wait_for(lambda: "[think] From 25" in terminal.output)
    os.kill(terminal.process.pid, number)
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert terminal.restored
    return terminal.process.returncode


def test_ctrl_z_restores_the_terminal_and_continues(start: Start) -> None:
    terminal = start("ask", SLOW_PUZZLE)
    terminal.wait_for(lambda: "[think] From 25" in terminal.output and terminal.reads_keys)
    # Without a shell the kernel does not suspend an orphaned session; the handler runs all the same.
    os.kill(terminal.process.pid, signal.SIGTSTP)
    terminal.wait_for(lambda: terminal.restored)
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.wait_for(lambda: terminal.reads_keys or terminal.process.poll() is not None)
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert terminal.restored
    assert ANSWER in terminal.output


@pytest.mark.parametrize("environ", [{"ACCESSIBLE": "1"}, {"TERM": "dumb"}])
def test_static_terminal_gets_no_escape_sequences(start: Start, environ: dict[str, str]) -> None:
    terminal = start("ask", SLOW_PUZZLE, **environ)
    terminal.wait_for(lambda: "[think] From 25" in terminal.output and terminal.reads_keys)
    terminal.press("t")
    terminal.wait_for(lambda: "Thinking blocks: hidden" in terminal.output)
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    terminal.read()
    assert ANSWER in terminal.output
    assert "\x1b" not in terminal.output
    assert "\r" not in terminal.output.replace("\r\n", "\n")


def _writer(heartbeat_ms: int | None = None) -> tuple[PlainWriter, io.StringIO]:
    screen = io.StringIO()
    terminal = TerminalOptions(shared_screen=True, heartbeat_ms=heartbeat_ms)
    return PlainWriter(screen, screen, show=ShowThinking.HIDE, terminal=terminal), screen


def test_heartbeat_is_a_static_line_after_silence() -> None:
    writer, screen = _writer(heartbeat_ms=10_000)
    writer.feed(Entry(0, TurnStarted(), 0))
    writer.feed(Entry(1, BlockStarted(0, Kind.REASONING), 0))
    writer.feed(Entry(2, BlockGrew(0, "Hm."), 0))
    for elapsed_ms in range(1000, 25_001, 1000):
        writer.tick(elapsed_ms)
    assert screen.getvalue() == "Thinking... 10s\nThinking... 20s\n"


@pytest.mark.parametrize("columns", [None, 80])
def test_heartbeat_in_the_middle_of_a_thought_has_its_own_line(columns: int | None) -> None:
    screen = io.StringIO()
    terminal = TerminalOptions(shared_screen=True, heartbeat_ms=10_000, columns=columns)
    writer = PlainWriter(screen, screen, terminal=terminal)
    writer.feed(Entry(0, TurnStarted(), 0))
    writer.feed(Entry(1, BlockStarted(0, Kind.REASONING), 0))
    writer.feed(Entry(2, BlockGrew(0, "I weigh this and"), 0))
    writer.tick(10_000)
    writer.tick(20_000)
    writer.feed(Entry(3, BlockGrew(0, " that.\nEnough"), 21_000))
    writer.tick(10_000)
    writer.feed(Entry(4, BlockEnded(0), 31_000))
    lines = screen.getvalue().splitlines()
    assert [line for line in lines if line.startswith("Thinking")] == [
        "Thinking... 10s",
        "Thinking... 20s",
        "Thinking... 31s",
    ]
    thoughts = [line.removeprefix("[think] ") for line in lines if line.startswith("[think] ")]
    assert " ".join(thoughts) == "I weigh this and that. Enough Thought for 31s"
    assert len(lines) == 3 + len(thoughts)


def test_toggle_in_the_middle_of_a_line_keeps_every_word() -> None:
    writer, screen = _writer()
    writer.feed(Entry(0, TurnStarted(), 0))
    writer.feed(Entry(1, BlockStarted(0, Kind.REASONING), 0))
    writer.toggle_thinking()
    writer.feed(Entry(2, BlockGrew(0, "one two"), 0))
    writer.toggle_thinking()
    writer.feed(Entry(3, BlockGrew(0, " three\nfour"), 0))
    writer.toggle_thinking()
    writer.feed(Entry(4, BlockEnded(0), 2000))
    writer.feed(Entry(5, BlockStarted(1, Kind.TEXT), 2000))
    writer.feed(Entry(6, BlockGrew(1, "Done."), 2000))
    writer.feed(Entry(7, BlockEnded(1), 2000))
    writer.feed(Entry(8, TurnEnded(Finish.STOP), 2000))
    assert screen.getvalue().splitlines() == [
        "Thinking blocks: shown",
        "[think] one two",
        "Thinking blocks: hidden",
        "Thinking blocks: shown",
        "[think] three",
        "[think] four",
        "[think] Thought for 2s",
        "Done.",
    ]
