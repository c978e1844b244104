"""Writes a turn as the messages that a provider's own SDK takes in the next request.

They are what our own requests would send: the context decides what of the turn goes back, the dialect how it
is written. Between the answer and the next request a program runs the calls, so their results may be missing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import AssistantMessage, ToolMessage, UserMessage
from thinkaloud.core.catalog import Provider, Route, builtin_catalog, route
from thinkaloud.core.context import AnsweredTurn, BuildOptions, Context, build, steps_of
from thinkaloud.core.dialects import DIALECTS, build_request
from thinkaloud.core.transcript import Turn

_QUESTION = UserMessage("?")
"""Stands for the question that was answered: no dialect begins a conversation with an answer."""


def write_messages(
    turn: Turn,
    provider: str,
    *,
    model: str = "",
    results: Mapping[str, str] | Sequence[ToolMessage] = (),
) -> list[Any]:
    """Return the messages of a turn for a provider, and of the results of its calls if there are any."""
    row = _provider_row(provider, turn.dialect)
    asked = model or turn.model or row.name
    chosen = route(builtin_catalog(), f"{row.name}/{asked}", thinking=False, have_key=lambda _: True)
    if not turn.model:  # the program knows which model answered, so it is taken for the same one
        turn = msgspec.structs.replace(turn, model=asked)
    given = _tool_messages(turn, results)
    missing = [block for block in turn.calls if block.call_id not in {result.call_id for result in given}]
    if given and missing:
        names = ", ".join(f"{block.name} ({block.call_id})" for block in missing)
        raise Refused("Results are missing for the calls {names}. Pass all of them, or none.", names=names)
    # A call without a result would not be sent at all.
    stand_ins = (ToolMessage(block.call_id, "", block.name) for block in missing)
    steps = (_QUESTION, *steps_of(AnsweredTurn(turn)), *(given or stand_ins))
    return _encoded(Context(steps), chosen, len(missing))


def _encoded(context: Context, chosen: Route, stand_ins: int) -> list[Any]:
    """Return the messages of a conversation without its question and without the results that stand in."""
    request = build(context, chosen, BuildOptions(cache=False, stream=False)).request
    messages = request.messages[: len(request.messages) - stand_ins]
    if not any(isinstance(message, AssistantMessage) for message in messages):
        return []
    body = build_request(chosen, msgspec.structs.replace(request, messages=messages)).body
    fields = msgspec.json.decode(body, type=dict[str, Any])
    written: list[Any] = fields[DIALECTS[chosen.provider.dialect].messages_field]
    return written[1:]


def _provider_row(name: str, dialect: str) -> Provider:
    """Return the row of a provider. A name that several have stands for the one that answered, if it did."""
    rows = builtin_catalog().providers_named(name)
    rows = rows or [row for row in builtin_catalog().providers.values() if row.dialect == name]
    if not rows:
        names = ", ".join(builtin_catalog().providers)
        raise Refused("Unknown provider {provider}. Use one of: {names}.", provider=repr(name), names=names)
    return next((row for row in rows if row.dialect == dialect), rows[-1])


def _tool_messages(turn: Turn, results: Mapping[str, str] | Sequence[ToolMessage]) -> list[ToolMessage]:
    if not isinstance(results, Mapping):
        return list(results)
    names = {block.call_id: block.name for block in turn.calls}
    if unknown := [call_id for call_id in results if call_id not in names]:
        raise Refused(
            "The turn has no call {call_id} that waits for a result. Its calls are: {calls}.",
            call_id=repr(unknown[0]),
            calls=", ".join(names) or "-",
        )
    return [ToolMessage(call_id, result, names[call_id]) for call_id, result in results.items()]
