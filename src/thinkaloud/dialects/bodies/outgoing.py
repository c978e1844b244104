"""What a request becomes: a path below the provider's address, headers without a key, and a body in bytes.

An assistant's own message is put into the body byte for byte; it is never read and written again.
"""

import re

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import AssistantMessage, Image, Request
from thinkaloud.catalog.rows import Route
from thinkaloud.wire import complete

Json = dict[str, object]
"""A JSON object that is being put together."""

AUTO = "auto"
NONE = "none"
REQUIRED = "required"
"""The words of `Request.tool_choice`; any other is the name of the tool that must be called."""

_ASKED = ("mode", "effort", "level", "budget_tokens", "toggle", "display")


class Outgoing(msgspec.Struct, frozen=True):
    """A request as it leaves; the key is added by whoever sends it."""

    path: str
    headers: dict[str, str]
    body: bytes


def outgoing(path: str, body: Json, headers: dict[str, str] | None = None) -> Outgoing:
    """The body as bytes, with the header that says what it is."""
    return Outgoing(path, {"content-type": "application/json", **(headers or {})}, msgspec.json.encode(body))


def place(body: Json, path: str, value: object) -> None:
    """Put a value where a dotted path leads, making the objects on the way."""
    *outer, last = path.split(".")
    for word in outer:
        inner = body.setdefault(word, {})
        assert isinstance(inner, dict), f"{word} of {path} holds a value already"
        body = inner
    body[last] = value


def place_ask(body: Json, route: Route, request: Request, *, max_tokens_at: str) -> None:
    """Put what is asked of the model where its provider's row says; what has no place is not sent."""
    places = route.provider.places
    for field in _ASKED:
        value = getattr(request.ask, field)
        if value not in (None, "") and field in places:
            place(body, places[field], value)
    if request.ask.template and "template" in places:
        place(body, places["template"], dict(request.ask.template))
    if (most := most_tokens(route, request)) is not None:
        place(body, places.get("max_tokens", max_tokens_at), most)


def most_tokens(route: Route, request: Request) -> int | None:
    """The longest answer: as solved, as wanted, or as the provider demands one."""
    for most in (request.ask.max_tokens, request.max_tokens, route.provider.max_tokens):
        if most is not None:
            return most
    return None


def raw(text: str, what: str) -> msgspec.Raw:
    """JSON text, to be put into the body as it is."""
    data = text.encode()
    if not complete(data):
        raise Refused(f"{what} is not JSON: {text[:60]!r}. Nothing was sent. Write it as one JSON value.")
    return msgspec.Raw(data)


def verbatim(message: AssistantMessage) -> msgspec.Raw:
    """The provider's own message."""
    return raw(message.verbatim, "The assistant's own message")


def verbatim_items(message: AssistantMessage) -> list[msgspec.Raw]:
    """The provider's own message where it is a list: each item byte for byte."""
    return msgspec.json.decode(verbatim(message), type=list[msgspec.Raw])


def data_url(image: Image) -> str:
    """A picture as a URL that holds it."""
    return f"data:{image.media_type};base64,{image.data}"


def picture_format(image: Image, known: tuple[str, ...], dialect: str) -> str:
    """The format of a picture, if the dialect takes it."""
    kind, _, form = image.media_type.partition("/")
    if kind != "image" or form not in known:
        raise Refused(
            f"{dialect} takes no picture of type {image.media_type!r}. Nothing was sent. "
            f"Convert it to one of: {', '.join(known)}."
        )
    return form


def quoted(name: str) -> str:
    """A model's name as one piece of a path."""
    return re.sub(
        r"[^A-Za-z0-9._~-]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name
    )


def beside(pictures: list[Json], text: str, part: Json) -> list[Json]:
    """Pictures and then the text; no empty text where there are pictures."""
    return [*pictures, part] if text or not pictures else pictures
