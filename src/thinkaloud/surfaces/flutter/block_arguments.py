"""Checks what an app passes to the thinking block, so that an error names the argument and what it takes."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import UnionType

import msgspec

from thinkaloud.core.canon import Entry
from thinkaloud.core.transcript import Turn
from thinkaloud.core.view import Policy, read_policy

Content = str | Turn | Iterable[Entry] | None
Duration = float | timedelta | None
PolicySettings = Policy | Mapping[str, object] | None


def require(name: str, value: object, kinds: type | UnionType, expected: str) -> None:
    """Raise unless an argument is of one of these kinds."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {expected}, not {type(value).__name__}")


def read_content(content: Content) -> str | Turn | list[Entry]:
    """Return a text, a turn or a list of entries; None is an empty text."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Turn):
        return content
    entries: object = None if isinstance(content, bytes | Mapping) else content
    require("content", entries, Iterable, "a text, a Turn, entries of a turn, or None")
    return [read_entry(entry) for entry in content]


def read_entry(entry: Entry) -> Entry:
    """Return an entry, or raise."""
    require("entry", entry, Entry, "an Entry with its sequence number and event")
    return entry


def read_duration(duration: Duration) -> int | None:
    """Return a duration in milliseconds; None if it is unknown."""
    if duration is None:
        return None
    require("duration", duration, int | float | timedelta, "seconds, a timedelta, or None")
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= seconds <= timedelta.max.total_seconds():  # false for NaN as well
        raise ValueError(f"duration must be zero or more seconds, not {seconds}")
    return round(seconds * 1000)


def read_settings(policy: PolicySettings) -> Policy:
    """Return a policy from a policy or its settings."""
    require("policy", policy, Policy | Mapping | None, "a Policy, its settings as a dict, or None")
    return policy if isinstance(policy, Policy) else read_policy(policy or {})


def read_auto_close(policy: Policy, auto_close: bool) -> Policy:
    """Return the policy with what the app said of closing at the end."""
    require("auto_close", auto_close, bool, "True or False")
    return policy if auto_close else msgspec.structs.replace(policy, auto_close=False)
