"""The options of a turn that are stored with it."""

from typing import Any

import msgspec

from thinkaloud.core.canon.requests import Sampling, ThinkingLevel, ToolDefinition
from thinkaloud.core.catalog.thinking import OnUnavailable
from thinkaloud.core.context import ContextMode
from thinkaloud.gateway.server.schemas.sessions import NewTurn


class TurnOptions(Sampling, frozen=True, omit_defaults=True):
    """The options of a request, stored so that a suspended turn can be resumed with them."""

    thinking: ThinkingLevel | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode | None = None
    system: str = ""
    output_schema: dict[str, Any] | None = None
    on_thinking_unavailable: OnUnavailable = "error"


class HeldTools(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tools of a client that does not send them with every request."""

    tools: tuple[ToolDefinition, ...] = ()
    offers: dict[str, bool] = {}
    """As in `ClientRequest.tool_offers`."""
    turn: str = ""
    """The id of an earlier turn that holds all this. Empty if this one does."""


class StoredOptions(TurnOptions, frozen=True, omit_defaults=True):
    """All that is stored with a turn of its request."""

    held: HeldTools | None = None


def turn_options(body: NewTurn, held: HeldTools | None) -> StoredOptions:
    """Return the options of a request."""
    options = {name: getattr(body, name) for name in TurnOptions.__struct_fields__}
    return StoredOptions(**options, held=held)
