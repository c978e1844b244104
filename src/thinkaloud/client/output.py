"""Answers of a given shape: the schema of a Python type, and the check of what the model wrote.

A shape is a JSON Schema or a class: a dataclass, a TypedDict, a msgspec Struct, or a class with the methods
of a Pydantic model. The check is the same whether or not the provider promised to honour the schema.
"""

import re
from typing import Any, Generic, NamedTuple, TypeVar, overload

import msgspec

from thinkaloud.client.json_schema import checked_schema, closed_schema, schema_violation
from thinkaloud.core.canon import BadOutput, Kind, Refused, Wording, reason_of
from thinkaloud.core.canon.requests import OutputFormat
from thinkaloud.core.catalog.rows import OutputForm, Route
from thinkaloud.core.transcript import Turn

OutputT = TypeVar("OutputT")
OutputShape = type | dict[str, Any]

_FENCE = re.compile(r"\A```[a-z]*\n(.*?)\n?```\Z", re.DOTALL)
_FORM_RANK = {OutputForm.PROMPT: 0, OutputForm.JSON: 1, OutputForm.SCHEMA: 2}


class Answer(NamedTuple, Generic[OutputT]):
    """An answer of a given shape, and the turn that gave it."""

    value: OutputT
    turn: Turn


def answer_of(turn: Turn, shape: OutputShape) -> Answer[Any]:
    """Return the answer of a turn with its value. `BadOutput.turn` is the turn, if it has none."""
    try:
        return Answer(parse_output(turn, shape), turn)
    except BadOutput as error:
        error.turn = turn
        raise


def output_schema(shape: OutputShape) -> dict[str, Any]:
    """Return the JSON Schema of a shape, without references. Raises `Refused` if it cannot be checked."""
    if isinstance(shape, dict):
        return checked_schema(shape)
    if hasattr(shape, "model_json_schema"):
        return checked_schema(shape.model_json_schema())
    try:
        return checked_schema(msgspec.json.schema(shape))
    except TypeError as error:
        raise Refused(
            "{shape} cannot be the shape of an answer: {reason}. Use a dataclass, a TypedDict, a "
            "msgspec Struct, a Pydantic model or a JSON Schema.",
            shape=repr(shape),
            reason=str(error).splitlines()[-1],
        ) from None


@overload
def parse_output(turn: Turn, shape: type[OutputT]) -> OutputT: ...
@overload
def parse_output(turn: Turn, shape: dict[str, Any]) -> Any: ...
def parse_output(turn: Turn, shape: OutputShape) -> Any:
    """Return the answer of a turn as a value of this shape. Raises `BadOutput` if it is not one."""
    text = _without_fence(_final_text(turn))
    if isinstance(shape, dict):
        return _checked_value(text, checked_schema(shape))
    try:
        if hasattr(shape, "model_validate_json"):
            return shape.model_validate_json(text)
        return msgspec.json.decode(text, type=shape)
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadOutput(wording=_message(Wording.plain(error), text)) from None


def output_problem(text: str, schema: dict[str, Any]) -> Wording | None:
    """Return why an answer does not match a schema; None if it does."""
    try:
        _checked_value(_without_fence(text), checked_schema(schema))
    except BadOutput as error:
        return error.wording
    return None


def _final_text(turn: Turn) -> str:
    """Return the text of the last reply."""
    blocks = turn.blocks_of(turn.own_replies[-1]) if turn.own_replies else turn.own_blocks()
    return "".join(block.text for block in blocks if block.kind is Kind.TEXT)


def _without_fence(text: str) -> str:
    """Return a text without the code fence that some models put around JSON."""
    fenced = _FENCE.match(text.strip())
    return fenced[1] if fenced else text.strip()


def _checked_value(text: str, schema: dict[str, Any]) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadOutput(
            wording=_message(Wording("it is not JSON ({reason})", reason=reason_of(error)), text)
        ) from None
    if violation := schema_violation(value, schema):
        raise BadOutput(wording=_message(violation, text))
    return value


def _message(reason: Wording, text: str) -> Wording:
    excerpt = text if len(text) <= 80 else text[:79] + "…"
    return Wording(
        "The answer does not have the requested shape: {reason}. It begins: {excerpt}. Ask again.",
        reason=reason,
        excerpt=repr(excerpt),
    )


def fit_output(
    route: Route, schema: dict[str, Any], *, tools: bool
) -> tuple[OutputFormat | None, str, tuple[Wording, ...]]:
    """Return the format to request, the words to add to the system prompt, and notes."""
    model, provider = route.model, route.provider
    form = min(model.output, provider.output, key=_FORM_RANK.__getitem__)
    reason = Wording("{model_id} takes no JSON Schema at {name}", model_id=route.model_id, name=provider.name)
    if tools and not model.output_with_tools:
        form, reason = (
            OutputForm.PROMPT,
            Wording("{model_id} takes no JSON Schema together with tools", model_id=route.model_id),
        )
    if form is OutputForm.SCHEMA and provider.output_closed and not closed_schema(schema):
        form, reason = (
            OutputForm.PROMPT,
            Wording(
                "{name} takes no JSON Schema with objects that may have other fields", name=provider.name
            ),
        )
    if form is OutputForm.SCHEMA:
        return OutputFormat(schema), "", ()
    instruction = (
        "Write your final answer as one JSON value and nothing else. It must match this JSON Schema:\n"
        f"{msgspec.json.encode(schema).decode()}"
    )
    note = Wording("{reason}, so the system prompt asks for it.", reason=reason)
    return OutputFormat() if form is OutputForm.JSON else None, instruction, (note,)
