"""Exports sessions as markdown or JSON, which are imported again without loss, and as traces."""

from thinkaloud.core.export.markdown import ThinkingStyle, write_markdown
from thinkaloud.core.export.markdown_reader import read_markdown
from thinkaloud.core.export.otlp import TraceIds, write_otlp
from thinkaloud.core.export.record import Exchange, SessionRecord, read_json, without_thoughts, write_json
from thinkaloud.core.export.span_attributes import SpanContent
from thinkaloud.core.export.spans import SpanOptions

__all__ = [
    "Exchange",
    "SessionRecord",
    "SpanContent",
    "SpanOptions",
    "ThinkingStyle",
    "TraceIds",
    "read_json",
    "read_markdown",
    "without_thoughts",
    "write_json",
    "write_markdown",
    "write_otlp",
]
