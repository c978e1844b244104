"""OpenAI Responses, and everyone who speaks it: Azure, xAI, OpenRouter, vLLM, LM Studio.

A turn is a list of items. A reasoning item starts a thought at once, though its text may come much later
or never; each part of its summary is a thought of its own, and the last of them carries the item itself
as its seal, taken when the item is done. What a server does not stream it sends with the item or with
the response, and is told from there.
"""

import msgspec

from thinkaloud.canon import Finish, Kind, Provenance, SealForm, Usage
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.faults import is_error, read_error
from thinkaloud.dialects.verbatim import ABSENT, present, raw_array, raw_string, raw_text
from thinkaloud.wire import Frame

NAME = "openai_responses"

_INCOMPLETE = {
    "max_output_tokens": Finish.LENGTH,
    "max_messages": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}
_CALLS_OF_OURS = ("function_call", "custom_tool_call")
_TEXT_EVENTS = {
    "output_text.delta": (Kind.TEXT, "content"),
    "output_text.done": (Kind.TEXT, "content"),
    "refusal.delta": (Kind.TEXT, "content"),
    "reasoning_summary_text.delta": (Kind.REASONING, "summary"),
    "reasoning_summary_text.done": (Kind.REASONING, "summary"),
    "reasoning_text.delta": (Kind.REASONING, "content"),
    "reasoning_text.done": (Kind.REASONING, "content"),
}
"""Events that carry text: what it is, and which of the item's lists it belongs to."""
_PROVENANCE = {"summary": Provenance.SUMMARY, "content": Provenance.RAW}


class OutputDetails(msgspec.Struct):
    """What is inside the output tokens."""

    reasoning_tokens: int | None = None


class InputDetails(msgspec.Struct):
    """What is inside the input tokens."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Counts(msgspec.Struct):
    """Usage; output includes reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None
    input_tokens_details: InputDetails | None = None


class Part(msgspec.Struct):
    """A part of a summary, of raw reasoning or of a message."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """A reasoning item, a message, a call of ours, or a tool that the provider runs itself."""

    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    code: str | None = None
    encrypted_content: str | None = None
    summary: list[Part] | None = None
    content: list[Part] | None = None
    output: msgspec.Raw = ABSENT
    outputs: msgspec.Raw = ABSENT
    results: msgspec.Raw = ABSENT
    action: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class Incomplete(msgspec.Struct):
    """Why a response is not complete."""

    reason: str | None = None


class Response(msgspec.Struct):
    """A whole response, or the frame of one that comes in events."""

    model: str | None = None
    status: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT
    incomplete_details: Incomplete | None = None


class Update(msgspec.Struct):
    """One event of a stream."""

    type: str = ""
    object: str | None = None
    output_index: int = 0
    summary_index: int | None = None
    content_index: int | None = None
    delta: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    item: msgspec.Raw = ABSENT
    response: Response | None = None
    error: msgspec.Raw = ABSENT


_update = msgspec.json.Decoder(Update)
_response = msgspec.json.Decoder(Response)
_item = msgspec.json.Decoder(Item)


class Reader:
    """Reads one response."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._parts: dict[int, tuple[str, int]] = {}
        self._told: dict[tuple[int, str], set[int]] = {}
        self._done: dict[int, msgspec.Raw] = {}
        self._called = False
        self._refused = False

    def feed(self, frame: Frame) -> None:
        """One event, or the whole response."""
        if frame.data == b"[DONE]":
            return
        update = _update.decode(frame.data)
        if update.object == "response":
            self._end(_response.decode(frame.data))
            return
        kind = update.type.removeprefix("response.")
        if kind in _TEXT_EVENTS:
            self._say(_TEXT_EVENTS[kind], update)
        elif kind.endswith(("_call_arguments.delta", "_call_input.delta", "_call_code.delta")):
            self._told.setdefault((update.output_index, "call"), set()).add(0)
            self._blocks.grow(update.output_index, raw_string(update.delta))
        else:
            self._read_other(kind, update, frame)

    def close(self) -> None:
        """The bytes ended."""
        self._blocks.cut_off("response.completed")

    def _read_other(self, kind: str, update: Update, frame: Frame) -> None:
        match kind:
            case "output_item.added" if present(update.item):
                self._start(update.output_index, _item.decode(update.item))
            case "output_item.done" if present(update.item):
                self._finish_item(update.output_index, update.item)
            case "completed" | "incomplete" | "failed" if update.response is not None:
                self._end(update.response)
            case "error":
                self._blocks.fail(*read_error(update.error if is_error(update.error) else frame.data))
            case _ if update.response is not None:
                self._blocks.begin(update.response.model)

    def _start(self, index: int, item: Item) -> None:
        if item.type == "reasoning":
            source = "summary" if item.summary else "content" if item.content else ""
            self._blocks.start(index, Kind.REASONING, provenance=_PROVENANCE.get(source, Provenance.UNKNOWN))
        elif item.type != "message":
            self._called = self._called or item.type in _CALLS_OF_OURS
            self._blocks.start(index, Kind.TOOL_CALL, name=item.name or item.type, call_id=item.call_id or "")

    def _say(self, event: tuple[Kind, str], update: Update) -> None:
        """Tell a part's text: its delta, or all of it where the server did not stream it."""
        kind, source = event
        self._refused = self._refused or update.type == "response.refusal.delta"
        part = (update.summary_index if source == "summary" else update.content_index) or 0
        if present(update.delta):
            self._tell(update.output_index, (source, part), kind, raw_string(update.delta))
        elif part not in self._told.get((update.output_index, source), ()):
            self._tell(update.output_index, (source, part), kind, raw_string(update.text))

    def _tell(self, index: int, part: tuple[str, int], kind: Kind, text: str) -> None:
        """Tell text of a part; another part of the same item is another block."""
        if not text:
            return
        if self._parts.setdefault(index, part) != part:
            self._blocks.end(index)
            self._parts[index] = part
        self._told.setdefault((index, part[0]), set()).add(part[1])
        self._blocks.say(
            index, kind, text, _PROVENANCE[part[0]] if kind is Kind.REASONING else Provenance.UNKNOWN
        )

    def _finish_item(self, index: int, raw: msgspec.Raw) -> None:
        item = _item.decode(raw)
        self._done[index] = raw
        if not self._blocks.known(index):
            self._start(index, item)
        match item.type:
            case "reasoning":
                self._tell_whole(index, "summary", Kind.REASONING, item.summary)
                self._tell_whole(index, "content", Kind.REASONING, item.content)
                form = SealForm.ENCRYPTED if item.encrypted_content else SealForm.ITEM
                self._blocks.seal(index, form, raw_text(raw))
            case "message":
                self._tell_whole(index, "content", Kind.TEXT, item.content)
            case _:
                self._finish_call(index, item)
        self._blocks.end(index)

    def _tell_whole(self, index: int, source: str, kind: Kind, parts: list[Part] | None) -> None:
        """Tell the parts of an item, unless they were streamed."""
        if (index, source) in self._told:
            return
        self._refused = self._refused or any(part.refusal for part in parts or ())
        for number, part in enumerate(parts or ()):
            self._tell(index, (source, number), kind, part.text or part.refusal or "")

    def _finish_call(self, index: int, item: Item) -> None:
        if (index, "call") not in self._told:
            arguments = (
                raw_string(item.arguments) or raw_string(item.input) or item.code or raw_text(item.action)
            )
            self._blocks.grow(index, arguments)
        if item.type not in _CALLS_OF_OURS:
            result = raw_string(item.output) or raw_text(item.outputs) or raw_text(item.results)
            error = read_error(item.error)[1] if is_error(item.error) else ""
            self._blocks.finish_tool(index, result, error)

    def _end(self, response: Response) -> None:
        self._blocks.begin(response.model)
        for index, raw in enumerate(response.output or ()):
            if index not in self._done:
                self._finish_item(index, raw)
        self._count(response.usage)
        if is_error(response.error) or response.status == "failed":
            self._blocks.fail(*read_error(response.error or b'"the response failed"'))
            return
        finish, said = self._why(response)
        self._blocks.finish(finish, said, raw_array(self._done[index] for index in sorted(self._done)))

    def _why(self, response: Response) -> tuple[Finish, str]:
        status = response.status or ""
        if status == "incomplete":
            reason = (response.incomplete_details and response.incomplete_details.reason) or status
            return _INCOMPLETE.get(reason, Finish.UNKNOWN), reason
        if status == "cancelled":
            return Finish.CANCELLED, status
        if self._refused:
            return Finish.REFUSAL, status
        return (Finish.TOOL_CALLS if self._called else Finish.STOP), status

    def _count(self, counts: Counts | None) -> None:
        if counts is None:
            return
        out, prompt = counts.output_tokens_details, counts.input_tokens_details
        self._blocks.report(
            Usage(
                input=counts.input_tokens,
                output=counts.output_tokens,
                reasoning=out.reasoning_tokens if out else None,
                cache_read=prompt.cached_tokens if prompt else None,
                cache_write=prompt.cache_write_tokens if prompt else None,
            )
        )
