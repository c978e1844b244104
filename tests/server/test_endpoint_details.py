"""Details that clients of compatible endpoints rely on: ids, headers of errors, names of models, counts."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from tests.server.caller import (
    ENDLESS_SCRIPT,
    SCRIPT,
    Caller,
    quick_settings,
    start_gateway,
    wait_until,
)

from thinkaloud.core.canon import BadCatalog
from thinkaloud.core.catalog import builtin_texts, parse_catalog
from thinkaloud.core.catalog.routing import route
from thinkaloud.gateway.server.compatible import respond
from thinkaloud.gateway.server.http.response import send_in_time
from thinkaloud.gateway.server.http.routes import COMPATIBLE_ROUTES

anthropic: Any = pytest.importorskip("anthropic", reason="the anthropic library is not installed")
openai: Any = pytest.importorskip("openai", reason="the openai library is not installed")

ALIASES = '[aliases]\n"claude-*" = "vllm/qwen3-8b"\nsmall = "vllm/qwen3-8b"\n'
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
TOOL_SCRIPT: list[Any] = [
    {"thinking": "Look first.", "tool_calls": [{"name": "look", "arguments": {}}]},
    {"thinking": "It is 18.", "text": "18 degrees."},
]
QUESTION: list[Any] = [{"role": "user", "content": "17 * 3 - 9?"}]


class Clients(NamedTuple):
    """Clients of one gateway."""

    caller: Caller
    openai: Any
    anthropic: Any


def with_gateway(
    folder: Path, script: list[Any], story: Callable[["Clients"], Awaitable[None]], extra: str = ""
) -> None:
    async def run() -> None:
        async with (
            start_gateway(folder, script=script, extra=extra) as caller,
            openai.AsyncOpenAI(api_key="x", base_url=f"{caller.url}/v1", max_retries=0) as openai_client,
            anthropic.AsyncAnthropic(api_key="x", base_url=caller.url, max_retries=0) as anthropic_client,
        ):
            await story(Clients(caller, openai_client, anthropic_client))

    asyncio.run(run())


def test_alias_gives_another_model_and_exact_names_stay(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        reply = await clients.anthropic.messages.create(
            model="claude-haiku-4-5-20251001", max_tokens=99, messages=QUESTION
        )
        assert reply.model == "claude-haiku-4-5-20251001"
        assert reply.content[-1].text == "It is 42."
        models = [model.id async for model in clients.anthropic.models.list()]
        assert "small" in models
        assert "claude-*" not in models
        (session,) = (await clients.caller.call("GET", "/api/sessions"))["items"]
        (turn,) = (await clients.caller.call("GET", f"/api/sessions/{session['id']}"))["turns"]
        assert turn["provider"] == "vllm"

    with_gateway(tmp_path, SCRIPT, story, ALIASES)
    catalog = parse_catalog(*builtin_texts(), ALIASES)
    named = route(catalog, "anthropic/claude-opus-4-5", thinking=False, have_key=lambda _: True)
    assert named.provider.name == "anthropic"
    for line in ('x = "no-such-model"', "x = 5"):
        with pytest.raises(BadCatalog, match="aliases"):
            parse_catalog(*builtin_texts(), f"[aliases]\n{line}")


def test_one_model_is_returned_by_any_of_its_names(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        for name in (clients.caller.model, "builtin/solver", "claude-sonnet-4-5"):
            assert (await clients.openai.models.retrieve(name)).id == name
            model = await clients.anthropic.models.retrieve(name)
            assert (model.id, model.type) == (name, "model")
        with pytest.raises(openai.NotFoundError):
            await clients.openai.models.retrieve("no-such-model")
        await clients.caller.call("GET", "/v1/models/..%2f..%2fapi%2fsessions", status=404)
        await clients.caller.call("GET", "/api%2fsessions", status=404)

    with_gateway(tmp_path, [], story, ALIASES)


def test_tokens_of_a_request_are_estimated(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        counts = []
        for text in ("x" * 400, "x" * 800):
            raw = await clients.anthropic.messages.with_raw_response.count_tokens(
                model=clients.caller.model, messages=[{"role": "user", "content": text}], system="s" * 40
            )
            assert raw.headers["x-thinkaloud-estimated"] == "input_tokens"
            counts.append((await raw.parse()).input_tokens)
        assert counts == [110, 210]
        with pytest.raises(anthropic.BadRequestError):
            await clients.anthropic.messages.count_tokens(
                model=clients.caller.model, messages=[{"role": "x", "content": ""}]
            )
        assert (await clients.caller.call("GET", "/api/sessions"))["items"] == []

    with_gateway(tmp_path, [], story)


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error")])
def test_failure_of_the_provider_has_its_status_and_says_when_to_retry(
    tmp_path: Path, status: int, kind: str
) -> None:
    async def story(clients: Clients) -> None:
        body = {"model": clients.caller.model, "max_tokens": 99, "messages": QUESTION}
        async with clients.caller.http.post(f"{clients.caller.url}/v1/messages", json=body) as response:
            error = await response.json()
            assert response.status == status
            assert (response.headers["retry-after"], response.headers["x-should-retry"]) == ("7", "true")
            assert error["request_id"] == response.headers["request-id"]
            assert error["error"]["type"] == kind
        streamed = json.dumps(body | {"stream": True})
        headers = {"content-type": "application/json"}
        async with clients.caller.http.post(
            f"{clients.caller.url}/v1/chat/completions", data=streamed, headers=headers
        ) as response:
            assert response.headers["x-should-retry"] == "false"
            assert response.status == 418

    fault = {"kind": "status", "status": status, "retry_after": 7, "again": False}
    final_fault = {"kind": "status", "status": 418, "again": False}
    with_gateway(tmp_path, [{"text": "x", "fault": fault}, {"text": "x", "fault": final_fault}], story)


def test_refusals_have_an_id_and_unknown_models_are_not_found(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"):
            body = {"model": "no-such-model", "messages": QUESTION, "input": "x", "max_tokens": 9}
            async with clients.caller.http.post(clients.caller.url + path, json=body) as response:
                assert response.status == 404
                assert response.headers["request-id"] == response.headers["x-request-id"]
                error = await response.json()
                if path == "/v1/messages":
                    assert error["request_id"] == response.headers["request-id"]
                    assert error["error"]["type"] == "not_found_error"
        for method in ("HEAD", "OPTIONS"):
            async with clients.caller.http.request(method, f"{clients.caller.url}/v1/models") as response:
                assert response.status in (200, 204)
        async with clients.caller.http.options(f"{clients.caller.url}/v1/messages") as response:
            assert "POST" in response.headers["allow"]
        async with clients.caller.http.head(f"{clients.caller.url}/") as response:
            assert response.status == 200

    with_gateway(tmp_path, [], story)


def test_response_links_to_the_report_on_its_context(tmp_path: Path) -> None:
    """Thoughts that the client dropped are put back, and the report says so."""

    async def story() -> None:
        async with start_gateway(tmp_path, "deepseek", TOOL_SCRIPT) as caller:
            messages: list[Any] = [*QUESTION]
            reports = []
            for _ in TOOL_SCRIPT:
                body = {"model": caller.model, "messages": messages, "tools": [TOOL]}
                async with caller.http.post(f"{caller.url}/v1/chat/completions", json=body) as response:
                    reply = (await response.json())["choices"][0]["message"]
                    link = response.headers["x-thinkaloud-context"]
                reports.append(await caller.call("GET", link))
                for call in reply.get("tool_calls", ()):
                    messages += [
                        {"role": "assistant", "content": None, "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": call["id"], "content": "18"},
                    ]
        first, second = reports
        assert (first["provider"], first["lines"]) == ("deepseek", [])
        thoughts = [line for line in second["lines"] if line["kind"] == "reasoning"]
        assert [(line["status"], line["code"]) for line in thoughts] == [("sent", "field")]
        assert "sent back" in thoughts[0]["reason"]

    asyncio.run(story())


def test_header_names_the_fields_that_were_ignored(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        raw = clients.anthropic.beta.messages.with_raw_response
        ask: Any = {"model": clients.caller.model, "max_tokens": 99, "messages": QUESTION}
        edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
        search = {"type": "web_search_20250305", "name": "web_search"}
        reply = await raw.create(**ask, context_management=edits, extra_body={"top_k": 5}, tools=[search])
        ignored = reply.headers["x-thinkaloud-ignored"]
        assert ignored == "context_management, top_k, the tool web_search"
        plain = await raw.create(**ask, thread={"type": "create"})
        assert "x-thinkaloud-ignored" not in plain.headers

    with_gateway(tmp_path, SCRIPT * 2, story)


def test_custom_tools_and_references_to_items_work(tmp_path: Path) -> None:
    """A tool that takes plain text, and a history of references instead of items."""
    patch = "*** Begin Patch\n+ hello"
    script: list[Any] = [
        {"thinking": "Patch it.", "tool_calls": [{"name": "apply_patch", "arguments": {"input": patch}}]},
        {"thinking": "It is patched.", "text": "Done."},
    ]
    tools = [{"type": "custom", "name": "apply_patch", "description": "Patch files."}]

    async def story() -> None:
        async with (
            start_gateway(tmp_path, "deepseek", script) as caller,
            openai.AsyncOpenAI(api_key="x", base_url=f"{caller.url}/v1", max_retries=0) as client,
        ):
            history: list[Any] = [*QUESTION]
            async with client.responses.stream(model=caller.model, input=history, tools=tools) as stream:
                deltas = [
                    event.delta
                    async for event in stream
                    if event.type == "response.custom_tool_call_input.delta"
                ]
                first = await stream.get_final_response()
            call = first.output[-1]
            assert (call.type, call.name, call.input) == ("custom_tool_call", "apply_patch", patch)
            assert "".join(deltas) == patch
            history += [{"type": "item_reference", "id": item.id} for item in first.output]
            history.append({"type": "custom_tool_call_output", "call_id": call.call_id, "output": "ok"})
            second = await client.responses.create(model=caller.model, input=history, tools=tools)
            assert second.output_text == "Done."
            unknown = [*QUESTION, {"type": "item_reference", "id": "rs_trn_none_0"}]
            with pytest.raises(openai.BadRequestError, match="not known here"):
                await client.responses.create(model=caller.model, input=unknown)
            assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1

    asyncio.run(story())


def test_cancelled_turn_is_no_complete_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT) as caller:
            body = {"model": caller.model, "messages": QUESTION, "stream": True}
            async with caller.http.post(f"{caller.url}/v1/chat/completions", json=body) as response:
                turn = response.headers["x-thinkaloud-context"].split("/")[3]
                await caller.wait_until_saved(turn)
                await caller.call("POST", f"/api/turns/{turn}/cancel", status=202)
                text = await response.text()
        assert json.loads(text.strip().splitlines()[-1][6:])["error"]["code"] == "cancelled"
        assert "[DONE]" not in text

    asyncio.run(story())


BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": QUESTION},
    "/v1/responses": {"input": "17 * 3 - 9?"},
    "/v1/messages": {"messages": QUESTION, "max_tokens": 9000},
}
KEEP_ALIVES = {
    "/v1/chat/completions": b": keep-alive",
    "/v1/responses": b": keep-alive",
    "/v1/messages": b"event: ping",
}


async def streamed(caller: Caller, path: str) -> bytes:
    """Return the whole stream of one question."""
    body = BODIES[path] | {"model": caller.model, "stream": True}
    async with caller.http.post(caller.url + path, json=body) as response:
        assert response.status == 200
        return await response.read()


def data_of(stream: bytes) -> list[Any]:
    lines = [line[5:].strip() for line in stream.splitlines() if line.startswith(b"data:")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def test_streams_have_one_id_and_signs_of_life_while_the_provider_is_silent(tmp_path: Path) -> None:
    async def story() -> None:
        fault = {"kind": "stall", "after_events": 4, "seconds": 0.5}
        script = [{"thinking": "a b c d e f g h", "text": "42.", "fault": fault}] * len(BODIES)
        settings = quick_settings(heartbeat_s=0.05)
        async with start_gateway(tmp_path, script=script, settings=settings) as caller:
            for path, sign in KEEP_ALIVES.items():
                stream = await streamed(caller, path)
                assert stream.count(sign) >= 2, path
                if path == "/v1/chat/completions":
                    heads = {(chunk["id"], chunk["created"], chunk["model"]) for chunk in data_of(stream)}
                    [(_, created, model)] = heads
                    assert created > 1_700_000_000
                    assert model == caller.model
                if path == "/v1/responses":
                    responses = [event["response"] for event in data_of(stream) if "response" in event]
                    assert len({(row["id"], row["created_at"], row["model"]) for row in responses}) == 1

    asyncio.run(story())


def test_failure_within_a_stream_has_the_format_of_the_client(tmp_path: Path) -> None:
    async def story(clients: Clients) -> None:
        chat, responses, messages = [data_of(await streamed(clients.caller, path)) for path in BODIES]
        assert chat[-1]["error"]["message"]
        assert responses[-1]["type"] == "response.failed"
        assert responses[-1]["response"]["error"]["message"]
        assert messages[-1]["type"] == "error"
        assert messages[-1]["error"]["type"] in ("overloaded_error", "api_error")
        assert messages[-1]["request_id"]
        with pytest.raises(openai.APIError):
            async for _ in await clients.openai.chat.completions.create(
                model=clients.caller.model, messages=QUESTION, stream=True
            ):
                pass
        with pytest.raises(anthropic.APIError):
            async with clients.anthropic.messages.stream(
                model=clients.caller.model, max_tokens=9000, messages=QUESTION
            ) as stream:
                await stream.get_final_message()

    fault = {"kind": "overload", "after_events": 4, "again": False}
    with_gateway(tmp_path, [{"thinking": "a b c d", "text": "42.", "fault": fault}] * 5, story)


_TOOLS = {
    "/v1/messages": '{"name": "t", "input_schema": %s}',
    "/v1/messages/count_tokens": '{"name": "t", "input_schema": %s}',
    "/v1/responses": '{"type": "function", "name": "t", "parameters": %s}',
}
"""The tools of endpoints whose form is not that of the others."""
_TOOL = '{"type": "function", "name": "t", "function": {"name": "t", "parameters": %s}, "parameters": %s}'
_FAULTS = (
    b'{"title": "\xff"}',
    b'{"title": "\\ud800"}',
    b'{"title": "a", "title": "b"}',
    b'{"title": "a", "t\\u0069tle": "b"}',
)
_ASKING = [route.path for route in COMPATIBLE_ROUTES if route.method == "POST"]


def test_text_that_is_not_valid_and_fields_sent_twice_are_refused_everywhere(tmp_path: Path) -> None:
    """Also within a schema, which no endpoint reads itself."""

    async def story(clients: Clients) -> None:
        caller = clients.caller
        for path in _ASKING:
            tool = _TOOLS.get(path, _TOOL).replace("%s", "SCHEMA")
            for fault in _FAULTS:
                body = json.dumps({"model": caller.model, "max_tokens": 9, "messages": QUESTION}).encode()
                body = body[:-1] + b', "input": "x", "tools": [' + tool.encode() + b"]}"
                body = body.replace(b"SCHEMA", fault)
                headers = {"Content-Type": "application/json"}
                async with caller.http.post(caller.url + path, data=body, headers=headers) as response:
                    assert (path, fault, response.status) == (path, fault, 400), await response.text()

    with_gateway(tmp_path, [], story)


def test_client_that_accepts_no_bytes_ends_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stalled(message: Any) -> None:
        await asyncio.Event().wait()

    async def send(_: Any, timeout_s: float, message: dict[str, Any]) -> None:
        await send_in_time(stalled, timeout_s, message)

    async def story() -> None:
        settings = quick_settings(send_timeout_s=0.2)
        async with start_gateway(tmp_path, script=ENDLESS_SCRIPT, settings=settings) as caller:
            monkeypatch.setattr(respond, "send_in_time", send)
            body = {"model": caller.model, "stream": True, "messages": QUESTION}
            with pytest.raises(aiohttp.ClientError):
                await caller.call("POST", "/v1/chat/completions", body)
            await wait_until(lambda: not caller.gateway.turns.running_epochs)
            (session,) = (await caller.call("GET", "/api/sessions"))["items"]
            (turn,) = (await caller.call("GET", f"/api/sessions/{session['id']}"))["turns"]
            assert turn["state"] == "cancelled"

    asyncio.run(story())
