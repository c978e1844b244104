"""A conversation: what people said, what tools came back with, and the turns that models answered with.

The steps are kept in order and whole, whoever answered them; what of them a model gets to see is decided when
a request is built. As a file it is one JSON object, in which a turn is the list of its events.
"""

import msgspec

from thinkaloud.canon import Entry, Event, OutOfOrder, Refused
from thinkaloud.canon.requests import Tool, ToolMessage, UserMessage
from thinkaloud.transcript import Turn, apply, fold, stamped, unfold


class Said(msgspec.Struct, frozen=True):
    """A turn that a model answered with, and to what.

    `prefix` is the fingerprint of the request it answered (`Built.prefix`), `provider` the name of the row
    that the request went to; both are empty where nobody knows.
    """

    turn: Turn
    prefix: str = ""
    provider: str = ""


Step = UserMessage | ToolMessage | Said


class Conversation(msgspec.Struct, frozen=True):
    """Everything so far."""

    steps: tuple[Step, ...] = ()
    system: str = ""
    tools: tuple[Tool, ...] = ()


class _Tool(msgspec.Struct, omit_defaults=True):
    name: str
    description: str = ""
    parameters: msgspec.Raw = msgspec.Raw()


class _Said(msgspec.Struct, omit_defaults=True, tag_field="role", tag="assistant"):
    provider: str = ""
    prefix: str = ""
    events: list[Event] = []
    entries: list[Entry] = []


class _File(msgspec.Struct, omit_defaults=True):
    system: str = ""
    tools: list[_Tool] = []
    messages: list[UserMessage | ToolMessage | _Said] = []


_file = msgspec.json.Decoder(_File)


def read_conversation(data: bytes) -> Conversation:
    """A conversation from the bytes of its file."""
    try:
        file = _file.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            f"This is not a conversation: {error}. It needs an object with `messages`, each with the role "
            "user, assistant or tool."
        ) from None
    steps = tuple(_said(step) if isinstance(step, _Said) else step for step in file.messages)
    return Conversation(steps, file.system, tuple(_tool(tool) for tool in file.tools))


def write_conversation(conversation: Conversation) -> bytes:
    """The bytes of a conversation's file; reading them gives the same conversation."""
    messages = [_kept(step) if isinstance(step, Said) else step for step in conversation.steps]
    tools = [_Tool(tool.name, tool.description, _schema(tool.parameters)) for tool in conversation.tools]
    return msgspec.json.encode(_File(conversation.system, tools, messages))


def _said(kept: _Said) -> Said:
    try:
        turn = fold(kept.events)
        for entry in kept.entries:
            apply(turn, entry)
    except OutOfOrder as error:
        raise Refused(f"An assistant's events tell no story: {error}. Keep them as they were told.") from None
    return Said(turn, kept.prefix, kept.provider)


def _kept(said: Said) -> _Said:
    """A turn that was stamped keeps its stamps; one that was not is events and no more."""
    if stamped(said.turn):
        return _Said(said.provider, said.prefix, entries=unfold(said.turn))
    return _Said(said.provider, said.prefix, [entry.event for entry in unfold(said.turn)])


def _tool(kept: _Tool) -> Tool:
    schema = bytes(kept.parameters).decode()
    if not schema:
        return Tool(kept.name, kept.description)
    text = msgspec.json.decode(schema, type=str) if schema[0] == '"' else schema
    return Tool(kept.name, kept.description, text)


def _schema(text: str) -> msgspec.Raw:
    """A schema as the object it is; text that is no object stays text, so that nothing is lost."""
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return msgspec.Raw(msgspec.json.encode(text))
    return msgspec.Raw(text.encode()) if text == text.strip() else msgspec.Raw(msgspec.json.encode(text))
