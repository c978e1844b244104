"""Thinkaloud reads any model provider's response into one turn, and asks any model.

`read` reads a whole response, `follow` a stream that a program already has, and `Reader` one that arrives in
pieces. `ask` and `stream` send a prompt or a conversation. Every name is imported on first use: `import
thinkaloud` and `thinkaloud --version` are fast.
"""

TYPE_CHECKING = False  # not from `typing`, whose import takes longer than the rest of this module
if TYPE_CHECKING:
    from thinkaloud.agents.conversation import Conversation
    from thinkaloud.agents.spec import Agent
    from thinkaloud.agents.tools import Tool
    from thinkaloud.client.api import ask, stream
    from thinkaloud.client.follow import Following, follow, print_thinking
    from thinkaloud.client.output import parse_output
    from thinkaloud.client.prepared_request import Options
    from thinkaloud.client.sync import ask_sync, stream_sync
    from thinkaloud.client.user_catalog import load_catalog
    from thinkaloud.core.canon import BadOutput, Entry, Event, NotAResponse, Refused, ThinkaloudError
    from thinkaloud.core.canon.requests import File, Image, ToolDefinition, ToolMessage, UserMessage
    from thinkaloud.core.context import AnsweredTurn, Context
    from thinkaloud.core.dialects import Reader
    from thinkaloud.core.transcript import Block, Callbacks, Delta, Handler, Outcome, Turn, apply, fold

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AnsweredTurn",
    "BadOutput",
    "Block",
    "Callbacks",
    "Context",
    "Conversation",
    "Delta",
    "Entry",
    "Event",
    "File",
    "Following",
    "Handler",
    "Image",
    "NotAResponse",
    "Options",
    "Outcome",
    "Reader",
    "Refused",
    "ThinkaloudError",
    "Tool",
    "ToolDefinition",
    "ToolMessage",
    "Turn",
    "UserMessage",
    "apply",
    "ask",
    "ask_sync",
    "fold",
    "follow",
    "load_catalog",
    "parse_output",
    "print_thinking",
    "read",
    "stream",
    "stream_sync",
]

_MODULES = {
    "thinkaloud.agents.conversation": ("Conversation",),
    "thinkaloud.agents.spec": ("Agent",),
    "thinkaloud.agents.tools": ("Tool",),
    "thinkaloud.core.canon": ("BadOutput", "Entry", "Event", "NotAResponse", "Refused", "ThinkaloudError"),
    "thinkaloud.core.canon.requests": ("File", "Image", "ToolDefinition", "ToolMessage", "UserMessage"),
    "thinkaloud.client.api": ("ask", "stream"),
    "thinkaloud.client.sync": ("ask_sync", "stream_sync"),
    "thinkaloud.client.follow": ("Following", "follow", "print_thinking"),
    "thinkaloud.client.output": ("parse_output",),
    "thinkaloud.client.prepared_request": ("Options",),
    "thinkaloud.client.user_catalog": ("load_catalog",),
    "thinkaloud.core.context": ("AnsweredTurn", "Context"),
    "thinkaloud.core.dialects": ("Reader",),
    "thinkaloud.core.transcript": (
        "Block",
        "Callbacks",
        "Delta",
        "Handler",
        "Outcome",
        "Turn",
        "apply",
        "fold",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def read(data: object, dialect: str = "auto", *, model: str = "", tags: str = "") -> "Turn":
    """Read a response, whole or streamed, into a turn: bytes, text, decoded JSON, or what an SDK returned.

    Raises `NotAResponse` when "auto" recognizes no dialect in it.
    """
    from thinkaloud.core.dialects import Reader
    from thinkaloud.core.transcript import fold

    reader = Reader(dialect, model=model, tags=tags)
    if isinstance(data, bytes):
        return fold([*reader.feed(data), *reader.close()])
    from thinkaloud.client.follow import Following

    stream = Following(data, reader)
    for _ in stream:
        pass
    return stream.turn


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'thinkaloud' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
