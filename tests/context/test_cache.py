"""Cache marks: where they are, that no request has too many, and what they save."""

import asyncio
import json
from typing import Any

from benchmarks.prompt_cache import MAX_SHARE, billed_loop, paid_tokens
from tests.context.conversations import (
    CLAUDE,
    GPT,
    WEATHER,
    CityCall,
    answer_from,
    route,
    tool_result,
    user_message,
)

from thinkaloud.core.canon.requests import CacheMarks
from thinkaloud.core.catalog import Route
from thinkaloud.core.context import BuildOptions, Context, build
from thinkaloud.core.dialects import build_request

LIMA = CityCall("call_1", "Lima")


def loop_context(route: Route) -> Context:
    steps = (user_message(), answer_from(route, "Hm.", "Looking.", [LIMA]), tool_result("call_1"))
    return Context(steps, "Be brief.", (WEATHER,))


def body(context: Context, route: Route, options: BuildOptions | None = None) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(build_request(route, build(context, route, options).request).body)
    return decoded


def test_claude_gets_marks_after_tools_system_and_the_last_two_runs() -> None:
    built = build(loop_context(CLAUDE), CLAUDE)
    assert built.request.cache == CacheMarks(tools=True, system=True, messages=(0, 2))
    sent = body(loop_context(CLAUDE), CLAUDE)
    assert "cache_control" in sent["tools"][-1]
    assert "cache_control" in sent["system"][-1]
    assert ["cache_control" in message["content"][-1] for message in sent["messages"]] == [True, False, True]
    assert json.dumps(sent).count("cache_control") == 4


def test_marks_do_not_change_the_fingerprint() -> None:
    context = loop_context(CLAUDE)
    assert build(context, CLAUDE).prefix == build(context, CLAUDE, BuildOptions(cache=False)).prefix
    assert "cache_control" not in json.dumps(body(context, CLAUDE, BuildOptions(cache=False)))


def test_a_single_question_without_tools_gets_no_marks() -> None:
    assert build(Context((user_message(),), "Be brief."), CLAUDE).request.cache == CacheMarks()


def test_openai_gets_the_same_key_for_the_whole_conversation() -> None:
    context = loop_context(GPT)
    first = body(Context(context.steps[:1], context.system, context.tools), GPT)["prompt_cache_key"]
    assert body(context, GPT)["prompt_cache_key"] == first
    other = Context((user_message("Another question?"),), context.system, context.tools)
    assert body(other, GPT)["prompt_cache_key"] != first


def test_openrouter_and_bedrock_have_their_own_forms_for_claude() -> None:
    assert body(loop_context(CLAUDE), route("openrouter/anthropic/claude-opus-4.5"))["cache_control"]
    sent = body(loop_context(CLAUDE), route("bedrock/claude-opus-4.5"))
    points = [sent["toolConfig"]["tools"][-1], sent["system"][-1], sent["messages"][-1]["content"][-1]]
    assert points == [{"cachePoint": {"type": "default"}}] * 3
    assert "cache" not in json.dumps(body(loop_context(CLAUDE), route("bedrock/nova-2")))


def test_a_loop_of_ten_steps_pays_for_new_input_only() -> None:
    without, with_marks = (asyncio.run(billed_loop(10, cache=cache)) for cache in (False, True))
    assert without.input is not None
    assert (without.cache_read, without.cache_write) == (0, 0)
    assert with_marks.input == without.input
    assert with_marks.cache_read is not None
    assert with_marks.cache_write is not None
    assert with_marks.cache_read + with_marks.cache_write == without.input
    assert with_marks.cache_write < without.input / 4
    assert paid_tokens(with_marks) < paid_tokens(without) * MAX_SHARE
