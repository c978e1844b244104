"""Builds Ollama chat requests: images beside the text, arguments as objects, no forced tool calls."""

from typing import assert_never

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import (
    AssistantMessage,
    Message,
    Request,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.message import join_user_messages
from thinkaloud.core.dialects.ollama.read import NAME
from thinkaloud.core.dialects.openai_chat.ask import function_tools, message_from_parts
from thinkaloud.core.dialects.request import (
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    JsonDict,
    ProviderRequest,
    call_arguments,
    json_request,
    set_model_options,
    verbatim_message,
)

PARAMETER_PATHS = {
    "max_tokens": "options.num_predict",
    "temperature": "options.temperature",
    "top_p": "options.top_p",
    "stop": "options.stop",
    "seed": "options.seed",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    if request.tool_choice not in ("", TOOL_CHOICE_AUTO, TOOL_CHOICE_NONE):
        raise Refused(
            "{name} cannot force a tool call, but tool_choice is {tool_choice}. Nothing was sent. "
            "Remove tool_choice, or use another provider.",
            name=NAME,
            tool_choice=repr(request.tool_choice),
        )
    messages = [_encode_message(message) for message in join_user_messages(request.messages)]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    body: JsonDict = {"model": request.model, "messages": messages}
    if request.tools and request.tool_choice != TOOL_CHOICE_NONE:
        body["tools"] = function_tools(request)
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None:
        body["format"] = request.output.schema or "json"
    body["stream"] = request.stream
    return json_request("/api/chat", body, request)


def _encode_message(message: Message) -> object:
    match message:
        case UserMessage():
            images_field: JsonDict = (
                {"images": [image.data for image in message.images]} if message.images else {}
            )
            return {"role": "user", "content": message.text, **images_field}
        case ToolMessage():
            id_field: JsonDict = {"tool_call_id": message.call_id} if message.call_id else {}
            return {"role": "tool", "tool_name": message.name, "content": message.result, **id_field}
        case AssistantMessage():
            return (
                verbatim_message(message) if message.verbatim else message_from_parts(message, _encode_call)
            )
        case _:
            assert_never(message)


def _encode_call(call: ToolCall) -> JsonDict:
    return {"id": call.call_id, "function": {"name": call.name, "arguments": call_arguments(call)}}
