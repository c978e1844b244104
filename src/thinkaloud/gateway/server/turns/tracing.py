"""An OpenTelemetry span for every turn, with the `gen_ai.*` attributes, if the process uses OpenTelemetry.

OpenTelemetry is looked up in `sys.modules` and never imported: a process that set up a tracer has imported
it already. A span holds the model, token counts, duration and outcome, and never any prompt, reasoning or
answer.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Ending, Turn

if TYPE_CHECKING:
    from opentelemetry.trace import Span

TRACER_NAME = "thinkaloud"
_FAILED_ENDINGS = (Ending.FAILED, Ending.CUT_OFF)


class TurnSpan(Protocol):
    """The span of one turn."""

    def record_end(self, turn: Turn) -> None:
        """Record the attributes of a turn that has ended."""


@contextmanager
def turn_span(*, model: str, provider: str) -> Iterator[TurnSpan]:
    """Open a span for one turn, from its request to its end. Does nothing without OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _NoSpan()
        return
    request_attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.system": provider,  # the older name of gen_ai.provider.name; most collectors still read it
        "gen_ai.request.model": model,
    }
    tracer = trace.get_tracer(TRACER_NAME)
    # The text of an exception may quote a prompt or an answer, so only its class name is recorded.
    with tracer.start_as_current_span(
        f"chat {model}",
        kind=trace.SpanKind.CLIENT,
        attributes=request_attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        recorder = _SpanRecorder(span)
        try:
            yield recorder
        except BaseException as error:
            recorder.record_error(type(error).__qualname__)
            raise


class _NoSpan:
    def record_end(self, turn: Turn) -> None:
        """Do nothing."""


class _SpanRecorder:
    def __init__(self, span: "Span") -> None:
        self._span = span

    def record_end(self, turn: Turn) -> None:
        """Record counts, durations and the outcome, but no text."""
        outcome = turn.outcome
        attributes = {
            "gen_ai.response.model": turn.model or None,
            "gen_ai.response.finish_reasons": None if outcome is None else (outcome.cause or outcome.ending,),
            "gen_ai.usage.input_tokens": turn.usage.input,
            "gen_ai.usage.output_tokens": turn.usage.output,
            "thinkaloud.reasoning_tokens": turn.usage.reasoning,
            "thinkaloud.reasoning_ms": _reasoning_ms(turn),
        }
        self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        if outcome is not None and outcome.ending in _FAILED_ENDINGS:
            self.record_error(outcome.cause or outcome.ending)

    def record_error(self, cause: str) -> None:
        """Mark the span as failed."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", cause)
        self._span.set_status(Status(StatusCode.ERROR))


def _reasoning_ms(turn: Turn) -> int | None:
    """Return the total duration of the turn's own reasoning blocks, or None if no duration is known."""
    durations = [block.duration_ms for block in turn.own_blocks(Kind.REASONING)]
    known_durations = [ms for ms in durations if ms is not None]
    return sum(known_durations) if known_durations else None
