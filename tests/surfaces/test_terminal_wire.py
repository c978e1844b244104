"""Only our own sequences reach a real terminal, whatever a turn contains."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\)|[ -/]*[0-~])"  # CSI, strings, others
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]",
    re.DOTALL,
)
CURSOR_MOVE = re.compile(r"\x1b\[\d+;\d+H")


def wire_text(surface: str, texts: str) -> str:
    """Run a surface on a terminal of its own and return everything that it writes to it."""
    terminal, process_side = pty.openpty()
    os.set_blocking(terminal, False)
    pty_size = "stty rows 30 cols 100; exec "
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LINES": "30",
        "COLUMNS": "100",
        "TEXTUAL_ANIMATIONS": "none",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    environment.pop("NO_COLOR", None)
    command = f"{pty_size}'{sys.executable}' -m tests.surfaces.hostile_turn {surface} {texts}"
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=process_side,
        stdout=process_side,
        stderr=process_side,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    )
    os.close(process_side)
    written = bytearray()
    deadline_s = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline_s:
            ready, _, _ = select.select([terminal], [], [], 0.1)
            try:
                chunk = os.read(terminal, 65536) if ready else b""
            except OSError:  # the other side is closed
                break
            written += chunk
            if not chunk and process.poll() is not None:
                break
        assert process.wait(PATIENCE_S) == 0, written.decode("utf-8", "replace")[-3000:]
    finally:
        process.kill()
        os.close(terminal)
    return written.decode("utf-8")


def sequences(text: str) -> set[str]:
    """Return all control characters and sequences of a text; those that move the cursor count as one."""
    return {CURSOR_MOVE.sub("\x1b[H", sequence) for sequence in SEQUENCE.findall(text)}


@pytest.mark.parametrize("surface", ["tui", "plain"])
def test_only_our_own_sequences_reach_the_terminal(surface: str) -> None:
    """S4: thoughts, answers, tool names, inputs, results, summaries and errors, cut after every character."""
    own = sequences(wire_text(surface, "clean"))
    wire = wire_text(surface, "hostile")
    assert sequences(wire) - own == set()
    for place in ("attack 0", "attack 16"):
        assert place in re.sub(SEQUENCE, "", wire)
