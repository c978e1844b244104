"""The programs and libraries that `make clients` drives, and the part of the guide that is made from them.

python -m tests.clients.client_programs --write     writes that part of docs/how-to/clients.md
"""

import sys
from pathlib import Path
from string import Template
from typing import Any

import msgspec

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/how-to/clients.md"
PROGRAMS_FOLDER = Path(__file__).with_name("programs")
NODE_BIN = PROGRAMS_FOLDER / "node_modules/.bin"
CLIENTS_BIN = ROOT / ".venv-clients/bin"
AIDER_BIN = ROOT / ".venv-aider/bin"
START = "<!-- made by `python -m tests.clients.client_programs --write` -->\n"
END = "<!-- end -->\n"
URL = "http://127.0.0.1:8321"
MODEL = "deepseek/deepseek-v4-pro"
THOUGHTS = ("Look at Lima first.", "Lima is known.")
ANSWER = "The warmest is Lima."


def tool_script(name: str, **arguments: str) -> tuple[Any, ...]:
    """Return the answers of a model that calls one tool."""
    call = {"name": name, "arguments": arguments}
    return {"thinking": THOUGHTS[0], "tool_calls": [call]}, {"thinking": THOUGHTS[1], "text": ANSWER}


WEATHER = tool_script("get_weather", city="Lima")
COMMAND = "echo 18 degrees > made.txt; cat made.txt"


class ClientProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program, how a person sets it up, and how it is driven without one.

    In `recipe`, `command`, `variables` and `files`, $URL and $MODEL stand for the gateway and the model.
    """

    name: str
    endpoint: str
    recipe: str
    """At most three lines."""
    command: tuple[str, ...]
    script: tuple[Any, ...] = WEATHER
    variables: dict[str, str] = {}
    files: dict[str, str] = {}
    thoughts: str = "shown"
    tools: str = "run"
    recipe_language: str = "sh"


def _library(name: str) -> tuple[str, ...]:
    return (str(CLIENTS_BIN / "python"), str(PROGRAMS_FOLDER / "libraries.py"), name, "$URL", "$MODEL")


_OPENCODE = """{
  "provider": {"thinkaloud": {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "$URL/v1", "apiKey": "any"},
    "models": {"$MODEL": {"reasoning": true, "tool_call": true}, "builtin/solver": {}}
  }},
  "small_model": "thinkaloud/builtin/solver", "autoupdate": false, "permission": {"bash": "allow"}
}
"""
_CODEX = """model = "$MODEL"
model_provider = "thinkaloud"
model_providers.thinkaloud = { name = "Thinkaloud", base_url = "$URL/v1", wire_api = "responses" }
"""
_LLM = """- model_id: gateway
  model_name: $MODEL
  api_base: $URL/v1
  responses: true
  reasoning: true
  supports_tools: true
"""

PROGRAMS = (
    ClientProgram(
        name="Claude Code",
        endpoint="/v1/messages",
        recipe="export ANTHROPIC_BASE_URL=$URL ANTHROPIC_API_KEY=any MAX_THINKING_TOKENS=8000\n"
        "export ANTHROPIC_DEFAULT_HAIKU_MODEL=builtin/solver\n"
        "claude --model $MODEL",
        command=(
            str(NODE_BIN / "claude"),
            *("-p", "Write made.txt", "--model", "$MODEL", "--output-format", "stream-json", "--verbose"),
            "--dangerously-skip-permissions",
        ),
        script=tool_script("Bash", command=COMMAND, description="Write the file"),
        variables={
            "ANTHROPIC_BASE_URL": "$URL",
            "ANTHROPIC_API_KEY": "any",
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": "builtin/solver",
            "MAX_THINKING_TOKENS": "8000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
    ),
    ClientProgram(
        name="Codex",
        endpoint="/v1/responses",
        recipe=_CODEX.rstrip(),
        recipe_language="toml",
        command=(
            str(NODE_BIN / "codex"),
            *("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
            "Write made.txt",
        ),
        script=tool_script("exec_command", cmd=COMMAND),
        files={"home/.codex/config.toml": _CODEX},
    ),
    ClientProgram(
        name="opencode",
        endpoint="/v1/chat/completions",
        recipe='"provider": {"thinkaloud": {"npm": "@ai-sdk/openai-compatible",\n'
        '  "options": {"baseURL": "$URL/v1", "apiKey": "any"},\n'
        '  "models": {"$MODEL": {"reasoning": true, "tool_call": true}}}}',
        recipe_language="text",
        command=(
            str(NODE_BIN / "opencode"),
            *("run", "--format", "json", "--thinking", "-m", "thinkaloud/$MODEL", "Write made.txt"),
        ),
        script=tool_script("bash", command=COMMAND, description="Write the file"),
        variables={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        files={"opencode.json": _OPENCODE},
    ),
    ClientProgram(
        name="aider",
        endpoint="/v1/chat/completions",
        recipe="export OPENAI_API_BASE=$URL/v1 OPENAI_API_KEY=any\naider --model openai/$MODEL",
        command=(
            str(AIDER_BIN / "aider"),
            *("--model", "openai/$MODEL", "--edit-format", "whole", "--no-git", "--yes-always"),
            *("--no-check-update", "--no-show-release-notes", "--no-show-model-warnings"),
            *("--analytics-disable", "--no-pretty", "--map-tokens", "0", "--message", "Write made.txt"),
            "made.txt",
        ),
        script=({"thinking": THOUGHTS[0], "text": f"{ANSWER}\n\nmade.txt\n```\n18 degrees\n```\n"},),
        variables={"OPENAI_API_BASE": "$URL/v1", "OPENAI_API_KEY": "any"},
        tools="none: it edits files by its own text format",
    ),
    ClientProgram(
        name="llm",
        endpoint="/v1/responses",
        recipe="# in extra-openai-models.yaml of `llm logs path`'s folder\n"
        "- {model_id: gateway, model_name: $MODEL, api_base: $URL/v1,\n"
        "   responses: true, reasoning: true, supports_tools: true}",
        recipe_language="yaml",
        command=(
            str(CLIENTS_BIN / "llm"),
            *("-m", "gateway", "--key", "any", "--td"),
            *("--functions", str(PROGRAMS_FOLDER / "llm_functions.py"), "Where is it warmest?"),
        ),
        variables={"LLM_USER_PATH": "$WORK/llm"},
        files={"llm/extra-openai-models.yaml": _LLM},
    ),
    ClientProgram(
        name="LangChain",
        endpoint="/v1/responses",
        recipe='ChatOpenAI(model="$MODEL", base_url="$URL/v1", api_key="any",\n'
        '           use_responses_api=True, reasoning={"effort": "high", "summary": "auto"})',
        recipe_language="text",
        command=_library("langchain"),
    ),
    ClientProgram(
        name="Pydantic AI",
        endpoint="/v1/chat/completions",
        recipe='provider = OpenAIProvider(base_url="$URL/v1", api_key="any")\n'
        'agent = Agent(OpenAIChatModel("$MODEL", provider=provider))',
        recipe_language="text",
        command=_library("pydantic_ai"),
    ),
    ClientProgram(
        name="LiteLLM",
        endpoint="/v1/chat/completions",
        recipe='completion(model="openai/$MODEL", api_base="$URL/v1", api_key="any", messages=messages)',
        recipe_language="text",
        command=_library("litellm"),
    ),
    ClientProgram(
        name="Ollama library",
        endpoint="/api/chat",
        recipe='Client(host="$URL").chat(model="$MODEL", messages=messages, think=True)',
        recipe_language="text",
        command=_library("ollama"),
    ),
)


def guide_part() -> str:
    """Return the table and the recipes, as they stand in the guide."""
    lines = [
        "| client | endpoint | thoughts | tool calls |",
        "|---|---|---|---|",
        *(f"| {row.name} | `{row.endpoint}` | {row.thoughts} | {row.tools} |" for row in PROGRAMS),
    ]
    for row in PROGRAMS:
        recipe = Template(row.recipe).safe_substitute(URL=URL, MODEL=MODEL)
        lines += ["", f"### {row.name}", "", f"```{row.recipe_language}", recipe, "```"]
    return "\n".join(lines) + "\n"


def guide_with_part(text: str) -> str:
    """Return the guide with the part that is made here."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{guide_part()}\n{END}{after}"


if __name__ == "__main__" and "--write" in sys.argv:
    GUIDE.write_text(guide_with_part(GUIDE.read_text("utf-8")), "utf-8")
