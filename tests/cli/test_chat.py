"""`thinkaloud chat` in a real terminal: keys, mouse clicks, the scroll-back, a gateway that is killed."""

import re
import shlex
import signal
import subprocess
import sys

import pytest
from tests.cli.environment import UserHome, running_simulator
from tests.cli.test_serve import serving
from tests.cli.tmux import terminal
from tests.patience import PATIENCE_S

from thinkaloud.cli import main
from thinkaloud.cli.commands.chat import terminal_colours, terminal_theme
from thinkaloud.simulators import Simulator

COMMAND = [sys.executable, "-m", "thinkaloud", "chat"]
SLOW = [{"thinking": "again and " * 2000, "text": "never", "delay_ms": 20}]


def test_chat_asks_toggles_by_click_and_leaves_its_transcript_in_the_scroll_back(home: UserHome) -> None:
    with terminal(COMMAND) as screen:
        screen.sees("Ask anything")
        screen.type("make 24 from 4 7 8 8")
        screen.press("Enter")
        screen.sees("Thought for", "= 24")
        assert screen.reports_mouse
        screen.click(6, screen.row_of("Thought for"))
        screen.sees("Found after")
        screen.click(6, screen.row_of("Thought for"))
        screen.lost_sight_of("Found after")
        screen.press("C-t")
        screen.sees("Thinking blocks: hidden")
        screen.type("/thinking show")
        screen.sees("│ /thinking show")
        screen.press("Enter")
        screen.sees("Thinking blocks: shown")
        screen.press("F4")
        screen.sees("Editing a question", "│ make 24")
        screen.press("C-a", "C-k")
        screen.sees("│ Ask anything")
        screen.type("how much is 17 * 3 - 9")
        screen.sees("│ how much is 17")
        screen.press("Enter")
        screen.sees("= 42")
        _, *conversation = screen.text.splitlines()  # the session keeps its title, the first question
        assert not any("make 24" in line for line in conversation)
        screen.resize(50, 20)
        screen.sees("= 42", "Ask anything")
        screen.press("C-q")
        screen.sees("exit code 0", "thinkaloud chat -s ses_")
        assert "❯ how much is 17 * 3 - 9" in screen.scroll_back
        assert "💭 Thought for" in screen.scroll_back
        assert "Found after" not in screen.scroll_back, "the thought was closed"
    with terminal([*COMMAND, "--continue", "--no-mouse", "--language", "pt-BR"]) as screen:
        screen.sees("Pensou", "= 42", "Pergunte algo")
        assert not screen.reports_mouse
        screen.press("C-l")
        screen.sees("▼")
        screen.press("C-q")
        screen.sees("exit code 0")


def test_chat_says_that_its_gateway_was_killed_and_resumes_when_it_is_back(home: UserHome) -> None:
    with running_simulator("vllm", SLOW) as simulator:
        home.use_simulators(simulator)
        with serving() as (gateway, url), terminal([*COMMAND, "--model", "vllm/qwen3-8b"]) as screen:
            screen.sees("Ask anything")
            screen.type("Go on.")
            screen.press("Enter")
            screen.sees("Thinking...", "again and")
            gateway.send_signal(signal.SIGKILL)
            gateway.wait()
            screen.sees("Connection lost; resuming")
            port = url.rpartition(":")[2]
            with serving("--port", port):
                screen.sees("Ask anything")
                screen.lost_sight_of("Connection lost; resuming")
                screen.lost_sight_of("No connection to the gateway")
                screen.sees("again and")
                screen.type("make 24 from 4 7 8 8")
                screen.press("Escape")
                screen.press("C-q")
                screen.sees("exit code 0")


def test_quitting_a_chat_waits_for_its_own_turn_and_prints_the_whole_answer(home: UserHome) -> None:
    script = [{"thinking": "again and " * 300, "text": "All of the answer.", "delay_ms": 20}]
    with running_simulator("vllm", script) as simulator:
        home.use_simulators(simulator)
        with terminal([*COMMAND, "--model", "vllm/qwen3-8b"]) as screen:
            screen.sees("Ask anything", "vllm/qwen3-8b")
            screen.type("Go on.")
            screen.press("Enter")
            screen.sees("again and")
            screen.press("C-q")
            screen.sees("exit code 0", "thinkaloud chat -s ses_")
            assert "A turn of this chat still runs" in screen.scroll_back
            assert "of another command" not in screen.scroll_back
            assert "All of the answer." in screen.scroll_back
            *_, printed = screen.scroll_back.rpartition("❯ Go on.")
            assert len([line for line in printed.splitlines() if "again and" in line]) == 1


def test_question_waits_for_the_running_turn_also_after_the_chat_was_left(home: UserHome) -> None:
    slow = {"thinking": "again and " * 300, "text": "The first answer.", "delay_ms": 20}
    script = [slow, {"thinking": "Hm.", "text": "The second answer."}]
    with running_simulator("vllm", script) as simulator:
        home.use_simulators(simulator)
        with terminal([*COMMAND, "--model", "vllm/qwen3-8b"]) as screen:
            screen.sees("Ask anything", "vllm/qwen3-8b")
            screen.type("Go on.")
            screen.press("Enter")
            screen.sees("again and")
            screen.type("And then?")
            screen.sees("│ And then?")
            screen.press("Enter")
            screen.sees("Waiting for this answer", "… And then?", "Esc stops", "│ Ask anything")
            screen.press("C-q")
            screen.sees("exit code 0")
            assert "The second answer." not in screen.scroll_back
        with terminal([*COMMAND, "--continue"]) as screen:
            screen.sees("The first answer.", "And then?", "The second answer.", "│ Ask anything")
            screen.press("C-q")
            screen.sees("exit code 0")


def test_open_thought_is_printed_after_the_chat_and_a_closed_one_is_one_line(home: UserHome) -> None:
    thought = "".join(f"Line {number} of the thought.\n" for number in range(50))
    with running_simulator("vllm", [{"thinking": thought, "text": "Done."}]) as simulator:
        home.use_simulators(simulator)
        with terminal([*COMMAND, "--model", "vllm/qwen3-8b"]) as screen:
            screen.sees("Ask anything", "vllm/qwen3-8b")
            screen.type("Go on.")
            screen.press("Enter")
            screen.sees("Done.")
            screen.press("C-d")
            screen.sees("exit code 0")
            assert "Line 49 of the thought." not in screen.scroll_back
        with terminal([*COMMAND, "--continue"]) as screen:
            screen.sees("Done.")
            screen.press("C-l")
            screen.sees("Line 49 of the thought.")
            screen.press("C-q")
            screen.sees("exit code 0")
            printed = screen.scroll_back
            assert [number for number in range(50) if f"│ Line {number} of the thought." not in printed] == []


def test_ctrl_c_empties_the_prompt_then_stops_the_turn_then_quits(home: UserHome) -> None:
    with running_simulator("vllm", SLOW) as simulator:
        home.use_simulators(simulator)
        with terminal([*COMMAND, "--model", "vllm/qwen3-8b"]) as screen:
            screen.sees("Ask anything", "vllm/qwen3-8b")
            screen.type("Go on.")
            screen.press("Enter")
            screen.sees("Thinking...", "again and")
            screen.type("half a question")
            screen.sees("│ half a question")
            screen.press("C-d")  # it does not leave while there is text
            screen.press("C-c")
            screen.sees("│ Ask anything", "Esc stops")
            screen.press("C-c")
            screen.lost_sight_of("Thinking...")
            screen.sees("Stopped before the answer")
            screen.press("C-c", "C-c")
            screen.sees("exit code 0")


def test_ctrl_z_suspends_the_chat_and_fg_draws_it_again(home: UserHome) -> None:
    with terminal(["bash", "--norc", "--noprofile", "-i"]) as screen:
        screen.type(f"PS1='shell> '; {shlex.join(COMMAND)}")
        screen.press("Enter")
        screen.sees("Ask anything")
        screen.type("half a question")
        screen.sees("│ half a question")
        screen.press("C-z")
        screen.sees("Stopped", "shell>")
        assert "half a question" not in screen.text
        screen.type("fg")
        screen.press("Enter")
        screen.sees("│ half a question", "? keys")
        screen.type(" goes on")
        screen.sees("│ half a question goes on")
        screen.press("C-q")
        screen.sees("shell>")


def test_closing_the_terminal_waits_for_the_turns_of_other_commands(home: UserHome) -> None:
    script = [{"thinking": "again and " * 300, "text": "All of the answer.", "delay_ms": 20}]
    with running_simulator("vllm", script) as simulator:
        home.use_simulators(simulator)
        with terminal(COMMAND) as screen:
            screen.sees("Ask anything")
            ask = [sys.executable, "-m", "thinkaloud", "ask", "--model", "vllm/qwen3-8b", "Go on."]
            with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other:
                assert other.stderr is not None
                assert other.stderr.read(200)  # the turn runs in the gateway of the chat
                screen.tmux("kill-server")
                answer, _ = other.communicate(timeout=PATIENCE_S)
        assert (other.returncode, answer) == (0, "All of the answer.\n")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"CLICOLOR": "0"}, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True),
    ],
)
def test_chat_draws_no_colour_if_the_environment_forbids_it(
    home: UserHome, variables: dict[str, str], coloured: bool
) -> None:
    with terminal(COMMAND, variables=variables) as screen:
        screen.sees("Ask anything", "? keys")
        assert bool(screen.colours) is coloured
        screen.press("C-q")
        screen.sees("exit code 0")


def test_terminal_of_16_colours_decides_what_they_look_like(home: UserHome) -> None:
    """A background of our own would be one of the 16, and some text on it could not be read."""
    command = ["env", "TERM=xterm", "COLORTERM=", *COMMAND, "--model", "builtin/solver"]
    with terminal(command) as screen:
        screen.sees("Ask anything")
        screen.type("17 * 23")
        screen.press("Enter")
        screen.sees("391", "Thought for")
        assert screen.colours
        assert not [sequence for sequence in screen.colours if re.search(r"(^|;)(38|48|10[0-7]);", sequence)]
        screen.press("C-q")
        screen.sees("exit code 0")


@pytest.mark.parametrize(
    ("environ", "colours"),
    [
        ({"TERM": "xterm-256color"}, "all"),
        ({"TERM": "xterm-kitty"}, "all"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "all"),
        ({"TERM": "linux"}, "terminal"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
    ],
)
def test_colours_of_the_chat_are_those_of_the_terminal(environ: dict[str, str], colours: str) -> None:
    assert terminal_colours(environ) == colours


def test_attached_chat_speaks_the_language_of_its_own_environment(
    home: UserHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    with serving(), terminal(COMMAND, variables={"LANG": "pt_BR.UTF-8"}) as screen:
        screen.sees("Pergunte algo")
        screen.press("C-q")
        screen.sees("exit code 0")


def test_light_terminal_gets_the_light_theme() -> None:
    assert [terminal_theme({"COLORFGBG": value}) for value in ("0;15", "0;default;7", "15;0", "")] == [
        "light",
        "light",
        "dark",
        "dark",
    ]


def test_line_below_tells_what_a_turn_used(deepseek: Simulator) -> None:
    with terminal([*COMMAND, "--model", "deepseek/deepseek-v4-pro"], columns=160) as screen:
        screen.sees("Ask anything")
        screen.type("How much?")
        screen.press("Enter")
        screen.sees("It is 42.", " tokens · ", "context", "? keys")
        assert re.search(r"\d+ \+ \d+ tokens · (\$0\.\d+|cost unknown)", screen.text)
        screen.press("C-q")
        screen.sees("exit code 0")


def test_chat_without_a_terminal_says_what_to_use(
    home: UserHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["chat"]) == 2
    assert "The chat needs a terminal. Use `thinkaloud ask`" in capsys.readouterr().err
    monkeypatch.setenv("TERM", "dumb")
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["chat"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "TERM is dumb. Use `thinkaloud ask`." in err
