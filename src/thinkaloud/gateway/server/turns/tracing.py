"""OpenTelemetry spans of every turn, with the `gen_ai.*` attributes, if the process uses OpenTelemetry.

OpenTelemetry is looked up in `sys.modules` and never imported: a process that set up a tracer has imported
it already. The span of the turn is open while it runs, so that spans of other instrumentations belong to it.
Those of its replies, tools and assistants are made from its log when it has ended, as an export makes them.
Without an option they hold no prompt, reasoning or answer.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from sqlalchemy import Connection

from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.otlp import SCOPE
from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import (
    NS_PER_MS,
    SpanKind,
    SpanOptions,
    SpanRecord,
    TracedTurn,
    turn_spans,
    visible_content,
)
from thinkaloud.gateway.server.streams.thought_filter import shown_to
from thinkaloud.gateway.store.queries import sessions, turns, users
from thinkaloud.gateway.store.rows import Owner, ThinkingShown, TurnRow

if TYPE_CHECKING:
    from opentelemetry.trace import Span as OpenSpan


TraceReader = Callable[[TracedTurn, SpanOptions], Awaitable[tuple[TracedTurn, SpanOptions]]]
"""Reads what is stored of a turn, and what of it may be shown."""


class TurnSpan(Protocol):
    """The span of one turn."""

    async def record_end(self, read: "TraceReader") -> None:
        """Record a turn that has ended. It is read only if somebody wants it."""


@contextmanager
def turn_span(traced: TracedTurn, options: SpanOptions) -> Iterator[TurnSpan]:
    """Open a span for one turn, from its request to its end. Does nothing without OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield _NoSpan()
        return
    [root, *_] = turn_spans(traced, SpanOptions(openinference=options.openinference))
    # The text of an exception may quote a prompt or an answer, so only its class name is recorded.
    with trace.get_tracer(SCOPE).start_as_current_span(
        root.name,
        kind=trace.SpanKind.INTERNAL,
        attributes=root.attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        recorder = _SpanRecorder(trace, span, traced, options)
        try:
            yield recorder
        except BaseException as error:
            recorder.record_error(span, type(error).__qualname__)
            raise


def read_stored(
    conn: Connection, row: TurnRow, owner: Owner, traced: TracedTurn, options: SpanOptions
) -> tuple[TracedTurn, SpanOptions]:
    """Return a turn with what the database knows of it, and what of its texts may be shown.

    A trace shows no thought that its own user may not see.
    """
    session = sessions.session_of_turn(conn, row)
    shown = shown_to(users.thinking_rules(conn, owner.user), row)
    content = visible_content(options.content, hides_thoughts=shown is not ThinkingShown.ALL)
    asked: tuple[UserMessage | ToolMessage, ...] = ()
    if content is not SpanContent.NONE:
        asked = turns.request_messages(conn, owner, row)
    conversation = session.id if session else ""
    traced = msgspec.structs.replace(traced, asked=asked, conversation=conversation)
    return traced, msgspec.structs.replace(options, content=content)


class _NoSpan:
    async def record_end(self, read: "TraceReader") -> None:
        """Do nothing."""


class _SpanRecorder:
    def __init__(self, trace: Any, span: "OpenSpan", traced: TracedTurn, options: SpanOptions) -> None:
        self._trace = trace
        self._span = span
        self._traced = traced
        self._options = options

    async def record_end(self, read: "TraceReader") -> None:
        """Complete the span of the turn, and add those of its parts."""
        if not self._span.is_recording():
            return
        [root, *parts] = turn_spans(*await read(self._traced, self._options))
        self._span.set_attributes(root.attributes)
        self.record_error(self._span, root.error)
        contexts = {root.path: self._trace.set_span_in_context(self._span)}
        for part in parts:
            # The log of a running turn has all times. Without them the tracer would take the present one.
            if part.parent in contexts and part.started_ms is not None:
                contexts[part.path] = self._record_part(part, part.started_ms, contexts[part.parent])

    def _record_part(self, part: SpanRecord, started_ms: int, parent: Any) -> Any:
        """Add a span that has ended; return the context of those below it."""
        kind = self._trace.SpanKind.CLIENT if part.kind is SpanKind.CLIENT else self._trace.SpanKind.INTERNAL
        ended_ms = started_ms if part.ended_ms is None else part.ended_ms
        span = self._trace.get_tracer(SCOPE).start_span(
            part.name,
            context=parent,
            kind=kind,
            attributes=part.attributes,
            start_time=started_ms * NS_PER_MS,
        )
        self.record_error(span, part.error)
        span.end(ended_ms * NS_PER_MS)
        return self._trace.set_span_in_context(span)

    def record_error(self, span: "OpenSpan", error: str) -> None:
        """Mark a span as failed, if it is."""
        if error:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
