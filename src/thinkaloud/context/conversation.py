"""A conversation: what people said, what tools came back with, and the turns that models answered with.

The steps are kept in order and whole, whoever answered them; what of them a model gets to see is decided when
a request is built. As a file it is one JSON object, in which a turn is the list of its events.
"""

import msgspec

from thinkaloud.canon import Entry, Event, OutOfOrder, Refused
from thinkaloud.canon.requests import ToolDefinition, ToolMessage, UserMessage
from thinkaloud.transcript import Turn, apply, fold, has_timestamps, unfold


class AnsweredTurn(msgspec.Struct, frozen=True):
    """A turn that a model answered with, and to what.

    `prefix` is the fingerprint of the request it answered (`Built.prefix`), `provider` the name of the row
    that the request went to; both are empty where nobody knows.
    """

    turn: Turn
    prefix: str = ""
    provider: str = ""


Step = UserMessage | ToolMessage | AnsweredTurn


class Conversation(msgspec.Struct, frozen=True):
    """Everything so far."""

    steps: tuple[Step, ...] = ()
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()


class _ToolRecord(msgspec.Struct, omit_defaults=True):
    name: str
    description: str = ""
    parameters: msgspec.Raw = msgspec.Raw()


class _AnsweredRecord(msgspec.Struct, omit_defaults=True, tag_field="role", tag="assistant"):
    provider: str = ""
    prefix: str = ""
    events: list[Event] = []
    entries: list[Entry] = []


class _ConversationRecord(msgspec.Struct, omit_defaults=True):
    system: str = ""
    tools: list[_ToolRecord] = []
    messages: list[UserMessage | ToolMessage | _AnsweredRecord] = []


_decoder = msgspec.json.Decoder(_ConversationRecord)


def read_conversation(data: bytes) -> Conversation:
    """A conversation from the bytes of its file."""
    try:
        record = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            f"This is not a conversation: {error}. It needs an object with `messages`, each with the role "
            "user, assistant or tool."
        ) from None
    steps = tuple(_read_turn(step) if isinstance(step, _AnsweredRecord) else step for step in record.messages)
    return Conversation(steps, record.system, tuple(_read_tool(tool) for tool in record.tools))


def write_conversation(conversation: Conversation) -> bytes:
    """The bytes of a conversation's file; reading them gives the same conversation."""
    messages = [_write_turn(step) if isinstance(step, AnsweredTurn) else step for step in conversation.steps]
    tools = [
        _ToolRecord(tool.name, tool.description, _schema_json(tool.parameters)) for tool in conversation.tools
    ]
    return msgspec.json.encode(_ConversationRecord(conversation.system, tools, messages))


def _read_turn(record: _AnsweredRecord) -> AnsweredTurn:
    try:
        turn = fold(record.events)
        for entry in record.entries:
            apply(turn, entry)
    except OutOfOrder as error:
        raise Refused(f"An assistant's events tell no story: {error}. Keep them as they were told.") from None
    return AnsweredTurn(turn, record.prefix, record.provider)


def _write_turn(answered: AnsweredTurn) -> _AnsweredRecord:
    """A turn that was stamped keeps its stamps; one that was not is events and no more."""
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
    """A schema as the object it is; text that is no object stays text, so that nothing is lost."""
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return msgspec.Raw(msgspec.json.encode(text))
    return msgspec.Raw(text.encode()) if text == text.strip() else msgspec.Raw(msgspec.json.encode(text))
