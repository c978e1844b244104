"""Traces as conversations: those that Thinkaloud wrote, those of others, and those of an attacker."""

import asyncio
import io
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.importers.outline import FILES, outline_of_bytes
from yarl import URL

from thinkaloud.client import Options, ask, prepare
from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.canon.events import Finish, TurnEnded
from thinkaloud.core.canon.requests import ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Catalog, builtin_catalog
from thinkaloud.core.catalog.catalog import split_provider
from thinkaloud.core.context import AnsweredTurn, Context, ContextMode, Step, steps_of
from thinkaloud.core.export import SpanContent, SpanOptions, write_otlp
from thinkaloud.core.export.record import Exchange, SessionRecord, entries_of, turns_of
from thinkaloud.core.transcript import Turn
from thinkaloud.importers import DamagedFile, HistoryFile, otlp_spans
from thinkaloud.simulators import run_simulator

WEATHER = ToolDefinition(
    "get_weather", "The weather", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
SCRIPT = [
    {"thinking": "Look up Lima.", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}]},
    {"thinking": "18 degrees.", "text": "In Lima."},
]
NEXT = [{"thinking": "They ask again.", "text": "Still Lima."}]
Case = tuple[str, str, str | int]
CASES: tuple[Case, ...] = (
    ("anthropic", "anthropic/claude-sonnet-4-5", 2048),
    ("openai-responses", "openai/gpt-5", "low"),
    ("gemini", "gemini/gemini-3-pro-preview", "high"),
    ("openrouter", "openrouter/anthropic/claude-sonnet-4.5", "high"),
    ("deepseek", "deepseek/deepseek-v4-pro", "high"),
)
"""Simulators that refuse a conversation whose thoughts are missing or changed, and a model of each."""
FOREIGN: dict[str, Case] = {
    "otlp": CASES[0],
    "otlp_logfire": CASES[0],
    "otlp_openinference_langchain": CASES[0],
    "otlp_openinference_responses": CASES[1],
    "otlp_openinference_gemini": CASES[2],
}
"""Traces of others that have seals. The simulators issued them, with the key that they have by default."""


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "DEEPSEEK"):
        monkeypatch.setenv(f"{name}_API_KEY", "any-key")


def catalog_at(model: str, url: str) -> Catalog:
    provider, _ = split_provider(builtin_catalog(), model)
    assert provider is not None
    return builtin_catalog().with_base_url(provider.name, url + URL(provider.base_url).path)


async def converse(url: str, model: str, thinking: str | int, steps: tuple[Step, ...]) -> Turn:
    """Ask a simulator the next question of a conversation."""
    context = Context(steps, tools=(WEATHER,))
    options = Options(catalog=catalog_at(model, url), context_mode=ContextMode.KEEP, stream=False)
    return await ask(prepare(context, model=model, thinking=thinking, options=options))


async def recorded(case: Case) -> SessionRecord:
    """Hold a conversation with a tool, and return it as a session."""
    simulator, model, thinking = case
    exchanges: list[Exchange] = []
    steps: tuple[Step, ...] = (UserMessage("Where is it warmest?"),)
    async with run_simulator(simulator, script=list(SCRIPT)) as server:
        asked: tuple[UserMessage | ToolMessage, ...] = (UserMessage("Where is it warmest?"),)
        for _ in SCRIPT:
            turn = await converse(server.url, model, thinking, steps)
            end = TurnEnded(Finish.TOOL_CALLS if turn.calls else Finish.STOP, "", turn.message)
            exchanges.append(
                Exchange(asked, entries_of(turn, end), model, model.partition("/")[0], created_ms=1)
            )
            asked = tuple(ToolMessage(call.call_id, "18 degrees", call.name) for call in turn.calls)
            steps = (*steps, AnsweredTurn(turn), *asked)
        assert server.refusals == []
    return SessionRecord("Warm places", 1_795_000_000_000, tuple(exchanges))


def imported(data: bytes) -> SessionRecord:
    [session] = HistoryFile(io.BytesIO(data)).sessions()
    return session.record


def steps_of_record(record: SessionRecord) -> tuple[Step, ...]:
    steps: list[Step] = []
    for exchange, turn in zip(record.exchanges, turns_of(record), strict=True):
        steps += [*exchange.asked, *steps_of(AnsweredTurn(turn, exchange.prefix, exchange.provider))]
    return tuple(steps)


async def sent_when_continued(case: Case, record: SessionRecord) -> str:
    """Go on with a conversation at the strict simulator, and return what was sent to it."""
    simulator, model, thinking = case
    async with run_simulator(simulator, script=list(NEXT)) as server:
        steps = (*steps_of_record(record), UserMessage("Sure?"))
        turn = await converse(server.url, model, thinking, steps)
        assert turn.answer == "Still Lima."
        assert server.refusals == []
        return server.requests[-1].raw.decode()


def seals_of(record: SessionRecord) -> list[str]:
    return [seal.payload for turn in turns_of(record) for block in turn.blocks for seal in block.seals]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_session_is_continued_from_its_trace_with_its_thoughts(case: Case) -> None:
    record = asyncio.run(recorded(case))
    data = write_otlp(record, SpanOptions(SpanContent.SEALS))
    again = imported(data)
    assert turns_of(again) == turns_of(record)
    assert [exchange.entries for exchange in again.exchanges] == [
        exchange.entries for exchange in record.exchanges
    ]
    assert (again.title, again.exchanges[0].asked) == (record.title, record.exchanges[0].asked)
    sent = asyncio.run(sent_when_continued(case, again))
    thoughts = [block.text for turn in turns_of(record) for block in turn.own_blocks(Kind.REASONING)]
    seals = seals_of(record)
    assert seals or case[0] == "deepseek"
    assert all(seal in sent for seal in seals) if seals else all(text in sent for text in thoughts)


@pytest.mark.parametrize("name", FOREIGN)
def test_trace_of_another_program_is_continued_with_its_seals(name: str) -> None:
    record = imported((FILES / f"{name}.json").read_bytes())
    seals = seals_of(record)
    assert seals
    sent = asyncio.run(sent_when_continued(FOREIGN[name], record))
    assert all(seal in sent for seal in seals)


def test_trace_without_seals_has_the_turns_without_them() -> None:
    record = asyncio.run(recorded(CASES[0]))
    for content in (SpanContent.MESSAGES, SpanContent.THOUGHTS):
        data = write_otlp(record, SpanOptions(content))
        again = imported(data)
        assert again.title == record.title
        turns = turns_of(again)
        assert "".join(turn.answer for turn in turns) == "In Lima."
        thoughts = "".join(turn.reasoning for turn in turns)
        assert thoughts == ("" if content is SpanContent.MESSAGES else "Look up Lima.18 degrees.")
        assert seals_of(again) == []
        [call] = [block for turn in turns for block in turn.own_blocks(Kind.TOOL_CALL)]
        assert (call.name, call.result) == ("get_weather", "18 degrees")
    assert "whose messages the trace does not have" in outline_of_bytes(write_otlp(record))


def test_imported_again_gives_the_same_keys_and_a_longer_session_only_more() -> None:
    record = asyncio.run(recorded(CASES[0]))
    shorter = msgspec.structs.replace(record, exchanges=record.exchanges[:1])
    options = SpanOptions(SpanContent.SEALS)
    whole, part = (imported(write_otlp(one, options)) for one in (record, shorter))
    assert whole.source == part.source
    assert [exchange.key for exchange in whole.exchanges][:1] == [exchange.key for exchange in part.exchanges]


def trace_of(spans: Sequence[dict[str, Any]], scope: str = "other") -> bytes:
    scope_spans = {"scope": {"name": scope}, "spans": list(spans)}
    return msgspec.json.encode({"resourceSpans": [{"scopeSpans": [scope_spans]}]})


def span(number: int, parent: int = 0, **attributes: Any) -> dict[str, Any]:
    values = [
        {"key": name.replace("__", "."), "value": {"stringValue": value}}
        for name, value in attributes.items()
    ]
    fields = {"traceId": "f" * 32, "spanId": f"{number:016x}", "name": "x", "attributes": values}
    return fields | ({"parentSpanId": f"{parent:016x}"} if parent else {})


def chat(number: int, question: str = "How many?", answer: str = "Three.", **fields: Any) -> dict[str, Any]:
    return span(
        number,
        **fields,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=msgspec.json.encode(
            [{"role": "user", "parts": [{"type": "text", "content": question}]}]
        ).decode(),
        gen_ai__output__messages=msgspec.json.encode(
            [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
        ).decode(),
    )


def test_damaged_trees_are_counted_and_read() -> None:
    loop = [chat(1, parent=2), span(2, parent=1, gen_ai__operation__name="invoke_agent")]
    story = outline_of_bytes(trace_of([*loop, chat(1), chat(3, "And terns?", parent=99), {"name": "x"}]))
    for problem in (
        "1 x span with the id of another one",
        "1 x span without an id",
        "1 x span whose parent is not in the file",
        "1 x span that is below itself",
    ):
        assert f"unread: {problem}" in story
    assert "asked 'And terns?'" in story
    assert story.count("text 'Three.'") == 2


def test_spans_of_earlier_instrumentations_are_read() -> None:
    story = outline_of_bytes(
        trace_of(
            [
                span(
                    1,
                    gen_ai__prompt__0__role="system",
                    gen_ai__prompt__0__content="Be brief.",
                    gen_ai__prompt__1__role="user",
                    gen_ai__prompt__1__content="How many?",
                    gen_ai__completion__0__role="assistant",
                    gen_ai__completion__0__reasoning="I count.",
                    gen_ai__completion__0__tool_calls__0__name="count",
                    gen_ai__completion__0__tool_calls__0__id="c1",
                    gen_ai__completion__0__tool_calls__0__arguments='{"a": 1}',
                )
            ]
        )
    )
    assert "asked 'How many?'" in story
    assert "reasoning 'I count.'" in story
    assert "tool_call count '{\"a\": 1}'" in story
    assert "unread: 1 x system prompt" in story


def test_what_is_not_understood_is_counted() -> None:
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "Look."}, {"type": "hologram"}]},
        {"role": "user", "parts": [{"type": "blob", "mime_type": "video/mp4", "content": "AAAA"}]},
    ]
    odd = chat(2) | {
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {
                "key": "gen_ai.input.messages",
                "value": {"stringValue": msgspec.json.encode(messages).decode()},
            },
            {"key": "gen_ai.output.messages", "value": {"stringValue": "no JSON"}},
        ]
    }
    story = outline_of_bytes(
        trace_of([odd, span(3, http__route="/"), span(4, gen_ai__operation__name="chat")])
    )
    for problem in (
        "part of type 'hologram' of a message",
        "attached file that is no image in the trace",
        "message of which nothing was understood",
        "messages of a span that are no list",
        "span that is no request to a model",
        "request to a model whose messages the trace does not have",
    ):
        assert f"unread: 1 x {problem}" in story
    assert "asked 'Look.'" in story


@pytest.mark.parametrize(
    "value",
    [
        {"resourceSpans": [1, {"scopeSpans": [None, {"spans": [2, {}]}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": 1, "spanId": [], "attributes": {}}]}]}]},
        {"resourceSpans": [{"scopeSpans": [{"scope": [], "spans": [{"spanId": "a", "status": 3}]}]}]},
    ],
)
def test_garbage_gives_no_conversation(value: Any) -> None:
    assert outline_of_bytes(msgspec.json.encode(value)).startswith("otlp\nunread: ")


def test_times_out_of_range_are_unknown() -> None:
    late = chat(1) | {"startTimeUnixNano": "9" * 30, "endTimeUnixNano": -5}
    assert "at None" in outline_of_bytes(trace_of([late]))


def test_values_that_are_nested_too_deep_are_left_out() -> None:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(200):
        value = {"arrayValue": {"values": [value]}}
    deep = chat(1)
    deep["attributes"] = [*deep["attributes"], {"key": "deep", "value": value}]
    assert "unread: 1 x attribute that is nested too deep" in outline_of_bytes(trace_of([deep]))


def test_number_of_spans_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_spans, "MAX_SPANS", 2)
    with pytest.raises(DamagedFile, match="more than 2 spans"):
        outline_of_bytes(trace_of([chat(1), chat(2), chat(3)]))


def test_deep_trace_is_read_in_linear_time() -> None:
    """Each span is below the one before it. Looking up all ancestors of each would take minutes."""
    spans = [span(number, parent=number - 1, gen_ai__operation__name="plan") for number in range(1, 20_001)]
    assert outline_of_bytes(trace_of(spans)) == "otlp\n"


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ("{}", "is damaged"),
        ('{"asked":[],"entries":[{"seq":0,"event":{"type":"block.ended","block":7}}]}', "not a valid turn"),
        ('{"asked":[],"entries":[]}', "not a valid turn|has not ended"),
    ],
)
def test_own_turn_that_is_damaged_is_refused(turn: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        outline_of_bytes(trace_of([span(1, thinkaloud__exchange=turn)], scope="thinkaloud"))


def test_own_turns_that_follow_each_other_are_left_out() -> None:
    entries = '{"seq":0,"event":{"type":"turn.started"}},{"seq":1,"event":{"type":"turn.ended"}}'
    turn = f'{{"asked":[],"entries":[{entries}],"follows_key":"%s"}}'
    first, second = ("a" * 32, "b" * 32)
    spans = [
        span(1, thinkaloud__exchange=turn % second, gen_ai__conversation__id="c") | {"traceId": first},
        span(2, thinkaloud__exchange=turn % first, gen_ai__conversation__id="c") | {"traceId": second},
    ]
    assert "unread: 2 x turn that follows itself" in outline_of_bytes(trace_of(spans, scope="thinkaloud"))
