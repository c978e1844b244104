"""The body of Bedrock Converse: strictly by turns, with bytes as base64."""

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import AssistantMessage, Request, ToolMessage, UserMessage
from thinkaloud.catalog.rows import Route
from thinkaloud.dialects.bodies.anthropic_messages import BINDING, betas_for, mismatch_behavior
from thinkaloud.dialects.bodies.messages import IdRule, by_turns, fitted, merged
from thinkaloud.dialects.bodies.outgoing import (
    AUTO,
    NONE,
    REQUIRED,
    Json,
    Outgoing,
    beside,
    outgoing,
    picture_format,
    place,
    place_ask,
    quoted,
    raw,
    verbatim,
)

NAME = "bedrock_converse"

_IDS = IdRule(r"[A-Za-z0-9_-]{1,64}", 24)
_PICTURES = ("png", "jpeg", "gif", "webp")
_CHOICES: dict[str, Json] = {AUTO: {"auto": {}}, REQUIRED: {"any": {}}}


def write(route: Route, request: Request) -> Outgoing:
    """The request as this dialect says it."""
    body: Json = {"messages": by_turns(merged(fitted(request.messages, _IDS)), _answer, _asked, "content")}
    if request.system:
        body["system"] = [{"text": request.system}]
    if request.tools:
        body["toolConfig"] = {"tools": [_tool(request, at) for at in range(len(request.tools))]}
        if request.tool_choice:
            place(body, "toolConfig.toolChoice", _choice(request.tool_choice))
    place_ask(body, route, request, max_tokens_at="inferenceConfig.maxTokens")
    if behavior := mismatch_behavior(request):
        place(body, f"additionalModelRequestFields.thinking.{BINDING}", behavior)
    if betas := betas_for(request):
        place(body, "additionalModelRequestFields.anthropic_beta", betas)
    call = "converse-stream" if request.stream else "converse"
    return outgoing(f"/model/{quoted(request.model)}/{call}", body)


def _tool(request: Request, at: int) -> Json:
    tool = request.tools[at]
    described: Json = {"description": tool.description} if tool.description else {}
    schema = {"json": raw(tool.parameters, tool.name)}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": schema}}


def _choice(choice: str) -> Json:
    if choice == NONE:
        raise Refused(
            f"{NAME} cannot be kept from calling the tools it is given. Nothing was sent. "
            "Leave tool_choice out, or leave the tools out if no call was made yet."
        )
    return _CHOICES.get(choice) or {"tool": {"name": choice}}


def _plain(message: AssistantMessage) -> Json:
    content: list[Json] = [{"text": message.text}] if message.text else []
    content += [
        {
            "toolUse": {
                "toolUseId": call.call_id,
                "name": call.name,
                "input": raw(call.arguments, call.name),
            }
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": content}


def _answer(message: AssistantMessage) -> object:
    return verbatim(message) if message.verbatim else _plain(message)


def _asked(message: UserMessage | ToolMessage) -> list[Json]:
    if isinstance(message, ToolMessage):
        content = [{"text": message.result}] if message.result.strip() else []
        status = "error" if message.failed else "success"
        return [{"toolResult": {"toolUseId": message.call_id, "content": content, "status": status}}]
    pictures: list[Json] = [
        {"image": {"format": picture_format(image, _PICTURES, NAME), "source": {"bytes": image.data}}}
        for image in message.images
    ]
    return beside(pictures, message.text, {"text": message.text})
