"""Builds a request from a conversation, with a report of what was sent, what was not, and why.

A turn is sent back byte for byte to the model that issued it, as far as the provider's replay rule allows,
and in plain form to every other model. One model's thoughts never become another model's words. Calls in
plain form have a unique id and a JSON object as arguments. The fingerprint covers the messages as they are
sent: a changed byte before a prefix-bound thought invalidates it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from thinkaloud.core.canon import Kind, SealForm, Wording
from thinkaloud.core.canon.requests import (
    AssistantMessage,
    CacheMarks,
    File,
    Image,
    Message,
    Request,
    RouteSettings,
    ThinkingLevel,
    ThinkingParameters,
    ThinkingSetting,
    ToolCall,
    ToolDefinition,
    UserMessage,
)
from thinkaloud.core.catalog import resolve_thinking
from thinkaloud.core.catalog.rows import CacheForm, InputKind, ReplayForm, ReplayScope, ResultImages, Route
from thinkaloud.core.catalog.thinking import thinks
from thinkaloud.core.context.context import AnsweredTurn, Context
from thinkaloud.core.context.history import SentTurn, analyse
from thinkaloud.core.context.replay_rules import (
    BuildOptions,
    ReplayRules,
    UnsupportedThoughts,
    issued_by_route,
)
from thinkaloud.core.context.report import Report, ReportLine, SendStatus
from thinkaloud.core.transcript import Block

_encoder = msgspec.json.Encoder(order="deterministic")
_MESSAGE_MARKS = 2
"""With those after tools and system prompt this makes four, the most that Anthropic allows.

The last mark is what the next request reads. The one before is what this request reads; the provider would
not find it by itself behind a reply of many blocks.
"""
_KEY_CHARACTERS = 32
_PAUSED_NOTE = Wording(
    "Thinking is off for this request: the open tool loop contains an answer without a thought of this "
    "model, and the model refuses that when it has a budget. Thinking is on again after the next user "
    "message."
)
_DROPPED_NOTE = Wording(
    "The provider is asked to drop thoughts that are no longer valid: something before the open tool loop "
    "changed, and the loop cannot continue without them."
)


class PrefixHash:
    """An incremental fingerprint; each message costs only its own length."""

    def __init__(self, system: str, tools: Iterable[ToolDefinition]) -> None:
        self._hash = hashlib.sha256(_encoder.encode((system, tuple(tools))))

    def add(self, message: Message) -> None:
        """Add a message."""
        self._hash.update(b"\n")
        self._hash.update(_encoder.encode(message))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything added so far, in hex."""
        return self._hash.copy().hexdigest()


def fingerprint(system: str, tools: Iterable[ToolDefinition], messages: Iterable[Message]) -> str:
    """Return the SHA-256 of the canonical JSON of everything before an answer, in hex."""
    prefix = PrefixHash(system, tools)
    for message in messages:
        prefix.add(message)
    return prefix.fingerprint


RESULT_IMAGES = "(The tools above returned these images.)"
MAX_NOTE_CHARACTERS = 280
"""Length limit of a note about another model's thought. A longer one costs more than it helps."""

_NOTE_TEMPLATE = "(For context: before the answer above, another model thought, in short: {thought})"


def thought_note(thoughts: Sequence[Block]) -> str:
    """Return one short note about these thoughts."""
    return _NOTE_TEMPLATE.format(thought=_shorten(" ".join(block.text for block in thoughts)))


def _shorten(text: str) -> str:
    flat_text = " ".join(text.split())
    if len(flat_text) <= MAX_NOTE_CHARACTERS:
        return flat_text
    return flat_text[: MAX_NOTE_CHARACTERS - 1].rstrip() + "…"


class PlainCalls:
    """Converts calls to plain form and keeps their ids unique within the request."""

    def __init__(self) -> None:
        self._used_ids: set[str] = set()

    def reserve(self, call_id: str) -> None:
        """Mark an id as used."""
        self._used_ids.add(call_id)

    def calls(self, sent_turn: SentTurn, *, signed: bool) -> dict[int, tuple[ToolCall, str]]:
        """Return the answered calls of a turn by block number, each with its reason code."""
        return {block.number: self._call(sent_turn.step, block, signed) for block, _ in sent_turn.calls}

    def _call(self, step: int, block: Block, signed: bool) -> tuple[ToolCall, str]:
        code = "plain"
        call_id = block.call_id
        if not call_id or call_id in self._used_ids:
            code = "renamed"
            call_id = f"{call_id or 'call'}_{step}_{block.number}"
        self._used_ids.add(call_id)
        arguments = block.text or "{}"
        if not _encodes_object(arguments):
            code = "wrapped"
            arguments = msgspec.json.encode({"input": arguments}).decode()
        signature = _signature(block) if signed else ""
        return ToolCall(call_id, block.name, arguments, signature), code


def _encodes_object(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False
    return True


def _signature(block: Block) -> str:
    return next((seal.payload for seal in block.seals if seal.form is SealForm.SIGNATURE), "")


class BuiltRequest(msgspec.Struct, frozen=True):
    """A request, the report, and the fingerprint to store with the answer (`AnsweredTurn.prefix`)."""

    request: Request
    report: Report
    prefix: str


def build(conversation: Context, route: Route, options: BuildOptions | None = None) -> BuiltRequest:
    """Build the request that asks this route to continue the conversation."""
    options = options or BuildOptions()
    builder = _RequestBuilder(conversation, route, options)
    builder.run()
    ask, notes = _fit_open_loop(
        options.thinking,
        route,
        builder.loop,
        builder.turns_without_thought,
        drops=builder.replay_rules.drops_blocks,
    )
    settings = {name: getattr(options, name) for name in RouteSettings.__struct_fields__}
    request = Request(
        **settings | {"thinking": ask},
        model=route.model_id,
        messages=tuple(builder.messages),
        system=conversation.system,
        tools=conversation.tools,
        cache=_place_marks(conversation, builder.messages, route) if options.cache else CacheMarks(),
    )
    replaced = builder.inputs_replaced.items()
    notes = (*notes, *(replaced_note(route.model_id, kind, count) for kind, count in replaced))
    if builder.result_images_replaced:
        notes = (*notes, replaced_result_note(route.provider.name, builder.result_images_replaced))
    return BuiltRequest(request, Report(tuple(builder.lines), notes), builder.prefix.fingerprint)


class _RequestBuilder:
    """Goes through the steps once, in order.

    Messages already added never change, so that prompt caches hold.
    """

    def __init__(self, conversation: Context, route: Route, options: BuildOptions) -> None:
        self._steps = conversation.steps
        self._route = route
        self._unsupported = options.unsupported
        self._mode = options.thinking.mode
        self._history = analyse(self._steps, self._requires_thought)
        self.loop = self._history.open_loop
        self.replay_rules = ReplayRules(route, options, self.loop)
        self._last_user_step = max(
            (number for number, step in enumerate(self._steps) if isinstance(step, UserMessage)), default=-1
        )
        self._plain_calls = PlainCalls()
        self._foreign_thoughts: list[Block] = []
        self.messages: list[Message] = []
        self.lines: list[ReportLine] = []
        self.turns_without_thought: set[int] = set()
        """Turns sent without a thought. In an open loop they rule out a thinking budget."""
        self.inputs_replaced: Counter[InputKind] = Counter()
        self.result_images_replaced = 0
        self.prefix = PrefixHash(conversation.system, conversation.tools)

    def _requires_thought(self, answered: AnsweredTurn) -> bool:
        """Return whether the provider refuses a call of this turn without its thought."""
        rule = self._route.replay
        required = rule.form is ReplayForm.VERBATIM and rule.required is not ReplayScope.NONE
        return (
            required and self._mode not in ("enabled", "disabled") and issued_by_route(answered, self._route)
        )

    def run(self) -> None:
        """Add every step to the request and to the report."""
        for number, step in enumerate(self._steps):
            if isinstance(step, AnsweredTurn):
                self._append_turn(self._history.turns[number])
            elif isinstance(step, UserMessage):
                self._append(self._with_thought_note(self._with_seen_inputs(number, step)))
            elif number in self._history.unmatched_results:
                self.lines.append(
                    ReportLine(
                        number,
                        None,
                        "tool_result",
                        SendStatus.WITHHELD,
                        self._history.unmatched_results[number],
                    )
                )

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.prefix.add(message)

    def _with_seen_inputs(self, number: int, message: UserMessage) -> UserMessage:
        """Replace what the model is known not to take by a note; it would refuse the whole request."""
        images = message.images if self._takes(InputKind.IMAGE) else ()
        files = tuple(file for file in message.files if self._takes(input_kind(file)))
        missing = Counter(input_kind(file) for file in message.files if file not in files)
        if len(message.images) > len(images):
            missing[InputKind.IMAGE] = len(message.images)
        if not missing:
            return message
        self.inputs_replaced += missing
        for kind, count in missing.items():
            name = "image" if kind is InputKind.IMAGE else "file"
            line = ReportLine(number, None, name, SendStatus.TRANSFORMED, INPUT_CODES[kind])
            self.lines += [line] * count
        notes = (input_note(kind, count) for kind, count in missing.items())
        text = "\n\n".join(filter(None, (message.text, *notes)))
        return UserMessage(text, images, files)

    def _without_result_images(self, number: int, message: UserMessage) -> UserMessage:
        """Replace the images of a tool result by a note, for an API that has no place for them."""
        if not message.images:
            return message
        count = len(message.images)
        self.result_images_replaced += count
        line = ReportLine(number, None, "image", SendStatus.TRANSFORMED, "no_result_images")
        self.lines += [line] * count
        return UserMessage("\n\n".join(text for text in (message.text, result_note(count)) if text))

    def _takes(self, kind: InputKind) -> bool:
        """Return whether a request may hold this kind; a model of which that is unknown may take it."""
        inputs = self._route.model.inputs
        return kind in self._route.provider.inputs and (inputs is None or kind in inputs)

    def _with_thought_note(self, message: UserMessage) -> UserMessage:
        if not self._foreign_thoughts:
            return message
        note_text, self._foreign_thoughts = thought_note(self._foreign_thoughts), []
        return msgspec.structs.replace(
            message, text=f"{note_text}\n\n{message.text}" if message.text else note_text
        )

    def _append_turn(self, sent_turn: SentTurn) -> None:
        if sent_turn.omit_reason:
            self._withhold(sent_turn, sent_turn.omit_reason)
            return
        decision = self.replay_rules.decide(sent_turn, self.prefix.fingerprint)
        if decision in ("verbatim", "drop_block"):
            self._append_verbatim(sent_turn, decision)
        elif sent_turn.has_answer or sent_turn.calls:
            self._append_plain(sent_turn, decision)
        else:
            self._withhold(sent_turn, "server_tool")

    def _withhold(self, sent_turn: SentTurn, code: str) -> None:
        lines = [
            self._line(sent_turn, block, *_status_withheld(block, code)) for block in sent_turn.turn.blocks
        ]
        self.lines += lines or [ReportLine(sent_turn.step, None, "turn", SendStatus.WITHHELD, code)]

    def _append_results(self, sent_turn: SentTurn, call_ids: dict[int, str]) -> None:
        """Append the results of a turn, with their images where this model takes them."""
        place = self._route.model.result_images or self._route.provider.result_images
        images: tuple[Image, ...] = ()
        for block, result in sent_turn.calls:
            seen = self._with_seen_inputs(sent_turn.step, UserMessage(result.result, result.images))
            if place is ResultImages.NONE:
                seen = self._without_result_images(sent_turn.step, seen)
            elif place is ResultImages.FOLLOWING:
                images += seen.images
            self._append(
                msgspec.structs.replace(
                    result,
                    call_id=call_ids[block.number],
                    name=result.name or block.name,
                    result=seen.text,
                    images=seen.images if place is ResultImages.INSIDE else (),
                )
            )
        if images:
            self._append(UserMessage(RESULT_IMAGES, images))

    def _append_verbatim(self, sent_turn: SentTurn, decision: str) -> None:
        assert sent_turn.turn.message is not None
        payload = sent_turn.turn.message.payload
        drops_blank = self._route.replay.drops_blank_text
        self._append(AssistantMessage(verbatim=without_blank_text(payload) if drops_blank else payload))
        for block, _ in sent_turn.calls:
            self._plain_calls.reserve(block.call_id)
        self._append_results(sent_turn, {block.number: block.call_id for block, _ in sent_turn.calls})
        if not sent_turn.has_thought:
            self.turns_without_thought.add(sent_turn.step)
        self.lines += [
            self._line(sent_turn, block, *_status_verbatim(block, decision, drops_blank=drops_blank))
            for block in sent_turn.turn.blocks
        ]

    def _append_plain(self, sent_turn: SentTurn, decision: str) -> None:
        calls = self._plain_calls.calls(sent_turn, signed=decision == "no_message")
        self._append(
            AssistantMessage(
                text=sent_turn.turn.answer if sent_turn.has_answer else "",
                calls=tuple(call for call, _ in calls.values()),
                **self._reasoning_fields(sent_turn, decision),
            )
        )
        self._append_results(sent_turn, {number: call.call_id for number, (call, _) in calls.items()})
        self.turns_without_thought.add(sent_turn.step)
        self.lines += [
            self._line(sent_turn, block, *self._status_plain(sent_turn, block, decision, calls))
            for block in sent_turn.turn.blocks
        ]

    def _reasoning_fields(self, sent_turn: SentTurn, decision: str) -> dict[str, str]:
        text = sent_turn.turn.reasoning if decision == "field" else ""
        if text or self.replay_rules.needs_empty_field(sent_turn):
            return {"reasoning": text, "reasoning_field": self._route.replay.field}
        return {}

    def _status_plain(
        self, sent_turn: SentTurn, block: Block, decision: str, calls: dict[int, tuple[ToolCall, str]]
    ) -> tuple[SendStatus, str]:
        if block.kind is Kind.REASONING:
            return self._status_of_thought(sent_turn, block, decision)
        if block.kind is Kind.TEXT:
            return (SendStatus.WITHHELD, "empty") if block.blank else (SendStatus.SENT, "plain")
        if block.number in calls:
            code = calls[block.number][1]
            return (SendStatus.SENT if code == "plain" else SendStatus.TRANSFORMED), code
        return SendStatus.WITHHELD, "server_tool" if block.number in sent_turn.server_calls else "unanswered"

    def _status_of_thought(self, sent_turn: SentTurn, block: Block, decision: str) -> tuple[SendStatus, str]:
        if decision == "field":
            return (SendStatus.WITHHELD, "empty") if not block.text else (SendStatus.SENT, "field")
        if decision != "foreign" or self._unsupported is UnsupportedThoughts.METADATA:
            return SendStatus.WITHHELD, decision
        if self._unsupported is UnsupportedThoughts.STRIP:
            return SendStatus.WITHHELD, "stripped"
        if block.blank or block.parent is not None or sent_turn.step > self._last_user_step:
            return SendStatus.WITHHELD, "foreign"
        self._foreign_thoughts.append(block)
        return SendStatus.TRANSFORMED, "note"

    def _line(self, sent_turn: SentTurn, block: Block, status: SendStatus, code: str) -> ReportLine:
        if block.parent is not None:
            status, code = SendStatus.WITHHELD, "nested"
        return ReportLine(
            sent_turn.step, block.number, block.kind, status, code, _reasoning_tokens(sent_turn, block)
        )


def _status_verbatim(block: Block, decision: str, *, drops_blank: bool) -> tuple[SendStatus, str]:
    if drops_blank and block.kind is Kind.TEXT and block.blank:
        return SendStatus.WITHHELD, "blank"
    return SendStatus.SENT, decision if block.kind is Kind.REASONING else "verbatim"


def _status_withheld(block: Block, code: str) -> tuple[SendStatus, str]:
    if block.kind is Kind.TEXT and block.blank:
        return SendStatus.WITHHELD, "empty"
    return SendStatus.WITHHELD, code


def _reasoning_tokens(sent_turn: SentTurn, block: Block) -> int | None:
    """Return the tokens of a thought; known only if the turn has a single thought."""
    if block.kind is not Kind.REASONING or block.parent is not None:
        return None
    return sent_turn.turn.usage.reasoning if len(sent_turn.turn.own_blocks(Kind.REASONING)) == 1 else None


class _ContentBlock(msgspec.Struct):
    type: str = "text"
    text: str | None = None


_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_blocks_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_block_decoder = msgspec.json.Decoder(_ContentBlock)


def without_blank_text(message: str) -> str:
    """Return the message without blank text blocks. All other bytes of its content stay as they are."""
    fields = _fields_decoder.decode(message)
    content = fields.get("content", msgspec.Raw(b""))
    if bytes(content)[:1] != b"[":
        return message
    blocks = _blocks_decoder.decode(content)
    kept = [block for block in blocks if not _blank(block)]
    if len(kept) == len(blocks):
        return message
    fields["content"] = msgspec.Raw(msgspec.json.encode(kept))
    return msgspec.json.encode(fields).decode()


def _blank(raw: msgspec.Raw) -> bool:
    block = _block_decoder.decode(raw)
    return block.type == "text" and block.text is not None and not block.text.strip()


_INPUT_NAMES = {
    InputKind.IMAGE: ("An image", "images"),
    InputKind.PDF: ("A PDF file", "PDF files"),
    InputKind.AUDIO: ("A recording", "recordings"),
}
_KINDS = {
    InputKind.IMAGE: Wording("images"),
    InputKind.PDF: Wording("PDF files"),
    InputKind.AUDIO: Wording("recordings"),
}
_REPLACED = {
    InputKind.IMAGE: Wording("an image was"),
    InputKind.PDF: Wording("a PDF file was"),
    InputKind.AUDIO: Wording("a recording was"),
}
INPUT_CODES = {InputKind.IMAGE: "no_images", InputKind.PDF: "no_files", InputKind.AUDIO: "no_audio"}
"""The reason code of the report for each kind."""


def input_kind(file: File) -> InputKind:
    """Return what a model must take to read this file."""
    return InputKind.AUDIO if file.media_type.startswith("audio/") else InputKind.PDF


def input_note(kind: InputKind, count: int) -> str:
    """Return the note that takes the place of images or files which the model cannot take."""
    return f"({_counted(kind, count)} attached here, which this model does not take.)"


def result_note(count: int) -> str:
    """Return the note that takes the place of images in a tool result."""
    return f"({_counted(InputKind.IMAGE, count)} returned here, which cannot be sent as a tool result.)"


def replaced_result_note(provider: str, count: int) -> Wording:
    """Return the sentence for the report that says what of tool results was replaced."""
    return Wording(
        "{provider} takes no images in tool results, so {what} replaced by a note in the text.",
        provider=provider,
        what=_replaced(InputKind.IMAGE, count),
    )


def replaced_note(model: str, kind: InputKind, count: int) -> Wording:
    """Return the sentence for the report that says what was replaced."""
    return Wording(
        "{model} takes no {kinds}, so {what} replaced by a note in the text.",
        model=model,
        kinds=_KINDS[kind],
        what=_replaced(kind, count),
    )


def _replaced(kind: InputKind, count: int) -> Wording:
    if count == 1:
        return _REPLACED[kind]
    return Wording("{count} {kinds} were", count=count, kinds=_KINDS[kind])


def _counted(kind: InputKind, count: int) -> str:
    one, many = _INPUT_NAMES[kind]
    return f"{one} was" if count == 1 else f"{count} {many} were"


def _fit_open_loop(
    ask: ThinkingParameters,
    route: Route,
    loop: frozenset[int],
    turns_without_thought: set[int],
    *,
    drops: bool,
) -> tuple[ThinkingParameters, tuple[Wording, ...]]:
    """Adapt the thinking parameters to the open tool loop, and return notes about the change.

    With a budget, a loop must begin and end with a thought; another model's answer has none that may be sent.
    A required thought whose prefix changed is sent together with the instruction to drop it (`drops`).
    """
    ends = {min(loop), max(loop)} if loop else set()
    if _thought_first(ask, route) and ends & turns_without_thought:
        off = resolve_thinking(
            route, ThinkingSetting(level=ThinkingLevel.OFF), max_tokens=ask.max_tokens, tools=True
        )
        return msgspec.structs.replace(off, max_tokens=ask.max_tokens, notes=ask.notes), (_PAUSED_NOTE,)
    if drops:
        template = (*ask.template, ("block_binding", "drop_block"))
        return msgspec.structs.replace(ask, mode=ask.mode or "adaptive", template=template), (_DROPPED_NOTE,)
    return ask, ()


def _thought_first(ask: ThinkingParameters, route: Route) -> bool:
    """Return whether the model refuses an open tool loop that has no thought of it at its ends."""
    rule = route.replay
    if rule.thought_first:
        return thinks(route.model, ask)
    return (
        ask.mode == "enabled" and rule.form is ReplayForm.VERBATIM and rule.required is not ReplayScope.NONE
    )


def _place_marks(context: Context, messages: Sequence[Message], route: Route) -> CacheMarks:
    """Return the cache marks for a request with these messages, in the form that the provider takes.

    A provider stores the request up to a mark and bills the same beginning at a lower price the next time.
    Storing costs extra, so a request gets marks only if another one will probably begin with it.
    """
    form = route.model.cache.get(route.provider.name, route.provider.cache)
    repeated = bool(context.tools) or any(isinstance(message, AssistantMessage) for message in messages)
    if not repeated or form is CacheForm.NONE:
        return CacheMarks()
    if form is CacheForm.KEY:
        start = _encoder.encode((context.system, context.tools, messages[:1]))
        return CacheMarks(key=hashlib.sha256(start).hexdigest()[:_KEY_CHARACTERS])
    if form is CacheForm.AUTOMATIC:
        return CacheMarks(automatic=True)
    return CacheMarks(
        tools=bool(context.tools),
        system=bool(context.system),
        messages=tuple(_run_ends(messages)[-_MESSAGE_MARKS:]),
    )


def _run_ends(messages: Sequence[Message]) -> list[int]:
    """Return the positions of the last message before each answer, and of the last message of all."""
    from_user = [not isinstance(message, AssistantMessage) for message in messages]
    ends = []
    for position, (own, following) in enumerate(pairwise([*from_user, False])):
        if own and not following:
            ends.append(position)
    return ends
