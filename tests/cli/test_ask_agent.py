"""`thinkaloud ask --agent` and `thinkaloud agents`: tools, assistants, approvals, overrides and Ctrl-C."""

import argparse
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.agents.mcp_servers import SERVER_COMMAND
from tests.cli.environment import UserHome, running_simulator, wait_until
from tests.cli.forked_command import ForkedCommand
from tests.patience import PATIENCE_S, alive, until_asleep

import thinkaloud.builtin
from thinkaloud.cli import main
from thinkaloud.cli.approvals import approved_tools
from thinkaloud.core.canon import Refused
from thinkaloud.simulators import Simulator

MODEL = "deepseek/deepseek-v4-pro"
PUZZLE = "make 24 from 4 7 8 8"
Output = pytest.CaptureFixture[str]

AGENTS = f"""
[agents.clerk]
model = "{MODEL}"
tools = ["note"]

[functions.note]
from = "notes_for_tests:note"
approval = true

[agents.smith]
model = "{MODEL}"
system = "You add."
thinking = "high"
max_tokens = 8000
tools = ["shop/add", "shop/whoami", "shop/forever"]
assistants = ["checker"]

[mcp.shop]
command = {json.dumps(list(SERVER_COMMAND))}
approval = true
"""
NOTES = '''
from pathlib import Path

def note(text: str) -> str:
    """Write a note."""
    Path(__file__).with_name("notes.txt").write_text(text, "utf-8")
    return f"noted: {text}"
'''


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the built-in model answer without pauses."""
    monkeypatch.setattr(
        thinkaloud.builtin, "run_solver", functools.partial(thinkaloud.builtin.run_solver, pace=0)
    )


@pytest.fixture
def agents(home: UserHome, monkeypatch: pytest.MonkeyPatch) -> UserHome:
    (home.folder / "agents.toml").write_text(AGENTS, "utf-8")
    (home.folder / "notes_for_tests.py").write_text(NOTES, "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "notes_for_tests", raising=False)
    home.set_keys("deepseek")
    return home


def call(name: str, arguments: Mapping[str, object] | None = None) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments or {}}]}


@contextmanager
def deepseek(home: UserHome, *script: dict[str, Any]) -> Iterator[Simulator]:
    with running_simulator("deepseek", list(script)) as server:
        home.use_simulators(server)
        yield server
    assert server.refusals == []


NOTED = ({"thinking": "Write it down.", **call("note", {"text": "milk"})}, {"text": "Done."})


@pytest.mark.usefixtures("fast", "home")
def test_ask_planner_uses_a_tool_and_an_assistant(capsys: Output) -> None:
    """R102 R114: thoughts, a tool, an assistant with nested thoughts; only the answer on stdout."""
    assert main(["ask", "--agent", "planner", PUZZLE]) == 0
    out, err = capsys.readouterr()
    assert out == "8 × (7 + 4 − 8) = 24\n\nThe calculator agrees. The checker agrees.\n"
    lines = [line for line in err.splitlines() if "Thought for" not in line]
    assert lines[0].startswith("[think] From 4 7 8 8, each used once, I want 24.")
    assert lines[lines.index("[think] 🔧 calculator: expression: 8 * (7 + 4 - 8)") :] == [
        "[think] 🔧 calculator: expression: 8 * (7 + 4 - 8)",
        "[think] → 24",
        "[think] “calculator” gives 24, as I have it.",
        "[think] I let the tool “checker” check this: Answer: 8 × (7 + 4 − 8) = 24",
        f"[think] 🤖 Checker: Check this answer. Question: {PUZZLE} Answer: 8 × (7 + 4 − 8) = 24",
        "[think]   I work it out again, another way than a search would.",
        "[think]   Right. 8 × (7 + 4 − 8) gives 24.",
        "[think] “checker” says: Right. 8 × (7 + 4 − 8) gives 24.",
        "[think] With that my answer stands: 8 × (7 + 4 − 8) = 24",
    ]


@pytest.mark.usefixtures("fast", "home")
def test_ask_agent_json_has_nested_steps_and_cost(capsys: Output) -> None:
    """R120 R124: one object, steps nested."""
    assert main(["ask", "--agent", "planner", "--format", "json", PUZZLE]) == 0
    out, err = capsys.readouterr()
    body = json.loads(out)
    assert err == ""
    steps = body["thinking"]["steps"]
    assert [step["type"] for step in steps] == [
        *("reasoning", "tool_call", "reasoning", "assistant_call", "reasoning")
    ]
    assert [step["type"] for step in steps[3]["childSteps"]] == ["reasoning"]
    assert (steps[3]["assistantName"], steps[3]["assistantId"]) == ("Checker", "checker")
    assert body["outcome"]["ending"] == "answered"
    assert body["cost"]["turn"]["usd"] == "0"
    assert [reply.get("parent") for reply in body["cost"]["replies"]] == [None, None, 3, None]


@pytest.mark.usefixtures("fast", "home")
def test_ask_agent_ndjson_can_be_replayed(tmp_path: Path, capsys: Output) -> None:
    assert main(["ask", "--agent", "planner", "--format", "ndjson", PUZZLE]) == 0
    out = capsys.readouterr().out
    entries = [json.loads(line) for line in out.splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    kinds = [entry["event"]["type"] for entry in entries]
    assert kinds.count("reply.ended") == 4
    (tmp_path / "turn.ndjson").write_text(out, "utf-8")
    assert main(["replay", "--speed", "0", str(tmp_path / "turn.ndjson")]) == 0
    assert capsys.readouterr().out.startswith("8 × (7 + 4 − 8) = 24")


def test_ask_options_override_the_agents_settings(agents: UserHome, capsys: Output) -> None:
    """Model, thinking, system prompt and token limit come from the agent unless given as options."""
    with deepseek(agents, {"text": "One."}, {"text": "Two."}) as server:
        assert main(["ask", "--agent", "smith", "Hi"]) == 0
        arguments = ["--system", "Be brief.", "--max-tokens", "900", "--thinking", "off"]
        assert main(["ask", "--agent", "smith", *arguments, "Hi"]) == 0
        own, other = (request.body for request in server.requests)
    assert own["messages"][0]["content"] == "You add."
    assert (own["max_tokens"], own["thinking"]) == (8000, {"type": "enabled"})
    assert [tool["function"]["name"] for tool in own["tools"]] == [
        *("shop_add", "shop_whoami", "shop_forever", "checker")
    ]
    assert other["messages"][0]["content"] == "Be brief."
    assert (other["max_tokens"], other["thinking"]) == (900, {"type": "disabled"})
    with running_simulator("kimi", [{"text": "Three."}]) as kimi:
        agents.use_simulators(kimi)
        agents.set_keys("moonshot")
        assert main(["ask", "--agent", "smith", "--model", "moonshot/kimi-k2-thinking", "Hi"]) == 0
    assert capsys.readouterr().out == "One.\nTwo.\nThree.\n"


@pytest.mark.parametrize("name", ["note", "all"])
def test_approve_option_runs_the_tool(name: str, agents: UserHome, capsys: Output) -> None:
    with deepseek(agents, *NOTED):
        assert main(["ask", "--agent", "clerk", "--approve", name, "--format", "ndjson", "Buy milk"]) == 0
    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert {"type": "approval.settled", "block": 1, "granted": True, "by": "local"} in events
    assert (agents.folder / "notes.txt").read_text() == "milk"


def test_approval_is_denied_without_a_terminal(agents: UserHome, capsys: Output) -> None:
    with deepseek(agents, *NOTED) as server:
        assert main(["ask", "--agent", "clerk", "Buy milk"]) == 0
        assert "The user did not approve this call" in server.requests[1].body["messages"][-1]["content"]
    out, err = capsys.readouterr()
    assert out == "Done.\n"
    assert (
        "note was not run: it needs approval, and there is no terminal to ask on. Allow it with --approve "
        "note, or every tool with --approve all.\n"
    ) in err
    assert not (agents.folder / "notes.txt").exists()


NOTE_TOOLS = ("note", "note_and_delete")
TWO_NOTES = f"""
[agents.clerk]
model = "{MODEL}"
tools = {json.dumps(NOTE_TOOLS)}

[functions.note]
from = "notes_for_tests:note"
approval = true

[functions.note_and_delete]
from = "notes_for_tests:note"
approval = true
"""


@pytest.mark.parametrize("approved", NOTE_TOOLS)
@pytest.mark.parametrize("place", [[], ["--no-save"]])
def test_approve_option_runs_no_tool_of_a_longer_name(
    approved: str, place: list[str], agents: UserHome, capsys: Output
) -> None:
    (agents.folder / "agents.toml").write_text(TWO_NOTES, "utf-8")
    script = [call(name, {"text": name}) for name in NOTE_TOOLS]
    with deepseek(agents, *script, {"text": "Done."}):
        words = ["ask", *place, "--agent", "clerk", "--approve", approved, "--format", "ndjson", "Buy milk"]
        assert main(words) == 0
    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    granted = [event["granted"] for event in events if event["type"] == "approval.settled"]
    assert granted == [name == approved for name in NOTE_TOOLS]


def options_of(*approved: str, agent: str = "smith", server: str = "") -> argparse.Namespace:
    return argparse.Namespace(approve=list(approved), agent=agent, server=server)


@pytest.mark.parametrize(
    ("approved", "server", "allowed"),
    [
        (["shop"], "", {"shop_add", "shop_add_all"}),
        (["shop/"], "", {"shop_add", "shop_add_all"}),
        (["shop/add"], "", {"shop_add"}),
        (["shop_add"], "", {"shop_add"}),
        (["shop"], "https://elsewhere.test", set()),
        (["shop/"], "https://elsewhere.test", {"shop_add", "shop_add_all"}),
        (["shop/add"], "https://elsewhere.test", {"shop_add"}),
        (["all"], "", {"shop_add", "shop_add_all", "shopping_list", "checker"}),
        ([], "", set()),
    ],
)
@pytest.mark.usefixtures("agents")
def test_approve_option_names_a_tool_exactly_or_a_server(
    approved: list[str], server: str, allowed: set[str]
) -> None:
    may_run = approved_tools(options_of(*approved, server=server))
    tools = ("shop_add", "shop_add_all", "shopping_list", "checker")
    assert {tool for tool in tools if may_run(tool)} == allowed


@pytest.mark.parametrize("server", ["", "http://127.0.0.1:9"])
@pytest.mark.parametrize("value", ["", "/"])
@pytest.mark.usefixtures("agents")
def test_approve_option_without_a_name_approves_nothing(value: str, server: str) -> None:
    with pytest.raises(Refused, match="names no tool and no server"):
        approved_tools(options_of(value, server=server))


@pytest.mark.parametrize("allowed", [["shop"], ["shop/add", "shop_whoami"]])
def test_approve_option_runs_mcp_tools(allowed: list[str], agents: UserHome, capsys: Output) -> None:
    """Approved as `all`, by the tool's name in the file, or by the name that the model calls."""
    script = (call("shop_add", {"a": 40}), call("shop_whoami"), {"text": "42."})
    with deepseek(agents, *script):
        words = [word for name in allowed for word in ("--approve", name)]
        assert main(["ask", "--agent", "smith", *words, "Add."]) == 0
    out, err = capsys.readouterr()
    assert out == "42.\n"
    assert "[think] → 42\n" in err
    pid = re.search(r"^\[think\] → (\d+) ", err, re.MULTILINE)
    assert pid
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid[1]), 0)


@pytest.mark.usefixtures("fast")
def test_assistant_on_the_builtin_model_answers(agents: UserHome, capsys: Output) -> None:
    task = {"task": f"Check this answer.\nQuestion: {PUZZLE}\nAnswer: 8 × (7 + 4 − 8) = 24"}
    with deepseek(agents, call("checker", task), {"text": "Checked."}):
        assert main(["ask", "--agent", "smith", "Check."]) == 0
    assert "[think]   Right. 8 × (7 + 4 − 8) gives 24.\n" in capsys.readouterr().err


REFUSED = [
    (
        ["--agent", "painter", "Hi"],
        "There is no agent 'painter'. Available: planner, checker, clerk, smith. Add your own in "
        "{home}/agents.toml.",
    ),
    (
        ["--agent", "clerk", "--approve", "hammer", "Hi"],
        "Invalid value for --approve: clerk has no tool 'hammer'. Its tools: note. Use one of them, or all.",
    ),
    (
        ["--approve", "note", "Hi"],
        "--approve needs an agent, because only agents have tools. Add --agent NAME.",
    ),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_ask_agent_errors(words: list[str], message: str, agents: UserHome, capsys: Output) -> None:
    assert main(["ask", *words]) == 2
    assert capsys.readouterr().err == f"thinkaloud: {message.format(home=agents.folder)}\n"


def test_search_sessions_tool_is_refused_outside_the_gateway(home: UserHome, capsys: Output) -> None:
    (home.folder / "agents.toml").write_text('[agents.planner]\ntools = ["search_sessions"]\n', "utf-8")
    assert main(["ask", "--agent", "planner", "Hi"]) == 0
    assert main(["ask", "--no-save", "--agent", "planner", "Hi"]) == 2
    assert "uses the tool search_sessions, which works only in the gateway." in capsys.readouterr().err


def test_invalid_agents_file_error_is_one_line(home: UserHome, capsys: Output) -> None:
    (home.folder / "agents.toml").write_text("[agents.x]\n", "utf-8")
    for command in (["agents"], ["ask", "--agent", "x", "Hi"]):
        assert main(command) == 2
        stderr_text = capsys.readouterr().err
        assert stderr_text.startswith(f"thinkaloud: {home.folder}/agents.toml: [agents.x]: ")
        assert stderr_text.count("\n") == 1


def test_thinking_unavailable_warning_appears_once(home: UserHome, capsys: Output) -> None:
    """R046: the second request of an agent does not fail after the first one was sent with a warning."""
    home.set_keys("openai")
    (home.folder / "agents.toml").write_text(
        '[agents.old]\nmodel = "openai/gpt-4o"\nthinking = "high"\ntools = ["calculator"]\n', "utf-8"
    )
    script = [call("calculator", {"expression": "6 * 7"}), {"text": "42"}]
    with running_simulator("openai-responses", script) as server:
        home.use_simulators(server)
        assert main(["ask", "--agent", "old", "Hi"]) == 2
        assert server.requests == []
        assert main(["ask", "--agent", "old", "--on-thinking-unavailable", "warn", "Hi"]) == 0
    out, err = capsys.readouterr()
    assert out == "42\n"
    assert err.count("gpt-4o does not support thinking") == 2  # once as a refusal, once as a notice


def test_agent_step_limit_ends_the_turn_with_a_notice(agents: UserHome, capsys: Output) -> None:
    (agents.folder / "agents.toml").write_text(
        f'[agents.short]\nmodel = "{MODEL}"\ntools = ["calculator"]\nlimits.replies = 1\n', "utf-8"
    )
    with deepseek(agents, call("calculator", {"expression": "6 * 7"})):
        assert main(["ask", "--agent", "short", "Hi"]) == 1
    assert "Short was stopped by its limit on replies, 1 (limits.replies)." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lang", "notice"),
    [("en-US", "The model seems to be repeating itself."), ("pt-BR", "O modelo parece estar se repetindo.")],
)
def test_watchers_run_without_an_agent(lang: str, notice: str, home: UserHome, capsys: Output) -> None:
    home.set_keys("deepseek")
    with running_simulator(
        "deepseek", [{"thinking": "Wait, that is not right either. " * 100, "text": "42"}]
    ) as server:
        home.use_simulators(server)
        assert main(["ask", "--model", MODEL, "--lang", lang, "Hi"]) == 0
    out, err = capsys.readouterr()
    assert out == "42\n"
    assert f"{notice}\n" in err


def test_agents_command_lists_agents_and_tools(agents: UserHome, capsys: Output) -> None:
    assert main(["agents"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "agent    model                     tools                              assistants",
        "planner  builtin/solver            calculator                         checker",
        "checker  builtin/solver            -                                  -",
        "clerk    deepseek/deepseek-v4-pro  note                               -",
        "smith    deepseek/deepseek-v4-pro  shop/add shop/whoami shop/forever  checker",
        "",
        "tool             from                           asks first",
        "calculator       built in                       -",
        "current_time     built in                       -",
        "search_sessions  the gateway only               -",
        "note             function notes_for_tests:note  yes",
        f"shop             MCP server, {Path(sys.executable).name:<18} yes",
    ]
    assert err == f"Add your own agents and tools to {agents.folder}/agents.toml\n"
    assert "notes_for_tests" not in sys.modules


def test_agents_json_contains_no_keys(home: UserHome, capsys: Output) -> None:
    canary = "canary-5f2a9c"
    (home.folder / "agents.toml").write_text(
        f'[mcp.a]\ncommand = ["/opt/tools/a", "--key={canary}"]\nenv = {{ KEY = "{canary}" }}\n'
        f'[mcp.b]\nurl = "https://me:{canary}@tools.example/mcp?key={canary}"\n',
        "utf-8",
    )
    assert main(["agents"]) == main(["agents", "--json"]) == 0
    out, err = capsys.readouterr()
    assert canary not in out + err
    body = json.loads(out.splitlines()[-1])
    assert (body["agents"][0]["id"], body["agents"][0]["name"]) == ("planner", "Planner")
    assert body["agents"][0]["tools"] == ["calculator"]
    assert body["tools"][3:] == [
        {"name": "a", "from": "MCP server, a", "approval": False},
        {"name": "b", "from": "MCP server, at tools.example", "approval": False},
    ]


def test_agent_modules_are_imported_only_for_agents() -> None:
    code = "import sys; from thinkaloud.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "print(*sys.modules, file=sys.stderr)"
    for words in (["--help"], ["ask", "--help"], ["agents"]):
        completed = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
        )
        pulled = {module.partition(".")[0] for module in completed.stderr.split()}
        assert sorted(pulled & {"mcp", "genai_prices", "pydantic", "starlette", "httpx2"}) == []
        assert ("asyncio" in pulled) is (words != ["--help"])


class PtyTerminal:
    """A command that runs on a pseudo-terminal."""

    def __init__(self, words: list[str], stdin: bytes | None = None) -> None:
        self._screen, screen = os.openpty()
        self._run = ForkedCommand(*words, terminal=screen, piped=stdin is not None)
        os.close(screen)
        if stdin is not None:
            self._run.stdin.write(stdin)
            self._run.stdin.close()
        self.screen_text = ""

    def until(self, text: str, seconds: float = PATIENCE_S) -> None:
        end = time.monotonic() + seconds
        while text not in self.screen_text:
            assert time.monotonic() < end, self.screen_text
            try:
                self.screen_text += os.read(self._screen, 4096).decode().replace("\r\n", "\n")
            except OSError:  # the other side is closed
                assert text in self.screen_text, self.screen_text

    def until_asleep(self) -> None:
        """Wait until the command waits for input."""
        until_asleep(self._run.pid)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def code(self) -> int:
        code = self._run.wait()
        self._run.close()
        try:
            while more := os.read(self._screen, 4096):
                self.screen_text += more.decode().replace("\r\n", "\n")
        except OSError:
            os.close(self._screen)
        assert "Traceback" not in self.screen_text
        return code


NOT_APPROVED = "The user did not approve this call"
ASKED = 'Run note with {"text":"milk"}? [y/N] '


def test_approval_question_on_a_terminal(agents: UserHome) -> None:
    """One question for each call: a yes in any case runs it, all else does not."""
    answers = {"y": True, "n": False, "s": False, "sim": False, "stop": False, "YES": True, "": False}
    with deepseek(agents, *(call("note", {"text": f"{typed!r}"}) for typed in answers), NOTED[1]):
        terminal = PtyTerminal(["ask", "--agent", "clerk", "Buy milk"])
        for typed, noted in answers.items():
            terminal.until(f'Run note with {{"text":"{typed!r}"}}? [y/N] ')
            terminal.type(f"{typed}\n")
            outcome = f"noted: {typed!r}" if noted else NOT_APPROVED
            terminal.until(outcome)
            terminal.screen_text = terminal.screen_text.partition(outcome)[2]
        assert terminal.code() == 0
    assert (agents.folder / "notes.txt").read_text("utf-8") == "'YES'"
    assert "Done." in terminal.screen_text


def test_approval_question_with_a_piped_prompt(agents: UserHome) -> None:
    with deepseek(agents, *NOTED):
        terminal = PtyTerminal(["ask", "--lang", "pt-BR", "--agent", "clerk", "-"], stdin=b"Buy milk")
        terminal.until('Executar note com {"text":"milk"}? [s/N] ')
        terminal.type("s\n")
        assert terminal.code() == 0
    assert (agents.folder / "notes.txt").exists()


def test_approval_ignores_earlier_input(agents: UserHome) -> None:
    slow = {"thinking": "one two three four five six", "delay_ms": 100, **call("note", {"text": "milk"})}
    with deepseek(agents, slow, NOTED[1]):
        terminal = PtyTerminal(["ask", "--agent", "clerk", "Buy milk"])
        terminal.until("one")
        terminal.type("y\n")
        terminal.until(ASKED)
        terminal.until_asleep()
        terminal.type("\n")
        assert terminal.code() == 0
    assert not (agents.folder / "notes.txt").exists()


def test_approval_question_escapes_arguments(agents: UserHome) -> None:
    """They are shown as \\u escapes."""
    with deepseek(agents, call("note", {"text": "\x1b[2J\u202emilk"}), NOTED[1]):
        terminal = PtyTerminal(["ask", "--agent", "clerk", "Buy milk"])
        terminal.until(r'Run note with {"text":"\u001b[2J\u202emilk"}? [y/N] ')
        terminal.type("n\n")
        assert terminal.code() == 0
    assert "\x1b[2J" not in terminal.screen_text
    assert "\u202e" not in terminal.screen_text


@pytest.mark.parametrize("leave", ["\x03", "\x04"])
def test_approval_question_ctrl_c_stops_and_ctrl_d_denies(leave: str, agents: UserHome) -> None:
    with deepseek(agents, *NOTED):
        terminal = PtyTerminal(["ask", "--agent", "clerk", "Buy milk"])
        terminal.until(ASKED)
        terminal.type(leave)
        code = terminal.code()
    assert not (agents.folder / "notes.txt").exists()
    if leave == "\x03":
        assert code == 130
        assert terminal.screen_text.endswith("Stopped before the answer was complete.\n")
    else:
        assert code == 0
        assert "Done." in terminal.screen_text


def test_ctrl_backslash_asks_for_the_answer_now(agents: UserHome) -> None:
    loop = {"thinking": "Wait, let me check that once more. " * 400, "text": "never", "delay_ms": 4}
    with deepseek(agents, loop, {"text": "Well, 42."}):
        terminal = PtyTerminal(
            ["ask", "--model", "deepseek/deepseek-v4-pro", "--thinking", "high", "How much?"]
        )
        terminal.until(
            "The model seems to be repeating itself.\nCtrl-C stops it, Ctrl-\\ has it answer now.\n"
        )
        terminal.type("\x1c")
        assert terminal.code() == 0
    assert "The thinking was stopped, and the model was asked to answer now." in terminal.screen_text
    assert terminal.screen_text.endswith("Well, 42.\n")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed by Linux only")
@pytest.mark.parametrize("form", ["plain", "json"])
def test_ctrl_c_stops_running_tools(form: str, agents: UserHome) -> None:
    with deepseek(agents, call("shop_whoami"), call("shop_forever")) as server:
        run = ForkedCommand("ask", "--agent", "smith", "--approve", "all", "--format", form, "Wait.")
        wait_until(lambda: len(server.requests) == 2)
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        until_asleep(run.pid)  # the tool was called
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    assert (run.returncode, "Traceback" in err) == (130, False)
    assert len(children) == 1
    assert not any(alive(int(pid)) for pid in children)
    if form == "json":
        body = json.loads(out)
        assert body["outcome"]["ending"] == "cancelled"
        assert (
            body["thinking"]["steps"][-1]["toolResult"] == "The call was stopped before it returned a result."
        )
    else:
        assert err.endswith("Stopped before the answer was complete.\n")
