"""The context of a request: user messages, tool results, and the turns that models answered with.

All steps are kept, whichever model answered; what a model gets to see is decided when a request is built. The
file format is one JSON object in which a turn is the list of its events. An agent's run becomes one step for
each reply, followed by the results of its calls. An assistant has its own conversation, which begins with its
task.
"""

from typing import assert_never

import msgspec

from thinkaloud.core.canon import Entry, Event, Kind, OutOfOrder, Refused, TurnEnded, reason_of
from thinkaloud.core.canon.requests import (
    ToolDefinition,
    ToolMessage,
    UserMessage,
    assistant_call_arguments,
    assistant_tool_name,
)
from thinkaloud.core.transcript import Block, Reply, Turn, apply, fold, has_timestamps, unfold
from thinkaloud.core.transcript.reducer import outcome_of_end


class AnsweredTurn(msgspec.Struct, frozen=True):
    """A turn that a model answered with, and the request it answered.

    `prefix` is the fingerprint of that request (`BuiltRequest.prefix`), `provider` the name of its provider
    row; both are empty if unknown.
    """

    turn: Turn
    prefix: str = ""
    provider: str = ""


Step = UserMessage | ToolMessage | AnsweredTurn


class Context(msgspec.Struct, frozen=True):
    """A system prompt, tools, and all steps so far."""

    steps: tuple[Step, ...] = ()
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    model: str = ""
    """The model that was asked last; empty if unknown. Building a request does not use it."""


class _ToolRecord(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    description: str = ""
    parameters: msgspec.Raw = msgspec.Raw()


class _UserRecord(UserMessage, frozen=True, forbid_unknown_fields=True, tag="user"):
    """A user message of a file, in which a misspelt field is an error."""


class _ToolResultRecord(ToolMessage, frozen=True, forbid_unknown_fields=True, tag="tool"):
    """A tool result of a file."""


class _AnsweredRecord(
    msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, tag_field="role", tag="assistant"
):
    provider: str = ""
    prefix: str = ""
    events: list[Event] = []
    entries: list[Entry] = []


class _ConversationRecord(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    model: str = ""
    system: str = ""
    tools: list[_ToolRecord] = []
    messages: list[_UserRecord | _ToolResultRecord | _AnsweredRecord]


_decoder = msgspec.json.Decoder(_ConversationRecord)
_answer_decoder = msgspec.json.Decoder(_AnsweredRecord)


def read_conversation(data: bytes) -> Context:
    """Read a conversation from the bytes of its file."""
    try:
        record = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            "This is not a conversation: {reason}. Use a JSON object with `messages`, each with the "
            "role user, assistant or tool.",
            reason=reason_of(error),
        ) from None
    steps = tuple(map(_read_step, record.messages))
    return Context(steps, record.system, tuple(_read_tool(tool) for tool in record.tools), record.model)


def write_conversation(conversation: Context) -> bytes:
    """Return the bytes of a conversation's file. Reading them gives the same conversation."""
    messages = list(map(_write_step, conversation.steps))
    tools = [
        _ToolRecord(tool.name, tool.description, _schema_json(tool.parameters)) for tool in conversation.tools
    ]
    record = _ConversationRecord(
        model=conversation.model, system=conversation.system, tools=tools, messages=messages
    )
    return msgspec.json.encode(record)


def write_answer(answered: AnsweredTurn) -> str:
    """Return one answer as text that another program keeps beside it; `read_answer` reads it."""
    return msgspec.json.encode(_write_turn(answered)).decode()


def read_answer(text: str) -> AnsweredTurn:
    """Read what `write_answer` wrote."""
    try:
        return _read_turn(_answer_decoder.decode(text))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refused(
            "The turn that was kept with an answer is damaged: {reason}. Remove it from the message.",
            reason=reason_of(error),
        ) from None


def _read_step(record: _UserRecord | _ToolResultRecord | _AnsweredRecord) -> Step:
    match record:
        case _AnsweredRecord():
            return _read_turn(record)
        case _UserRecord():
            return UserMessage(**msgspec.structs.asdict(record))
        case _ToolResultRecord():
            return ToolMessage(**msgspec.structs.asdict(record))
        case _:
            assert_never(record)


def _write_step(step: Step) -> _UserRecord | _ToolResultRecord | _AnsweredRecord:
    match step:
        case AnsweredTurn():
            return _write_turn(step)
        case UserMessage():
            return _UserRecord(**msgspec.structs.asdict(step))
        case ToolMessage():
            return _ToolResultRecord(**msgspec.structs.asdict(step))
        case _:
            assert_never(step)


def _read_turn(record: _AnsweredRecord) -> AnsweredTurn:
    try:
        turn = fold(record.events)
        for entry in record.entries:
            apply(turn, entry)
    except OutOfOrder as error:
        raise Refused(
            "The events of an assistant message are invalid: {reason}. Keep them complete and in order.",
            reason=reason_of(error),
        ) from None
    return AnsweredTurn(turn, record.prefix, record.provider)


def _write_turn(answered: AnsweredTurn) -> _AnsweredRecord:
    """Write a stamped turn as entries, and a turn without stamps as plain events."""
    if has_timestamps(answered.turn):
        return _AnsweredRecord(answered.provider, answered.prefix, entries=unfold(answered.turn))
    return _AnsweredRecord(
        answered.provider, answered.prefix, [entry.event for entry in unfold(answered.turn)]
    )


def _read_tool(record: _ToolRecord) -> ToolDefinition:
    schema = bytes(record.parameters).decode()
    if not schema:
        return ToolDefinition(record.name, record.description)
    text = msgspec.json.decode(schema, type=str) if schema[0] == '"' else schema
    return ToolDefinition(record.name, record.description, text)


def _schema_json(text: str) -> msgspec.Raw:
    """Return a schema as a JSON object, or as a string if it is not one, so that nothing is lost."""
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return msgspec.Raw(msgspec.json.encode(text))
    return msgspec.Raw(text.encode()) if text == text.strip() else msgspec.Raw(msgspec.json.encode(text))


def steps_of(answered: AnsweredTurn) -> tuple[Step, ...]:
    """Return a turn as steps of a conversation. A turn without replies is one step."""
    turn = answered.turn
    if not turn.replies:
        return (answered,)
    steps, unfinished = replies_of(turn), _unfinished_blocks(turn)
    if not any(not block.blank for block in unfinished):
        return steps
    broken_off = Turn(
        dialect=turn.dialect, model=turn.model, blocks=_renumbered(unfinished), outcome=turn.outcome
    )
    return (*steps, AnsweredTurn(broken_off, provider=answered.provider))


def replies_of(turn: Turn, parent: int | None = None) -> tuple[Step, ...]:
    """Return the replies of the turn, or of one of its assistants, with the results of their calls."""
    steps: list[Step] = []
    for reply in turn.replies:
        if reply.parent == parent:
            blocks = [_as_tool_call(block) for block in turn.blocks_of(reply)]
            steps.append(AnsweredTurn(_turn_of_reply(reply, blocks), reply.prefix, reply.provider))
            steps += (_tool_message(block) for block in blocks if _has_result(block, reply))
    return tuple(steps)


def _unfinished_blocks(turn: Turn) -> list[Block]:
    """Return the blocks after the last complete reply: a reply that was cut off."""
    replied_until = max((reply.until for reply in turn.own_replies), default=0)
    return [block for block in turn.blocks[replied_until:] if block.parent is None]


def _turn_of_reply(reply: Reply, blocks: list[Block]) -> Turn:
    """Return the reply as a turn. Results are removed from its calls, because they are separate steps."""
    own_blocks = [
        msgspec.structs.replace(block, result=None, images=()) if block.number in reply.calls else block
        for block in blocks
    ]
    turn = Turn(
        dialect=reply.dialect,
        model=reply.model,
        blocks=_renumbered(own_blocks),
        usage=reply.usage,
        message=reply.message,
    )
    turn.outcome = outcome_of_end(turn, TurnEnded(reply.finish, reply.said))
    return turn


def _renumbered(blocks: list[Block]) -> list[Block]:
    return [msgspec.structs.replace(block, number=number, parent=None) for number, block in enumerate(blocks)]


def _has_result(block: Block, reply: Reply) -> bool:
    return block.number in reply.calls and block.result is not None


def _tool_message(block: Block) -> ToolMessage:
    result = "\n\n".join(filter(None, (block.error, block.result)))
    return ToolMessage(block.call_id, result, block.name, bool(block.error), block.images)


def _as_tool_call(block: Block) -> Block:
    """Return an assistant call as a tool call, which is what the model sees."""
    if block.kind is not Kind.ASSISTANT_CALL:
        return block
    return msgspec.structs.replace(
        block,
        kind=Kind.TOOL_CALL,
        name=assistant_tool_name(block.name),
        pieces=[assistant_call_arguments(block.text)],
    )
