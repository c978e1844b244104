"""Text that is pasted into `thinkaloud chat` in a real terminal, compared with what the gateway stored."""

import sqlite3
import sys

from tests.cli.environment import UserHome, running_simulator
from tests.cli.tmux import Terminal, terminal

CHAT = [sys.executable, "-m", "thinkaloud", "chat", "--model", "vllm/qwen3-8b"]
PASTES = {
    "one line": ("word " * 4000 + "the end.", "word " * 4000 + "the end."),
    "line breaks": ("one\ntwo\n\nthree\n", "one\ntwo\n\nthree\n"),
    "line breaks of Windows": ("one\r\ntwo\r\n", "one\ntwo\n"),
    "line breaks as terminals send them": ("one\rtwo\rthree", "one\ntwo\nthree"),
    "tabs": ("def f():\n\treturn\t1", "def f():\n\treturn\t1"),
    "emoji": ("👩‍👩‍👧‍👦 🇧🇷 ❤️ é 漢字 שלום", "👩‍👩‍👧‍👦 🇧🇷 ❤️ é 漢字 שלום"),
    "escape sequences": ("a\x1b[31mred\x1b[0m b\x1b]0;title\x07 c", "ared b c"),
    "keys that quit and send": ("one\x1b\x11\rtwo\x1b[A\x1b\r three\x11", "one\ntwo\n three"),
}


def _stored(home: UserHome) -> list[str]:
    """Return the questions in the database, the oldest first."""
    with sqlite3.connect(home.folder / "thinkaloud.db") as database:
        rows = database.execute("SELECT content FROM messages WHERE role = 'user' ORDER BY key").fetchall()
    return [row[0] for row in rows]


def _send(screen: Terminal, text: str, answer: str) -> None:
    screen.paste(text)
    screen.lost_sight_of("Ask anything")
    screen.press("Enter")
    screen.sees("Ask anything", answer)


def test_pasted_text_is_stored_once_and_as_it_was_pasted(home: UserHome) -> None:
    script = [{"thinking": "Hm.", "text": f"Answer {number}."} for number in range(len(PASTES))]
    with running_simulator("vllm", script) as simulator:
        home.use_simulators(simulator)
        with terminal(CHAT) as screen:
            screen.sees("Ask anything")
            for number, (text, _) in enumerate(PASTES.values()):
                _send(screen, text, f"Answer {number}.")
            screen.press("C-q")
            screen.sees("exit code 0")
    assert _stored(home) == [expected for _, expected in PASTES.values()]


def test_megabyte_is_pasted_within_one_question(home: UserHome) -> None:
    text = "".join(f"{number:07} and so on\n" for number in range(1024 * 1024 // 18))
    with running_simulator("vllm", [{"thinking": "Hm.", "text": "Much."}]) as simulator:
        home.use_simulators(simulator)
        with terminal(CHAT) as screen:
            screen.sees("Ask anything")
            _send(screen, text, "Much.")
            screen.press("C-q")
            screen.sees("exit code 0")
    assert _stored(home) == [text]
