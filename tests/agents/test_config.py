"""Agents of a file: overrides, tools by name, and errors with their location."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import thinkaloud.agents
from thinkaloud.agents import Agent, RunLimits, Tool, build_agent, builtin_agents, local_tools, read_agents
from thinkaloud.agents.builtin_tools import builtin_tools
from thinkaloud.agents.config import SEARCH_SESSIONS, AgentConfig, AgentFile, FunctionConfig, McpConfig
from thinkaloud.agents.spec import agent_tree
from thinkaloud.agents.tools import call_tool
from thinkaloud.core.canon import Refused

ROOT = Path(__file__).parents[2]

EVERYTHING = """
[agents.clerk]
name = "The Clerk"
model = "deepseek/deepseek-v4-pro"
description = "Writes things down."
system = "Be brief."
thinking = 2048
max_tokens = 9000
summary_model = "builtin/solver"
tools = ["calculator", "greet", "files", "web/search"]
assistants = ["checker", "porter"]
limits = { replies = 9, output_tokens = 1000, seconds = 5, usd = 0.5 }

[agents.porter]
model = "builtin/solver"
thinking = "low"
limits.seconds = inf

[functions]
greet = "greetings_for_tests:greet"

[functions.shout]
from = "greetings_for_tests:Voice.shout"
approval = true
timeout_s = 3

[mcp.files]
command = ["npx", "-y", "some-server"]
env = { TOKEN = "env:SOME_TOKEN" }
tools = ["read"]

[mcp.web]
url = "https://tools.example/mcp"
approval = true
timeout_s = 5
"""
MODULE = '''
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}."

class Voice:
    def shout(word: str) -> str:
        return word.upper()

def anything(*words):
    return words

NOT_A_FUNCTION = 3
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module that no other test imports."""
    (tmp_path / "greetings_for_tests.py").write_text(MODULE, "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "greetings_for_tests", raising=False)
    return tmp_path


def read(folder: Path, text: str) -> AgentFile:
    (folder / "agents.toml").write_text(text, "utf-8")
    return read_agents(folder / "agents.toml")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(Refused) as caught:
        read(folder, text)
    return str(caught.value).removeprefix(f"{folder / 'agents.toml'}")


def no_tools(file: AgentFile, name: str) -> dict[str, tuple[Tool, ...]]:
    return dict.fromkeys(file.tool_names(name), ())


def test_included_agents_need_no_key(tmp_path: Path) -> None:
    file = read_agents(tmp_path / "agents.toml")
    assert file.agents == builtin_agents().agents
    planner = build_agent(file, "planner", {"calculator": (builtin_tools()["calculator"],)})
    assert [(one.id, one.name, one.model) for one in agent_tree(planner)] == [
        ("planner", "Planner", "builtin/solver"),
        ("checker", "Checker", "builtin/solver"),
    ]
    assert [tool.name for tool in planner.tool_definitions] == ["calculator", "checker"]


def test_every_field_of_a_row_reaches_the_agent(home: Path) -> None:
    file = read(home, EVERYTHING)
    assert file.tool_names("clerk") == ("calculator", "greet", "files", "web/search")
    tools = {name: (tool,) for name, tool in local_tools(file).items() if name in ("calculator", "greet")}
    clerk = build_agent(file, "clerk", {**no_tools(file, "clerk"), **tools})
    checker, porter = clerk.assistants
    assert clerk == Agent(
        id="clerk",
        name="The Clerk",
        model="deepseek/deepseek-v4-pro",
        description="Writes things down.",
        system="Be brief.",
        thinking=2048,
        max_tokens=9000,
        summary_model="builtin/solver",
        tools=(*tools["calculator"], *tools["greet"]),
        assistants=(checker, porter),
        limits=RunLimits(replies=9, output_tokens=1000, seconds=5, usd=0.5),
    )
    assert (porter.name, porter.thinking, porter.limits.seconds) == ("Porter", "low", None)
    assert (file.mcp["files"].name, file.mcp["files"].command) == ("files", ("npx", "-y", "some-server"))
    assert (file.mcp["files"].tools, file.mcp["web"].url) == (("read",), "https://tools.example/mcp")
    assert (file.mcp["web"].approval, file.mcp["web"].timeout_s) == (True, 5)


def test_included_row_is_overridden_field_by_field(tmp_path: Path) -> None:
    file = read(tmp_path, '[agents.planner]\nmodel = "claude-opus-4.5"\nthinking = "high"\n')
    row = file.row("planner")
    assert (row.model, row.thinking) == ("claude-opus-4.5", "high")
    assert (row.name, row.tools, row.assistants) == ("Planner", ("calculator",), ("checker",))
    assert file.row("checker").model == "builtin/solver"


def test_tool_that_is_named_twice_is_used_once(tmp_path: Path) -> None:
    file = read(tmp_path, '[agents.twice]\nmodel = "builtin/solver"\ntools = ["calculator", "calculator"]\n')
    tools = {"calculator": (builtin_tools()["calculator"],)}
    assert len(build_agent(file, "twice", tools).tools) == 1


def test_functions_are_imported_on_first_use(home: Path) -> None:
    tools = local_tools(read(home, EVERYTHING))
    assert list(tools) == ["calculator", "current_time", "greet", "shout"]
    assert len(tools) == 4
    assert "greet" in tools
    assert "greetings_for_tests" not in sys.modules
    greet, shout = tools["greet"], tools["shout"]
    assert (greet.definition.name, greet.definition.description) == ("greet", "Greet somebody.")
    assert (greet.approval, greet.timeout_s, shout.approval, shout.timeout_s) == (False, 60, True, 3)
    assert asyncio.run(call_tool(greet, '{"name": "Ana"}')).result == "Hello, Ana."
    assert tools["greet"] is greet
    with pytest.raises(KeyError):
        tools["nobody"]


def test_file_beside_agents_toml_cannot_replace_an_installed_module(home: Path) -> None:
    (home / "json.py").write_text("def loads(text: str) -> str:\n    return 'ours'\n", "utf-8")
    (home / "msgspec.py").write_text("raise SystemExit(3)\n", "utf-8")
    tools = local_tools(read(home, '[functions]\ngreet = "greetings_for_tests:greet"\n'))
    assert tools["greet"].definition.name == "greet"
    assert sys.path[-1] == str(home)
    import json

    assert json.loads('"theirs"') == "theirs"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere_at_all:greet", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("greetings_for_tests:nobody", "has no attribute 'nobody'"),
        ("breaks_for_tests:greet", "ZeroDivisionError: division by zero"),
        ("leaves_for_tests:greet", "SystemExit: 3"),
        ("greetings_for_tests:anything", "models pass arguments by name, which *words does not allow"),
        ("greetings_for_tests:NOT_A_FUNCTION", "cannot be a tool"),
        ("greetings_for_tests", 'does not name a function. Write from = "module:function".'),
        (":greet", "does not name a function"),
    ],
)
def test_function_that_cannot_be_a_tool_is_refused(source: str, why: str, home: Path) -> None:
    (home / "breaks_for_tests.py").write_text("1 / 0\n", "utf-8")
    (home / "leaves_for_tests.py").write_text("raise SystemExit(3)\n", "utf-8")
    tools = local_tools(read(home, f'[functions]\nhelp = "{source}"\n'))
    with pytest.raises(Refused) as caught:
        tools["help"]
    message = str(caught.value)
    assert message.startswith(f"{home / 'agents.toml'}: [functions.help]: ")
    assert why in message


REFUSED = [
    ("[agents", " is not valid TOML: "),
    ("[tools.x]", ": unknown section [tools]. Use [agents.NAME], [mcp.NAME] and [functions]."),
    (
        'agents = "planner"',
        ": [agents] may contain only tables. Write [agents.NAME].",
    ),
    (
        "[functions]\nx = 3",
        ": [functions] may contain only tables. Write [functions.NAME].",
    ),
    ("[agents.x]", ": [agents.x]: Object missing required field `model`. Correct the field."),
    (
        '[agents.x]\nmodel = "m"\ntool = ["calculator"]',
        ": [agents.x]: unknown field 'tool'. The fields are: model, temperature, top_p, stop, seed, "
        "parallel_tool_calls, verbosity, extra, system, thinking, on_thinking_unavailable, max_tokens, "
        "tool_choice, output_schema, context_mode, cache, name, description, summary_model, tools, "
        "assistants, limits.",
    ),
    (
        '[agents.x]\nmodel = "m"\ntools = "calculator"',
        ": [agents.x]: Expected `array`, got `str` - at `$.tools`. Correct the field.",
    ),
    (
        '[agents.x]\nmodel = "m"\ntools = ["hammer"]',
        ": [agents.x]: there is no tool 'hammer'. Available: calculator, current_time, search_sessions, and "
        "SERVER/TOOL for a single tool of an MCP server. Add others in [functions] or [mcp.NAME].",
    ),
    (
        '[agents.x]\nmodel = "m"\ntools = ["calculator/add"]',
        ": [agents.x]: there is no tool 'calculator/add'.",
    ),
    (
        '[agents.x]\nmodel = "m"\nassistants = ["nobody"]',
        ": [agents.x]: there is no agent 'nobody' for `assistants`. Available: planner, checker, x.",
    ),
    (
        '[agents.x]\nmodel = "m"\nassistants = ["y"]\n[agents.y]\nmodel = "m"\nassistants = ["x"]',
        ": [agents.x]: These agents call each other in a cycle: x → y → x. Remove one of the calls.",
    ),
    (
        '[agents.checker]\nassistants = ["planner"]',
        ": [agents.checker]: These agents call each other in a cycle: checker → planner → checker.",
    ),
    (
        '[agents.x]\nmodel = "m"\nassistants = ["a", "b"]\n[agents.a]\nmodel = "m"\nname = "Two Words"\n'
        '[agents.b]\nmodel = "m"\nname = "two-words"',
        ": [agents.x]: The agent 'X' has more than one tool or assistant called two_words",
    ),
    (
        '[agents.x]\nmodel = "m"\nthinking = "hard"',
        ": [agents.x]: Invalid thinking level: 'hard'. Use one of off, low, medium, high, max, or a ",
    ),
    ('[agents.x]\nmodel = ""', ": [agents.x]: Expected `str` of length >= 1 - at `$.model`."),
    (
        '[agents.x]\nmodel = "m"\nlimits.reply = 3',
        ": [agents.x.limits]: unknown field 'reply'. The fields are: replies, output_tokens, seconds, ",
    ),
    (
        '[agents.x]\nmodel = "m"\nlimits.replies = 0',
        ": [agents.x]: limits.replies must be greater than 0. Correct it.",
    ),
    (
        '[agents.x]\nmodel = "m"\nlimits.seconds = nan',
        ": [agents.x]: limits.seconds must be greater than 0.",
    ),
    (
        '[functions]\ncalculator = "m:f"',
        ": [functions.calculator]: there is another tool called calculator. Choose another name.",
    ),
    (
        '[functions]\nx = "m:f"\n[mcp.x]\nurl = "https://x"',
        ": [mcp.x]: there is another tool called x. Choose another name.",
    ),
    ('[functions]\n"a b" = "m:f"', ": [functions.a b]: not a valid tool name. Use 1 to 64 ASCII letters"),
    ('[mcp."a/b"]\nurl = "https://x"', ": [mcp.a/b]: not a valid tool name."),
    (
        '[mcp.x]\ncommand = ["a"]\nurl = "https://x"',
        ": [mcp.x]: a server needs either a command or a url. Write "
        'command = ["program", "argument"], or url = "https://...".',
    ),
    ("[mcp.x]", ": [mcp.x]: a server needs either a command or a url."),
    (
        '[mcp.x]\nurl = "https://x"\nname = "y"',
        ": [mcp.x]: unknown field 'name'. The fields are: command, url, env, headers, approval, ",
    ),
    ('[mcp.x]\nurl = "https://x"\ntimeout_s = 0', ": [mcp.x]: Expected `float` > 0.0 - at `$.timeout_s`."),
    (
        '[functions.x]\nfrom = "m:f"\nmodule = "m"',
        ": [functions.x]: unknown field 'module'. The fields are: from, approval, timeout_s.",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_invalid_rows_are_refused_with_their_location(text: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text).startswith(message)


def test_unreadable_agents_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agents.toml").write_bytes(b"\xff")
    with pytest.raises(Refused, match=r"agents\.toml cannot be read: it is not UTF-8 text\. Correct it"):
        read_agents(tmp_path / "agents.toml")


def test_unknown_agent_is_refused_with_the_available_ones(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        read_agents(tmp_path / "agents.toml").row("painter")
    assert str(caught.value) == (
        "There is no agent 'painter'. Available: planner, checker. "
        f"Add your own in {tmp_path / 'agents.toml'}."
    )
    with pytest.raises(Refused, match=r"There is no agent 'painter'\. Available: planner, checker\.$"):
        build_agent(builtin_agents(), "painter", {})


def test_repr_of_a_server_shows_no_key(tmp_path: Path) -> None:
    canary = "canary-5f2a9c"
    file = read(tmp_path, f'[mcp.x]\ncommand = ["a", "--key={canary}"]\nenv = {{ KEY = "{canary}" }}\n')
    assert canary not in repr(file)
    assert canary not in refusal(
        tmp_path, f'[mcp.x]\nurl = "https://x"\nenv = {{ KEY = "{canary}", B = 3 }}\n'
    )


def test_reference_page_has_every_field_limit_and_name() -> None:
    page = (ROOT / "docs/reference/agents.md").read_text("utf-8")
    rows = [
        field
        for row in (AgentConfig, FunctionConfig, McpConfig, RunLimits)
        for field in msgspec.structs.fields(row)
    ]
    assert [field.encode_name for field in rows if f"`{field.encode_name}`" not in page] == []
    assert [limit for limit in RunLimits.__struct_fields__ if f"`limit_{limit}`" not in page] == []
    public = thinkaloud.agents.__all__
    assert [name for name in public if f"`{name}`" not in page and f"`{name}(" not in page] == []
    assert [name for name in (*builtin_tools(), SEARCH_SESSIONS) if f"| `{name}` |" not in page] == []


def test_how_to_shows_the_example_files() -> None:
    page = (ROOT / "docs/how-to/agents.md").read_text("utf-8")
    for name, language in (("agents.toml", "toml"), ("house_rules.py", "py")):
        text = (ROOT / "examples/agents" / name).read_text("utf-8")
        assert f"```{language}\n{text}```\n" in page


def test_import_of_agents_is_lazy() -> None:
    """The MCP SDK and the prices are imported on first use."""
    code = "import sys; from thinkaloud.agents import *; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pulled = {module.partition(".")[0] for module in ran.stdout.split()}
    assert "thinkaloud" in pulled
    assert sorted(pulled & {"mcp", "genai_prices", "pydantic", "httpx2", "starlette"}) == []
