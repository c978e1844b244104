"""Reads values of JSON objects whose types other programs chose: a value of another type is no value."""

from datetime import UTC, datetime
from typing import Any

from thinkaloud.core.canon.events import MAX_NUMBER


def string(value: Any, name: str) -> str:
    """Return a string field of an object; empty if it has none."""
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, str) else ""


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return an object field of an object; empty if it has none."""
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, dict) else {}


def array(value: Any, name: str) -> list[Any]:
    """Return a list field of an object; empty if it has none."""
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, list) else []


def count(value: Any, name: str) -> int | None:
    """Return a field that counts something; None if there is none."""
    field = value.get(name) if isinstance(value, dict) else None
    if not isinstance(field, int) or isinstance(field, bool):
        return None
    return field if 0 <= field <= MAX_NUMBER else None


def time_ms(value: Any) -> int | None:
    """Return a time as milliseconds since 1970: seconds, milliseconds or ISO 8601; None if it is no time."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        value = moment.timestamp()
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / 1000 if value > 1e11 else value  # 1e11 seconds are the year 5138
    return round(seconds * 1000) if 0 < seconds < 1e11 else None
