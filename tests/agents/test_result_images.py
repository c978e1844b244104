"""Images that tools return are seen by models that see, and become a note elsewhere.

The simulators refuse every wrong form.
"""

import asyncio
import base64
import json
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import types
from tests.agents.mcp_servers import fixed_server, serve_app
from tests.agents.run_checks import assert_legal
from tests.agents.scripted_provider import all_entries, run_story
from tests.cli.environment import CATALOG_ROWS

from thinkaloud.agents.mcp import McpServer, connect
from thinkaloud.agents.run import Run, RunContext
from thinkaloud.agents.spec import Agent
from thinkaloud.agents.tool_results import MAX_IMAGE_BYTES, MAX_IMAGES
from thinkaloud.agents.tools import Tool, ToolOutcome, call_tool, from_function
from thinkaloud.client.http import Client, ClientEnvironment
from thinkaloud.core.canon.requests import Image, UserMessage
from thinkaloud.core.catalog import builtin_catalog, builtin_texts, parse_catalog
from thinkaloud.core.context import AnsweredTurn, steps_of
from thinkaloud.core.transcript import Turn
from thinkaloud.simulators import run_simulator

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 10
DATA = base64.b64encode(PNG).decode()
DATA_URL = f"data:image/png;base64,{DATA}"
IMAGE = Image("image/png", DATA)
LABEL = f"[image 1: image/png, {len(PNG)} bytes]"
KEY_NAME = "RESULT_IMAGES_KEY"
NO_IMAGES = "(An image was attached here, which this model does not take.)"
NO_RESULT_IMAGES = "(An image was returned here, which cannot be sent as a tool result.)"


def take_picture() -> list[object]:
    """Take a picture of the harbour."""
    return ["The harbour:", IMAGE, {"ships": 2}]


CASES = {
    "anthropic/claude-opus-4-5": ("anthropic", "inside"),
    "openai/gpt-6-sol": ("openai-responses", "inside"),
    "gemini/gemini-3-pro-preview": ("gemini", "inside"),
    "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0": ("bedrock", "inside"),
    "gemini/gemini-2.5-flash": ("gemini", "following"),
    "openai-chat/gpt-4o": ("openai-chat", "following"),
    "moonshot/kimi-k2.6": ("kimi", "following"),
    "openrouter/anthropic/claude-sonnet-4.5": ("openrouter", "following"),
    "vllm/qwen3-8b": ("vllm", "following"),
    "ollama/qwen3:8b": ("ollama", "following"),
    "xai/grok-4.3": ("xai", "following"),
    "cohere/command-a-plus": ("cohere", "following"),
    "mistral/mistral-small-latest": ("mistral", NO_RESULT_IMAGES),
    "deepseek/deepseek-v4-pro": ("deepseek", NO_IMAGES),
    "groq/openai/gpt-oss-120b": ("groq", NO_IMAGES),
    "cohere/command-a-reasoning": ("cohere", NO_IMAGES),
}
"""Where the image of a result goes for each model: into the result, into the message after it, or a note."""
SCRIPT = [
    {"thinking": "Look.", "tool_calls": [{"name": "take_picture"}, {"name": "take_picture"}]},
    {"thinking": "Seen.", "text": "Two ships."},
    {"thinking": "Again.", "text": "Still two."},
]


async def _ask_twice(model: str, simulator: str, tool: Tool) -> tuple[Turn, list[Any]]:
    """Ask twice in one conversation; return the first turn and the request bodies. Nothing is refused."""
    row = builtin_catalog().providers[CATALOG_ROWS[simulator]]
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(run_simulator(simulator, script=SCRIPT))
        rows = f'[providers.{row.name}]\nbase_url = "{server.url}{urlsplit(row.base_url).path}"\n'
        rows += f'key = "env:{KEY_NAME}"\n' if row.key else ""
        shell = ClientEnvironment(environ={KEY_NAME: "sim-key"})
        client = await stack.enter_async_context(Client(environment=shell))
        context = RunContext(catalog=parse_catalog(*builtin_texts(), rows), client=client)
        agent = Agent(name="Watch", model=model, thinking=None, tools=(tool,))
        question = UserMessage("What is in the harbour?")
        turn = assert_legal(await all_entries(Run(agent, (question,), context=context)))
        history = (question, *steps_of(AnsweredTurn(turn, "", row.name)), UserMessage("And now?"))
        assert_legal(await all_entries(Run(agent, history, context=context)))
        assert server.refusals == []
        return turn, [json.loads(request.raw) for request in server.requests]


@pytest.mark.parametrize("model", CASES)
def test_model_sees_the_image_of_a_tool_result(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in later turns; and a model that takes none gets a note, with no request refused."""
    monkeypatch.setenv(KEY_NAME, "sim-key")
    simulator, place = CASES[model]
    turn, bodies = run_story(_ask_twice(model, simulator, from_function(take_picture)))
    assert turn.answer.strip() == "Two ships."
    first, second = (block for block in turn.blocks if block.result is not None)
    assert first.result == second.result == f'The harbour:\n{LABEL}\n{{"ships":2}}'
    assert first.images == second.images == (IMAGE,)
    for body in bodies[1:]:
        text = json.dumps(body, ensure_ascii=False)
        assert text.count(LABEL) == 2
        assert text.count(DATA) == (2 if place in ("inside", "following") else 0)
        assert ("The tools above returned these images." in text) == (place == "following")
        if place not in ("inside", "following"):
            assert text.count(place) == 2


PARTS = {
    "anthropic/claude-opus-4-5": {"type": "base64", "media_type": "image/png", "data": DATA},
    "openai/gpt-6-sol": {"type": "input_image", "image_url": DATA_URL, "detail": "auto"},
    "gemini/gemini-3-pro-preview": {"mimeType": "image/png", "data": DATA},
    "gemini/gemini-2.5-flash": {"mimeType": "image/png", "data": DATA},
    "openai-chat/gpt-4o": {"url": DATA_URL},
    "bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0": {"bytes": DATA},
}


@pytest.mark.parametrize("model", PARTS)
def test_image_of_a_result_has_the_form_of_its_dialect(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_NAME, "sim-key")
    _, bodies = run_story(_ask_twice(model, CASES[model][0], from_function(take_picture)))
    assert _holder(bodies[1]) == PARTS[model]


def _holder(value: Any) -> Any:
    """Return the innermost object of a body that has the image as a field."""
    parts = [*value.values()] if isinstance(value, dict) else value
    inner = next(part for part in parts if DATA in json.dumps(part))
    return value if isinstance(inner, str) else _holder(inner)


class Drawing:
    """Draws itself as the images of Pillow and the figures of matplotlib do."""

    def _repr_png_(self) -> bytes:
        return PNG


RETURNED: dict[str, tuple[object, ToolOutcome]] = {
    "image": (IMAGE, ToolOutcome(LABEL, images=(IMAGE,))),
    "bytes": (PNG, ToolOutcome(LABEL, images=(IMAGE,))),
    "drawing": (Drawing(), ToolOutcome(LABEL, images=(IMAGE,))),
    "list": (("See", None, PNG), ToolOutcome(f"See\n{LABEL}", images=(IMAGE,))),
    "numbers": ([1, 2], ToolOutcome("[1,2]")),
    "no image": (b"text", ToolOutcome('"dGV4dA=="')),
    "wrong type": (
        Image("image/png", base64.b64encode(b"\xff\xd8\xff").decode()),
        ToolOutcome("[image 1: image/jpeg, 3 bytes]", images=(Image("image/jpeg", "/9j/"),)),
    ),
    "not base64": (Image("image/png", "?!"), ToolOutcome("[image/png, 1 bytes, not shown]")),
}


@pytest.mark.parametrize("name", RETURNED)
def test_python_tools_return_images(name: str) -> None:
    value, outcome = RETURNED[name]

    def draw() -> object:
        return value

    assert asyncio.run(call_tool(from_function(draw), "{}")) == outcome


def test_images_of_one_result_are_limited() -> None:
    large = PNG + b"x" * (MAX_IMAGE_BYTES - len(PNG))

    def draw() -> list[bytes]:
        return [PNG, large, *[PNG] * MAX_IMAGES]

    outcome = asyncio.run(call_tool(from_function(draw), "{}"))
    assert len(outcome.images) == MAX_IMAGES
    lines = outcome.result.splitlines()
    assert [line for line in lines if line.endswith("left out]")] == [
        f"[image/png, {MAX_IMAGE_BYTES} bytes, left out]",
        f"[image/png, {len(PNG)} bytes, left out]",
    ]


def test_mcp_images_are_part_of_the_result() -> None:
    image = types.ImageContent(data=DATA, mime_type="image/png")
    blob = types.BlobResourceContents(uri="file:///a", blob=DATA, mime_type="image/png")
    results = (
        types.CallToolResult(content=[types.TextContent(text="Look:"), image]),
        types.CallToolResult(content=[types.EmbeddedResource(resource=blob)]),
        types.CallToolResult(content=[types.TextContent(text="Broken:"), image], is_error=True),
    )
    tools = [types.Tool(name="look", input_schema={"type": "object", "properties": {}})]

    async def story() -> None:
        async with (
            serve_app(fixed_server(tools, *results).streamable_http_app()) as url,
            connect(McpServer(name="shop", url=url)) as (look,),
        ):
            assert await call_tool(look, "") == ToolOutcome(f"Look:\n{LABEL}", images=(IMAGE,))
            assert await call_tool(look, "") == ToolOutcome(LABEL, images=(IMAGE,))
            error = f"Broken:\n[image/png, {len(PNG)} bytes, left out]"
            assert await call_tool(look, "") == ToolOutcome(error=error)

    asyncio.run(story())
