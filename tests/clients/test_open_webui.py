"""What the backend of Open WebUI 0.10 sends to an OpenAI connection, replayed as its source has it.

It asks for the models with a bearer key, streams each question with its tools, forgets the thoughts, and asks
for a title beside it. The model behind the gateway refuses a tool conversation without its thoughts.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
from tests.clients.all_providers import start_with_simulators
from tests.clients.client_programs import ANSWER, MODEL, THOUGHTS, WEATHER

HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "Bearer any",
    "X-OpenWebUI-User-Id": "u1",
    "X-OpenWebUI-Chat-Id": "c1",
}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
QUESTION = {"role": "user", "content": "Where is it warmest?"}
TITLE = {"role": "user", "content": "### Task:\nGenerate a concise, 3-5 word title for: Where is it warmest?"}
SCRIPT = [*WEATHER, {"thinking": "Still Lima.", "text": "Still Lima."}]


class Backend:
    """The part of the backend that talks to a provider."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = f"{url}/v1"

    async def models(self) -> list[str]:
        async with self._http.get(f"{self._url}/models", headers=HEADERS) as response:
            return [model["id"] for model in (await response.json())["data"]]

    async def complete(self, model: str, message: dict[str, Any]) -> str:
        """Ask as its background tasks do: for a title, tags and follow-up questions."""
        body = {"model": model, "messages": [message], "stream": False, "max_tokens": 1000}
        async with self._http.post(
            f"{self._url}/chat/completions", data=json.dumps(body), headers=HEADERS
        ) as response:
            assert "text/event-stream" not in response.headers["Content-Type"]
            return str((await response.json())["choices"][0]["message"]["content"])

    async def stream(self, messages: list[Any]) -> tuple[str, dict[str, Any], Any]:
        """Return the thought, the message as it is stored and sent again, and the usage."""
        body = {"stream": True, "model": MODEL, "messages": messages, "tools": TOOLS}
        body |= {"stream_options": {"include_usage": True}}
        thought, text, calls, usage = "", "", list[dict[str, Any]](), None
        async with self._http.post(
            f"{self._url}/chat/completions", data=json.dumps(body), headers=HEADERS
        ) as response:
            assert (response.status, response.headers["Content-Type"].split(";")[0]) == (
                200,
                "text/event-stream",
            )
            async for line in response.content:
                data = line.decode().removeprefix("data:").strip()
                if not line.startswith(b"data:") or data == "[DONE]":
                    continue
                chunk = json.loads(data)
                usage = chunk.get("usage") or usage
                delta = chunk["choices"][0]["delta"] if chunk["choices"] else {}
                thought += delta.get("reasoning_content") or ""
                text += delta.get("content") or ""
                for call in delta.get("tool_calls") or []:
                    known = next((one for one in calls if one["index"] == call["index"]), None)
                    if known is None:
                        calls.append(call | {"function": {"name": "", "arguments": "", **call["function"]}})
                    else:
                        known["function"]["arguments"] += call["function"].get("arguments", "")
        sent = [{"id": call["id"], "type": "function", "function": call["function"]} for call in calls]
        return (
            thought,
            {"role": "assistant", "content": text, **({"tool_calls": sent} if sent else {})},
            usage,
        )


def test_open_webui_holds_a_tool_conversation_with_a_strict_provider(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            start_with_simulators(tmp_path, {"deepseek": SCRIPT}) as caller,
            aiohttp.ClientSession() as http,
        ):
            backend = Backend(http, caller.gateway.url)
            assert {MODEL, "builtin/solver"} <= set(await backend.models())
            title, (thought, called, usage) = await asyncio.gather(
                backend.complete("builtin/solver", TITLE), backend.stream([QUESTION])
            )
            assert title
            assert (thought, called["tool_calls"][0]["function"]["name"]) == (THOUGHTS[0], "get_weather")
            assert usage["total_tokens"] > 0
            result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "18 degrees"}
            history = [QUESTION, called, result]
            thought, answer, _ = await backend.stream(history)
            assert (thought, answer["content"]) == (THOUGHTS[1], ANSWER)
            history += [answer, {"role": "user", "content": "And now?"}]
            thought, answer, _ = await backend.stream(history)
            assert (thought, answer["content"]) == ("Still Lima.", "Still Lima.")
            sessions = (await caller.call("GET", "/api/sessions"))["items"]
            assert len(sessions) == 2  # the conversation, and the title

    asyncio.run(story())
