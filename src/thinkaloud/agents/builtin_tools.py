"""The built-in tools: exact arithmetic, the current time, and a search in earlier sessions.

The result of `calculator` ends with the exact value, alone or after the last equals sign: the built-in model
reads it there.
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
"""Long enough for any sum a person would check, and short enough to be computed immediately."""
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
            f"The expression is not valid: {error}. Use only numbers, + - * / ^ and brackets, "
            "a decimal point, and no thousands separators."
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
        # UTC needs no time zone database, which not every machine has.
        now = datetime.now(UTC if zone in ("", "UTC") else ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        # OSError: the name is a folder of the time zone database, such as America.
        raise ToolFault(
            f"There is no time zone {zone[:100]!r}. Use an IANA name such as Europe/Lisbon, or none for UTC."
        ) from None
    return f"{now.isoformat(timespec='seconds')} ({now:%A}, {zone or 'UTC'})"


def search_sessions(search: Callable[[str], Awaitable[str]]) -> Tool:
    """Return a tool that searches earlier sessions. `search` must be limited to the caller's own sessions."""

    async def search_sessions(query: _Query) -> str:
        """Search the user's earlier conversations and return the matching passages.

        Args:
            query: The words to look for.
        """
        return await search(query) or "Nothing was found. Try fewer or other words."

    return from_function(search_sessions)


def builtin_tools() -> dict[str, Tool]:
    """Return the built-in tools that need no gateway, by name."""
    return {"calculator": from_function(calculator), "current_time": from_function(current_time)}
