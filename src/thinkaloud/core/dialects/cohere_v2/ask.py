"""Builds Cohere v2 Chat requests: messages like Chat Completions, with its own tool choices."""

from typing import assert_never

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import AssistantMessage, Message, Request, ToolMessage, UserMessage
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.cohere_v2.read import NAME
from thinkaloud.core.dialects.message import join_user_messages
from thinkaloud.core.dialects.openai_chat.ask import encode_call, function_tools, user_content
from thinkaloud.core.dialects.request import (
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    json_request,
    set_model_options,
    verbatim_message,
)

_TOOL_CHOICES: dict[str, JsonDict] = {
    "": {},
    TOOL_CHOICE_AUTO: {},
    TOOL_CHOICE_NONE: {"tool_choice": "NONE"},
    TOOL_CHOICE_REQUIRED: {"tool_choice": "REQUIRED"},
}
PARAMETER_PATHS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "p",
    "stop": "stop_sequences",
    "seed": "seed",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    messages = [_encode_message(message) for message in join_user_messages(request.messages)]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: JsonDict = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = function_tools(request)
        body |= _tool_choice(request.tool_choice)
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        schema_field: JsonDict = {"json_schema": request.output.schema} if request.output.schema else {}
        body["response_format"] = {"type": "json_object", **schema_field}
    body["stream"] = request.stream
    return json_request("/chat", body, request)


def _tool_choice(choice: str) -> JsonDict:
    if choice not in _TOOL_CHOICES:
        raise Refused(
            "{name} cannot force a call of the tool {choice} by name. Nothing was sent. Set "
            'tool_choice to "required" and pass only that tool.',
            name=NAME,
            choice=repr(choice),
        )
    return _TOOL_CHOICES[choice]


def _encode_message(message: Message) -> object:
    match message:
        case UserMessage():
            return {"role": "user", "content": user_content(message)}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.result}
        case AssistantMessage():
            return verbatim_message(message) if message.verbatim else _message_from_parts(message)
        case _:
            assert_never(message)


def _message_from_parts(message: AssistantMessage) -> JsonDict:
    fields: JsonDict = {"role": "assistant"}
    if message.text:
        fields["content"] = message.text
    if message.calls:
        fields["tool_calls"] = [encode_call(call) for call in message.calls]
    return fields
