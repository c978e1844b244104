"""Scripts, default answers, seals, and the server's record of requests."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulators.rule_cases import Json, post_json, request_once, with_simulator
from tests.simulators.test_anthropic import CASES as ANTHROPIC
from tests.simulators.test_bedrock import CASES as BEDROCK
from tests.simulators.test_bedrock import NOVA_CASES as NOVA
from tests.simulators.test_chat_family import CASES as CHAT
from tests.simulators.test_cohere import CASES as COHERE
from tests.simulators.test_gemini_and_ollama import CASES as GEMINI
from tests.simulators.test_gemini_and_ollama import OLLAMA_CASES as OLLAMA
from tests.simulators.test_responses import CASES as RESPONSES
from tests.simulators.test_responses import XAI_CASES as XAI

import thinkaloud.simulators as simulators
from thinkaloud.simulators import APIS, SIMULATOR_NAMES, Script, ScriptedAnswer, Simulator, build_simulator
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    default_answer,
    schema_value,
    split_words,
)
from thinkaloud.simulators.seals import SigningKey, fingerprint

SOURCE = Path(simulators.__file__).parent
BODY: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hi"}],
}


def test_every_rule_has_a_case_and_a_source() -> None:
    rules = [rule for api in APIS.values() for rule in api.rules]
    groups = (ANTHROPIC, BEDROCK, NOVA, CHAT, COHERE, GEMINI, OLLAMA, RESPONSES, XAI)
    tried = {case.rule for case in chain.from_iterable(groups)}
    assert sorted(rule.id for rule in rules) == sorted(tried)
    assert [rule.id for rule in rules if not rule.source or not rule.forbids] == []
    assert all(rule.id.startswith(f"{name}.") for name, api in APIS.items() for rule in api.rules)


def test_the_reference_page_lists_every_rule_with_its_source() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/simulators.md").read_text("utf-8")
    rows = [
        f"| `{rule.id}` | {rule.forbids} | {rule.source} |" for api in APIS.values() for rule in api.rules
    ]
    assert [row for row in rows if row not in page] == []
    assert page.count("\n| `") - len(simulators.FAULT_KINDS) - len(SIMULATOR_NAMES) == len(rows)


def test_simulators_share_no_code_with_the_dialects() -> None:
    source = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    assert "thinkaloud.core.dialects" not in source
    assert "thinkaloud.core.wire" not in source


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object"}, {}),
        (None, {}),
        ({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "simulated"}),
        ({"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2}, [3, 3]),
        ({"type": ["null", "boolean"]}, False),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 7}, 7),
        ({"type": "number", "exclusiveMinimum": 0}, 0.5),
        ({"type": "integer", "minimum": 0, "maximum": -4}, -4),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"$ref": "#/$defs/k", "$defs": {"k": {"type": "string", "minLength": 12}}}, "simulated..."),
        ({"$ref": "#"}, "simulated"),
    ],
)
def test_schema_values_fit_their_schema(schema: object, value: object) -> None:
    assert schema_value(schema) == value


def test_the_default_answer_says_that_it_is_simulated() -> None:
    answer = default_answer(ReceivedPrompt("Hi"))
    assert "simulated" in answer.text
    assert "no model was asked" in answer.text


def test_the_default_answer_calls_an_offered_tool_then_answers() -> None:
    tools = (OfferedTool("first", {"type": "object"}), OfferedTool("second", {"type": "object"}))
    assert default_answer(ReceivedPrompt("Hi", tools)).tool_calls[0].name == "first"
    assert default_answer(ReceivedPrompt("Hi", tools, tool_choice="second")).tool_calls[0].name == "second"
    assert default_answer(ReceivedPrompt("Hi", tools, tool_choice="none")).tool_calls == []
    assert default_answer(ReceivedPrompt("18", tools, after_tool=True)).text.endswith("18")


@pytest.mark.parametrize(
    "script", ['[{"say": "x"}]', '[{"fault": {"kind": "fire"}}]', '[{"finish": "done"}]', "{}"]
)
def test_an_invalid_script_is_refused(script: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        Script.parse(script)


def test_script_turns_are_given_in_order_and_then_the_default(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"text": "one"}, {"text": "two"}]))
    script = Script.load(path)
    assert script.remaining == 2
    assert [script.next_answer(ReceivedPrompt("x")).text for _ in range(3)][:2] == ["one", "two"]
    assert script.remaining == 0


def test_an_unknown_simulator_is_refused_with_the_names() -> None:
    with pytest.raises(ValueError, match="openai-responses"):
        build_simulator("nobody")


@given(st.text())
def test_split_words_keep_the_whole_text(text: str) -> None:
    assert "".join(split_words(text)) == text


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_a_seal_opens_only_with_its_key(note: dict[str, str]) -> None:
    seal = SigningKey(b"a").seal(**note)
    assert SigningKey(b"a").read_seal(seal) == note
    assert SigningKey(b"b").read_seal(seal) is None


@given(st.integers(0), st.sampled_from("ABCdef019+/="))
def test_a_seal_with_any_letter_changed_does_not_open(at: int, letter: str) -> None:
    seal = SigningKey(b"a").seal(text="x", model="y")
    place = at % len(seal)
    altered = seal[:place] + letter + seal[place + 1 :]
    note = SigningKey(b"a").read_seal(altered)
    assert note is None or note == {"text": "x", "model": "y"}
    assert note is None or altered == seal or altered.endswith("=")


@pytest.mark.parametrize("seal", [None, 3, "", "not base64!", "AAAA", "ünïcode"])
def test_an_invalid_seal_does_not_open(seal: Any) -> None:
    assert SigningKey(b"a").read_seal(seal) is None


def test_a_secret_is_not_printed_and_a_fingerprint_ignores_key_order() -> None:
    assert "hush" not in repr(SigningKey(b"hush"))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_requests_are_recorded_and_their_key_is_not_printed() -> None:
    sent = (
        b'{ "model" : "claude-sonnet-4-5","max_tokens":9, "messages":[{"role":"user","content":"\\u00e9"}]}'
    )

    async def scenario(server: Simulator) -> None:
        assert (await post_json(server, "/v1/messages", sent)).status == 200
        recorded = server.requests[0]
        assert recorded.raw == sent
        assert recorded.body["messages"][0]["content"] == "é"
        assert recorded.headers["x-api-key"] == "sim-key"
        assert "sim-key" not in repr(recorded)

    with_simulator("anthropic", scenario)


def test_two_runs_give_the_same_bytes() -> None:
    runs = [request_once("anthropic", "/v1/messages", BODY | {"stream": True}).body for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", SIMULATOR_NAMES)
def test_an_invalid_request_is_refused_in_the_providers_format(name: str) -> None:
    async def scenario(server: Simulator) -> list[tuple[int, Json]]:
        path = "/v1beta/models/gemini-2.5-pro:generateContent"
        paths = [
            "/v1/messages",
            "/v1/responses",
            "/v1/chat/completions",
            "/api/v1/chat/completions",
            path,
            "/api/chat",
            "/openai/v1/chat/completions",
            "/model/any/converse",
            "/v2/chat",
        ]
        sent = [await post_json(server, one, b"{ not json") for one in paths]
        sent.append(await post_json(server, "/nowhere", {}))
        return [(answer.status, answer.json) for answer in sent]

    responses = with_simulator(name, scenario)
    assert sorted({status for status, _ in responses}) == [400, 404]
    assert all({"error", "message"} & set(body) for _, body in responses)


def test_only_the_configured_key_is_accepted() -> None:
    async def scenario(server: Simulator) -> list[int]:
        sent = [{"x-api-key": key, "anthropic-version": "1"} for key in ("sim-key", "agreed")]
        return [(await post_json(server, "/v1/messages", BODY, headers)).status for headers in sent]

    assert with_simulator("anthropic", scenario, key="agreed") == [401, 200]


def test_the_server_listens_on_the_loopback_address_only() -> None:
    async def scenario(server: Simulator) -> tuple[str, str]:
        return server.url, server.base_url

    url, base = with_simulator("openai-chat", scenario)
    assert url.startswith("http://127.0.0.1:")
    assert base == f"{url}/v1"


def test_finish_reason_of_a_scripted_answer() -> None:
    assert ScriptedAnswer(text="x").finish_reason == "stop"
    assert ScriptedAnswer(finish="length").finish_reason == "length"
