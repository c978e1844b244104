"""The tools that come along: exact arithmetic, the time, and a search in earlier conversations.

A calculator's result ends in its exact value, alone or after the last sign of equality, because that is
where the built-in model looks for it.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta

from thinkaloud.agents.tools import Tool, ToolFault, from_function
from thinkaloud.builtin.arithmetic import evaluate
from thinkaloud.builtin.words import exact_text

_ROUNDING = Context(prec=12)
_Expression = Annotated[str, Meta(min_length=1, max_length=1000)]
"""Long enough for any sum a person would check, and short enough to be worked out at once."""
_Query = Annotated[str, Meta(min_length=1, max_length=500)]


async def calculator(expression: _Expression) -> str:
    """Work out arithmetic exactly, with fractions and whole numbers of any length.

    Args:
        expression: Numbers with + - * / ^ and brackets, such as (2 + 3) * 4 / 7; a point before decimals.
    """
    try:
        value = evaluate(expression.replace("**", "^"))[-1]
    except ValueError as error:
        raise ToolFault(
            f"That cannot be worked out: {error}. Write only numbers, + - * / ^ and brackets, "
            "with a point before decimals and nothing between thousands."
        ) from None
    return _number_text(value)


def _number_text(value: Fraction) -> str:
    exact = exact_text(value)
    if "/" not in exact:
        return exact
    rounded = _ROUNDING.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{rounded} (rounded); exactly = {exact}"


async def current_time(zone: str = "UTC") -> str:
    """Tell the date, the weekday and the time of day, now.

    Args:
        zone: The IANA name of a time zone, such as Europe/Lisbon or America/Sao_Paulo.
    """
    try:
        # UTC is known without the database of zones, which not every machine has.
        now = datetime.now(UTC if zone in ("", "UTC") else ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        # OSError: the name is a folder of zones, such as America.
        raise ToolFault(
            f"There is no time zone {zone[:100]!r}. Give an IANA name such as Europe/Lisbon, or none for UTC."
        ) from None
    return f"{now.isoformat(timespec='seconds')} ({now:%A}, {zone or 'UTC'})"


def search_sessions(search: Callable[[str], Awaitable[str]]) -> Tool:
    """A tool that looks for words in earlier conversations, by a search that is already the asker's own."""

    async def search_sessions(query: _Query) -> str:
        """Search the user's earlier conversations, and come back with the passages that were found.

        Args:
            query: The words to look for.
        """
        return await search(query) or "Nothing was found. Try fewer or other words."

    return from_function(search_sessions)


def builtin_tools() -> dict[str, Tool]:
    """The tools that need nothing, by name."""
    return {"calculator": from_function(calculator), "current_time": from_function(current_time)}
