"""Reads OpenAI Responses, also from Azure, xAI, OpenRouter, vLLM and LM Studio.

A turn is a list of items. A reasoning item starts a block at once, though its text may arrive much later or
never. Each summary part is a block of its own; the last one gets the finished item as its seal. Text that a
server does not stream is read from the finished item or from the final response. Not every server sends the
index of an item, and not every server keeps its id, so an item is found by either.
"""

from typing import Any

import msgspec

from thinkaloud.core.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import Count, LenientDecoder, Text, type_name
from thinkaloud.core.dialects.message import (
    ABSENT,
    encode_json,
    present,
    raw_json,
    raw_json_array,
    string_or_json,
    text_of,
)
from thinkaloud.core.dialects.payload import has_error, parse_error, read_unknown_frame
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedBlocks
from thinkaloud.core.wire import Frame

NAME = "openai_responses"
_FINISH_BY_INCOMPLETE_REASON = {
    "max_output_tokens": Finish.LENGTH,
    "max_messages": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}
_CLIENT_CALL_TYPES = ("function_call", "custom_tool_call")
_SILENT_TYPES = ("mcp_list_tools", "compaction")
"""Items that are no call and have nothing to show: they are only sent back."""
_TEXT_EVENTS = {
    "output_text.delta": (Kind.TEXT, "content"),
    "output_text.done": (Kind.TEXT, "content"),
    "refusal.delta": (Kind.TEXT, "content"),
    "reasoning_summary_text.delta": (Kind.REASONING, "summary"),
    "reasoning_summary_text.done": (Kind.REASONING, "summary"),
    "reasoning_text.delta": (Kind.REASONING, "content"),
    "reasoning_text.done": (Kind.REASONING, "content"),
    "reasoning.delta": (Kind.REASONING, "content"),
    "reasoning.done": (Kind.REASONING, "content"),
    "reasoning_summary.delta": (Kind.REASONING, "summary"),
    "reasoning_summary.done": (Kind.REASONING, "summary"),
}
"""The events with text: the kind of the text, and the list of the item that it belongs to."""
_DELTA_TYPE_BY_KIND = {
    Kind.REASONING: "reasoning_text.delta",
    Kind.TEXT: "output_text.delta",
    Kind.TOOL_CALL: "function_call_arguments.delta",
}
_PROVENANCE_BY_SOURCE = {"summary": Provenance.SUMMARY, "content": Provenance.RAW}


class OutputDetails(msgspec.Struct):
    """The parts of the output tokens."""

    reasoning_tokens: Count | None = None


class InputDetails(msgspec.Struct):
    """The parts of the input tokens."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class Counts(msgspec.Struct):
    """Usage; `output_tokens` includes reasoning."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    output_tokens_details: OutputDetails | None = None
    input_tokens_details: InputDetails | None = None


class Part(msgspec.Struct):
    """A part of a summary, of raw reasoning or of a message."""

    type: str = ""
    text: Text | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """A reasoning item, a message, a call for the client, or a tool that the provider runs itself."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    code: Text | None = None
    encrypted_content: str | None = None
    summary: list[Part] | None = None
    content: list[Part] | None = None
    output: msgspec.Raw = ABSENT
    outputs: msgspec.Raw = ABSENT
    results: msgspec.Raw = ABSENT
    action: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class IncompleteDetails(msgspec.Struct):
    """Why a response is not complete."""

    reason: str | None = None


class Response(msgspec.Struct):
    """A whole response, or its metadata in a stream event."""

    model: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    incomplete_details: IncompleteDetails | None = None


class Update(msgspec.Struct):
    """One stream event."""

    type: str = ""
    object: str | None = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int | None = None
    content_index: int | None = None
    output: list[msgspec.Raw] | None = None
    delta: Text | dict[str, Any] | None = None
    text: Text | dict[str, Any] | None = None
    """The text of a part; in a whole response the settings of its text, which are an object."""
    item: msgspec.Raw = ABSENT
    response: Response | None = None
    error: msgspec.Raw = ABSENT


_update_decoder = LenientDecoder(Update)
_response_decoder = LenientDecoder(Response)
_item_decoder = LenientDecoder(Item, "item")


class _ItemKeys:
    """Finds the key of an item by its id or its index; keys are numbers in order of arrival.

    Not every server sends the index of an item, and not every server keeps its id.
    """

    def __init__(self) -> None:
        self._key_by_id: dict[str, int] = {}
        self._key_by_index: dict[int, int] = {}
        self._finished_keys: set[int] = set()
        self._id_by_key: dict[int, str | None] = {}
        self._matched_keys: set[int] = set()
        self._count = 0

    def start(self, item_id: str | None, index: int | None) -> int:
        """Return a new key for an item that starts now, or its key if it has started."""
        key = self._key_by_id.get(item_id or "")
        if key is None or key in self._finished_keys:
            return self._add(item_id, index)
        return key

    def find(self, item_id: str | None, index: int | None) -> int:
        """Return the key of an item: by its id, its index, or else the latest; a new item gets a new key.

        Some servers name the id of an item only in its deltas: an unknown id is that of the latest item, if
        that is not finished and has none.
        """
        key = self._key_by_id.get(item_id or "")
        if key is None and index is not None:
            key = self._key_by_index.get(index)
            if item_id and key in self._finished_keys:
                key = None  # another item with the same index
        elif key is None and self._count and (not item_id or self._nameless(self._count - 1)):
            key = self._count - 1
        if key is None:
            return self._add(item_id, index)
        if item_id:
            self._key_by_id[item_id] = key
            self._id_by_key[key] = self._id_by_key[key] or item_id
        return key

    def _nameless(self, key: int) -> bool:
        return self._id_by_key[key] is None and key not in self._finished_keys

    def finish(self, key: int) -> None:
        """Mark an item as finished."""
        self._finished_keys.add(key)

    def match(self, item_id: str | None, position: int) -> int:
        """Return the key of an item of the final response, by its position and id; each key matches once.

        Ids may repeat within a response, and positions may differ from the order of arrival.
        """
        at_position = self._key_by_index.get(position)
        same_id = at_position is not None and self._id_by_key.get(at_position) == item_id
        by_id = self._key_by_id.get(item_id or "")
        for key in (at_position, by_id) if same_id else (by_id, at_position):
            if key is not None and key not in self._matched_keys:
                break
        else:
            key = self._add(item_id, position)
        self._matched_keys.add(key)
        return key

    def _add(self, item_id: str | None, index: int | None) -> int:
        key = self._count
        self._count += 1
        self._key_by_index[key if index is None else index] = key
        self._id_by_key[key] = item_id
        if item_id:
            self._key_by_id[item_id] = key
        return key


class Reader:
    """Reads one response."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._texts = TaggedBlocks(emitter, tags)
        self._keys = _ItemKeys()
        self._latest_id: str | None = None
        self._latest_key = 0
        self._latest_key_by_source: dict[tuple[Kind, str], int] = {}
        self._open_parts: dict[int, tuple[str, int]] = {}
        self._streamed_parts: dict[tuple[int, str], set[int]] = {}
        self._finished_items: dict[int, msgspec.Raw] = {}
        self._has_client_calls = False
        self._refused = False

    def feed(self, frame: Frame) -> None:
        """Read one stream event, or the whole response."""
        if frame.data == b"[DONE]":
            return
        update = _update_decoder.decode(frame.data, self._odd_fields)
        event_type = update.type.removeprefix("response.")
        if not event_type[:1].isalpha():
            event_type = type_name(frame.event).removeprefix("response.") or self._infer_event_type(update)
        if event_type in _TEXT_EVENTS:
            self._read_text(_TEXT_EVENTS[event_type], update)
        elif update.object == "response" or update.output:
            self._finish(_response_decoder.decode(frame.data, self._odd_fields))
        elif event_type.endswith(("_call_arguments.delta", "_call_input.delta", "_call_code.delta")):
            key = self._keys.find(update.item_id, update.output_index)
            self._streamed_parts.setdefault((key, "call"), set()).add(0)
            self._emitter.append(key, _delta_text(update.delta))
        else:
            self._read_item_event(event_type, update, frame)

    def _infer_event_type(self, update: Update) -> str:
        """Return the type of an event that does not name it, from its fields and the block it belongs to."""
        if update.response is not None:
            return update.response.status or "created"
        if present(update.item):
            return "output_item.done"
        if update.delta is None:
            return ""
        kind = self._emitter.open_kind(self._keys.find(update.item_id, update.output_index))
        return _DELTA_TYPE_BY_KIND[kind or Kind.TEXT]

    def close(self) -> None:
        """Fail the turn: `response.completed` did not arrive."""
        self._texts.close()
        self._emitter.fail_cut_off("response.completed")

    def _read_item_event(self, event_type: str, update: Update, frame: Frame) -> None:
        match event_type:
            case "output_item.added" if present(update.item):
                item = _item_decoder.decode(update.item, self._odd_fields)
                self._start_item(self._keys.start(item.id or update.item_id, update.output_index), item)
            case "output_item.done" if present(update.item):
                item = _item_decoder.decode(update.item, self._odd_fields)
                key = self._keys.find(item.id or update.item_id, update.output_index)
                self._finish_item(key, item, update.item)
            case "completed" | "incomplete" | "failed" if update.response is not None:
                self._finish(update.response)
            case "error" | "failed":
                self._texts.close()
                self._emitter.fail(*parse_error(update.error if has_error(update.error) else frame.data))
            case "":
                read_unknown_frame(self._emitter, frame, self._texts.close)
            case _ if update.response is not None:
                self._emitter.start_turn(update.response.model)

    def _start_item(self, key: int, item: Item) -> None:
        if _item_type(item) == "reasoning":
            provenance = Provenance.UNKNOWN
            if item.summary:
                provenance = _PROVENANCE_BY_SOURCE["summary"]
            elif item.content:
                provenance = _PROVENANCE_BY_SOURCE["content"]
            self._emitter.start_block(key, Kind.REASONING, provenance=provenance)
        elif _item_type(item) not in ("message", "", *_SILENT_TYPES):
            self._has_client_calls = self._has_client_calls or item.type in _CLIENT_CALL_TYPES
            self._emitter.start_block(
                key, Kind.TOOL_CALL, name=item.name or _item_type(item), call_id=item.call_id or ""
            )

    def _read_text(self, text_event: tuple[Kind, str], update: Update) -> None:
        """Emit the text of a part: its delta, or the whole text if the server did not stream it."""
        kind, source = text_event
        if update.item_id != self._latest_id or not self._latest_id:
            self._latest_key = self._text_key(text_event, update)
            self._latest_id = update.item_id
        key = self._latest_key
        self._refused = self._refused or update.type == "response.refusal.delta"
        index = update.summary_index if source == "summary" else update.content_index
        part = index or 0
        if update.delta is not None:
            self._append_part(key, (source, part), kind, _delta_text(update.delta))
        elif not self._streamed(key, source, index):
            self._append_part(key, (source, part), kind, _delta_text(update.text))

    def _text_key(self, text_event: tuple[Kind, str], update: Update) -> int:
        """Return the key of the item of a text; the end of a text without id or index ends the latest one."""
        located = update.item_id or update.output_index is not None
        if not located and update.delta is None and text_event in self._latest_key_by_source:
            return self._latest_key_by_source[text_event]
        key = self._latest_key_by_source[text_event] = self._keys.find(update.item_id, update.output_index)
        return key

    def _streamed(self, key: int, source: str, index: int | None) -> bool:
        """Return whether text of a part was streamed; without its index, whether text of any part was."""
        parts = self._streamed_parts.get((key, source), ())
        return bool(parts) if index is None else index in parts

    def _append_part(self, key: int, part: tuple[str, int], kind: Kind, text: str) -> None:
        """Emit text of a part; each part of an item is a block of its own."""
        if not text:
            return
        if self._open_parts.setdefault(key, part) != part:
            self._texts.end(key)
            self._open_parts[key] = part
        self._streamed_parts.setdefault((key, part[0]), set()).add(part[1])
        if kind is Kind.TEXT:
            self._texts.append(key, text)
        else:
            if self._texts.enabled and not text.isspace():
                self._texts.disable_tags()
            self._emitter.append_or_start(key, kind, text, _PROVENANCE_BY_SOURCE[part[0]])

    def _finish_item(self, key: int, item: Item, raw: msgspec.Raw) -> None:
        self._finished_items[key] = raw
        self._keys.finish(key)
        self._latest_id = None
        if not self._emitter.has_block(key):
            self._start_item(key, item)
        match _item_type(item):
            case "reasoning":
                self._append_unstreamed_parts(key, "summary", Kind.REASONING, item.summary)
                self._append_unstreamed_parts(key, "content", Kind.REASONING, item.content)
                form = SealForm.ENCRYPTED if item.encrypted_content else SealForm.ITEM
                self._emitter.seal(key, form, raw_json(raw))
            case "message":
                self._append_unstreamed_parts(key, "content", Kind.TEXT, item.content)
            case item_type if item_type in _SILENT_TYPES:
                if has_error(item.error):
                    self._emitter.add_notice(item_type, parse_error(item.error)[1])
            case _:
                self._finish_call(key, item)
        self._texts.end(key)

    def _append_unstreamed_parts(self, index: int, source: str, kind: Kind, parts: list[Part] | None) -> None:
        """Emit the parts of an item, unless they were streamed."""
        if (index, source) in self._streamed_parts:
            return
        self._refused = self._refused or any(part.refusal for part in parts or ())
        for number, part in enumerate(parts or ()):
            self._append_part(index, (source, number), kind, part.text or part.refusal or "")

    def _finish_call(self, index: int, item: Item) -> None:
        if (index, "call") not in self._streamed_parts:
            arguments = (
                string_or_json(item.arguments)
                or string_or_json(item.input)
                or item.code
                or raw_json(item.action)
            )
            self._emitter.append(index, arguments)
        if item.type not in _CLIENT_CALL_TYPES:
            result = string_or_json(item.output) or raw_json(item.outputs) or raw_json(item.results)
            error = str(parse_error(item.error)[1]) if has_error(item.error) else ""
            self._emitter.finish_tool(index, result, error)

    def _finish(self, response: Response) -> None:
        self._emitter.start_turn(response.model)
        for position, raw in enumerate(response.output or ()):
            item = _item_decoder.decode(raw, self._odd_fields)
            key = self._keys.match(item.id, position)
            if key not in self._finished_items:
                self._finish_item(key, item, raw)
        self._texts.close()
        self._report_usage(response.usage)
        if has_error(response.error) or response.status == "failed":
            self._emitter.fail(*parse_error(response.error or b'"the response failed"'))
            return
        finish, reason = self._finish_of(response)
        self._emitter.finish(
            finish,
            reason,
            raw_json_array(self._finished_items[index] for index in sorted(self._finished_items)),
        )

    def _finish_of(self, response: Response) -> tuple[Finish, str]:
        status = response.status or ""
        if status == "incomplete":
            reason = (response.incomplete_details and response.incomplete_details.reason) or status
            return _FINISH_BY_INCOMPLETE_REASON.get(reason, Finish.UNKNOWN), reason
        if status == "cancelled":
            return Finish.CANCELLED, status
        if self._refused:
            return Finish.REFUSAL, status
        return (Finish.TOOL_CALLS if self._has_client_calls else Finish.STOP), status

    def _report_usage(self, counts: Counts | None) -> None:
        if counts is None:
            return
        output_details, input_details = counts.output_tokens_details, counts.input_tokens_details
        self._emitter.report_usage(
            Usage(
                input=counts.input_tokens,
                output=counts.output_tokens,
                reasoning=output_details.reasoning_tokens if output_details else None,
                cache_read=input_details.cached_tokens if input_details else None,
                cache_write=input_details.cache_write_tokens if input_details else None,
            )
        )


def _delta_text(delta: str | dict[str, Any] | None) -> str:
    """Return the text of a delta, which some servers send as an object with a text."""
    if isinstance(delta, dict):
        return text_of(delta["text"]) if "text" in delta else encode_json(delta)
    return delta or ""


def _item_type(item: Item) -> str:
    """Return the type of an item, from its other fields if it is not named."""
    if type_name(item.type):
        return item.type
    if item.summary is not None:
        return "reasoning"
    if item.content is not None:
        return "message"
    return "tool_call" if item.name is not None else ""
