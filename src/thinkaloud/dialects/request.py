"""What a request becomes: a path below the provider's address, headers without a key, and a body in bytes.

An assistant's own message is put into the body byte for byte; it is never read and written again.
"""

import re

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import AssistantMessage, Image, Request
from thinkaloud.catalog.rows import Route
from thinkaloud.wire import valid_json

JsonDict = dict[str, object]
"""A JSON object that is being put together."""

TOOL_CHOICE_AUTO = "auto"
TOOL_CHOICE_NONE = "none"
TOOL_CHOICE_REQUIRED = "required"
"""The words of `Request.tool_choice`; any other is the name of the tool that must be called."""

_THINKING_FIELDS = ("mode", "effort", "level", "budget_tokens", "toggle", "display")


class ProviderRequest(msgspec.Struct, frozen=True):
    """A request as it leaves; the key is added by whoever sends it."""

    path: str
    headers: dict[str, str]
    body: bytes


def json_request(path: str, body: JsonDict, headers: dict[str, str] | None = None) -> ProviderRequest:
    """The body as bytes, with the header that says what it is."""
    return ProviderRequest(
        path, {"content-type": "application/json", **(headers or {})}, msgspec.json.encode(body)
    )


def set_at_path(body: JsonDict, path: str, value: object) -> None:
    """Put a value where a dotted path leads, making the objects on the way."""
    *parents, leaf = path.split(".")
    for name in parents:
        child = body.setdefault(name, {})
        assert isinstance(child, dict), f"{name} of {path} holds a value already"
        body = child
    body[leaf] = value


def set_model_options(body: JsonDict, route: Route, request: Request, *, max_tokens_path: str) -> None:
    """Put what is asked of the model where its provider's row says; what has no place is not sent."""
    places = route.provider.places
    for field in _THINKING_FIELDS:
        value = getattr(request.thinking, field)
        if value not in (None, "") and field in places:
            set_at_path(body, places[field], value)
    if request.thinking.template and "template" in places:
        set_at_path(body, places["template"], dict(request.thinking.template))
    if (max_tokens := max_output_tokens(route, request)) is not None:
        set_at_path(body, places.get("max_tokens", max_tokens_path), max_tokens)


def max_output_tokens(route: Route, request: Request) -> int | None:
    """The longest answer: as solved, as wanted, or as the provider demands one."""
    for max_tokens in (request.thinking.max_tokens, request.max_tokens, route.provider.max_tokens):
        if max_tokens is not None:
            return max_tokens
    return None


def checked_json(text: str, description: str) -> msgspec.Raw:
    """JSON text, to be put into the body as it is."""
    data = text.encode()
    if not valid_json(data):
        raise Refused(
            f"{description} is not JSON: {text[:60]!r}. Nothing was sent. Write it as one JSON value."
        )
    return msgspec.Raw(data)


def verbatim_message(message: AssistantMessage) -> msgspec.Raw:
    """The provider's own message."""
    return checked_json(message.verbatim, "The assistant's own message")


def verbatim_items(message: AssistantMessage) -> list[msgspec.Raw]:
    """The provider's own message where it is a list: each item byte for byte."""
    return msgspec.json.decode(verbatim_message(message), type=list[msgspec.Raw])


def data_url(image: Image) -> str:
    """A picture as a URL that holds it."""
    return f"data:{image.media_type};base64,{image.data}"


def image_format(image: Image, allowed: tuple[str, ...], dialect: str) -> str:
    """The format of a picture, if the dialect takes it."""
    kind, _, subtype = image.media_type.partition("/")
    if kind != "image" or subtype not in allowed:
        raise Refused(
            f"{dialect} takes no picture of type {image.media_type!r}. Nothing was sent. "
            f"Convert it to one of: {', '.join(allowed)}."
        )
    return subtype


def quote_path_segment(name: str) -> str:
    """A model's name as one piece of a path."""
    return re.sub(
        r"[^A-Za-z0-9._~-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name
    )


def images_then_text(images: list[JsonDict], text: str, text_part: JsonDict) -> list[JsonDict]:
    """Pictures and then the text; no empty text where there are pictures."""
    return [*images, text_part] if text or not images else images
