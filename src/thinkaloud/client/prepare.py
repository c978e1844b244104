"""Prepares a request: chooses the route, solves how to ask for thinking, builds the body's content.

Nothing is sent here. What a model cannot honour is in `PreparedRequest.notes`, and nothing falls
back in silence.
"""

import os
from collections.abc import Callable
from typing import Literal

import msgspec

from thinkaloud.canon import KeyMissing, Refused
from thinkaloud.canon.requests import (
    Image,
    Request,
    ThinkingLevel,
    ThinkingSetting,
    ToolDefinition,
    UserMessage,
)
from thinkaloud.catalog import (
    Catalog,
    Provider,
    Route,
    builtin_catalog,
    has_thinking_suffix,
    key_missing_error,
    resolve_thinking,
)
from thinkaloud.catalog import route as choose_route
from thinkaloud.client.http import Client
from thinkaloud.client.keys import resolve_key
from thinkaloud.context import BuildOptions, ContextMode, Conversation, Report, UnsupportedThoughts, build

HaveKey = Callable[[Provider], bool]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a request beside the prompt, the model and the thinking level."""

    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    images: tuple[Image, ...] = ()
    tool_choice: str = ""
    max_tokens: int | None = None
    stream: bool = True
    context_mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    unsupported: UnsupportedThoughts = UnsupportedThoughts.METADATA
    on_thinking_unavailable: Literal["error", "warn"] = "error"
    catalog: Catalog | None = None
    client: Client | None = None


class PreparedRequest(msgspec.Struct, frozen=True):
    """A request that is ready to be sent over its route."""

    route: Route
    request: Request
    notes: tuple[str, ...] = ()
    """What the model cannot honour, one sentence each."""
    prefix: str = ""
    """Fingerprint of the conversation, kept with the answer."""
    report: Report = Report()
    """What became of every block of the conversation."""


def parse_thinking(thinking: str | int | None) -> ThinkingSetting:
    """Parse a thinking level ("high") or a token budget (4096); None leaves it to the model."""
    if thinking is None or thinking == "":
        return ThinkingSetting()
    if isinstance(thinking, int) or thinking.isdecimal():
        return ThinkingSetting(budget_tokens=int(thinking))
    try:
        return ThinkingSetting(level=ThinkingLevel(thinking))
    except ValueError:
        levels = ", ".join(ThinkingLevel)
        raise Refused(
            f"Invalid thinking level: {thinking!r}. Use one of {levels}, or a number of tokens."
        ) from None


def has_key(provider: Provider) -> bool:
    """Whether the provider's key is available, or none is needed."""
    try:
        resolve_key(provider.key, environ=os.environ)
    except KeyMissing:
        return False
    return True


def require_key(route: Route) -> None:
    """Refuse a route whose provider needs a key that is not available."""
    if not has_key(route.provider):
        raise key_missing_error(route)


def prepare(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
    have_key: HaveKey = has_key,
) -> PreparedRequest:
    """Choose the route, solve how to ask for thinking, and build the request."""
    options = options or Options()
    setting = parse_thinking(thinking)
    if has_thinking_suffix(model) and setting == ThinkingSetting():
        setting = ThinkingSetting(level=ThinkingLevel.MEDIUM)
    on = setting.level not in (None, ThinkingLevel.OFF) or setting.budget_tokens is not None
    route = choose_route(options.catalog or builtin_catalog(), model, thinking=on, have_key=have_key)
    ask = resolve_thinking(
        route,
        setting,
        max_tokens=options.max_tokens,
        tools=bool(options.tools),
        on_unavailable=options.on_thinking_unavailable,
    )
    terms = BuildOptions(
        mode=options.context_mode,
        unsupported=options.unsupported,
        ask=ask,
        max_tokens=ask.max_tokens or options.max_tokens,
        tool_choice=options.tool_choice,
        stream=options.stream,
    )
    built = build(_conversation(prompt, options), route, terms)
    notes = (*ask.notes, *built.report.notes)
    return PreparedRequest(route, built.request, notes, built.prefix, built.report)


def _conversation(prompt: str | Conversation, options: Options) -> Conversation:
    if isinstance(prompt, Conversation):
        return prompt
    return Conversation(
        system=options.system, tools=options.tools, steps=(UserMessage(prompt, options.images),)
    )
