"""The log of simonw's `llm`: `logs.db`, an SQLite database.

Up to version 0.27 a prompt and its response are one row of `responses`, with `reasoning` in newer ones. Later
versions keep `messages` with `parts` and one row of `turns` for each call of a model; the older tables stay.
The file is opened read-only. Its views, triggers and virtual tables are never used.
"""

import base64
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec

from thinkaloud.canon import Usage
from thinkaloud.canon.requests import File, ToolMessage, UserMessage, media_type_of, message_parts
from thinkaloud.dialects.client_request import json_text
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


def recognises(connection: sqlite3.Connection) -> bool:
    """Return whether a database is such a log."""
    tables = _tables(connection)
    return "responses" in tables or {"turns", "threads", "messages", "parts"} <= tables


def read(connection: sqlite3.Connection, unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of both generations of tables."""
    connection.row_factory = _row_as_dict
    tables = _tables(connection)
    if "responses" in tables:
        yield from _ResponseTables(connection, tables, unread).conversations()
    if {"turns", "threads", "messages", "parts"} <= tables:
        yield from _MessageTables(connection, unread).conversations()


def _tables(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the plain tables. A view could compute anything."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    return {string(row, "name") if isinstance(row, dict) else str(row[0]) for row in rows}


def _row_as_dict(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip((column[0] for column in cursor.description), values, strict=True))


class _ResponseTables:
    """The tables up to version 0.27: `conversations` and `responses`."""

    def __init__(self, connection: sqlite3.Connection, tables: set[str], unread: UnreadCounter) -> None:
        self._connection = connection
        self._tables = tables
        self._unread = unread

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield the conversations, one at a time."""
        names = self._names()
        rows = self._connection.execute(
            "SELECT * FROM responses ORDER BY coalesce(conversation_id, id), datetime_utc, id"
        )
        for name, group in groupby(rows, lambda row: string(row, "conversation_id") or string(row, "id")):
            nodes = tuple(self._nodes(group))
            created_ms = next((node.at_ms for node in nodes if node.at_ms is not None), None)
            title, model = names.get(name, ("", ""))
            yield SourceConversation(id=name, nodes=nodes, title=title, created_ms=created_ms, model=model)

    def _names(self) -> dict[str, tuple[str, str]]:
        if "conversations" not in self._tables:
            return {}
        rows = self._connection.execute("SELECT id, name, model FROM conversations")
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
        texts = [*self._fragments(name), string(row, "prompt")]
        query = (
            "SELECT a.* FROM prompt_attachments p JOIN attachments a ON a.id = p.attachment_id "
            'WHERE p.response_id = ? ORDER BY p."order"'
        )
        has_files = {"prompt_attachments", "attachments"} <= self._tables
        rows = self._connection.execute(query, (name,)) if has_files else ()
        files = [file for row in rows if (file := _attachment(row, self._unread)) is not None]
        images, others = message_parts(files)
        text = "\n\n".join(filter(None, texts))
        return UserMessage(text, images, others) if text or files else None

    def _fragments(self, name: str) -> list[str]:
        if not {"prompt_fragments", "fragments"} <= self._tables:
            return []
        rows = self._connection.execute(
            "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id "
            'WHERE p.response_id = ? ORDER BY p."order"',
            (name,),
        )
        return [string(row, "content") for row in rows]

    def _rows(self, table: str, name: str) -> list[Row]:
        if table not in self._tables:
            return []
        return self._connection.execute(
            f'SELECT * FROM "{table}" WHERE response_id = ? ORDER BY id', (name,)
        ).fetchall()

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

    def __init__(self, connection: sqlite3.Connection, unread: UnreadCounter) -> None:
        self._connection = connection
        self._unread = unread

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield the conversations, one at a time."""
        for thread in self._connection.execute("SELECT * FROM threads ORDER BY id").fetchall():
            turns = self._connection.execute(
                "SELECT * FROM turns WHERE thread_id = ? ORDER BY id", (string(thread, "id"),)
            ).fetchall()
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
                row = self._connection.execute("SELECT * FROM messages WHERE hash = ?", (name,)).fetchone()
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
        rows = self._connection.execute(
            "SELECT * FROM parts WHERE message_hash = ? ORDER BY position", (name,)
        )
        parts = []
        for row in rows.fetchall():
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
                query = "SELECT content FROM fragments WHERE id = ?"
                row = self._connection.execute(query, (number,)).fetchone()
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
        text = "\n\n".join(string(part, "text") for part in parts if part["type"] == "text")
        files = [file for part in parts if part["type"] == "attachment" for file in self._files(part["key"])]
        images, others = message_parts(files)
        return UserMessage(text, images, others) if text or files else None

    def _files(self, part: int) -> Iterator[File]:
        query = (
            "SELECT a.* FROM part_attachments p JOIN attachments a ON a.id = p.attachment_id "
            'WHERE p.part_id = ? ORDER BY p."order"'
        )
        for row in self._connection.execute(query, (part,)).fetchall():
            if (file := _attachment(row, self._unread)) is not None:
                yield file

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
