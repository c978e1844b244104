"""Messages in a row, as strict providers want them: by turns, and with ids of calls that they take."""

import hashlib
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import cast

import msgspec

from thinkaloud.canon.requests import AssistantMessage, Message, ToolMessage, UserMessage
from thinkaloud.dialects.bodies.outgoing import Json


def merged(messages: Sequence[Message]) -> list[Message]:
    """The same messages, with user messages in a row joined into one: not every provider takes two."""
    told: list[Message] = []
    for message in messages:
        last = told[-1] if told else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            text = "\n\n".join(part for part in (last.text, message.text) if part)
            told[-1] = UserMessage(text, last.images + message.images)
        else:
            told.append(message)
    return told


def by_turns(
    messages: Sequence[Message],
    answer: Callable[[AssistantMessage], object],
    asked: Callable[[UserMessage | ToolMessage], list[Json]],
    key: str,
) -> list[object]:
    """Messages strictly by turns: all of the user's side between two answers is one message."""
    told: list[object] = []
    for from_user, run in groupby(messages, lambda message: not isinstance(message, AssistantMessage)):
        if from_user:
            said = [part for message in run for part in asked(cast(UserMessage | ToolMessage, message))]
            told.append({"role": "user", key: said})
        else:
            told += [answer(cast(AssistantMessage, message)) for message in run]
    return told


class IdRule(msgspec.Struct, frozen=True):
    """What the id of a call may look like; one that does not gets a name made from it."""

    pattern: str
    length: int

    def fit(self, call_id: str) -> str:
        """The id, or the name made from it, always the same one."""
        if re.fullmatch(self.pattern, call_id):
            return call_id
        return hashlib.sha256(call_id.encode()).hexdigest()[: self.length]


def fitted(messages: Sequence[Message], rule: IdRule) -> list[Message]:
    """The same messages with call ids that the provider takes; a provider's own message keeps its ids."""
    names: dict[str, str] = {}
    told: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.calls:
            names |= {call.call_id: rule.fit(call.call_id) for call in message.calls}
            calls = tuple(
                msgspec.structs.replace(call, call_id=names[call.call_id]) for call in message.calls
            )
            message = msgspec.structs.replace(message, calls=calls)
        elif isinstance(message, ToolMessage):
            message = msgspec.structs.replace(message, call_id=names.get(message.call_id, message.call_id))
        told.append(message)
    return told
