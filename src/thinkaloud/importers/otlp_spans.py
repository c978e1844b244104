"""Spans in OTLP's JSON form: their ids, times and attributes, and the tree that they make.

A trace comes from strangers: a span may be there twice, name a parent that is not there, or be below itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.core.canon.events import MAX_NUMBER
from thinkaloud.core.export.spans import NS_PER_MS
from thinkaloud.importers.json_items import DamagedFile, Item
from thinkaloud.importers.json_values import array, mapping, string
from thinkaloud.importers.source_conversation import UnreadCounter

MAX_SPANS = 200_000
"""In one file. All are held until the last one was read: a span is written before the one around it."""
_MAX_VALUE_DEPTH = 100
_MAX_LIST_ITEMS = 100_000
"""Numbered attributes of one list. An index beyond it would make a list of that size."""
_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")


class TraceSpan(msgspec.Struct):
    """One span; `attributes` are those of the file, decoded."""

    trace: str
    id: str
    parent: str
    name: str
    scope: str
    line: int
    started_ms: int | None
    ended_ms: int | None
    failed: bool
    problem: str
    attributes: dict[str, Any]


def has_spans(value: Any) -> bool:
    """Return whether an item is a request of OTLP with spans."""
    return any(array(value, name) for name in _RESOURCES)


class Trace:
    """All spans of a file, in order of their start, by id and with their ancestors."""

    def __init__(self, items: Iterable[Item], unread: UnreadCounter) -> None:
        self._unread = unread
        self._by_id: dict[tuple[str, str], TraceSpan] = {}
        for item in items:
            unread.line = item.line
            for span in _spans_of(item.value, unread, item.line):
                self._add(span)
        self.spans = sorted(self._by_id.values(), key=lambda span: (span.started_ms or 0, span.line))
        self._check_parents()

    def ancestors(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """Yield the spans around a span, the nearest first. One that is below itself has an end, too."""
        seen = {span.id}
        parent = self._by_id.get((span.trace, span.parent))
        while parent is not None and parent.id not in seen:
            yield parent
            seen.add(parent.id)
            parent = self._by_id.get((parent.trace, parent.parent))

    def _add(self, span: TraceSpan) -> None:
        if not span.id:
            self._unread.add("span without an id")
        elif (span.trace, span.id) in self._by_id:
            self._unread.add("span with the id of another one")
        elif len(self._by_id) >= MAX_SPANS:
            raise DamagedFile(
                "The file has more than {max_spans} spans. Split it by traces, and import the parts.",
                max_spans=f"{MAX_SPANS:,}",
            )
        else:
            self._by_id[span.trace, span.id] = span

    def _check_parents(self) -> None:
        """Count the spans that are below themselves. Each is looked at once, however deep the traces are."""
        checked: set[tuple[str, str]] = set()
        for span in self.spans:
            path: list[tuple[str, str]] = []
            place: tuple[str, str] | None = (span.trace, span.id)
            while place in self._by_id and place not in checked:
                assert place is not None
                checked.add(place)
                path.append(place)
                place = (span.trace, self._by_id[place].parent)
            if place in path:
                self._unread.line = span.line
                self._unread.add("span that is below itself")
            elif place is not None and place[1] and place not in self._by_id:
                self._unread.line = span.line
                self._unread.add("span whose parent is not in the file")


def _spans_of(value: Any, unread: UnreadCounter, line: int) -> Iterator[TraceSpan]:
    for resource_spans in (entry for name in _RESOURCES for entry in array(value, name)):
        for scope_spans in (entry for name in _SCOPES for entry in array(resource_spans, name)):
            scope = string(mapping(scope_spans, "scope"), "name")
            for span in array(scope_spans, "spans"):
                if isinstance(span, dict):
                    yield _span(span, scope, line, unread)
                else:
                    unread.add("span that is no object")


def _span(span: dict[str, Any], scope: str, line: int, unread: UnreadCounter) -> TraceSpan:
    status = mapping(span, "status")
    return TraceSpan(
        trace=string(span, "traceId"),
        id=string(span, "spanId"),
        parent=string(span, "parentSpanId"),
        name=string(span, "name"),
        scope=scope,
        line=line,
        started_ms=_time_ms(span.get("startTimeUnixNano")),
        ended_ms=_time_ms(span.get("endTimeUnixNano")),
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        problem=string(status, "message"),
        attributes=_attributes(array(span, "attributes"), 0, unread),
    )


def _time_ms(value: Any) -> int | None:
    """Return nanoseconds since 1970, a number or its digits, as milliseconds; 0 is unknown."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value // NS_PER_MS if 0 < value // NS_PER_MS <= MAX_NUMBER else None


def _attributes(pairs: list[Any], depth: int, unread: UnreadCounter) -> dict[str, Any]:
    return {
        string(pair, "key"): _value(mapping(pair, "value"), depth, unread)
        for pair in pairs
        if string(pair, "key")
    }


def _value(value: dict[str, Any], depth: int, unread: UnreadCounter) -> Any:
    if depth > _MAX_VALUE_DEPTH:
        unread.add("attribute that is nested too deep")
        return None
    match value:
        case {"stringValue": str(text)}:
            return text
        case {"intValue": str(digits)} if digits.removeprefix("-").isdecimal() and len(digits) <= 20:
            return int(digits)
        case {"intValue": int(number)} | {"doubleValue": int(number) | float(number)}:
            return number
        case {"boolValue": bool(flag)}:
            return flag
        case {"arrayValue": dict(values)}:
            items = array(values, "values")
            return [_value(item, depth + 1, unread) for item in items if isinstance(item, dict)]
        case {"kvlistValue": dict(values)}:
            return _attributes(array(values, "values"), depth + 1, unread)
    return None


def numbered(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the objects of a flattened list: `prefix.0.name` is the field `name` of the first one."""
    items: dict[int, dict[str, Any]] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            digits, _, field = name[len(start) :].partition(".")
            if digits.isdecimal() and len(digits) <= 6 and int(digits) < _MAX_LIST_ITEMS and field:
                items.setdefault(int(digits), {})[field] = value
    return [items[index] for index in sorted(items)]
