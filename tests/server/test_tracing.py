"""Spans of running turns: their names, no text unless asked for, and nothing without OpenTelemetry."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.server.caller import ANSWER, THOUGHT, quick_settings, start_gateway

from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import SpanOptions, TracedTurn
from thinkaloud.gateway.server.turns.tracing import turn_span
from thinkaloud.gateway.store.queries import users
from thinkaloud.gateway.store.rows import ThinkingShown

TRACED = TracedTurn(entries=(), model="m-1", provider="vllm")


@pytest.fixture(scope="module")
def provider() -> InMemorySpanExporter:
    """One exporter per process: OpenTelemetry accepts only one tracer provider."""
    exporter = InMemorySpanExporter()
    collecting = TracerProvider()
    collecting.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(collecting)
    return exporter


@pytest.fixture
def spans(provider: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    provider.clear()
    yield provider
    provider.clear()


def run_turn(
    tmp_path: Path, spans: InMemorySpanExporter, options: SpanOptions | None = None
) -> dict[str, ReadableSpan]:
    """Run a turn of a user, and return its spans by name."""

    async def serve() -> None:
        settings = quick_settings(trace=options or SpanOptions())
        async with start_gateway(tmp_path, settings=settings) as caller:
            await caller.run_turn(await caller.create_session())

    asyncio.run(serve())
    return {span.name: span for span in spans.get_finished_spans()}


def test_turn_has_spans_with_gen_ai_attributes(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    found = run_turn(tmp_path, spans)
    turn, reply = found["invoke_agent"], found["chat qwen3-8b"]
    assert (turn.kind, reply.kind) == (trace.SpanKind.INTERNAL, trace.SpanKind.CLIENT)
    context = turn.get_span_context()
    assert reply.parent is not None
    assert context is not None
    assert reply.parent.span_id == context.span_id
    attributes = dict(reply.attributes or {})
    assert attributes["gen_ai.provider.name"] == "vllm"
    assert attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes["gen_ai.usage.output_tokens"]
    assert str(attributes["gen_ai.conversation.id"]).startswith("ses_")
    assert "gen_ai.system" not in attributes
    assert reply.start_time is not None
    assert turn.end_time is not None
    assert turn.start_time is not None
    assert turn.start_time <= reply.start_time + 1_000_000 < turn.end_time + 1_000_000
    texts = "".join(span.to_json() for span in found.values())
    assert THOUGHT not in texts
    assert ANSWER not in texts


@pytest.mark.parametrize(
    ("content", "thought"), [(SpanContent.MESSAGES, False), (SpanContent.THOUGHTS, True)]
)
def test_texts_are_in_the_spans_if_asked_for(
    tmp_path: Path, spans: InMemorySpanExporter, content: SpanContent, thought: bool
) -> None:
    found = run_turn(tmp_path, spans, SpanOptions(content, openinference=True))
    attributes = dict(found["chat qwen3-8b"].attributes or {})
    assert ANSWER in str(attributes["gen_ai.output.messages"])
    assert (THOUGHT in str(attributes)) is thought
    assert attributes["openinference.span.kind"] == "LLM"


def test_thoughts_that_a_user_may_not_see_are_in_no_span(
    tmp_path: Path, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right of the user whose turn it is, also if the operator asked for thoughts."""
    rules = {"": ThinkingShown.NOTHING}
    monkeypatch.setattr(users, "thinking_rules", lambda conn, user: rules)
    found = run_turn(tmp_path, spans, SpanOptions(SpanContent.THOUGHTS))
    attributes = str(found["chat qwen3-8b"].attributes)
    assert ANSWER in attributes
    assert THOUGHT not in attributes


def test_exception_is_recorded_by_class_name_and_reraised(spans: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), turn_span(TRACED, SpanOptions()):
        raise KeyError("canary of an exception")
    [span] = spans.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert span.events == ()
    assert "canary" not in span.to_json()


def test_opentelemetry_is_not_imported_without_a_tracer() -> None:
    code = """
import asyncio, sys
from thinkaloud.core.export.spans import SpanOptions, TracedTurn
from thinkaloud.gateway.server.turns.tracing import turn_span
with turn_span(TracedTurn(entries=()), SpanOptions()) as span:
    asyncio.run(span.record_end(None))
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
