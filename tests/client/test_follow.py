"""Streams that a program already has: followed, left early, broken, and answered in its own client."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.dialects.test_pieces import CHOICES, EVENTS, WHOLE

import thinkaloud
from thinkaloud import Delta, Following, NotAResponse, Refused, Turn, follow, read
from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import BlockStatus, Ending
from thinkaloud.simulators import run_simulator

THOUGHT, ANSWER = "Look at Lima first.", "The warmest is Lima."
SCRIPT = [
    {"thinking": THOUGHT, "tool_calls": [{"name": "weather", "arguments": {"city": "Lima"}}]},
    {"thinking": "Lima is known.", "text": ANSWER},
]
QUESTION = "Where is it warmest?"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
LINES = [line for event in EVENTS for line in (f"event: {event['type']}", f"data: {json.dumps(event)}", "")]


def ending(stream: Following) -> Ending | None:
    return stream.turn.outcome.ending if stream.turn.outcome else None


def test_deltas_know_their_kind_and_the_turn_is_at_hand() -> None:
    stream = follow(LINES)
    seen = [(delta, stream.turn.reasoning) for delta in stream]
    thought = WHOLE.reasoning
    assert seen == [
        (Delta(Kind.REASONING, thought, 0), thought),
        (Delta(Kind.TOOL_CALL, "", 1, "weather"), thought),
        (Delta(Kind.TOOL_CALL, '{"city":"Lima"}', 1, "weather"), thought),
    ]
    assert stream.turn.message == WHOLE.message
    assert stream.turn.started_ms is not None
    assert [*stream] == []


def test_leaving_the_loop_closes_the_source_and_cancels_the_turn() -> None:
    closed: list[str] = []

    def lines() -> Iterator[str]:
        try:
            yield from LINES
        finally:
            closed.append("generator")

    stream = follow(lines())
    for _ in stream:
        break
    assert (closed, ending(stream), stream.turn.reasoning) == (
        ["generator"],
        Ending.CANCELLED,
        WHOLE.reasoning,
    )


def test_an_error_of_the_source_ends_the_turn_as_failed_and_is_raised() -> None:
    def lines() -> Iterator[str]:
        yield from LINES[:12]
        raise ConnectionResetError("gone")

    stream = follow(lines())
    with pytest.raises(ConnectionResetError, match="gone"):
        list(stream)
    assert stream.turn.outcome
    assert (ending(stream), stream.turn.outcome.cause) == (Ending.FAILED, "source_failed")
    assert stream.turn.outcome.message == "The stream failed: ConnectionResetError: gone"
    assert [block.status for block in stream.turn.blocks] == [BlockStatus.INTERRUPTED]
    assert stream.turn.reasoning == WHOLE.reasoning


def test_a_source_that_fails_at_once_gives_a_failed_turn() -> None:
    def nothing() -> Iterator[str]:
        raise TimeoutError("slow")
        yield ""

    stream = follow(nothing())
    with pytest.raises(TimeoutError):
        list(stream)
    assert ending(stream) is Ending.FAILED


def test_an_error_after_a_complete_answer_leaves_it_complete() -> None:
    def chunks() -> Iterator[object]:
        yield {"choices": CHOICES}
        raise ConnectionResetError

    stream = follow(chunks())
    with pytest.raises(ConnectionResetError):
        list(stream)
    assert ending(stream) is Ending.ANSWERED


class Source:
    """A stream with the methods of the libraries that are followed, which records when it is closed."""

    def __init__(self, **methods: Callable[..., object]) -> None:
        self.closed = 0
        self.__dict__.update(methods)

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    "source",
    [
        Source(iter_content=lambda size: iter([line + "\n" for line in LINES])),
        Source(iter_bytes=lambda: iter([(line + "\n").encode() for line in LINES])),
    ],
    ids=["requests", "httpx"],
)
def test_a_response_of_an_http_library_is_followed_and_closed(source: Source) -> None:
    stream = follow(source)
    assert len(list(stream)) == 3
    assert (source.closed, stream.turn.message) == (1, WHOLE.message)


class Opened:
    """A stream that must be entered first."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __enter__(self) -> Iterable[str]:
        self.steps.append("entered")
        return LINES

    def __exit__(self, *error: object) -> None:
        self.steps.append("left")

    async def __aenter__(self) -> Iterable[str]:
        return self.__enter__()

    async def __aexit__(self, *error: object) -> None:
        self.__exit__()


def test_a_context_manager_is_entered_and_left() -> None:
    opened = Opened()
    stream = follow(opened)
    for _ in stream:
        break
    assert opened.steps == ["entered", "left"]


def test_a_stream_in_a_mapping_is_found() -> None:
    """boto3 returns it so."""
    stream = follow({"ResponseMetadata": {}, "stream": iter(EVENTS)})
    list(stream)
    assert stream.turn.message == WHOLE.message


async def read_async(source: object) -> Following:
    stream = follow(source)
    async for _ in stream:
        pass
    return stream


async def async_lines(closed: list[str]) -> AsyncIterator[str]:
    try:
        for line in LINES:
            yield line
    finally:
        closed.append("closed")


def test_asynchronous_streams() -> None:
    async def story() -> None:
        closed: list[str] = []

        async def create() -> AsyncIterator[str]:
            return async_lines(closed)

        async def chunks() -> AsyncIterator[bytes]:
            yield "\n".join(LINES).encode()

        opened = Opened()
        response = Source(aiter_bytes=chunks)
        reply = Source(content=SimpleNamespace(iter_any=chunks))  # type: ignore[arg-type]
        for source in (async_lines(closed), create(), LINES, opened, response, reply, EVENTS):
            assert (await read_async(source)).turn.message == WHOLE.message
        assert closed == ["closed"] * 2
        assert (opened.steps, response.closed, reply.closed) == (["entered", "left"], 1, 1)

    asyncio.run(story())


def test_leaving_an_asynchronous_loop_closes_the_source() -> None:
    async def story() -> tuple[list[str], Ending | None]:
        closed: list[str] = []
        stream = follow(async_lines(closed))
        async for _ in stream:
            break
        while not closed:  # the event loop closes what was left
            await asyncio.sleep(0)
        return closed, ending(stream)

    assert asyncio.run(story()) == (["closed"], Ending.CANCELLED)


def test_an_asynchronous_error_ends_the_turn_as_failed() -> None:
    async def lines() -> AsyncIterator[str]:
        for line in LINES[:12]:
            yield line
        raise ConnectionResetError("gone")

    async def story() -> Following:
        stream = follow(lines())
        with pytest.raises(ConnectionResetError):
            async for _ in stream:
                pass
        return stream

    stream = asyncio.run(story())
    assert (ending(stream), stream.turn.reasoning) == (Ending.FAILED, WHOLE.reasoning)


def test_an_asynchronous_stream_in_a_plain_loop_is_refused_with_advice() -> None:
    async def create() -> Iterable[str]:
        return LINES

    for source in (async_lines([]), create()):
        with pytest.raises(Refused, match=r"Use `async for delta in thinkaloud.follow"):
            list(follow(source))


@pytest.mark.parametrize("source", [3, None, object()])
def test_what_is_no_stream_is_refused_with_advice(source: object) -> None:
    with pytest.raises(NotAResponse, match="neither a stream nor a response"):
        list(follow(source))
    with pytest.raises(NotAResponse, match="is no piece of a response"):
        list(follow([source]))


@pytest.mark.parametrize(
    "whole",
    [
        {"choices": [{"message": {"reasoning_content": "Hm.", "content": "Four."}, "finish_reason": "stop"}]},
        json.dumps({"choices": CHOICES}),
        [{"choices": CHOICES}],
    ],
    ids=["mapping", "text", "list"],
)
def test_read_takes_whole_forms(whole: object) -> None:
    turn = read(whole)
    assert (turn.reasoning, turn.answer, turn.started_ms) == ("Hm.", "Four.", None)


def run_loop(ask: Callable[[list[Any]], object], provider: str, question: list[Any]) -> list[Turn]:
    """Run the tool loop of a program that has its own client, until there is an answer."""
    messages, turns = question, list[Turn]()
    while not turns or turns[-1].calls:
        stream = follow(ask(messages))
        for _ in stream:
            pass
        turns.append(stream.turn)
        messages = messages + stream.turn.to_messages(
            provider, results={call.call_id: "30 degrees" for call in stream.turn.calls}
        )
    return turns


def in_thread(simulator: str, story: Callable[[str], list[Turn]], script: list[Any]) -> list[Turn]:
    """Run a story with a blocking client against a simulator, which refuses what the provider refuses."""

    async def serve() -> list[Turn]:
        async with run_simulator(simulator, script=script) as server:
            return await asyncio.to_thread(story, server.base_url)

    return asyncio.run(serve())


def check(turns: list[Turn], *, thoughts: bool = True) -> None:
    assert [turn.answer for turn in turns] == ["", ANSWER]
    assert turns[0].reasoning == (THOUGHT if thoughts else "")
    assert [turn.notices for turn in turns] == [[], []]


FUNCTIONS: list[Any] = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


@pytest.mark.parametrize(
    ("simulator", "model", "provider", "extra"),
    [
        ("openai-chat", "gpt-4.1", "openai", {}),
        ("deepseek", "deepseek-v4-pro", "deepseek", {}),
        ("kimi", "kimi-k2-thinking", "moonshot", {}),
        ("openrouter", "anthropic/claude-sonnet-4.5", "openrouter", {"reasoning": {"effort": "high"}}),
        ("groq", "qwen/qwen3-32b", "groq", {"reasoning_format": "parsed"}),
    ],
)
def test_openai_sdk_loop_over_chat_is_accepted(
    simulator: str, model: str, provider: str, extra: dict[str, Any]
) -> None:
    openai = pytest.importorskip("openai")

    def story(url: str) -> list[Turn]:
        with openai.OpenAI(base_url=url, api_key="sim-key", max_retries=0) as client:
            create = client.chat.completions.create
            options = {"model": model, "tools": FUNCTIONS, "extra_body": extra}
            question = [{"role": "user", "content": QUESTION}]
            turns = run_loop(
                lambda messages: create(messages=messages, stream=True, **options), provider, question
            )
            whole = read(create(messages=question, **options))
            assert [block.text for block in whole.calls] == ['{"city":"Lima"}']
            return turns

    check(in_thread(simulator, story, [*SCRIPT, SCRIPT[0]]), thoughts=simulator != "openai-chat")


def test_openai_sdk_loop_over_responses_is_accepted() -> None:
    openai = pytest.importorskip("openai")

    def story(url: str) -> list[Turn]:
        with openai.OpenAI(base_url=url, api_key="sim-key", max_retries=0) as client:
            options: dict[str, Any] = {
                "model": "gpt-5",
                "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}],
                "reasoning": {"effort": "high", "summary": "auto"},
                "include": ["reasoning.encrypted_content"],
                "store": False,
            }
            question = [{"role": "user", "content": QUESTION}]
            turns = run_loop(
                lambda items: client.responses.create(input=items, stream=True, **options), "openai", question
            )
            assert turns[0].to_messages("openai-responses")[0]["type"] == "reasoning"
            assert read(client.responses.create(input=QUESTION, **options)).reasoning == THOUGHT
            return turns

    check(in_thread("openai-responses", story, [*SCRIPT, SCRIPT[0]]))


@pytest.mark.parametrize("helper", [False, True], ids=["events", "stream helper"])
def test_anthropic_sdk_loop_is_accepted(helper: bool) -> None:
    anthropic = pytest.importorskip("anthropic")

    def story(url: str) -> list[Turn]:
        with anthropic.Anthropic(base_url=url, api_key="sim-key", max_retries=0) as client:
            options: dict[str, Any] = {
                "model": "claude-opus-4-5",
                "max_tokens": 9000,
                "thinking": {"type": "enabled", "budget_tokens": 2000},
                "tools": [{"name": "weather", "input_schema": SCHEMA}],
            }
            question = [{"role": "user", "content": QUESTION}]

            def ask(messages: list[Any]) -> object:
                if helper:
                    return client.messages.stream(messages=messages, **options)
                return client.messages.create(messages=messages, stream=True, **options)

            turns = run_loop(ask, "anthropic", question)
            assert read(client.messages.create(messages=question, **options)).reasoning == THOUGHT
            return turns

    check(in_thread("anthropic", story, [*SCRIPT, SCRIPT[0]]))


def test_google_sdk_loop_is_accepted() -> None:
    genai = pytest.importorskip("google.genai")

    def story(url: str) -> list[Turn]:
        client = genai.Client(api_key="sim-key", http_options={"base_url": url, "timeout": 10_000})
        tool = {"function_declarations": [{"name": "weather", "parameters_json_schema": SCHEMA}]}
        options: dict[str, Any] = {
            "model": "gemini-3-pro-preview",
            "config": {
                "tools": [tool],
                "thinking_config": {"include_thoughts": True},
                "automatic_function_calling": {"disable": True},
            },
        }
        question = [{"role": "user", "parts": [{"text": QUESTION}]}]
        turns = run_loop(
            lambda contents: client.models.generate_content_stream(contents=contents, **options),
            "google",
            question,
        )
        assert turns[0].blocks[-1].seals, "the signature came as bytes and is kept"
        assert read(client.models.generate_content(contents=question, **options)).reasoning == THOUGHT
        client.close()
        return turns

    check(in_thread("gemini", story, [*SCRIPT, SCRIPT[0]]))


def test_following_is_part_of_the_package() -> None:
    assert isinstance(thinkaloud.follow([]), Following)
