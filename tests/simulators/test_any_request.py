"""Whatever is sent, a simulator answers or refuses; it never breaks."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simulators import test_anthropic, test_chat_family, test_gemini_and_ollama, test_responses
from tests.simulators.talking import KEY, Json

from thinkaloud.simulators import APIS
from thinkaloud.simulators.api import Asked, Memory, refused
from thinkaloud.simulators.script import default_answer
from thinkaloud.simulators.signing import Secret

OPENINGS: dict[str, Json] = {
    **test_chat_family.OPENINGS,
    "anthropic": test_anthropic.BOUND,
    "openai-responses": test_responses.STORED,
    "gemini": test_gemini_and_ollama.OPENING,
    "ollama": test_gemini_and_ollama.CHAT | {"tools": [test_gemini_and_ollama.TOOL], "think": True},
}
FOLLOW = {
    "anthropic": test_anthropic.answered,
    "openai-responses": test_responses.answered,
    "gemini": test_gemini_and_ollama.answered,
}
WORDS = st.sampled_from(
    ["", "text", "none", "user", "assistant", "tool", "reasoning", "function_call", "enabled"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5000) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def asked(name: str, body: Json, memory: Memory) -> Asked:
    told = body.get("model")
    model = test_gemini_and_ollama.MODEL if name == "gemini" else told if isinstance(told, str) else ""
    path = "/v1beta/models/x:streamGenerateContent"
    return Asked(body, model, KEY, {}, path, Secret(b"s"), memory)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is, all the way down."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, told in inner:
        yield (*path, key)
        yield from places(told, (*path, key))


def put(body: Json, path: tuple[Any, ...], value: object) -> None:
    held: Any = body
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value


@pytest.mark.parametrize("name", sorted(OPENINGS))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_change_of_a_good_conversation_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    api, memory = APIS[name], Memory()
    first = asked(name, copy.deepcopy(OPENINGS[name]), memory)
    assert refused(api.rules, first) is None
    said = api.answer(first, default_answer(api.hear(first))).whole
    follow = FOLLOW.get(name, test_chat_family.answered) if name != "ollama" else lambda body, _: body
    body = copy.deepcopy(follow(OPENINGS[name], said))
    assert refused(api.rules, asked(name, body, memory)) is None
    for _ in range(data.draw(st.integers(1, 3))):
        put(body, data.draw(st.sampled_from(list(places(body)))), data.draw(ANYTHING))
    after = asked(name, body, memory)
    broken = refused(api.rules, after)
    if broken is None:
        api.answer(after, default_answer(api.hear(after)))
    else:
        assert "error" in api.error(broken[1])
