"""The turns API: start, validation before saving, limits and results."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.caller import (
    ANSWER,
    ENDLESS_SCRIPT,
    SCRIPT,
    SLOW_SCRIPT,
    THOUGHT,
    Caller,
    quick_settings,
    start_gateway,
    wait_until,
)

from thinkaloud.client import Client, HttpRequest, ResponseStream
from thinkaloud.core.canon import Kind, TurnFailed
from thinkaloud.core.catalog import Provider
from thinkaloud.core.transcript import Ending

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
LOOK_IT_UP: dict[str, Any] = {
    "thinking": "I need the weather.",
    "tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}],
}
SAY_IT = {"thinking": "18 degrees it is.", "text": "It is 18 °C in Lima."}


async def an_agent(caller: Caller, **spec: Any) -> str:
    body = await caller.call(
        "POST", "/api/agents", {"name": "Helper", "model": caller.model, **spec}, status=201
    )
    return str(body["id"])


def test_r004_turn_has_reasoning_fields_and_thinking_block(tmp_path: Path) -> None:
    """R001 R004 R120: reasoning separate from content, and thinking as a block of steps, in one object."""

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            turn = await caller.start_turn(session)
            await caller.read_stream(turn)
            body = await caller.call("GET", f"/api/turns/{turn}")
            assert (body["id"], body["session"], body["state"]) == (turn, session, "done")
            assert body["content"] == [{"type": "text", "text": ANSWER}]
            assert body["reasoning_content"] == THOUGHT
            assert body["reasoning_meta"]["model_supports"] is True
            assert body["reasoning_meta"]["tokens"] > 0
            assert [block["text"] for block in body["reasoning_blocks"]] == [THOUGHT]
            assert body["thinking_block"]["status"] == "done"
            assert [step["type"] for step in body["thinking_block"]["steps"]] == ["reasoning"]
            assert (body["copy_text"], body["speech_text"]) == (ANSWER, ANSWER)
            assert body["outcome"] == {"ending": "answered", "cause": "stop"}
            assert (body["provider"], body["model"]) == ("vllm", "vllm/qwen3-8b")

    asyncio.run(story())


def test_r005_no_thinking_block_without_reasoning(tmp_path: Path) -> None:
    """R005 R010: a turn of a model without thinking has no reasoning fields."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=[{"text": "Hello."}]) as caller:
            turn = await caller.start_turn(await caller.create_session())
            await caller.read_stream(turn)
            body = await caller.call("GET", f"/api/turns/{turn}")
            assert body["reasoning_content"] is None
            assert body["thinking_block"] is None
            assert body["reasoning_blocks"] == []

    asyncio.run(story())


def test_running_turn_can_be_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=SLOW_SCRIPT) as caller:
            turn = await caller.start_turn(await caller.create_session())
            body = await caller.wait_for_reasoning(turn, "one two")
            assert (body["state"], body["outcome"], body["ended_ms"]) == ("running", None, None)
            assert body["thinking_block"]["status"] == "thinking"
            assert (await caller.read_stream(turn)).state == "done"

    asyncio.run(story())


def test_next_turn_sends_the_conversation(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, script=[*SCRIPT, {"text": "84"}]) as caller:
            session = await caller.create_session()
            await caller.run_turn(session, "How much?")
            await caller.run_turn(session, "And twice that?")
            sent_messages = caller.simulator.requests[1].body["messages"]
            assert [(message["role"], message["content"]) for message in sent_messages] == [
                ("user", "How much?"),
                ("assistant", ANSWER),
                ("user", "And twice that?"),
            ]

    asyncio.run(story())


@pytest.mark.parametrize("provider", ["anthropic", "deepseek"])
def test_reasoning_is_sent_back_by_the_providers_rules(tmp_path: Path, provider: str) -> None:
    """R042 R049 R059: the simulators refuse a tool loop whose reasoning is missing or differs by one byte.

    The gateway is restarted in between, so the reasoning sent back comes from the database.
    """

    async def story() -> None:
        async with start_gateway(tmp_path, provider, [LOOK_IT_UP]) as caller:
            agent = await an_agent(caller, thinking=True, level="high", tools=[WEATHER], system="Be brief.")
            session = await caller.create_session(agent=agent, model="")
            called = await caller.run_turn(session, "How warm is it in Lima?")
            assert called.turn.outcome is not None
            assert called.turn.outcome.ending is Ending.CALLED_TOOLS
            call = called.turn.own_blocks(Kind.TOOL_CALL)[0]
            assert json.loads(call.text) == {"city": "Lima"}
        async with start_gateway(tmp_path, provider, [SAY_IT, {"text": "Yes."}]) as caller:
            results = [{"call_id": call.call_id, "result": "18 °C", "name": "get_weather"}]
            result = await caller.run_turn(session, "", tool_results=results)
            assert (result.turn.answer, result.state) == (SAY_IT["text"], "done")
            assert (await caller.run_turn(session, "Is that warm?")).turn.answer == "Yes."
            assert caller.simulator.refusals == []
            assert LOOK_IT_UP["thinking"] in caller.simulator.requests[0].raw.decode()
            messages = (await caller.call("GET", f"/api/sessions/{session}/messages"))["items"]
            assert [message["role"] for message in messages] == [
                *("user", "assistant", "tool", "assistant", "user", "assistant")
            ]

    asyncio.run(story())


def test_tool_results_without_a_call_are_refused(tmp_path: Path) -> None:
    two = {**LOOK_IT_UP, "tool_calls": LOOK_IT_UP["tool_calls"] * 2}

    async def story() -> None:
        async with start_gateway(tmp_path, script=[two, SAY_IT]) as caller:
            agent = await an_agent(caller, tools=[WEATHER])
            session = await caller.create_session(agent=agent)
            path = f"/api/sessions/{session}/turns"
            early = {"tool_results": [{"call_id": "call_1", "result": "x"}]}
            assert "No earlier call matches" in await caller.refusal_message("POST", path, early, status=422)
            called = await caller.run_turn(session)
            ids = [block.call_id for block in called.turn.own_blocks(Kind.TOOL_CALL)]
            one_result = {"tool_results": [{"call_id": ids[0], "result": "18 °C"}]}
            assert "Send one result for every call" in await caller.refusal_message(
                "POST", path, one_result, status=422
            )
            all_results = [{"call_id": one, "result": "18 °C"} for one in ids]
            assert (await caller.run_turn(session, "", tool_results=all_results)).turn.answer == SAY_IT[
                "text"
            ]

    asyncio.run(story())


REFUSED = {
    "an unknown model": ({"prompt": "x", "model": "no-such-model"}, "not in the catalog"),
    "no key": ({"prompt": "x", "model": "openai/gpt-5"}, "OPENAI_API_KEY"),
    "no thinking": ({"prompt": "x", "model": "gpt-4o", "thinking": "high"}, "does not support thinking"),
    "a small budget": (
        {"prompt": "x", "model": "anthropic/claude-opus-4-5", "thinking": 100},
        "is too small",
    ),
    "nothing": ({}, "neither a prompt nor"),
    "blanks": ({"prompt": " \n"}, "neither a prompt nor"),
    "an unknown agent": ({"prompt": "x", "agent": "agt_" + "x" * 22}, "No agent"),
    "an unknown level": ({"prompt": "x", "thinking": "lots"}, "thinking"),
    "an unknown field": ({"prompt": "x", "temprature": 2}, "temprature"),
    "a high temperature": ({"prompt": "x", "temperature": 3}, "temperature"),
    "an empty stop": ({"prompt": "x", "stop": [""]}, "stop"),
    "no schema": ({"prompt": "x", "output_schema": {"type": 5}}, "schema of the answer cannot be used"),
    "a field twice": ({"prompt": "x", "extra": {"model": "y"}}, "part of the request already"),
    "no file": ({"prompt": "x", "files": [{"media_type": "text/html", "data": "AAAA"}]}, "media_type"),
    "no picture": ({"prompt": "x", "images": [{"media_type": "image/png", "data": "%"}]}, "data"),
    "no mode": ({"prompt": "x", "context_mode": "some"}, "context_mode"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_r046_invalid_turn_is_refused_before_anything_is_saved(tmp_path: Path, what: str) -> None:
    """R046 R041: no silent fallback, and no turn that cannot succeed."""
    body, words = REFUSED[what]

    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session()
            refused = await caller.refusal_message("POST", f"/api/sessions/{session}/turns", body, status=422)
            assert words in refused
            assert (await caller.call("GET", f"/api/sessions/{session}"))["turns"] == []
            assert caller.simulator.requests == []

    asyncio.run(story())


def test_turn_without_a_model_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path) as caller:
            session = await caller.create_session(model="")
            path = f"/api/sessions/{session}/turns"
            assert "GET /api/models" in await caller.refusal_message(
                "POST", path, {"prompt": "x"}, status=422
            )
        async with start_gateway(tmp_path, settings=quick_settings(model="vllm/any")) as caller:
            assert (await caller.run_turn(session)).turn.model == "any"

    asyncio.run(story())


def test_prompt_limit_is_named_in_the_message(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, settings=quick_settings(prompt_chars=10)) as caller:
            path = f"/api/sessions/{await caller.create_session()}/turns"
            refused = await caller.refusal_message("POST", path, {"prompt": "x" * 11}, status=413)
            assert "prompt_chars" in refused

    asyncio.run(story())


def test_idempotency_key_starts_one_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with start_gateway(tmp_path, "deepseek", ENDLESS_SCRIPT) as caller:
            session = await caller.create_session()
            path, body, key = f"/api/sessions/{session}/turns", {"prompt": "x"}, {"Idempotency-Key": "k-1"}
            statuses, ids = [], set()

            async def post() -> None:
                async with caller.http.post(caller.url + path, json=body, headers=key) as response:
                    statuses.append(response.status)
                    ids.add((await response.json())["id"])

            await asyncio.gather(*(post() for _ in range(5)))
            assert sorted(statuses) == [200, 200, 200, 200, 202]
            assert len(ids) == 1
            await wait_until(lambda: caller.simulator.requests)
            assert len(caller.simulator.requests) == 1
            response_body = await caller.call("POST", path, {"prompt": "y"}, status=409, headers=key)
            assert "k-1" in response_body["error"]["message"]
            await caller.call("POST", path, body, status=422, headers={"Idempotency-Key": "a key"})
            monkeypatch.delenv("DEEPSEEK_API_KEY")
            assert (await caller.call("POST", path, body, headers=key))["id"] in ids, "nothing is asked anew"
            assert "No API key found for deepseek" in await caller.refusal_message(
                "POST", path, {"prompt": "z"}, status=422
            )

    asyncio.run(story())


def test_running_turn_limits_per_session_and_user(tmp_path: Path) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, script=ENDLESS_SCRIPT * 3, settings=quick_settings(running_turns_per_user=2)
        ) as caller:
            sessions = [await caller.create_session() for _ in range(3)]
            turns = [await caller.start_turn(session) for session in sessions[:2]]
            path = f"/api/sessions/{sessions[0]}/turns"
            assert turns[0] in await caller.refusal_message("POST", path, {"prompt": "x"}, status=409)
            path = f"/api/sessions/{sessions[2]}/turns"
            refused = await caller.refusal_message("POST", path, {"prompt": "x"}, status=429)
            assert "running_turns_per_user" in refused
            assert (await caller.call("GET", f"/api/sessions/{sessions[2]}"))["turns"] == []
            await caller.call("POST", f"/api/turns/{turns[0]}/cancel", status=202)
            await caller.start_turn(sessions[2])

    asyncio.run(story())


def test_turn_settings_override_agent_settings(tmp_path: Path) -> None:
    """R040 R042 R043 R047: an agent's model, prompt, tools and budget apply unless overridden."""

    async def story() -> None:
        async with start_gateway(tmp_path, "anthropic", [{"text": "a"}] * 4) as caller:
            agent = await an_agent(
                caller, thinking=True, budget_tokens=2048, tools=[WEATHER], system="Brief."
            )
            session = await caller.create_session(agent=agent, model="anthropic/claude-haiku-4-5")
            bodies = []
            for turn_body in (
                {},
                {"thinking": 4096},
                {"thinking": "off"},
                {"model": "anthropic/claude-sonnet-4-5"},
            ):
                await caller.run_turn(session, "x", **turn_body)
                bodies.append(caller.simulator.requests[-1].body)
            assert [body["thinking"].get("budget_tokens") for body in bodies] == [2048, 4096, None, 2048]
            assert {body["system"] if isinstance(body["system"], str) else "Brief." for body in bodies} == {
                "Brief."
            }
            assert [tool["name"] for tool in bodies[0]["tools"]] == ["get_weather"]
            assert [body["model"] for body in bodies] == [*["claude-opus-4-5"] * 3, "claude-sonnet-4-5"]

    asyncio.run(story())


def test_r058_context_mode_can_be_chosen(tmp_path: Path) -> None:
    """R057 R058: preferences apply to all turns, the field of a turn to itself."""

    async def story() -> None:
        async with start_gateway(tmp_path, script=[*SCRIPT, *[{"text": "b"}] * 3]) as caller:
            session = await caller.create_session()
            await caller.run_turn(session)
            await caller.call("PUT", "/api/preferences", {"context_mode": "keep"})
            sent_messages = []
            for turn_body in ({}, {"context_mode": "strip"}):
                await caller.run_turn(session, "x", **turn_body)
                sent_messages.append(THOUGHT in caller.simulator.requests[-1].raw.decode())
            assert sent_messages == [True, False]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("limit", "script"),
    [
        ("reasoning_chars_per_block", {"thinking": "think " * 50, "text": "x", "delay_ms": 10}),
        ("text_chars_per_turn", {"text": "words " * 50, "delay_ms": 10}),
    ],
)
def test_turn_beyond_a_limit_is_ended(tmp_path: Path, limit: str, script: dict[str, Any]) -> None:
    async def story() -> None:
        async with start_gateway(
            tmp_path, script=[script], settings=quick_settings(**{limit: 100})
        ) as caller:
            result = await caller.run_turn(await caller.create_session())
            assert result.state == "failed"
            end = result.entries[max(result.entries)].event
            assert isinstance(end, TurnFailed)
            assert (end.code, limit in end.message) == ("limit_exceeded", True)
            assert 100 < len(result.turn.reasoning + result.turn.answer) < 120

    asyncio.run(story())


def test_internal_error_ends_the_turn_without_details(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Client):
        async def send(self, provider: Provider, outgoing: HttpRequest) -> ResponseStream:
            raise ZeroDivisionError("inner secrets")

    async def story() -> None:
        async with start_gateway(tmp_path, client=Broken()) as caller:
            session = await caller.create_session()
            result = await caller.run_turn(session)
            end = result.entries[max(result.entries)].event
            assert isinstance(end, TurnFailed)
            assert (end.code, result.state) == ("internal", "failed")
            assert "inner secrets" not in end.message
            assert (await caller.run_turn(session)).state == "failed", "the next one can be asked for"

    asyncio.run(story())
    assert "inner secrets" in caplog.text
