"""A simulator answers or refuses any request; it never crashes."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simulators import test_anthropic, test_chat_family, test_gemini_and_ollama, test_responses
from tests.simulators.rule_cases import KEY_HEADERS, Json

from thinkaloud.simulators import APIS
from thinkaloud.simulators.api import ApiRequest, ServerState, first_violation
from thinkaloud.simulators.script import default_answer
from thinkaloud.simulators.seals import SigningKey

OPENINGS: dict[str, Json] = {
    **test_chat_family.OPENINGS,
    "anthropic": test_anthropic.BOUND,
    "openai-responses": test_responses.STORED,
    "gemini": test_gemini_and_ollama.OPENING,
    "ollama": test_gemini_and_ollama.CHAT | {"tools": [test_gemini_and_ollama.TOOL], "think": True},
}
FOLLOW = {
    "anthropic": test_anthropic.with_tool_results,
    "openai-responses": test_responses.with_tool_results,
    "gemini": test_gemini_and_ollama.with_tool_results,
}
WORDS = st.sampled_from(
    ["", "text", "none", "user", "assistant", "tool", "reasoning", "function_call", "enabled"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5000) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def api_request(name: str, body: Json, memory: ServerState) -> ApiRequest:
    model_field = body.get("model")
    model = (
        test_gemini_and_ollama.MODEL
        if name == "gemini"
        else model_field
        if isinstance(model_field, str)
        else ""
    )
    path = "/v1beta/models/x:streamGenerateContent"
    return ApiRequest(body, model, KEY_HEADERS, {}, path, SigningKey(b"s"), memory)


def all_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the path of every value in a nested object."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from all_paths(item, (*path, key))


def set_at(body: Json, path: tuple[Any, ...], value: object) -> None:
    container: Any = body
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = value


@pytest.mark.parametrize("name", sorted(OPENINGS))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_changed_conversation_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    api, memory = APIS[name], ServerState()
    first = api_request(name, copy.deepcopy(OPENINGS[name]), memory)
    assert first_violation(api.rules, first) is None
    response = api.respond(first, default_answer(api.read_prompt(first))).body
    follow = (
        FOLLOW.get(name, test_chat_family.with_tool_results) if name != "ollama" else lambda body, _: body
    )
    body = copy.deepcopy(follow(OPENINGS[name], response))
    assert first_violation(api.rules, api_request(name, body, memory)) is None
    for _ in range(data.draw(st.integers(1, 3))):
        set_at(body, data.draw(st.sampled_from(list(all_paths(body)))), data.draw(ANYTHING))
    changed_request = api_request(name, body, memory)
    violation = first_violation(api.rules, changed_request)
    if violation is None:
        api.respond(changed_request, default_answer(api.read_prompt(changed_request)))
    else:
        assert {"error", "message"} & set(api.error_body(violation[1]))
