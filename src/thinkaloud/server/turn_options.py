"""The options of a turn that are stored with it."""

from typing import Any

from thinkaloud.canon.requests import Sampling, ThinkingLevel
from thinkaloud.catalog.thinking import OnUnavailable
from thinkaloud.context import ContextMode
from thinkaloud.server.schemas import NewTurn


class TurnOptions(Sampling, frozen=True, omit_defaults=True):
    """The options of a request, stored so that a suspended turn can be resumed with them."""

    thinking: ThinkingLevel | int | None = None
    max_tokens: int | None = None
    context_mode: ContextMode | None = None
    system: str = ""
    output_schema: dict[str, Any] | None = None
    on_thinking_unavailable: OnUnavailable = "error"


def turn_options(body: NewTurn) -> TurnOptions:
    """Return the options of a request."""
    return TurnOptions(**{name: getattr(body, name) for name in TurnOptions.__struct_fields__})
