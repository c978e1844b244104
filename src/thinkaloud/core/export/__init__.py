"""Exports sessions as markdown or JSON and imports both again without loss."""

from thinkaloud.core.export.markdown import ThinkingStyle, write_markdown
from thinkaloud.core.export.markdown_reader import read_markdown
from thinkaloud.core.export.record import Exchange, SessionRecord, read_json, without_thoughts, write_json

__all__ = [
    "Exchange",
    "SessionRecord",
    "ThinkingStyle",
    "read_json",
    "read_markdown",
    "without_thoughts",
    "write_json",
    "write_markdown",
]
