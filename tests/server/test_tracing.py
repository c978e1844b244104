"""Spans: `gen_ai.*` attributes of a turn, no text, and nothing without OpenTelemetry."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from thinkaloud import fold
from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    Usage,
    UsageReported,
)
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.gateway.server.turns.tracing import turn_span

THOUGHT, ANSWER = "canary of a thought", "canary of an answer"


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


def turn(end: Event) -> Turn:
    events: list[Event] = [
        TurnStarted("openai_chat", "m-1-2026"),
        BlockStarted(0, Kind.REASONING),
        BlockGrew(0, THOUGHT),
        BlockEnded(0),
        BlockStarted(1, Kind.TEXT),
        BlockGrew(1, ANSWER),
        BlockEnded(1),
        UsageReported(Usage(input=11, output=24, reasoning=15)),
        end,
    ]
    built_turn = Turn()
    for seq, event in enumerate(events):
        apply(built_turn, Entry(seq, event, 1000 + 100 * seq))
    return built_turn


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    [span] = spans.get_finished_spans()
    return span


def test_turn_span_has_gen_ai_attributes(spans: InMemorySpanExporter) -> None:
    with turn_span(model="m-1", provider="vllm") as span:
        span.record_end(turn(TurnEnded(Finish.STOP)))
    finished_span = only(spans)
    assert (finished_span.name, finished_span.kind) == ("chat m-1", trace.SpanKind.CLIENT)
    assert dict(finished_span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.system": "vllm",
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 24,
        "thinkaloud.reasoning_tokens": 15,
        "thinkaloud.reasoning_ms": 200,
    }
    assert finished_span.status.status_code is trace.StatusCode.UNSET


def test_failed_turn_sets_error_type(spans: InMemorySpanExporter) -> None:
    with turn_span(model="m-1", provider="vllm") as span:
        span.record_end(turn(TurnFailed("cut_off", "canary of a message")))
    finished_span = only(spans)
    assert (finished_span.attributes or {})["error.type"] == "cut_off"
    assert finished_span.status.status_code is trace.StatusCode.ERROR
    assert "canary" not in finished_span.to_json()


def test_exception_is_recorded_by_class_name_and_reraised(spans: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), turn_span(model="m-1", provider="vllm"):
        raise KeyError("canary of an exception")
    span = only(spans)
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert span.events == ()
    assert "canary" not in span.to_json()


def test_span_contains_no_text(spans: InMemorySpanExporter) -> None:
    with turn_span(model="m-1", provider="vllm") as span:
        span.record_end(turn(TurnEnded(Finish.STOP)))
    assert "canary" not in only(spans).to_json()


def test_unknown_values_are_left_out_of_the_span(spans: InMemorySpanExporter) -> None:
    with turn_span(model="m-1", provider="vllm") as span:
        span.record_end(fold([TurnStarted(), TurnEnded(Finish.CANCELLED)]))
    attributes = dict(only(spans).attributes or {})
    assert attributes["gen_ai.response.finish_reasons"] == ("cancelled",)
    assert not [
        name
        for name in attributes
        if "usage" in name or "reasoning" in name or name == "gen_ai.response.model"
    ]


def test_opentelemetry_is_not_imported_without_a_tracer() -> None:
    code = """
import sys
from thinkaloud import Turn
from thinkaloud.gateway.server.turns.tracing import turn_span
with turn_span(model="m", provider="p") as span:
    span.record_end(Turn())
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
