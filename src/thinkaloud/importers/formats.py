"""The formats that can be imported: one row each. The content of a file tells its format, never its name."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from thinkaloud.importers import (
    chatgpt,
    claude_account,
    claude_code,
    codex,
    gemini_cli,
    librechat,
    llm_logs,
    message_json,
    open_webui,
    otlp,
    qwen_code,
)
from thinkaloud.importers.json_items import Item
from thinkaloud.importers.source_conversation import SourceConversation, UnreadCounter


class JsonFormat(msgspec.Struct, frozen=True):
    """A format of JSON files."""

    name: str
    client: str
    """The program, as the list of sessions shows it."""
    recognises: Callable[[Any], bool]
    """Whether a file is of this format if this is one of its first items."""
    read: Callable[[Iterable[Item], UnreadCounter], Iterator[SourceConversation]]


class DatabaseFormat(msgspec.Struct, frozen=True):
    """A format of SQLite databases."""

    name: str
    client: str
    recognises: Callable[[sqlite3.Connection], bool]
    read: Callable[[sqlite3.Connection, UnreadCounter], Iterator[SourceConversation]]


JSON_FORMATS = (
    JsonFormat("chatgpt", "ChatGPT", chatgpt.recognises, chatgpt.read),
    JsonFormat("claude", "Claude", claude_account.recognises, claude_account.read),
    # Before Claude Code, whose lines about the program itself look like Qwen Code's.
    JsonFormat("qwen_code", "Qwen Code", qwen_code.recognises, qwen_code.read),
    JsonFormat("gemini_cli", "Gemini CLI", gemini_cli.recognises, gemini_cli.read),
    JsonFormat("claude_code", "Claude Code", claude_code.recognises, claude_code.read),
    JsonFormat("codex", "Codex", codex.recognises, codex.read),
    JsonFormat("open_webui", "Open WebUI", open_webui.recognises, open_webui.read),
    JsonFormat("librechat", "LibreChat", librechat.recognises, librechat.read),
    JsonFormat("otlp", "OpenTelemetry", otlp.recognises, otlp.read),
    JsonFormat("messages", "Messages", message_json.recognises, message_json.read),
)
"""In the order in which they are tried: the form of the last one is the most general."""
DATABASE_FORMATS = (DatabaseFormat("llm", "llm", llm_logs.recognises, llm_logs.read),)
CLIENTS = {row.name: row.client for row in (*JSON_FORMATS, *DATABASE_FORMATS)}
FORMAT_NAMES = tuple(CLIENTS)
