"""Traces in OTLP, as the JSON Lines that collectors write and read, and as the bytes that they receive.

A turn is a trace and one line. Ids are hashes of what the turn is, so a session that is exported again, or
after it has grown, gives the same ones. github.com/open-telemetry/opentelemetry-proto, `trace.proto`.
"""

import struct
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET

from thinkaloud.core.canon import Refused
from thinkaloud.core.export.record import Exchange, SessionRecord, turns_of
from thinkaloud.core.export.span_attributes import SpanContent, Value, json_text
from thinkaloud.core.export.spans import NS_PER_MS, SpanOptions, SpanRecord, TracedTurn, turn_spans

SCOPE = "thinkaloud"
"""The name of the instrumentation scope: who wrote the spans."""
EXCHANGE = "thinkaloud.exchange"
"""The attribute with all that is stored of a turn, seals included."""
TITLE = "thinkaloud.session.title"
FOLLOWS = "thinkaloud.follows"
"""The id of the trace whose turn this one follows; missing for a first one."""
_STATUS_ERROR = 2


class TraceIds(msgspec.Struct, frozen=True):
    """Which session a file holds, and its turns in order. Without them, ids are made from the content."""

    session: str = ""
    turns: tuple[str, ...] = ()
    only: str = ""
    """The one turn to write; empty for all of them."""


def write_otlp(
    record: SessionRecord, options: SpanOptions | None = None, ids: TraceIds | None = None
) -> bytes:
    """Return the traces of a session as JSON Lines."""
    return b"".join(msgspec.json.encode(request) + b"\n" for request in requests(record, options, ids))


def requests(
    record: SessionRecord, options: SpanOptions | None = None, ids: TraceIds | None = None
) -> Iterator[dict[str, Any]]:
    """Yield an `ExportTraceServiceRequest` for each turn, in the form of OTLP's JSON."""
    options = options or SpanOptions()
    turns_of(record)  # refuses entries that are out of order
    names = _turn_names(record, ids.turns if ids else ())
    session = ids.session if ids else ""
    if not session:
        # A file has no id of its session. Its first turn tells it from others, and stays when it grows.
        session = record.source.conversation if record.source else (names[0] if names else "")
    traces = [trace_id(name) for name in names]
    only = ids.only if ids else ""
    for index, exchange in enumerate(record.exchanges):
        if only not in ("", names[index]):
            continue
        spans = turn_spans(_traced(exchange, record.agent, session), options)
        follows = index - 1 if exchange.follows is UNSET else exchange.follows
        followed = traces[follows] if follows >= 0 else ""
        extra = _root_attributes(record, exchange, traces[index], followed, options)
        spans[0] = msgspec.structs.replace(spans[0], attributes=spans[0].attributes | extra)
        yield _request(traces[index], spans)


def trace_id(turn: str) -> str:
    """Return the id of the trace of a turn, as hexadecimal digits."""
    return sha256(f"trace {turn}".encode()).hexdigest()[:32]


def span_id(trace: str, path: str) -> str:
    """Return the id of a span of a trace."""
    return sha256(f"span {trace} {path}".encode()).hexdigest()[:16]


def _traced(exchange: Exchange, agent: str, session: str) -> TracedTurn:
    return TracedTurn(
        entries=exchange.entries,
        asked=exchange.asked,
        model=exchange.model,
        provider=exchange.provider,
        agent_id=agent,
        conversation=session,
    )


def _turn_names(record: SessionRecord, turns: tuple[str, ...]) -> list[str]:
    """Return what tells each turn from all others: its id, or its content and the turns before it."""
    if turns:
        return list(turns)
    names: list[str] = []
    for index, exchange in enumerate(record.exchanges):
        follows = index - 1 if exchange.follows is UNSET else exchange.follows
        if exchange.key is not UNSET:
            names.append(exchange.key)
            continue
        content = msgspec.json.encode((exchange.asked, exchange.entries, exchange.created_ms))
        before = names[follows] if follows >= 0 else ""
        names.append(sha256(before.encode() + b"\0" + content).hexdigest())
    return names


def _root_attributes(
    record: SessionRecord, exchange: Exchange, trace: str, followed: str, options: SpanOptions
) -> dict[str, Value]:
    attributes: dict[str, Value] = {}
    if followed:
        attributes[FOLLOWS] = followed
    if options.content.includes(SpanContent.MESSAGES) and record.title:
        attributes[TITLE] = record.title
    if options.content is SpanContent.SEALS:
        # The keys let an import put the turns of several files into one session, each once.
        kept = msgspec.structs.replace(exchange, key=trace, follows=UNSET, follows_key=followed or UNSET)
        attributes[EXCHANGE] = json_text(kept)
    return attributes


def _request(trace: str, spans: list[SpanRecord]) -> dict[str, Any]:
    resource = {"service.name": SCOPE}
    scope_spans = {"scope": {"name": SCOPE}, "spans": [_json_span(trace, span) for span in spans]}
    return {
        "resourceSpans": [
            {"resource": {"attributes": _json_attributes(resource)}, "scopeSpans": [scope_spans]}
        ]
    }


def _json_span(trace: str, span: SpanRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {"traceId": trace, "spanId": span_id(trace, span.path)}
    if span.parent:
        fields["parentSpanId"] = span_id(trace, span.parent)
    fields |= {"name": span.name, "kind": int(span.kind)}
    times = (("startTimeUnixNano", span.started_ms), ("endTimeUnixNano", span.ended_ms))
    fields |= {name: str(at_ms * NS_PER_MS) for name, at_ms in times if at_ms is not None}
    fields["attributes"] = _json_attributes(span.attributes)
    if span.error:
        fields["status"] = {"code": _STATUS_ERROR}
    return fields


def _json_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items()]


def _json_value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"arrayValue": {"values": [_json_value(item) for item in value]}}


def encode_request(request: dict[str, Any]) -> bytes:
    """Return a request as protobuf, which every collector receives; some do not receive JSON."""
    return b"".join(
        _field(
            1,
            _field(1, _attributes(1, resource_spans["resource"]["attributes"]))
            + b"".join(_field(2, _scope_spans(scope)) for scope in resource_spans["scopeSpans"]),
        )
        for resource_spans in request["resourceSpans"]
    )


def _scope_spans(scope_spans: dict[str, Any]) -> bytes:
    head = _field(1, _field(1, scope_spans["scope"]["name"].encode()))
    return head + b"".join(_field(2, _span(span)) for span in scope_spans["spans"])


def _span(span: dict[str, Any]) -> bytes:
    numbers = count(7)
    parts = [
        _field(1, bytes.fromhex(span["traceId"])),
        _field(2, bytes.fromhex(span["spanId"])),
        _field(4, bytes.fromhex(span.get("parentSpanId", ""))),
        _field(5, span["name"].encode()),
        _number(6, span["kind"]),
    ]
    for name in ("startTimeUnixNano", "endTimeUnixNano"):
        number = next(numbers)
        if name in span:
            parts.append(_varint(number << 3 | 1) + struct.pack("<Q", int(span[name])))
    parts.append(_attributes(9, span["attributes"]))
    if "status" in span:
        parts.append(_field(15, _number(3, span["status"]["code"])))
    return b"".join(parts)


def _attributes(number: int, attributes: list[dict[str, Any]]) -> bytes:
    return b"".join(
        _field(number, _field(1, attribute["key"].encode()) + _field(2, _any_value(attribute["value"])))
        for attribute in attributes
    )


def _any_value(value: dict[str, Any]) -> bytes:
    match value:
        case {"stringValue": str(text)}:
            return _field(1, text.encode(), always=True)
        case {"boolValue": bool(flag)}:
            return _number(2, int(flag))
        case {"intValue": str(digits)}:
            return _number(3, int(digits))
        case {"doubleValue": float(number)}:
            return _varint(4 << 3 | 1) + struct.pack("<d", number)
        case {"arrayValue": {"values": list(values)}}:
            return _field(
                5, b"".join(_field(1, _any_value(item), always=True) for item in values), always=True
            )
    raise Refused("An attribute of a span has a value that OTLP does not know: {value}.", value=repr(value))


def _field(number: int, content: bytes, *, always: bool = False) -> bytes:
    """Return a field with a length; an empty one is left out, unless it is one of several choices."""
    if not content and not always:
        return b""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value % 2**64)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
