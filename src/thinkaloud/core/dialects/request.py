"""The encoded request: a path below the provider's base URL, headers without the key, and a body.

A provider's own assistant message is inserted byte for byte and never decoded, because signatures may
depend on its exact bytes.
"""

import re
from collections.abc import Mapping

import msgspec

from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import AssistantMessage, File, Image, Request, ToolCall, ToolDefinition
from thinkaloud.core.catalog.rows import SAMPLING_PARAMETERS, Route
from thinkaloud.core.wire import valid_json

JsonDict = dict[str, object]
"""A JSON object of a request body."""

TOOL_CHOICE_AUTO = "auto"
TOOL_CHOICE_NONE = "none"
TOOL_CHOICE_REQUIRED = "required"
"""The values of `Request.tool_choice`; any other value is the name of the tool that must be called."""

SKIP_SIGNATURE_CHECK = "skip_thought_signature_validator"
"""The placeholder that Google documents for the signature of a call by another model."""
PDF = "application/pdf"
OUTPUT_NAME = "answer"
"""The name of the JSON Schema of an answer, for APIs that require one."""

_THINKING_FIELDS = ("mode", "effort", "level", "budget_tokens", "toggle", "display")


class ProviderRequest(msgspec.Struct, frozen=True):
    """An encoded request; the client adds the API key when it sends it."""

    path: str
    headers: dict[str, str]
    body: bytes


def json_request(
    path: str, body: JsonDict, request: Request, headers: dict[str, str] | None = None
) -> ProviderRequest:
    """Encode a JSON body with the extra fields of the request, and add its content type."""
    for name, value in request.sampling.extra.items():
        _add_extra(body, name, value)
    return ProviderRequest(
        path, {"content-type": "application/json", **(headers or {})}, msgspec.json.encode(body)
    )


def _add_extra(body: JsonDict, path: str, value: object) -> None:
    """Add a field that the caller asked for. It must not replace one that is set already."""
    target: object = body
    for name in path.split("."):
        target = target.get(name, {}) if isinstance(target, dict) else None
    if target != {}:
        raise Refused(
            "The extra field {path} is part of the request already. Nothing was sent. Use the option "
            "for it, or choose another field.",
            path=repr(path),
        )
    set_at_path(body, path, value)


def set_at_path(body: JsonDict, path: str, value: object) -> None:
    """Set the value at a dotted path and create the objects on it."""
    *parents, leaf = path.split(".")
    for name in parents:
        child = body.setdefault(name, {})
        assert isinstance(child, dict), f"{name} of {path} holds a value already"
        body = child
    body[leaf] = value


def set_model_options(body: JsonDict, route: Route, request: Request, paths: Mapping[str, str]) -> None:
    """Set the thinking fields, the output limit and the sampling parameters.

    Their paths are those of the provider's row, else the dialect's. A field without a path is not sent.
    """
    places = route.provider.places
    for field in _THINKING_FIELDS:
        value = getattr(request.thinking, field)
        if value not in (None, "") and field in places:
            set_at_path(body, places[field], value)
    if request.thinking.template and "template" in places:
        set_at_path(body, places["template"], dict(request.thinking.template))
    if (max_tokens := max_output_tokens(route, request)) is not None:
        set_at_path(body, places.get("max_tokens", paths["max_tokens"]), max_tokens)
    for name in SAMPLING_PARAMETERS:
        value = getattr(request.sampling, name)
        if value not in (None, ()) and (path := places.get(name, paths.get(name, ""))):
            set_at_path(body, path, value)


def strict_schema(node: object) -> bool:
    """Return whether OpenAI takes a schema in strict mode: objects are closed and need all fields."""
    if isinstance(node, list):
        return all(map(strict_schema, node))
    if not isinstance(node, dict):
        return True
    properties = node.get("properties", {})
    if node.get("type") == "object" and (
        node.get("additionalProperties") is not False or set(node.get("required", ())) != set(properties)
    ):
        return False
    return all(strict_schema(part) for part in (*properties.values(), node.get("items"), node.get("anyOf")))


def max_output_tokens(route: Route, request: Request) -> int | None:
    """Return the output limit: of the thinking parameters, the request or the provider, in this order."""
    for max_tokens in (request.thinking.max_tokens, request.max_tokens, route.provider.max_tokens):
        if max_tokens is not None:
            return max_tokens
    return None


def tool_parameters(tool: ToolDefinition) -> msgspec.Raw:
    """Return the JSON Schema of a tool's parameters."""
    return _checked_json(tool.parameters, f"The parameter schema of the tool {tool.name!r}")


def call_arguments(call: ToolCall) -> msgspec.Raw:
    """Return the arguments of a call as a JSON value."""
    return _checked_json(call.arguments, f"The argument text of a call of {call.name!r}")


def _checked_json(text: str, description: str) -> msgspec.Raw:
    """Return JSON text as a value that is inserted into the body unchanged."""
    data = text.encode()
    if not valid_json(data):
        raise Refused(
            "{description} is not valid JSON: {text}. Nothing was sent. Write it as one JSON value.",
            description=description,
            text=repr(text[:60]),
        )
    return msgspec.Raw(data)


def verbatim_message(message: AssistantMessage) -> msgspec.Raw:
    """Return the provider's own message."""
    return _checked_json(message.verbatim, "The stored assistant message")


def verbatim_items(message: AssistantMessage) -> list[msgspec.Raw]:
    """Return the items of a provider's own message that is a list, each byte for byte."""
    return msgspec.json.decode(verbatim_message(message), type=list[msgspec.Raw])


def data_url(part: Image | File) -> str:
    """Return an image or a file as a data URL."""
    return f"data:{part.media_type};base64,{part.data}"


def file_name(file: File) -> str:
    """Return the name of a file, which some APIs require."""
    return file.name or "file.pdf"


def pdf_type(file: File, dialect: str) -> str:
    """Return the type of a PDF file, or refuse another file."""
    if file.media_type != PDF:
        raise Refused(
            "{dialect} does not accept files of type {media_type}. Nothing was sent. Send a PDF.",
            dialect=dialect,
            media_type=repr(file.media_type),
        )
    return file.media_type


def image_format(image: Image, allowed: tuple[str, ...], dialect: str) -> str:
    """Return the format of an image, or refuse it if the dialect does not accept it."""
    kind, _, subtype = image.media_type.partition("/")
    if kind != "image" or subtype not in allowed:
        raise Refused(
            "{dialect} does not accept images of type {media_type}. Nothing was sent. Convert the "
            "image to one of: {allowed}.",
            dialect=dialect,
            media_type=repr(image.media_type),
            allowed=", ".join(allowed),
        )
    return subtype


def quote_path_segment(name: str) -> str:
    """Percent-encode a model name as one segment of a path."""
    return re.sub(
        r"[^A-Za-z0-9._~-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name
    )


def images_then_text(images: list[JsonDict], text: str, text_part: JsonDict) -> list[JsonDict]:
    """Return the images and then the text; an empty text is left out if there are images."""
    if images and not text:
        return images
    return [*images, text_part]
