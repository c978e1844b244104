"""Messages in a row, as strict providers want them: by turns, and with ids of calls that they take."""

import hashlib
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import cast

import msgspec

from thinkaloud.canon.requests import AssistantMessage, Message, ToolMessage, UserMessage
from thinkaloud.dialects.bodies.outgoing import JsonDict


def join_user_messages(messages: Sequence[Message]) -> list[Message]:
    """The same messages, with user messages in a row joined into one: not every provider takes two."""
    joined: list[Message] = []
    for message in messages:
        previous = joined[-1] if joined else None
        if isinstance(message, UserMessage) and isinstance(previous, UserMessage):
            text = "\n\n".join(part for part in (previous.text, message.text) if part)
            joined[-1] = UserMessage(text, previous.images + message.images)
        else:
            joined.append(message)
    return joined


def alternate_roles(
    messages: Sequence[Message],
    encode_assistant: Callable[[AssistantMessage], object],
    encode_user: Callable[[UserMessage | ToolMessage], list[JsonDict]],
    key: str,
) -> list[object]:
    """Messages strictly by turns: all of the user's side between two answers is one message."""
    encoded: list[object] = []
    for from_user, group in groupby(messages, lambda message: not isinstance(message, AssistantMessage)):
        if from_user:
            parts = [
                part for message in group for part in encode_user(cast(UserMessage | ToolMessage, message))
            ]
            encoded.append({"role": "user", key: parts})
        else:
            encoded += [encode_assistant(cast(AssistantMessage, message)) for message in group]
    return encoded


class CallIdRule(msgspec.Struct, frozen=True):
    """What the id of a call may look like; one that does not gets a name made from it."""

    pattern: str
    length: int

    def fit(self, call_id: str) -> str:
        """The id, or the name made from it, always the same one."""
        if re.fullmatch(self.pattern, call_id):
            return call_id
        return hashlib.sha256(call_id.encode()).hexdigest()[: self.length]


def fit_call_ids(messages: Sequence[Message], rule: CallIdRule) -> list[Message]:
    """The same messages with call ids that the provider takes; a provider's own message keeps its ids."""
    new_ids: dict[str, str] = {}
    fitted_messages: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.calls:
            new_ids |= {call.call_id: rule.fit(call.call_id) for call in message.calls}
            calls = tuple(
                msgspec.structs.replace(call, call_id=new_ids[call.call_id]) for call in message.calls
            )
            message = msgspec.structs.replace(message, calls=calls)
        elif isinstance(message, ToolMessage):
            message = msgspec.structs.replace(message, call_id=new_ids.get(message.call_id, message.call_id))
        fitted_messages.append(message)
    return fitted_messages
