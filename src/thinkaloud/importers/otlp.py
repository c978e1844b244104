"""Traces of OpenTelemetry: requests to models, joined into the conversations that they belong to.

A request tells the whole conversation before it. One that goes on with what another one answered belongs to
the same conversation, in whichever trace it is. A trace that Thinkaloud wrote with seals has its turns as
they were stored; without them, its requests tell only what is new, and follow one another.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET

from thinkaloud.core.canon import Finish, Refused, TurnFailed, Usage, UsageReported, reason_of
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.dialects import Reader
from thinkaloud.core.export.client_answers import answer_of, normalized
from thinkaloud.core.export.otlp import EXCHANGE, FOLLOWS, SCOPE, TITLE
from thinkaloud.core.export.record import Exchange
from thinkaloud.core.transcript import CALL_KINDS, fold
from thinkaloud.importers.json_items import DamagedFile, Item
from thinkaloud.importers.json_values import array, string
from thinkaloud.importers.otlp_messages import (
    Message,
    Part,
    finish_of,
    input_messages,
    output_parts,
    usage_of,
)
from thinkaloud.importers.otlp_spans import Trace, TraceSpan, has_spans
from thinkaloud.importers.replies import ReplyBuilder, anthropic_reply, read_reply, responses_reply
from thinkaloud.importers.source_conversation import (
    SourceContent,
    SourceConversation,
    SourceNode,
    SourceReply,
    UnreadCounter,
)

_MODEL_OPERATIONS = frozenset(("chat", "generate_content", "text_completion", "completion"))
_OTHER_OPERATIONS = frozenset(("invoke_agent", "create_agent", "execute_tool", "invoke_workflow", "plan"))
"""Spans around requests and beside them. What they tell is in the messages of the requests."""
_OTHER_KINDS = frozenset(("AGENT", "CHAIN", "TOOL", "PROMPT"))
_OUTPUTS = ("gen_ai.output.messages", "llm.output_messages.0.message.role", "gen_ai.completion.0.role")
_CONVERSATION_NAMES = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
_RESPONSE_DIALECTS = ("anthropic_messages", "openai_chat", "openai_responses", "gemini")
"""The dialects of whole responses that instrumentations keep."""
_ANTHROPIC_STOPS = {
    Finish.STOP: "end_turn",
    Finish.TOOL_CALLS: "tool_use",
    Finish.LENGTH: "max_tokens",
    Finish.REFUSAL: "refusal",
}
_exchange_decoder = msgspec.json.Decoder(Exchange)


def recognises(value: Any) -> bool:
    """Return whether an item is a request of OTLP with spans."""
    return has_spans(value)


def read(items: Iterable[Item], unread: UnreadCounter) -> Iterator[SourceConversation]:
    """Yield the conversations of all traces in a file."""
    trace = Trace(items, unread)
    own = _OwnTurns(unread)
    conversations = _Conversations(unread)
    for span in trace.spans:
        if span.scope == SCOPE and EXCHANGE in span.attributes:
            own.add(span)
    for span in _model_spans(trace, own.traces, unread):
        unread.line = span.line
        conversations.add(span, list(trace.ancestors(span)))
    yield from own.conversations()
    yield from conversations.result()


def _model_spans(trace: Trace, skipped: set[str], unread: UnreadCounter) -> Iterator[TraceSpan]:
    """Yield the requests to models. One within another is the same request, told by two instrumentations."""
    requests: dict[tuple[str, str], TraceSpan] = {}
    for span in trace.spans:
        if span.trace in skipped:
            continue
        if not _asks_model(span):
            operation = string(span.attributes, "gen_ai.operation.name")
            kind = string(span.attributes, "openinference.span.kind")
            if operation not in _OTHER_OPERATIONS and kind not in _OTHER_KINDS:
                unread.line = span.line
                unread.add("span that is no request to a model")
            continue
        around = next((other for other in trace.ancestors(span) if (other.trace, other.id) in requests), None)
        if around is None:
            requests[span.trace, span.id] = span
        else:
            around.attributes = span.attributes | around.attributes
    yield from requests.values()


def _asks_model(span: TraceSpan) -> bool:
    attributes = span.attributes
    operation, kind = (
        string(attributes, "gen_ai.operation.name"),
        string(attributes, "openinference.span.kind"),
    )
    if operation or kind:
        return operation in _MODEL_OPERATIONS or kind == "LLM"
    return any(name in attributes for name in _OUTPUTS)


class _OwnTurns:
    """Turns that Thinkaloud wrote with all that is stored of them."""

    def __init__(self, unread: UnreadCounter) -> None:
        self.traces: set[str] = set()
        self._unread = unread
        self._exchanges: dict[str, dict[str, Exchange]] = {}
        self._titles: dict[str, str] = {}

    def add(self, span: TraceSpan) -> None:
        """Add the turn of a span."""
        self._unread.line = span.line
        try:
            exchange = _exchange_decoder.decode(string(span.attributes, EXCHANGE))
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise DamagedFile(
                "Line {line}: the turn in the attribute {name} is damaged: {reason}. Export it again.",
                line=span.line,
                name=EXCHANGE,
                reason=reason_of(error),
            ) from None
        conversation = string(span.attributes, "gen_ai.conversation.id") or span.trace
        self.traces.add(span.trace)
        self._titles.setdefault(conversation, string(span.attributes, TITLE))
        exchange = msgspec.structs.replace(exchange, key=span.trace)
        self._exchanges.setdefault(conversation, {})[span.trace] = exchange

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield the sessions."""
        for conversation, exchanges in self._exchanges.items():
            ordered = tuple(_ordered(exchanges, self._unread))
            yield SourceConversation(
                id=conversation,
                nodes=(),
                title=self._titles[conversation],
                created_ms=ordered[0].created_ms if ordered else None,
                exchanges=ordered,
            )


def _ordered(exchanges: dict[str, Exchange], unread: UnreadCounter) -> Iterator[Exchange]:
    """Yield the turns, each after the one that it follows. One that is not in the file may be stored."""
    places: dict[str, int] = {}
    waiting = dict(exchanges)
    while waiting:
        ready = [key for key, exchange in waiting.items() if exchange.follows_key not in waiting]
        if not ready:
            unread.add("turn that follows itself", len(waiting))
            return
        for key in ready:
            exchange, follows_key = waiting.pop(key), exchanges[key].follows_key
            index = len(places)
            places[key] = index
            if follows_key is UNSET:
                follows = UNSET if index == 0 else -1
                yield msgspec.structs.replace(exchange, follows=follows)
            elif follows_key in places:
                place = places[follows_key]
                follows = UNSET if place == index - 1 else place
                yield msgspec.structs.replace(exchange, follows=follows, follows_key=UNSET)
            else:
                yield exchange


class _Conversation:
    """A conversation that grows request by request."""

    def __init__(self, name: str, model: str, created_ms: int | None, belongs_to: str = "") -> None:
        self.name = name
        self.model = model
        self.created_ms = created_ms
        self.belongs_to = belongs_to
        self.title = ""
        self.nodes: dict[str, SourceNode] = {}


class _Place(msgspec.Struct, frozen=True):
    """A message of a conversation, after which it can go on."""

    conversation: _Conversation
    node: str = ""


class _Conversations:
    """Joins requests into conversations."""

    def __init__(self, unread: UnreadCounter) -> None:
        self._unread = unread
        self._conversations: dict[str, _Conversation] = {}
        self._places: dict[tuple[str, ...], _Place] = {}
        """Where the conversation is after a message, by a hash of all messages up to it."""
        self._ends: dict[tuple[str, str], _Place] = {}
        """Where our own requests have led to, by their trace and the span of their caller."""

    def add(self, span: TraceSpan, ancestors: list[TraceSpan]) -> None:
        """Add a request and its answer."""
        messages = input_messages(span.attributes, self._unread)
        reply = _reply(span, self._unread)
        if reply is None and not messages:
            self._unread.add("request to a model whose messages the trace does not have")
            return
        contents = [content for message in messages for content in self._contents(message, span)]
        if reply is not None:
            contents.append(reply)
        if span.scope == SCOPE:
            self._go_on(span, ancestors, contents)
        else:
            self._join(span, contents)

    def result(self) -> Iterator[SourceConversation]:
        """Yield the conversations."""
        for conversation in self._conversations.values():
            nodes = tuple(conversation.nodes.values())
            yield SourceConversation(
                id=conversation.name,
                nodes=nodes,
                title=conversation.title,
                created_ms=conversation.created_ms,
                model=conversation.model,
                leaf=nodes[-1].id if nodes else "",
                belongs_to=conversation.belongs_to,
            )

    def _contents(self, message: Message, span: TraceSpan) -> Iterator[SourceContent]:
        results, prompt = message.results(), message.prompt()
        if message.role == "assistant" and message.parts:
            yield _reply_of_parts(message.parts, _model(span), Finish.STOP)
            return
        if results:
            yield results
        if prompt is not None:
            yield prompt
        elif not results:
            self._unread.add("message of which nothing was understood")

    def _join(self, span: TraceSpan, contents: list[SourceContent]) -> None:
        """Add what is new of a request to the conversation that it goes on with, or to a new one."""
        named = next(filter(None, (string(span.attributes, name) for name in _CONVERSATION_NAMES)), "")
        keys, digest = list[tuple[str, ...]](), ""
        for content in contents:
            digest = sha256(f"{digest}{_comparable(content)}".encode(errors="replace")).hexdigest()
            # A prompt alone may begin many conversations. An answer tells them apart.
            scope = "" if isinstance(content, SourceReply) else named or span.trace
            keys.append((named, scope, digest))
        known = next((n for n in range(len(keys) - 1, -1, -1) if keys[n] in self._places), -1)
        if known >= 0:
            place = self._places[keys[known]]
        else:
            place = _Place(self._conversation(named or span.trace, span))
        for key, content in zip(keys[known + 1 :], contents[known + 1 :], strict=True):
            place = self._append(place, key[-1][:32], content, span)
            self._places[key] = place

    def _go_on(self, span: TraceSpan, ancestors: list[TraceSpan], contents: list[SourceContent]) -> None:
        """Add one of our own requests after the one before it."""
        caller, root = (ancestors[0], ancestors[-1]) if ancestors else (span, span)
        place = self._ends.get((span.trace, caller.id))
        if place is None and caller is root:
            followed = string(root.attributes, FOLLOWS)
            main = string(root.attributes, "gen_ai.conversation.id") or span.trace
            place = self._ends.get((followed, "")) or _Place(self._conversation(main, span))
            place.conversation.title = place.conversation.title or string(root.attributes, TITLE)
        elif place is None:
            main = string(root.attributes, "gen_ai.conversation.id") or span.trace
            nested = _Conversation(f"{main}/{caller.id}", _model(span), span.started_ms, main)
            place = _Place(self._conversations.setdefault(nested.name, nested))
        for number, content in enumerate(contents):
            place = self._append(place, f"{span.id}/{number}", content, span)
        self._ends[span.trace, caller.id] = place
        if caller is root:
            self._ends[span.trace, ""] = place

    def _conversation(self, name: str, span: TraceSpan) -> _Conversation:
        """Return a new conversation. Several may be in one session or trace of another program."""
        unique = name if name not in self._conversations else f"{name}/{span.id}"
        created = _Conversation(unique, _model(span), span.started_ms)
        return self._conversations.setdefault(unique, created)

    def _append(self, place: _Place, name: str, content: SourceContent, span: TraceSpan) -> _Place:
        conversation = place.conversation
        if isinstance(content, tuple):
            content = self._matched(content, conversation.nodes.get(place.node))
        at_ms = span.ended_ms if isinstance(content, SourceReply) else span.started_ms
        conversation.nodes[name] = SourceNode(name, place.node, content, at_ms)
        return _Place(conversation, name)

    def _matched(self, results: tuple[ToolMessage, ...], before: SourceNode | None) -> SourceContent:
        """Return results with the ids of their calls. Some traces have other ids there, or none."""
        if before is None or not isinstance(before.content, SourceReply):
            return results
        turn = fold(event for event, _ in before.content.events)
        open_calls = turn.own_blocks(*CALL_KINDS)
        matched = []
        for result in results:
            own = [block for block in open_calls if result.call_id and block.call_id == result.call_id]
            alike = [block for block in open_calls if result.name in ("", block.name)]
            if call := next(iter(own or alike), None):
                open_calls.remove(call)
                result = msgspec.structs.replace(result, call_id=call.call_id)
            matched.append(result)
        return tuple(matched)


def _comparable(content: SourceContent) -> object:
    """Return what of a message is the same wherever it is told: no ids and no thoughts."""
    match content:
        case SourceReply():
            return normalized(answer_of(fold(event for event, _ in content.events)))
        case tuple():
            return [normalized(msgspec.structs.replace(result, call_id="")) for result in content]
        case UserMessage():
            return normalized(content)
    return None


def _model(span: TraceSpan) -> str:
    names = ("gen_ai.response.model", "llm.response.model_name", "llm.model_name", "gen_ai.request.model")
    return next(filter(None, (string(span.attributes, name) for name in names)), "")


def _reply(span: TraceSpan, unread: UnreadCounter) -> SourceReply | None:
    """Return what the model answered; None if the trace does not have it."""
    usage = usage_of(span.attributes)
    parts = output_parts(span.attributes, unread)
    whole = _whole_response(span)
    if whole is not None and _as_much(whole, parts):
        return _with_usage(whole, usage)
    if not parts:
        if not span.failed:
            return None
        return ReplyBuilder(_model(span)).fail(span.problem or "failed", span.ended_ms)
    finish = finish_of(span.attributes, calls=any(part.kind == "call" for part in parts))
    return _with_usage(_reply_of_parts(parts, _model(span), finish, span.ended_ms), usage)


def _whole_response(span: TraceSpan) -> SourceReply | None:
    """Return the provider's own response, if the trace has it: it has all seals."""
    body = _object(string(span.attributes, "output.value"))
    # An SDK adds the fields that a response could have, as null. The API does not take them back.
    for name in ("content", "output"):
        if items := array(body, name):
            body[name] = [_without_nulls(item) for item in items]
    reader = Reader(model=_model(span))
    try:
        events = [*reader.feed(msgspec.json.encode(body)), *reader.close()]
    except Refused:
        return None
    if reader.dialect not in _RESPONSE_DIALECTS or not events or isinstance(events[-1], TurnFailed):
        return None
    if not fold(events).blocks:
        return None
    return SourceReply((*((event, None) for event in events[:-1]), (events[-1], span.ended_ms)))


def _without_nulls(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    return {name: value for name, value in item.items() if value is not None}


def _as_much(whole: SourceReply, parts: list[Part]) -> bool:
    """Return whether a response has all calls and seals: an SDK may have renamed the fields of the API."""
    blocks = fold(event for event, _ in whole.events).blocks
    calls = sum(block.kind in CALL_KINDS for block in blocks)
    seals = sum(bool(block.seals) for block in blocks)
    told_calls = sum(part.kind == "call" for part in parts)
    return calls >= told_calls and seals >= sum(part.sealed for part in parts)


def _with_usage(reply: SourceReply, usage: Usage) -> SourceReply:
    reported = any(isinstance(event, UsageReported) for event, _ in reply.events)
    if reported or usage == Usage():
        return reply
    return SourceReply((*reply.events[:-1], (UsageReported(usage), None), reply.events[-1]))


def _reply_of_parts(parts: list[Part], model: str, finish: Finish, at_ms: int | None = None) -> SourceReply:
    """Return an answer as its provider wrote it, if it has seals; they tell which provider that was."""
    thoughts = [part for part in parts if part.kind == "thought"]
    if any(part.encrypted for part in thoughts):
        return responses_reply([_response_item(part) for part in parts], model, at_ms)
    if any(part.signature or part.data for part in thoughts):
        stop_reason = _ANTHROPIC_STOPS.get(finish)
        content = [_anthropic_block(part) for part in parts]
        return anthropic_reply({"content": content, "stop_reason": stop_reason}, model, at_ms)
    if any(part.sealed for part in parts):
        candidate = {"content": {"role": "model", "parts": [_gemini_part(part) for part in parts]}}
        body = {"candidates": [candidate | {"finishReason": "STOP"}], "modelVersion": model}
        return read_reply("gemini", body, model, at_ms)
    builder = ReplyBuilder(model)
    for part in parts:
        if part.kind == "thought" and part.text:
            builder.add_thought(part.text)
        elif part.kind == "call":
            builder.add_call(part.name, part.call_id, part.text)
        elif part.kind == "text" and part.text:
            builder.add_text(part.text)
    return builder.end(at_ms=at_ms, finish=finish)


def _response_item(part: Part) -> dict[str, Any]:
    if part.kind == "thought":
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        item = {"type": "reasoning", "summary": summary, "encrypted_content": part.encrypted}
        return item | ({"id": part.item_id} if part.item_id else {})
    if part.kind == "call":
        fields = {"call_id": part.call_id, "name": part.name, "arguments": part.text}
        return {"type": "function_call", "status": "completed", **fields}
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def _anthropic_block(part: Part) -> dict[str, Any]:
    if part.kind == "thought":
        if part.data:
            return {"type": "redacted_thinking", "data": part.data}
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if part.kind == "call":
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": _object(part.text)}
    return {"type": "text", "text": part.text}


def _gemini_part(part: Part) -> dict[str, Any]:
    sealed = {"thoughtSignature": part.signature} if part.signature else {}
    if part.kind == "call":
        call = {"name": part.name, "args": _object(part.text)} | (
            {"id": part.call_id} if part.call_id else {}
        )
        return {"functionCall": call, **sealed}
    return {"text": part.text, **({"thought": True} if part.kind == "thought" else {}), **sealed}


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}
