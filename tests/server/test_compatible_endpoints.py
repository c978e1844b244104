"""Official clients, unchanged but for their base URL, ask models of any provider through the gateway."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from sqlalchemy import select
from tests.server.caller import ANSWER, MODELS, SCRIPT, SLOW_SCRIPT, THOUGHT, Caller, start_gateway

from thinkaloud.core.dialects.openai_chat import parse_request
from thinkaloud.gateway.server.compatible import place
from thinkaloud.gateway.server.compatible.history import read_history
from thinkaloud.gateway.store.queries.turns import find_answers
from thinkaloud.gateway.store.rows import Owner
from thinkaloud.gateway.store.schema import turns

anthropic: Any = pytest.importorskip("anthropic", reason="the anthropic library is not installed")
openai: Any = pytest.importorskip("openai", reason="the openai library is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PROVIDERS = tuple(MODELS)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
STEPS = 10
TOOL_SCRIPT: list[Any] = [
    {
        "thinking": f"Step {number}: look at the next city.",
        "tool_calls": [{"name": "get_weather", "arguments": {"city": f"City {number}"}}],
    }
    for number in range(STEPS)
] + [{"thinking": "All cities are known.", "text": "The warmest is City 3."}]

Story = Callable[[Caller], Awaitable[None]]


def with_gateway(folder: Path, provider: str, script: list[Any], story: Story) -> None:
    async def run() -> None:
        async with start_gateway(folder, provider, script) as caller:
            await story(caller)

    asyncio.run(run())


def openai_client(caller: Caller) -> Any:
    return openai.AsyncOpenAI(api_key="any key", base_url=f"{caller.url}/v1", max_retries=0)


def anthropic_client(caller: Caller) -> Any:
    return anthropic.AsyncAnthropic(api_key="any key", base_url=caller.url, max_retries=0)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_chat_client_gets_thoughts_and_answer_of_any_model(tmp_path: Path, provider: str) -> None:
    async def story(caller: Caller) -> None:
        ask = {"model": caller.model, "messages": [{"role": "user", "content": "17 * 3 - 9?"}]}
        ask["reasoning_effort"] = "medium"
        async with openai_client(caller) as client:
            whole = await client.chat.completions.create(**ask)
            assert whole.choices[0].message.content == ANSWER
            assert whole.choices[0].message.reasoning_content == THOUGHT
            assert whole.choices[0].finish_reason == "stop"
            thought, answer, usages = "", "", []
            stream = await client.chat.completions.create(
                **ask, stream=True, stream_options={"include_usage": True}
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    thought += getattr(choice.delta, "reasoning_content", None) or ""
                    answer += choice.delta.content or ""
                usages += [chunk.usage] if chunk.usage else []
            assert (thought, answer) == (THOUGHT, ANSWER)
            assert len(usages) == 1
            assert usages[0].completion_tokens > 0

    with_gateway(tmp_path, provider, SCRIPT * 2, story)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_anthropic_client_gets_thinking_blocks_of_any_model(tmp_path: Path, provider: str) -> None:
    async def story(caller: Caller) -> None:
        ask = {
            "model": caller.model,
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [{"role": "user", "content": "17 * 3 - 9?"}],
        }
        async with anthropic_client(caller) as client:
            whole = await client.messages.create(**ask)
            async with client.messages.stream(**ask) as stream:
                streamed = await stream.get_final_message()
            for message in (whole, streamed):
                assert [block.type for block in message.content] == ["thinking", "text"]
                assert message.content[0].thinking == THOUGHT
                assert message.content[0].signature
                assert message.content[1].text == ANSWER
                assert message.stop_reason == "end_turn"

    with_gateway(tmp_path, provider, SCRIPT * 2, story)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_responses_client_gets_summaries_of_any_model(tmp_path: Path, provider: str) -> None:
    async def story(caller: Caller) -> None:
        ask = {"model": caller.model, "input": "17 * 3 - 9?", "reasoning": {"effort": "medium"}}
        async with openai_client(caller) as client:
            whole = await client.responses.create(**ask)
            async with client.responses.stream(**ask) as stream:
                deltas = [
                    event.delta
                    async for event in stream
                    if event.type == "response.reasoning_summary_text.delta"
                ]
                streamed = await stream.get_final_response()
            assert "".join(deltas) == THOUGHT
            for response in (whole, streamed):
                assert response.status == "completed"
                assert response.output[0].summary[0].text == THOUGHT
                assert response.output[0].encrypted_content.startswith("thinkaloud.")
                assert response.output_text == ANSWER

    with_gateway(tmp_path, provider, SCRIPT * 2, story)


def weather_of(call_arguments: str) -> str:
    return f"18 degrees ({call_arguments})"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_forgetful_chat_client_completes_a_long_tool_loop(tmp_path: Path, provider: str) -> None:
    """The client drops every thought. The simulators refuse a request in which a demanded one is missing."""

    async def story(caller: Caller) -> None:
        messages: list[Any] = [{"role": "user", "content": "Where is it warmest?"}]
        function = {"name": "get_weather", "parameters": SCHEMA}
        async with openai_client(caller) as client:
            for _ in range(STEPS):
                reply = await client.chat.completions.create(
                    model=caller.model,
                    messages=messages,
                    tools=[{"type": "function", "function": function}],
                    reasoning_effort="high",
                )
                assert reply.choices[0].finish_reason == "tool_calls"
                (call,) = reply.choices[0].message.tool_calls
                arguments = call.function.arguments
                messages.append(
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {
                                "id": call.id[-9:],  # clients shorten ids for providers that demand it
                                "type": "function",
                                "function": {"name": call.function.name, "arguments": arguments},
                            }
                        ],
                    }
                )
                messages.append(
                    {"role": "tool", "tool_call_id": call.id[-9:], "content": weather_of(arguments)}
                )
            last = await client.chat.completions.create(
                model=caller.model,
                messages=messages,
                tools=[{"type": "function", "function": function}],
                reasoning_effort="high",
            )
            assert last.choices[0].message.content == "The warmest is City 3."
        sessions = await caller.call("GET", "/api/sessions")
        assert len(sessions["items"]) == 1

    with_gateway(tmp_path, provider, TOOL_SCRIPT, story)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_anthropic_client_completes_a_long_tool_loop(tmp_path: Path, provider: str) -> None:
    async def story(caller: Caller) -> None:
        messages: list[Any] = [{"role": "user", "content": "Where is it warmest?"}]
        tools = [{"name": "get_weather", "input_schema": SCHEMA}]
        async with anthropic_client(caller) as client:
            while True:
                async with client.messages.stream(
                    model=caller.model,
                    max_tokens=4000,
                    thinking={"type": "enabled", "budget_tokens": 2000},
                    messages=messages,
                    tools=tools,
                ) as stream:
                    message = await stream.get_final_message()
                messages.append({"role": "assistant", "content": message.content})
                calls = [block for block in message.content if block.type == "tool_use"]
                if not calls:
                    break
                results = [
                    {"type": "tool_result", "tool_use_id": call.id, "content": "18 degrees"} for call in calls
                ]
                messages.append({"role": "user", "content": results})
        assert message.content[-1].text == "The warmest is City 3."
        assert len(messages) == 2 * STEPS + 2
        assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1

    with_gateway(tmp_path, provider, TOOL_SCRIPT, story)


async def get_weather(city: str) -> str:
    """The weather in a city."""
    return weather_of(city)


async def get_tide(city: str) -> str:
    """The tide in a city."""
    return f"low in {city}"


WEATHER_TOOL = anthropic.beta_async_tool(get_weather)
TIDE_TOOL = anthropic.beta_async_tool(get_tide)


def offered_names(received: Any) -> list[str]:
    """Return the names of the tools of a request to a provider, in either format."""
    return [tool.get("name") or tool["function"]["name"] for tool in received.body.get("tools", ())]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_tool_runner_of_anthropic_completes_a_long_loop_over_a_thread(
    tmp_path: Path, provider: str, stream: bool
) -> None:
    """From its second request on, the library sends neither the conversation nor its tools."""

    async def story(caller: Caller) -> None:
        async with anthropic_client(caller) as client:
            runner = client.beta.messages.tool_runner(
                model=caller.model,
                max_tokens=4000,
                system="Be short.",
                thinking={"type": "enabled", "budget_tokens": 2000},
                messages=[{"role": "user", "content": "Where is it warmest?"}],
                tools=[WEATHER_TOOL],
                stream=stream,
            )
            final = await runner.until_done()
        assert final.content[-1].text == "The warmest is City 3."
        assert len((await caller.call("GET", "/api/sessions"))["items"]) == 1
        received = [request for request in caller.simulator.requests if request.method == "POST"]
        assert [offered_names(request) for request in received] == [["get_weather"]] * (STEPS + 1)
        assert all("Be short." in request.raw.decode() for request in received)

    with_gateway(tmp_path, provider, TOOL_SCRIPT, story)


def test_tool_runner_may_change_its_tools_within_a_thread(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async with anthropic_client(caller) as client:
            runner = client.beta.messages.tool_runner(
                model=caller.model,
                max_tokens=4000,
                messages=[{"role": "user", "content": "Where is it warmest?"}],
                tools=[WEATHER_TOOL],
                betas=["inline-tools-2026-09-15"],
            )
            number = 0
            async for _ in runner:
                number += 1
                if number == 1:
                    runner.add_tools(TIDE_TOOL)
                if number == 3:
                    runner.remove_tools(TIDE_TOOL)
        received = [request for request in caller.simulator.requests if request.method == "POST"]
        both = ["get_weather", "get_tide"]
        names = [offered_names(request) for request in received]
        assert names == [["get_weather"], both, both] + [["get_weather"]] * (STEPS - 2)

    with_gateway(tmp_path, "vllm", TOOL_SCRIPT, story)


def test_thread_goes_on_after_a_restart_with_its_tools_stored_once(tmp_path: Path) -> None:
    ask: Any = {"max_tokens": 4000, "betas": ["message-threads-2026-08-12"]}
    tools = [{"name": "get_weather", "description": "Weather", "input_schema": SCHEMA}]
    last: list[Any] = []

    async def one_step(caller: Caller) -> None:
        if last:
            (call,) = (block for block in last[-1].content if block.type == "tool_use")
            result = {"type": "tool_result", "tool_use_id": call.id, "content": "18 degrees"}
            new: Any = {"messages": [{"role": "user", "content": [result]}]}
            new |= {"thread": {"type": "continue", "previous_message_id": last[-1].id}}
        else:
            new = {"messages": [{"role": "user", "content": "Warm?"}], "tools": tools, "system": "Be short."}
            new |= {"thread": {"type": "create"}}
        async with anthropic_client(caller) as client:
            last.append(await client.beta.messages.create(model=caller.model, **ask, **new))
        (received,) = (request for request in caller.simulator.requests if request.method == "POST")
        assert offered_names(received) == ["get_weather"]
        assert [message["role"] for message in received.body["messages"]].count("system") == 1

    async def look_at_the_store(caller: Caller) -> None:
        rows = await caller.database.read(lambda conn: conn.execute(select(turns.c.options)).scalars().all())
        assert [row.count("get_weather") for row in rows] == [1, 0, 0]

    for number in range(3):
        with_gateway(tmp_path, "deepseek", TOOL_SCRIPT[number:], one_step)
    with_gateway(tmp_path, "deepseek", TOOL_SCRIPT, look_at_the_store)


def test_system_prompt_that_is_sent_again_in_a_thread_is_held_once(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        question = [{"role": "user", "content": "Hi"}]
        body: Any = {"model": caller.model, "max_tokens": 400, "messages": question}
        thread = {"type": "create"}
        for system in ("Be short.", "Be short.", "Be kind.", "Be kind."):
            reply = await caller.call("POST", "/v1/messages", body | {"system": system, "thread": thread})
            thread = {"type": "continue", "previous_message_id": reply["id"]}
        posted = [request for request in caller.simulator.requests if request.method == "POST"]
        prompts = [request.body["messages"][0]["content"] for request in posted]
        assert prompts == ["Be short."] * 2 + ["Be short.\n\nBe kind."] * 2

    with_gateway(tmp_path, "vllm", SCRIPT * 4, story)


def test_library_replays_a_thread_that_is_gone(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async with anthropic_client(caller) as client:
            thread = client.beta.messages.thread(model=caller.model, max_tokens=4000)
            await thread.send({"role": "user", "content": "17 * 3 - 9?"})
            (session,) = (await caller.call("GET", "/api/sessions"))["items"]
            await caller.call("DELETE", f"/api/sessions/{session['id']}", status=204)
            await thread.send({"role": "user", "content": "Sure?"})
        (session,) = (await caller.call("GET", "/api/sessions"))["items"]
        messages = (await caller.call("GET", f"/api/sessions/{session['id']}/messages"))["items"]
        assert [message["content"] for message in messages][::2] == ["17 * 3 - 9?", "Sure?"]

    with_gateway(tmp_path, "vllm", SCRIPT * 2, story)


def test_thread_that_another_request_continues_is_refused_with_a_code(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        ask: Any = {"model": caller.model, "max_tokens": 400, "messages": [{"role": "user", "content": "Hi"}]}
        async with anthropic_client(caller) as client:
            first = await client.beta.messages.create(**ask, thread={"type": "create"})
            ask |= {"thread": {"type": "continue", "previous_message_id": first.id}}
            async with client.beta.messages.stream(**ask) as stream:
                await anext(aiter(stream))
                error = (await caller.call("POST", "/v1/messages", ask, status=400))["error"]
                assert error["details"] == {"error_code": "thread_continue_in_flight"}
                assert (await stream.get_final_message()).content[-1].text == "Done."

    with_gateway(tmp_path, "vllm", SCRIPT + SLOW_SCRIPT, story)


def test_thread_holds_a_bounded_number_of_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "MAX_HELD_TOOLS", 1)

    def tool(name: str) -> dict[str, Any]:
        return {"name": name, "input_schema": {"type": "object", "properties": {}}}

    async def story(caller: Caller) -> None:
        ask = {"model": caller.model, "max_tokens": 400, "messages": [{"role": "user", "content": "Hi"}]}
        create = ask | {"tools": [tool("first")], "thread": {"type": "create"}}
        first = await caller.call("POST", "/v1/messages", create)
        added = ask | {"tools": [tool("second")]}
        added |= {"thread": {"type": "continue", "previous_message_id": first["id"]}}
        error = (await caller.call("POST", "/v1/messages", added, status=404))["error"]
        assert error["details"] == {"error_code": "thread_not_found"}
        assert "at most 1 tools" in error["message"]

    with_gateway(tmp_path, "vllm", SCRIPT, story)


def test_thread_of_another_or_of_no_kind_is_refused_with_a_code(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async def refused(thread: Any, *more: Any, status: int) -> Any:
            messages = [{"role": "user", "content": "Sure?"}, *more]
            body = {"model": caller.model, "max_tokens": 4000, "messages": messages, "thread": thread}
            return (await caller.call("POST", "/v1/messages", body, status=status))["error"]

        async with anthropic_client(caller) as client:
            ask = {"model": caller.model, "max_tokens": 400, "messages": [{"role": "user", "content": "Hi"}]}
            unheld = await client.messages.create(**ask)
            held = await client.beta.messages.create(**ask, thread={"type": "create"})
        for previous in ("msg_none", "msg_trn_none", unheld.id):
            error = await refused({"type": "continue", "previous_message_id": previous}, status=404)
            assert error["type"] == "not_found_error"
            assert error["details"] == {"error_code": "thread_not_found"}
        foreign = {"role": "assistant", "content": "41"}
        error = await refused(
            {"type": "continue", "previous_message_id": held.id},
            foreign,
            {"role": "user", "content": "?"},
            status=404,
        )
        assert error["details"] == {"error_code": "thread_not_found"}
        assert "previous_message_id" in (await refused({"type": "continue"}, status=400))["message"]
        assert "thread" in (await refused({"type": "keep"}, status=400))["message"]

    with_gateway(tmp_path, "vllm", SCRIPT * 2, story)


def test_edited_answer_is_taken_as_the_client_has_it_in_a_session_of_its_own(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        question = {"role": "user", "content": "17 * 3 - 9?"}
        async with openai_client(caller) as client:
            await client.chat.completions.create(model=caller.model, messages=[question])
            edited = [question, {"role": "assistant", "content": "41"}, {"role": "user", "content": "Sure?"}]
            await client.chat.completions.create(model=caller.model, messages=edited)
        sessions = (await caller.call("GET", "/api/sessions"))["items"]
        assert len(sessions) == 2
        messages = await caller.call("GET", f"/api/sessions/{sessions[0]['id']}/messages")
        texts = [message["content"] for message in messages["items"]]
        assert texts == ["17 * 3 - 9?", "41", "Sure?", ANSWER]

    with_gateway(tmp_path, "vllm", SCRIPT * 2, story)


def test_previous_response_is_continued_by_its_id(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async with openai_client(caller) as client:
            first = await client.responses.create(model=caller.model, input="17 * 3 - 9?")
            second = await client.responses.create(
                model=caller.model, input="Sure?", previous_response_id=first.id
            )
            assert second.status == "completed"
            # Another conversation with the same last question is not taken for this one.
            history: list[Any] = [
                {"role": "user", "content": "Sure?"},
                {"role": "assistant", "content": second.output_text},
                {"role": "user", "content": "And now?"},
            ]
            await client.responses.create(model=caller.model, input=history)
            with pytest.raises(openai.BadRequestError, match="not known here"):
                await client.responses.create(
                    model=caller.model, input="Sure?", previous_response_id="resp_trn_none"
                )
        _, session = (await caller.call("GET", "/api/sessions"))["items"]
        messages = (await caller.call("GET", f"/api/sessions/{session['id']}/messages"))["items"]
        assert [message["content"] for message in messages][::2] == ["17 * 3 - 9?", "Sure?"]

    with_gateway(tmp_path, "vllm", SCRIPT * 3, story)


def test_two_requests_of_one_conversation_at_once_both_get_answers(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        question = {"role": "user", "content": "17 * 3 - 9?"}
        async with openai_client(caller) as client:
            first = await client.chat.completions.create(model=caller.model, messages=[question])
            history = [question, {"role": "assistant", "content": first.choices[0].message.content}]
            replies = await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model=caller.model, messages=[*history, {"role": "user", "content": text}]
                    )
                    for text in ("Sure?", "Why?")
                )
            )
        assert [reply.choices[0].message.content for reply in replies] == ["Done.", "Done."]

    with_gateway(tmp_path, "vllm", [*SCRIPT, *SLOW_SCRIPT * 2], story)


def test_client_that_disconnects_ends_its_turn(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        body = {
            "model": caller.model,
            "stream": True,
            "messages": [{"role": "user", "content": "Go"}],
        }
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{caller.url}/v1/chat/completions", json=body) as response,
        ):
            await response.content.readline()
        while not (sessions := (await caller.call("GET", "/api/sessions"))["items"]):
            await asyncio.sleep(0.02)  # a first question is stored within 50 ms
        while True:
            turns = (await caller.call("GET", f"/api/sessions/{sessions[0]['id']}"))["turns"]
            if turns[0]["state"] != "running":
                break
            await asyncio.sleep(0.02)
        assert turns[0]["state"] == "cancelled"

    endless = [{"thinking": "again and " * 2000, "text": "never", "delay_ms": 20}]
    with_gateway(tmp_path, "vllm", endless, story)


def test_hostile_histories_are_refused_or_taken_as_they_are(tmp_path: Path) -> None:
    def chat(*messages: Any) -> dict[str, Any]:
        return {"messages": [*messages, {"role": "user", "content": "x"}]}

    thought = {"type": "thinking", "thinking": "", "signature": "thinkaloud.trn_1." + "9" * 5000}
    call = {"function": {"name": "t", "arguments": "[" * 100_000}}
    bodies: list[tuple[str, dict[str, Any], int]] = [
        (
            "/v1/messages",
            chat({"role": "assistant", "content": [thought, {"type": "text", "text": "y"}]}),
            200,
        ),
        ("/v1/chat/completions", chat({"role": "assistant", "tool_calls": [call]}), 200),
        ("/v1/responses", {"input": [{"type": "function_call_output", "output": [{"text": 5}]}]}, 400),
        ("/v1/chat/completions", chat(*[{"role": "assistant", "content": "y"}] * 3000), 400),
        ("/v1/chat/completions", chat() | {"tools": [{"function": {"name": "a b"}}]}, 400),
        ("/v1/chat/completions", chat() | {"max_tokens": -1}, 400),
    ]

    async def story(caller: Caller) -> None:
        for path, body, status in bodies:
            await caller.call("POST", path, body | {"model": caller.model}, status=status)

    with_gateway(tmp_path, "vllm", SCRIPT * 2, story)


def test_continued_request_brings_results_images_and_options_to_the_model(tmp_path: Path) -> None:
    """A chat client continues at a provider that has another form for each of them."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    closed = SCHEMA | {"additionalProperties": False}
    options: dict[str, Any] = {
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": closed}},
        "parallel_tool_calls": False,
        "verbosity": "low",
        "stop": "END",
        "reasoning_effort": "medium",
    }

    async def story(caller: Caller) -> None:
        body = {"model": caller.model, "messages": [{"role": "user", "content": "Warm?"}], **options}
        asked = await caller.call("POST", "/v1/chat/completions", body)
        message = asked["choices"][0]["message"]
        (call,) = message["tool_calls"]
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}}
        body["messages"] += [
            message,
            {"role": "tool", "tool_call_id": call["id"], "content": "18 degrees"},
            {"role": "user", "content": [{"type": "text", "text": "As here?"}, image]},
        ]
        await caller.call("POST", "/v1/chat/completions", body)
        sent = caller.simulator.requests[-1].body
        content = sent["messages"][-1]["content"]
        assert [part["type"] for part in content] == ["tool_result", "image", "text"]
        assert (content[0]["content"], content[1]["source"]["data"]) == ("18 degrees", png)
        assert sent["messages"][-2]["content"][0]["type"] == "thinking"
        assert sent["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
        assert sent["output_config"]["format"]["schema"] == closed
        assert sent["stop_sequences"] == ["END"]
        stored = await caller.database.read(
            lambda conn: conn.execute(select(turns.c.options)).scalars().all()
        )
        for row in map(json.loads, stored):
            assert row == {
                "stop": ["END"],
                "parallel_tool_calls": False,
                "verbosity": "low",
                "output_schema": closed,
                "thinking": "medium",
                "on_thinking_unavailable": "warn",
            }

    with_gateway(tmp_path, "anthropic", [TOOL_SCRIPT[0], {"text": '{"city": "Lima"}'}], story)


ERRORS = {
    "/v1/chat/completions": ("error", "message"),
    "/v1/responses": ("error", "message"),
    "/v1/messages": ("error", "message"),
    "/api/chat": ("error",),
}


@pytest.mark.parametrize("path", ERRORS)
def test_refusals_have_the_format_of_the_client(tmp_path: Path, path: str) -> None:
    bodies: list[tuple[Any, int]] = [
        ({"model": 5}, 400),
        ([], 400),
        (
            {"model": "no-such-model-anywhere", "messages": [{"role": "user", "content": "x"}], "input": "x"},
            404,
        ),
        (
            {
                "model": "builtin/solver",
                "messages": [{"role": "user", "content": "x"}],
                "input": "x",
                "tools": [
                    {"type": "function", "name": "t", "parameters": [], "input_schema": []}
                    | {"function": {"name": "t", "parameters": []}}
                ],
            },
            400,
        ),
        ({"model": "m", "messages": [{"role": "wizard", "content": "x"}], "input": [{"type": "x"}]}, 400),
    ]

    async def story(caller: Caller) -> None:
        for body, status in bodies:
            refusal: Any = await caller.call("POST", path, body, status=status)
            for name in ERRORS[path]:
                refusal = refusal[name]
            assert isinstance(refusal, str)
            assert refusal
        assert (await caller.call("GET", "/api/sessions"))["items"] == []

    with_gateway(tmp_path, "vllm", SCRIPT, story)


def test_provider_failure_before_the_first_word_is_an_http_error(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        for stream in (False, True):
            async with openai_client(caller) as client:
                with pytest.raises(openai.RateLimitError):
                    await client.chat.completions.create(
                        model=caller.model, messages=[{"role": "user", "content": "x"}], stream=stream
                    )
            async with anthropic_client(caller) as client:
                with pytest.raises(anthropic.RateLimitError):
                    await client.messages.create(
                        model=caller.model,
                        max_tokens=99,
                        messages=[{"role": "user", "content": "x"}],
                        stream=stream,
                    )

    refused = {"text": "x", "fault": {"kind": "status", "status": 429, "again": False}}
    with_gateway(tmp_path, "vllm", [refused] * 4, story)


def test_lists_of_models_have_the_format_of_the_client(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async with openai_client(caller) as client:
            names = [model.id async for model in client.models.list()]
        assert "builtin/solver" in names
        async with anthropic_client(caller) as client:
            assert [model.id async for model in client.models.list()] == names
        tags = await caller.call("GET", "/api/tags")
        assert [model["name"] for model in tags["models"]] == names
        assert (await caller.call("GET", "/api/version"))["version"]

    with_gateway(tmp_path, "vllm", SCRIPT, story)


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/embeddings"), ("DELETE", "/v1/models")])
def test_paths_that_are_not_offered_answer_in_the_format_of_openai(
    tmp_path: Path, method: str, path: str
) -> None:
    async def story(caller: Caller) -> None:
        async with openai_client(caller) as client:
            with pytest.raises(openai.APIStatusError) as error:
                await getattr(client, method.lower())(path.removeprefix("/v1"), cast_to=object)
            assert error.value.status_code == (404 if method == "POST" else 405)
            assert error.value.body["type"] == "invalid_request_error"
            assert ("/v1/chat/completions" if method == "POST" else "GET") in error.value.body["message"]

    with_gateway(tmp_path, PROVIDERS[0], SCRIPT, story)


@pytest.mark.parametrize(
    ("path", "headers", "type_of_error"),
    [
        ("/v1/messages/batches", {}, "not_found_error"),
        ("/v1/files", {"anthropic-version": "2023-06-01"}, "not_found_error"),
        ("/api/show", {}, None),
        ("/api/generate", {}, None),
    ],
)
def test_paths_that_are_not_offered_answer_in_the_format_of_the_client(
    tmp_path: Path, path: str, headers: dict[str, str], type_of_error: str | None
) -> None:
    async def story(caller: Caller) -> None:
        async with (
            aiohttp.ClientSession() as client,
            client.post(caller.url + path, json={}, headers=headers) as response,
        ):
            assert response.status == 404
            error = (await response.json())["error"]
        if type_of_error is None:
            assert error.startswith("No such path. For clients of this kind the gateway has /api/chat")
        else:
            assert error["type"] == type_of_error

    with_gateway(tmp_path, PROVIDERS[0], SCRIPT, story)


def test_unknown_paths_of_our_own_have_our_own_format(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        async with aiohttp.ClientSession() as client, client.get(caller.url + "/api/nothing") as response:
            assert (await response.json())["error"]["code"] == "not_found"

    with_gateway(tmp_path, PROVIDERS[0], SCRIPT, story)


def test_ollama_client_gets_thoughts_and_answer(tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        body = {"model": caller.model, "messages": [{"role": "user", "content": "17 * 3 - 9?"}]}
        whole = await caller.call("POST", "/api/chat", body | {"stream": False})
        assert whole["message"]["thinking"] == THOUGHT
        assert (whole["message"]["content"], whole["done"]) == (ANSWER, True)
        async with caller.http.post(f"{caller.url}/api/chat", json=body) as response:
            lines = [json.loads(line) for line in (await response.text()).splitlines()]
        assert "".join(line["message"].get("thinking", "") for line in lines) == THOUGHT
        assert "".join(line["message"]["content"] for line in lines) == ANSWER
        assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]

    with_gateway(tmp_path, "vllm", SCRIPT * 2, story)


@pytest.mark.parametrize(
    "headers",
    [
        ("User-Agent: curl/8.5.0", "Content-Type: application/x-www-form-urlencoded"),
        ("User-Agent: litellm/1.106.2",),
        ("Content-Type: text/plain; charset=utf-8",),
    ],
    ids=["curl -d", "no type", "text"],
)
def test_ollama_endpoint_takes_json_of_any_type_from_programs(tmp_path: Path, headers: Any) -> None:
    async def story(caller: Caller) -> None:
        question = [{"role": "user", "content": "17 * 3 - 9?"}]
        body = json.dumps({"model": caller.model, "messages": question, "stream": False}).encode()
        # Libraries add a type by themselves, so the request is written out.
        lines = ("POST /api/chat HTTP/1.1", f"Host: {caller.url[7:]}", *headers, "Connection: close")
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode()
        reader, writer = await asyncio.open_connection(*caller.url[7:].split(":"))
        writer.write(head + body)
        response = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert response.startswith(b"HTTP/1.1 200"), response
        assert ANSWER.encode() in response

    with_gateway(tmp_path, "vllm", SCRIPT, story)


def test_tool_loop_goes_on_after_a_restart_and_for_its_owner_only(tmp_path: Path) -> None:
    messages: list[Any] = [{"role": "user", "content": "Where is it warmest?"}]

    async def one_step(caller: Caller) -> None:
        async with openai_client(caller) as client:
            reply = await client.chat.completions.create(
                model=caller.model,
                messages=messages,
                tools=[{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
            )
        (call,) = reply.choices[0].message.tool_calls
        messages.append({"role": "assistant", "content": None, "tool_calls": [call.model_dump()]})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "18 degrees"})

    async def look_up_as_others(caller: Caller) -> None:
        history = read_history(parse_request(json.dumps({"model": "m", "messages": messages}).encode()).steps)
        fingerprints = [exchange.fingerprint for exchange in history.exchanges]
        owner = caller.gateway.local_owner
        for user, workspace, count in (
            (owner.user, owner.workspace, 2),
            (owner.user + 1, owner.workspace, 0),
            (owner.user, owner.workspace + 1, 0),
        ):
            query = partial(
                find_answers, owner=Owner(user, workspace), fingerprints=fingerprints, turn_ids=()
            )
            assert len(await caller.database.read(query)) == count

    with_gateway(tmp_path, "deepseek", TOOL_SCRIPT, one_step)
    with_gateway(tmp_path, "deepseek", TOOL_SCRIPT[1:], one_step)
    with_gateway(tmp_path, "deepseek", TOOL_SCRIPT, look_up_as_others)
