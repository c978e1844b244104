"""Builds Bedrock Converse requests: strictly alternating roles, binary data as base64."""

import re

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import (
    AssistantMessage,
    File,
    Image,
    Request,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from thinkaloud.core.catalog.rows import Route
from thinkaloud.core.dialects.anthropic_messages.ask import (
    BINDING_PATH,
    CALL_ID_RULE,
    betas_for,
    mismatch_behavior,
    output_format,
)
from thinkaloud.core.dialects.bedrock_converse.read import NAME
from thinkaloud.core.dialects.message import (
    EARLIER_LEFT_OUT,
    alternate_roles,
    fit_call_ids,
    join_user_messages,
    marked_parts,
    starts_with_answer,
)
from thinkaloud.core.dialects.request import (
    OUTPUT_NAME,
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    JsonDict,
    ProviderRequest,
    call_arguments,
    image_format,
    images_then_text,
    json_request,
    pdf_type,
    quote_path_segment,
    set_at_path,
    set_model_options,
    tool_parameters,
    verbatim_message,
)

_IMAGE_FORMATS = ("png", "jpeg", "gif", "webp")
_TOOL_CHOICES: dict[str, JsonDict] = {TOOL_CHOICE_AUTO: {"auto": {}}, TOOL_CHOICE_REQUIRED: {"any": {}}}
_CACHE_POINT: JsonDict = {"cachePoint": {"type": "default"}}
PARAMETER_PATHS = {
    "max_tokens": "inferenceConfig.maxTokens",
    "temperature": "inferenceConfig.temperature",
    "top_p": "inferenceConfig.topP",
    "stop": "inferenceConfig.stopSequences",
}


def build_request(route: Route, request: Request) -> ProviderRequest:
    """Encode the request for this dialect."""
    messages = alternate_roles(
        join_user_messages(fit_call_ids(request.messages, CALL_ID_RULE)),
        _assistant_message,
        _user_content,
        "content",
    )
    for parts in marked_parts(messages, request, "content"):
        parts.append(_CACHE_POINT)
    if starts_with_answer(request.messages):
        messages.insert(0, {"role": "user", "content": [{"text": EARLIER_LEFT_OUT}]})
    body: JsonDict = {"messages": messages}
    if request.system:
        body["system"] = [{"text": request.system}, *([_CACHE_POINT] if request.cache.system else ())]
    if request.tools:
        tools = [_tool(tool) for tool in request.tools]
        body["toolConfig"] = {"tools": [*tools, *([_CACHE_POINT] if request.cache.tools else ())]}
        if request.tool_choice:
            set_at_path(body, "toolConfig.toolChoice", _tool_choice(request.tool_choice))
    set_model_options(body, route, request, PARAMETER_PATHS)
    if request.output is not None and request.output.schema is not None:
        schema = msgspec.json.encode(output_format(request.output.schema)["schema"]).decode()
        structure = {"jsonSchema": {"name": OUTPUT_NAME, "schema": schema}}
        body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": structure}}
    if behavior := mismatch_behavior(request):
        set_at_path(body, f"additionalModelRequestFields.thinking.{BINDING_PATH}", behavior)
    if betas := betas_for(request):
        set_at_path(body, "additionalModelRequestFields.anthropic_beta", betas)
    operation = "converse-stream" if request.stream else "converse"
    return json_request(f"/model/{quote_path_segment(request.model)}/{operation}", body, request)


def _tool(tool: ToolDefinition) -> JsonDict:
    description_field: JsonDict = {"description": tool.description} if tool.description else {}
    schema = {"json": tool_parameters(tool)}
    return {"toolSpec": {"name": tool.name, **description_field, "inputSchema": schema}}


def _tool_choice(choice: str) -> JsonDict:
    if choice == TOOL_CHOICE_NONE:
        raise Refused(
            "{name} cannot forbid tool calls with tool_choice {choice}. Nothing was sent. Remove "
            "tool_choice, or remove the tools if no call was made yet.",
            name=NAME,
            choice=repr(choice),
        )
    return _TOOL_CHOICES.get(choice) or {"tool": {"name": choice}}


def _assistant_message(message: AssistantMessage) -> object:
    return verbatim_message(message) if message.verbatim else _message_from_parts(message)


def _message_from_parts(message: AssistantMessage) -> JsonDict:
    content: list[JsonDict] = [{"text": message.text}] if message.text else []
    content += [
        {
            "toolUse": {
                "toolUseId": call.call_id,
                "name": call.name,
                "input": call_arguments(call),
            }
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": content}


def _user_content(message: UserMessage | ToolMessage) -> list[JsonDict]:
    if isinstance(message, ToolMessage):
        # The API rejects a text block that is empty or white space.
        content: list[JsonDict] = [{"text": message.result}] if message.result.strip() else []
        content += map(_image, message.images)
        status = "error" if message.failed else "success"
        return [{"toolResult": {"toolUseId": message.call_id, "content": content, "status": status}}]
    images = [*map(_image, message.images)]
    documents = [_document(number, file) for number, file in enumerate(message.files, 1)]
    return images_then_text([*images, *documents], message.text, {"text": message.text})


def _image(image: Image) -> JsonDict:
    image_type = image_format(image, _IMAGE_FORMATS, NAME)
    return {"image": {"format": image_type, "source": {"bytes": image.data}}}


def _document(number: int, file: File) -> JsonDict:
    # The API takes letters, digits, single spaces, hyphens and brackets, and refuses a name twice.
    words = " ".join(re.sub(r"[^A-Za-z0-9()\[\] -]", " ", file.name).split())
    source = {"bytes": file.data}
    pdf_type(file, NAME)
    return {"document": {"format": "pdf", "name": f"{words or 'file'} {number}", "source": source}}
