"""A span for every turn, in OpenTelemetry's words for generative models, where somebody collects spans.

Nothing is imported for it: who set up a collector has imported OpenTelemetry already, and without one there
is nothing to do. A span says which model, how many tokens, how long and how it ended; what was asked, thought
or answered is never in it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from thinkaloud.canon import Kind
from thinkaloud.transcript import Ending, Turn

if TYPE_CHECKING:
    from opentelemetry.trace import Span

TRACER_NAME = "thinkaloud"
_FAILED_ENDINGS = (Ending.FAILED, Ending.CUT_OFF)


class TurnSpan(Protocol):
    """Takes how a turn ended."""

    def record_end(self, turn: Turn) -> None:
        """Say what is known of a turn once it is over."""


@contextmanager
def turn_span(*, model: str, provider: str) -> Iterator[TurnSpan]:
    """Around one turn, from its request to its end; costs nothing where nobody collects."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _NoSpan()
        return
    request_attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.system": provider,  # the older name, which most collectors know
        "gen_ai.request.model": model,
    }
    tracer = trace.get_tracer(TRACER_NAME)
    # An exception's text may quote what was said, so only its kind is told.
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
        """Nobody looks."""


class _SpanRecorder:
    def __init__(self, span: "Span") -> None:
        self._span = span

    def record_end(self, turn: Turn) -> None:
        """Counts, times and the ending; no text."""
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
        """The turn did not come to its own end."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", cause)
        self._span.set_status(Status(StatusCode.ERROR))


def _reasoning_ms(turn: Turn) -> int | None:
    """How long the turn's own thoughts took together; None where nobody knows."""
    durations = [block.duration_ms for block in turn.own_blocks(Kind.REASONING)]
    known_durations = [ms for ms in durations if ms is not None]
    return sum(known_durations) if known_durations else None
