"""Anthropic: each rule from both sides, and the stream as it must be."""

import copy
import json

import pytest
from tests.simulators.talking import (
    KEY,
    Case,
    Json,
    Next,
    Told,
    changed,
    check,
    get,
    instead,
    post,
    same,
    told,
    with_server,
)

from thinkaloud.simulators import Simulator

PATH = "/v1/messages"
TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather in a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
MANUAL: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "tools": TOOLS,
    "messages": [{"role": "user", "content": "Is it warm in Lima?"}],
}
BOUND = changed(MANUAL, model="claude-opus-5-5", thinking={"type": "adaptive", "display": "summarized"})
PLAIN = changed(MANUAL, thinking=None, tools=None)
OPUS_5 = changed(PLAIN, model="claude-opus-5")
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BETA = KEY | {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


OPEN_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_x", "name": "f", "input": {}}],
}


def answered(body: Json, message: Json) -> Json:
    """The request that brings the results of the calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "18 degrees"}
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    more = [{"role": "assistant", "content": message["content"]}, {"role": "user", "content": results}]
    return changed(body, messages=[*body["messages"], *copy.deepcopy(more)])


def with_block(number: int, **fields: object) -> Next:
    """The results, with a block of the assistant's message changed; None takes a field away."""

    def ask(body: Json, message: Json) -> Json:
        asked = answered(body, message)
        blocks = asked["messages"][1]["content"]
        blocks[number] = changed(blocks[number], **fields)
        return asked

    return ask


def without_thought(body: Json, message: Json) -> Json:
    asked = answered(body, message)
    del asked["messages"][1]["content"][0]
    return asked


def with_messages(*more: Json) -> Next:
    return lambda body, message: changed(answered(body, message), messages=[*body["messages"], *more])


def result_of(call: str) -> Next:
    def ask(body: Json, message: Json) -> Json:
        asked = answered(body, message)
        asked["messages"].append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": ""}]}
        )
        return asked

    return ask


def with_empty_text(body: Json, message: Json) -> Json:
    asked = answered(body, message)
    asked["messages"][-1]["content"].append({"type": "text", "text": ""})
    return asked


CASES = [
    Case("anthropic.key", same, same, "invalid x-api-key", 401, bad_headers=KEY | {"x-api-key": "bad"}),
    Case("anthropic.version", same, same, "anthropic-version", bad_headers={"x-api-key": "k"}),
    Case("anthropic.shape", same, instead(reasoning_effort="low"), "reasoning_effort: Extra inputs"),
    Case("anthropic.model", same, instead(model="claude-none"), "model: claude-none", 404),
    Case(
        "anthropic.thinking-shape",
        instead(thinking={"type": "enabled", "budget_tokens": 1024, "display": "omitted"}),
        instead(thinking={"type": "on"}),
        "thinking: Input tag 'on'",
    ),
    Case(
        "anthropic.binding-header",
        instead(thinking=DROP),
        instead(thinking=DROP),
        "thinking.block_binding",
        opening=BOUND,
        headers=BETA,
        bad_headers=KEY,
    ),
    Case(
        "anthropic.thinking-type",
        instead(thinking={"type": "adaptive"}),
        instead(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model.',
        opening=BOUND,
    ),
    Case(
        "anthropic.least-budget",
        instead(thinking={"type": "enabled", "budget_tokens": 1024}),
        instead(thinking={"type": "enabled", "budget_tokens": 1023}),
        "greater than or equal to 1024",
    ),
    Case(
        "anthropic.most-budget",
        instead(thinking={"type": "enabled", "budget_tokens": 4095}),
        instead(thinking={"type": "enabled", "budget_tokens": 4096}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    Case(
        "anthropic.effort",
        instead(output_config={"effort": "max"}),
        instead(output_config={"effort": "max"}, thinking={"type": "disabled"}),
        "'max' is not supported",
        opening=OPUS_5,
    ),
    Case(
        "anthropic.forced-tool",
        instead(tool_choice={"type": "any"}, thinking=None),
        instead(tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    Case(
        "anthropic.sampling",
        instead(temperature=1),
        instead(temperature=0.2),
        "`temperature` may only be set",
    ),
    Case(
        "anthropic.prefill",
        same,
        with_messages({"role": "assistant", "content": "It is"}),
        "does not support assistant message prefill",
        opening=OPUS_5,
    ),
    Case(
        "anthropic.message-shape",
        answered,
        with_messages({"role": "user", "content": "Hi", "reasoning_content": ""}),
        "messages.1.reasoning_content: Extra inputs",
    ),
    Case("anthropic.block-shape", answered, with_empty_text, "text content blocks must be non-empty"),
    Case(
        "anthropic.unsigned",
        answered,
        with_block(0, signature=None),
        "thinking.signature: Field required",
    ),
    Case(
        "anthropic.altered",
        answered,
        with_block(0, thinking="Other words"),
        "Invalid `signature` in `thinking`",
    ),
    Case(
        "anthropic.calls-open",
        answered,
        lambda body, message: changed(body, messages=[*body["messages"], OPEN_CALL, *body["messages"]]),
        "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_x",
    ),
    Case("anthropic.results-alone", answered, result_of("toolu_none"), "unexpected `tool_use_id`"),
    Case("anthropic.thinking-first", answered, without_thought, "Expected `thinking` or `redacted_thinking`"),
    Case(
        "anthropic.thinking-left-out", answered, without_thought, "messages.1.content.0.type", opening=BOUND
    ),
    Case(
        "anthropic.moved",
        answered,
        lambda body, message: changed(answered(body, message), system="It is Tuesday."),
        "messages.1.content.0: Invalid signature in thinking block. The block is bound to a different",
        opening=BOUND,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_passes_and_refuses(case: Case) -> None:
    def message(error: Json) -> str:
        assert error["type"] == "error"
        return f"{error['error']['type']}: {error['error']['message']}"

    check("anthropic", PATH, MANUAL, case, message)


def names_of(stream: Told) -> list[str]:
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    return [
        line.removeprefix("event: ") for line in stream.body.decode().splitlines() if line.startswith("event")
    ]


def data_of(stream: Told) -> list[Json]:
    lines = stream.body.decode().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def test_a_stream_is_told_block_by_block() -> None:
    turn = {"thinking": "Look first.", "text": "Wait.", "tool_calls": [{"name": "get_weather"}]}
    stream = told("anthropic", PATH, changed(MANUAL, stream=True), script=[turn])
    expected = ["message_start"]
    expected += ["content_block_start", *["content_block_delta"] * 3, "content_block_stop", "ping"]
    expected += ["content_block_start", "content_block_delta", "content_block_stop"]
    expected += ["content_block_start", *["content_block_delta"] * 3, "content_block_stop"]
    expected += ["message_delta", "message_stop"]
    assert names_of(stream) == expected
    frames = data_of(stream)
    assert [frame["type"] for frame in frames] == expected
    deltas = [frame["delta"]["type"] for frame in frames if frame["type"] == "content_block_delta"]
    assert deltas[:3] == ["thinking_delta", "thinking_delta", "signature_delta"]
    assert frames[-2]["delta"]["stop_reason"] == "tool_use"
    assert frames[-2]["usage"]["output_tokens_details"] == {"thinking_tokens": 3}


def spoken(block: Json) -> str:
    return "".join(str(block.get(name, "")) for name in ("thinking", "signature", "text"))


def test_streamed_and_whole_are_the_same_message() -> None:
    turn = {"thinking": ["One.", "Two."], "text": "Done."}
    whole = told("anthropic", PATH, MANUAL, script=[turn]).json
    frames = data_of(told("anthropic", PATH, changed(MANUAL, stream=True), script=[turn]))
    texts = {0: "", 1: "", 2: ""}
    for frame in frames:
        if frame["type"] == "content_block_delta":
            delta = frame["delta"]
            texts[frame["index"]] += (
                delta.get("thinking", "") + delta.get("text", "") + delta.get("signature", "")
            )
    spoken = [
        block.get("thinking", "") + block.get("signature", "") + block.get("text", "")
        for block in whole["content"]
    ]
    assert list(texts.values()) == spoken
    assert frames[0]["message"]["id"] == whole["id"]


def test_text_is_withheld_unless_asked_for_and_the_empty_block_is_still_signed() -> None:
    body = changed(BOUND, thinking={"type": "adaptive"}, stream=True)
    frames = data_of(told("anthropic", PATH, body, script=[{"thinking": "Hidden.", "text": "Shown."}]))
    first = [frame["delta"] for frame in frames if frame.get("index") == 0 and "delta" in frame]
    assert [delta["type"] for delta in first] == ["signature_delta"]


def test_a_redacted_thought_is_all_in_its_start() -> None:
    turn = {"thinking": "Hidden.", "redacted": True, "text": "Shown."}
    frames = data_of(told("anthropic", PATH, changed(MANUAL, stream=True), script=[turn]))
    started = frames[1]["content_block"]
    assert (started["type"], sorted(started)) == ("redacted_thinking", ["data", "type"])
    assert frames[2] == {"type": "content_block_stop", "index": 0}


def test_a_redacted_thought_goes_back_and_an_altered_one_does_not() -> None:
    turn = {"thinking": "x", "redacted": True, "tool_calls": [{"name": "get_weather"}]}

    async def talk(server: Simulator) -> list[int]:
        first = (await post(server, PATH, MANUAL)).json
        good = await post(server, PATH, answered(MANUAL, first))
        bad = await post(server, PATH, with_block(0, data="AAAA")(MANUAL, first))
        return [good.status, bad.status]

    assert with_server("anthropic", talk, script=[turn]) == [200, 400]


def test_a_moved_thought_is_dropped_and_reported_when_asked_for() -> None:
    async def talk(server: Simulator) -> list[Json]:
        opening = changed(BOUND, thinking=DROP | {"display": "summarized"})
        first = (await post(server, PATH, opening, BETA)).json
        assert first["input_transformations"] == []
        after = await post(server, PATH, changed(answered(opening, first), system="Other."), BETA)
        assert after.status == 200, after.body
        dropped: list[Json] = after.json["input_transformations"]
        return dropped

    assert with_server("anthropic", talk) == [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    ]


@pytest.mark.parametrize("change", ["tools", "history", "system"])
def test_every_change_before_a_bound_thought_breaks_it_and_one_after_it_does_not(change: str) -> None:
    async def talk(server: Simulator) -> tuple[int, int]:
        first = (await post(server, PATH, BOUND)).json
        asked = answered(BOUND, first)
        good = copy.deepcopy(asked)
        good["messages"][-1]["content"].append({"type": "text", "text": "And tell me the date."})
        bad = copy.deepcopy(asked)
        if change == "tools":
            bad["tools"].append(TOOLS[0] | {"name": "other"})
        elif change == "history":
            bad["messages"][0]["content"] += " Please."
        else:
            bad["system"] = "It is Tuesday."
        return (await post(server, PATH, good)).status, (await post(server, PATH, bad)).status

    assert with_server("anthropic", talk) == (200, 400)


def test_a_long_bound_conversation_goes_on_and_a_model_without_binding_takes_it() -> None:
    async def talk(server: Simulator) -> None:
        asked = BOUND
        for turn in range(4):
            asked = answered(asked, (await post(server, PATH, asked)).json)
            message = (await post(server, PATH, asked)).json
            more = [
                {"role": "assistant", "content": message["content"]},
                {"role": "user", "content": f"And {turn}?"},
            ]
            asked = changed(asked, messages=[*asked["messages"], *more])
        other = changed(asked, model="claude-sonnet-4-6")
        assert (await post(server, PATH, other)).status == 200
        assert server.refusals == []

    with_server("anthropic", talk)


def test_models_tell_what_they_take() -> None:
    async def talk(server: Simulator) -> tuple[Told, Told, Told]:
        names = ("/v1/models", "/v1/models/claude-sonnet-5-5", "/v1/models/claude-none")
        listed, one, none = [await get(server, name) for name in names]
        return listed, one, none

    listed, one, none = with_server("anthropic", talk)
    assert len(listed.json["data"]) > 20
    types = one.json["capabilities"]["thinking"]["types"]
    assert {name for name, told in types.items() if told["supported"]} == {"adaptive", "between_tools"}
    assert (none.status, none.json["error"]["type"]) == (404, "not_found_error")


TAKEN = {
    "claude-sonnet-4-5": {"enabled", "disabled"},
    "claude-opus-4-6": {"adaptive", "enabled", "disabled"},
    "claude-opus-4-7": {"adaptive", "disabled"},
    "claude-mythos-preview": {"adaptive", "enabled"},
    "claude-opus-5": {"adaptive", "disabled"},
    "claude-haiku-5-5": {"adaptive", "disabled"},
    "claude-sonnet-5-5": {"adaptive", "between_tools"},
    "claude-opus-5-5": {"adaptive"},
    "claude-fable-5": {"adaptive"},
}


def test_each_model_takes_its_own_thinking_types() -> None:
    async def talk(server: Simulator) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for model in TAKEN:
            for kind in ("adaptive", "enabled", "disabled", "between_tools"):
                thinking = {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})
                answer = await post(server, PATH, changed(PLAIN, model=model, thinking=thinking))
                if answer.status == 200:
                    found.setdefault(model, set()).add(kind)
        return found

    assert with_server("anthropic", talk) == TAKEN
