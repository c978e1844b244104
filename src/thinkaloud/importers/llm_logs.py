"""The log of simonw's `llm`: `logs.db`, an SQLite database.

Up to version 0.27 a prompt and its response are one row of `responses`, with `reasoning` in newer ones. Later
versions keep `messages` with `parts` and one row of `turns` for each call of a model; the older tables stay.
The file is opened read-only. Its views, triggers and virtual tables are never used.
"""

import base64
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from thinkaloud.core.canon import Usage
from thinkaloud.core.canon.requests import File, ToolMessage, UserMessage, media_type_of, message_parts
from thinkaloud.core.dialects.client_request import json_text
from thinkaloud.core.wire.frames import MIB
from thinkaloud.importers.json_items import MAX_ITEM_BYTES, DamagedFile
from thinkaloud.importers.json_values import array, count, mapping, string, time_ms
from thinkaloud.importers.replies import ReplyBuilder
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

Row = dict[str, Any]
_MAX_PARTS = 100_000
"""Parts of one conversation of the newer tables, which are read together."""
_COLUMNS = {
    "conversations": "id name model",
    "responses": "id model prompt system response conversation_id duration_ms datetime_utc input_tokens "
    "output_tokens token_details resolved_model reasoning",
    "attachments": "id type content",
    "prompt_attachments": "response_id attachment_id order",
    "fragments": "id content",
    "prompt_fragments": "response_id fragment_id order",
    "tool_calls": "id response_id name arguments tool_call_id",
    "tool_results": "id response_id output tool_call_id exception",
    "messages": "hash parent_hash role",
    "parts": "id message_hash position type text payload",
    "part_attachments": "part_id attachment_id order",
    "threads": "id name tip_message_hash datetime_utc",
    "turns": "id thread_id tip_message_hash model resolved_model input_tokens output_tokens token_details "
    "datetime_utc",
}
"""The tables and what is read of them. Older versions lack some of the columns."""
_MESSAGE_TABLES = {"turns", "threads", "messages", "parts"}
_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)


def recognises(connection: sqlite3.Connection) -> bool:
    """Return whether a database is such a log."""
    tables = _tables(connection).keys()
    return "responses" in tables or tables >= _MESSAGE_TABLES


def read(connection: sqlite3.Connection, unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of both generations of tables."""
    log = _LogDatabase(connection)
    if log.has("responses"):
        yield from _ResponseTables(log, unread).conversations()
    if log.has(*_MESSAGE_TABLES):
        yield from _MessageTables(log, unread).conversations()


def _tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the known tables and their known columns. A view or a computed column could compute anything."""
    statements = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = {}
    for name, statement in statements:
        if name not in _COLUMNS or not _PLAIN_TABLE.match(str(statement)):
            continue
        columns = connection.execute(f'PRAGMA table_xinfo("{name}")').fetchall()
        if any(hidden for *_, hidden in columns):
            raise DamagedFile(
                "The table {name} of the database has computed columns, which no log has.", name=name
            )
        present = {column for _, column, *_ in columns}
        tables[name] = tuple(column for column in _COLUMNS[name].split() if column in present)
    return tables


class _LogDatabase:
    """The database. What is read for one conversation is bounded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._tables = _tables(connection)
        self._bytes_left = MAX_ITEM_BYTES

    def has(self, *tables: str) -> bool:
        """Return whether the database has all these tables."""
        return self._tables.keys() >= set(tables)

    def begin_conversation(self) -> None:
        """Read from now on for another conversation."""
        self._bytes_left = MAX_ITEM_BYTES

    def select(self, table: str, rest: str = "", *values: object) -> Iterator[Row]:
        """Yield rows of a table: of a query that goes on with `rest`, in which the table is `t`."""
        columns = self._tables.get(table)
        if not columns:
            return
        names = ", ".join(f't."{column}"' for column in columns)
        for row in self._connection.execute(f'SELECT {names} FROM "{table}" t {rest}', values):
            self._bytes_left -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._bytes_left < 0:
                raise DamagedFile(
                    "One conversation of the database has more than {max_item_bytes} MiB.",
                    max_item_bytes=MAX_ITEM_BYTES // MIB,
                )
            yield dict(zip(columns, row, strict=True))


class _ResponseTables:
    """The tables up to version 0.27: `conversations` and `responses`."""

    def __init__(self, log: _LogDatabase, unread: UnreadCounter) -> None:
        self._log = log
        self._unread = unread

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield the conversations, one at a time."""
        names = self._names()
        # No function is allowed, so this is `coalesce`.
        conversation = "CASE WHEN t.conversation_id IS NULL THEN t.id ELSE t.conversation_id END"
        rows = self._log.select("responses", f"ORDER BY {conversation}, t.datetime_utc, t.id")
        for name, group in groupby(rows, lambda row: string(row, "conversation_id") or string(row, "id")):
            self._log.begin_conversation()
            nodes = tuple(self._nodes(group))
            created_ms = next((node.at_ms for node in nodes if node.at_ms is not None), None)
            title, model = names.get(name, ("", ""))
            yield SourceConversation(id=name, nodes=nodes, title=title, created_ms=created_ms, model=model)

    def _names(self) -> dict[str, tuple[str, str]]:
        if not self._log.has("conversations"):
            return {}
        rows = self._log.select("conversations")
        return {string(row, "id"): (string(row, "name"), string(row, "model")) for row in rows}

    def _nodes(self, rows: Any) -> Iterator[SourceNode]:
        before = ""
        for row in rows:
            name, at_ms = string(row, "id"), time_ms(string(row, "datetime_utc"))
            if string(row, "system"):
                self._unread.add("system prompt")
            results = tuple(
                ToolMessage(
                    string(result, "tool_call_id"),
                    string(result, "output") or string(result, "exception"),
                    failed=bool(string(result, "exception")),
                )
                for result in self._rows("tool_results", name)
            )
            if results:
                yield SourceNode(f"{name}/results", before, results, at_ms)
                before = f"{name}/results"
            if (prompt := self._prompt(row, name)) is not None:
                yield SourceNode(f"{name}/prompt", before, prompt, at_ms)
                before = f"{name}/prompt"
            duration_ms = count(row, "duration_ms") or 0
            ended_ms = None if at_ms is None else at_ms + duration_ms
            yield SourceNode(name, before, self._reply(row, name, ended_ms), ended_ms)
            before = name

    def _prompt(self, row: Row, name: str) -> UserMessage | None:
        text = "\n\n".join(filter(None, [*self._fragments(name), string(row, "prompt")]))
        files: list[File] = []
        if self._log.has("prompt_attachments", "attachments"):
            rows = self._log.select("attachments", _attached("prompt_attachments", "response_id"), name)
            files = _attachments(rows, self._unread)
        return _user_message(text, files)

    def _fragments(self, name: str) -> list[str]:
        if not self._log.has("prompt_fragments", "fragments"):
            return []
        used = 'JOIN prompt_fragments p ON t.id = p.fragment_id WHERE p.response_id = ? ORDER BY p."order"'
        rows = self._log.select("fragments", used, name)
        return [string(row, "content") for row in rows]

    def _rows(self, table: str, name: str) -> list[Row]:
        if not self._log.has(table):
            return []
        return list(self._log.select(table, "WHERE t.response_id = ? ORDER BY t.id", name))

    def _reply(self, row: Row, name: str, ended_ms: int | None) -> SourceContent:
        builder = ReplyBuilder(string(row, "resolved_model") or string(row, "model"))
        if reasoning := string(row, "reasoning"):
            builder.add_thought(reasoning)
        builder.add_text(string(row, "response"))
        for call in self._rows("tool_calls", name):
            builder.add_call(string(call, "name"), string(call, "tool_call_id"), string(call, "arguments"))
        return builder.end(at_ms=ended_ms, usage=_usage(row))


def _usage(row: Row) -> Usage:
    try:
        details = msgspec.json.decode(string(row, "token_details") or "{}")
    except msgspec.MsgspecError:
        details = {}
    output_details = mapping(details, "completion_tokens_details") or mapping(
        details, "output_tokens_details"
    )
    reasoning = count(output_details, "reasoning_tokens")
    return Usage(
        input=count(row, "input_tokens"),
        output=count(row, "output_tokens"),
        reasoning=count(details, "reasoning_tokens") if reasoning is None else reasoning,
    )


def _user_message(text: str, files: list[File]) -> UserMessage | None:
    if not text and not files:
        return None
    images, others = message_parts(files)
    return UserMessage(text, images, others)


def _attached(table: str, column: str) -> str:
    """Return the rest of a query for what is attached to one row, by the table that links the two."""
    return f'JOIN {table} p ON t.id = p.attachment_id WHERE p.{column} = ? ORDER BY p."order"'


def _attachments(rows: Iterable[Row], unread: UnreadCounter) -> list[File]:
    files = []
    for row in rows:
        file = _attachment(row, unread)
        if file is not None:
            files.append(file)
    return files


def _attachment(row: Row, unread: UnreadCounter) -> File | None:
    """Return an attachment whose content is in the database. Paths and addresses are not followed."""
    content = row.get("content")
    if not isinstance(content, bytes) or not content:
        unread.add("attachment that is only a path or an address")
        return None
    media_type = string(row, "type") or media_type_of(content)
    return File(media_type, base64.b64encode(content).decode())


class _MessageTables:
    """The tables of later versions: chains of messages, each with parts."""

    def __init__(self, log: _LogDatabase, unread: UnreadCounter) -> None:
        self._log = log
        self._unread = unread

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield the conversations, one at a time."""
        for thread in self._log.select("threads", "ORDER BY t.id"):
            self._log.begin_conversation()
            turns = list(
                self._log.select("turns", "WHERE t.thread_id = ? ORDER BY t.id", string(thread, "id"))
            )
            nodes = tuple(self._nodes(string(thread, "tip_message_hash"), turns))
            if nodes:
                yield SourceConversation(
                    id=string(thread, "id"),
                    nodes=nodes,
                    title=string(thread, "name"),
                    created_ms=time_ms(string(thread, "datetime_utc")),
                    leaf=string(thread, "tip_message_hash"),
                )

    def _nodes(self, tip: str, turns: list[Row]) -> Iterator[SourceNode]:
        turn_of_tip = {string(turn, "tip_message_hash"): turn for turn in turns}
        seen: set[str] = set()
        budget = _MAX_PARTS
        for start in dict.fromkeys([*turn_of_tip, tip]):
            name = start
            while name and name not in seen and budget > 0:
                seen.add(name)
                row = next(self._log.select("messages", "WHERE t.hash = ?", name), None)
                if row is None:
                    self._unread.add("message that is not in the database")
                    break
                parts = self._parts(name)
                budget -= len(parts) + 1
                parent = string(row, "parent_hash")
                yield from self._message_nodes(
                    name, parent, string(row, "role"), parts, turn_of_tip.get(name)
                )
                name = parent
        if budget <= 0:
            self._unread.add(f"messages beyond {_MAX_PARTS:,} parts of a conversation")

    def _parts(self, name: str) -> list[dict[str, Any]]:
        parts = []
        for row in self._log.select("parts", "WHERE t.message_hash = ? ORDER BY t.position", name):
            try:
                payload = msgspec.json.decode(string(row, "payload") or "{}")
            except (msgspec.MsgspecError, RecursionError):
                self._unread.add("part that is not valid JSON")
                continue
            part = {
                **(payload if isinstance(payload, dict) else {}),
                "type": string(row, "type"),
                "key": row["id"],
            }
            if string(row, "text"):
                part["text"] = string(row, "text")
            elif "text_ref" in part:
                part["text"] = self._referenced_text(array(part, "text_ref"))
            parts.append(part)
        return parts

    def _referenced_text(self, pieces: list[Any]) -> str:
        """Return a text that is stored as literals and the ids of fragments."""
        texts = []
        for piece in pieces:
            if (number := count(piece, "fragment")) is not None:
                row = next(self._log.select("fragments", "WHERE t.id = ?", number), None)
                texts.append("" if row is None else string(row, "content"))
            else:
                texts.append(string(piece, "literal"))
        return "".join(texts)

    def _message_nodes(
        self, name: str, parent: str, role: str, parts: list[dict[str, Any]], turn: Row | None
    ) -> Iterator[SourceNode]:
        at_ms = None if turn is None else time_ms(string(turn, "datetime_utc"))
        results = tuple(
            ToolMessage(
                string(part, "tool_call_id"),
                string(part, "output") or string(part, "exception"),
                failed=bool(string(part, "exception")),
            )
            for part in parts
            if part["type"] == "tool_result" and part.get("server_executed") is not True
        )
        content: SourceContent = None
        if role == "assistant":
            content = self._reply(parts, turn, at_ms)
        elif role == "system":
            self._unread.add("system prompt")
        else:
            content = self._prompt(parts)
            if results and content is not None:
                yield SourceNode(f"{name}/results", parent, results, at_ms)
                parent = f"{name}/results"
            elif results:
                content = results
        yield SourceNode(name, parent, content, at_ms)

    def _prompt(self, parts: list[dict[str, Any]]) -> UserMessage | None:
        texts = []
        files: list[File] = []
        for part in parts:
            if part["type"] == "text":
                texts.append(string(part, "text"))
            elif part["type"] == "attachment":
                files += self._files(part["key"])
        return _user_message("\n\n".join(texts), files)

    def _files(self, part: int) -> list[File]:
        rows = self._log.select("attachments", _attached("part_attachments", "part_id"), part)
        return _attachments(rows, self._unread)

    def _reply(self, parts: list[dict[str, Any]], turn: Row | None, at_ms: int | None) -> SourceReply | None:
        model = "" if turn is None else string(turn, "resolved_model") or string(turn, "model")
        builder = ReplyBuilder(model)
        calls: defaultdict[str, int] = defaultdict(lambda: -1)
        for part in parts:
            if mapping(part, "provider_metadata"):
                self._unread.add("provider's own data of a part: it is not sent back")
            match part["type"]:
                case "reasoning":
                    builder.add_thought(string(part, "text"))
                case "text":
                    builder.add_text(string(part, "text"))
                case "tool_call":
                    call_id = string(part, "tool_call_id")
                    arguments = json_text(part.get("arguments") or {})
                    calls[call_id] = builder.add_call(string(part, "name"), call_id, arguments)
                case "tool_result" if calls[string(part, "tool_call_id")] >= 0:
                    builder.add_result(calls[string(part, "tool_call_id")], string(part, "output"))
                case kind:
                    self._unread.add(f"part of type {kind[:40]!r} of an answer")
        usage = None if turn is None else _usage(turn)
        return None if builder.empty else builder.end(at_ms=at_ms, usage=usage)
