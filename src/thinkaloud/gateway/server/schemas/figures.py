"""Request and response structs of figures."""

from typing import Annotated

import msgspec
from msgspec import Meta

from thinkaloud.gateway.store.queries.figures import LongThought

MAX_DAYS = 366


class FiguresQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which days to sum up."""

    days: Annotated[int, Meta(ge=1, le=MAX_DAYS, description="The number of days, with today.")] = 30
    utc_offset_minutes: Annotated[
        int, Meta(ge=-840, le=840, description="The caller's time zone, by which days begin.")
    ] = 0


class FigureRow(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of the turns of one model, agent or day. Turns whose value is unknown are not in a sum."""

    name: str
    """The model, the id of the agent (empty for no agent), or the day as `2026-11-17`."""
    title: str = ""
    """The present name of an agent; empty if it was deleted, and for models and days."""
    turns: int = 0
    thought: int = 0
    """Turns with thinking."""
    timed: int = 0
    """Turns whose thinking time is known."""
    thinking_ms: int = 0
    counted: int = 0
    """Turns whose tokens are known."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    priced: int = 0
    """Turns whose cost is known."""
    usd: str = "0"
    """The known cost in US dollars."""
    stalls: int = 0
    """How often nothing came from a model for a long time."""
    loops: int = 0
    """How often a model repeated itself."""
    hidden: int = 0
    """Turns whose thinking the user may not see. Only `turns` counts them."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the user's turns in the workspace."""

    since_ms: int
    """The beginning of the first day."""
    total: FigureRow
    models: tuple[FigureRow, ...]
    agents: tuple[FigureRow, ...]
    days: tuple[FigureRow, ...]
    """Days with turns, the first one first."""
    longest: tuple[LongThought, ...]
    """The longest thoughts."""
    priced_by: str
    """The source of the prices; empty if it is not installed."""
    complete: bool
    """False while older turns are still to be counted. Ask again."""
