"""Prepares a request: chooses the route, translates the thinking setting, and builds the content.

Nothing is sent here. `PreparedRequest.notes` names every setting that the model cannot honour.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

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
    retirement_note,
)
from thinkaloud.catalog import route as choose_route
from thinkaloud.client.keys import resolve_key
from thinkaloud.context import BuildOptions, ContextMode, Conversation, Report, UnsupportedThoughts, build

if TYPE_CHECKING:
    from thinkaloud.client.http import Client

HaveKey = Callable[[Provider], bool]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a request besides prompt, model and thinking level."""

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
    client: "Client | None" = None


class PreparedRequest(msgspec.Struct, frozen=True):
    """A request and the route it is sent to."""

    route: Route
    request: Request
    notes: tuple[str, ...] = ()
    """That the model is retired, and the settings that it cannot honour, one sentence each."""
    prefix: str = ""
    """Fingerprint of the conversation, stored with the answer."""
    report: Report = Report()
    """What was sent, withheld or transformed, for every block of the conversation."""


def parse_thinking(thinking: str | int | None) -> ThinkingSetting:
    """Parse a thinking level ("high") or a token budget (4096); None keeps the model's default."""
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
    """Return whether the provider's key is available, or none is needed."""
    try:
        resolve_key(provider.key, environ=os.environ)
    except KeyMissing:
        return False
    return True


def require_key(route: Route) -> None:
    """Raise `KeyMissing` if the route's provider needs a key that is not available."""
    try:
        resolve_key(route.provider.key, environ=os.environ)
    except KeyMissing as error:
        raise key_missing_error(route, fault=error.fault) from None


def prepare(
    prompt: str | Conversation,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
    have_key: HaveKey = has_key,
) -> PreparedRequest:
    """Choose the route, translate the thinking setting, and build the request."""
    options = options or Options()
    setting = parse_thinking(thinking)
    if has_thinking_suffix(model) and setting == ThinkingSetting():
        setting = ThinkingSetting(level=ThinkingLevel.MEDIUM)
    on = setting.level not in (None, ThinkingLevel.OFF) or setting.budget_tokens is not None
    route = choose_route(options.catalog or builtin_catalog(), model, thinking=on, have_key=have_key)
    parameters = resolve_thinking(
        route,
        setting,
        max_tokens=options.max_tokens,
        tools=bool(options.tools),
        on_unavailable=options.on_thinking_unavailable,
    )
    build_options = BuildOptions(
        mode=options.context_mode,
        unsupported=options.unsupported,
        thinking=parameters,
        max_tokens=parameters.max_tokens or options.max_tokens,
        tool_choice=options.tool_choice,
        stream=options.stream,
    )
    built = build(_conversation(prompt, options), route, build_options)
    retirement = retirement_note(route)
    notes = (*([retirement] if retirement else []), *parameters.notes, *built.report.notes)
    return PreparedRequest(route, built.request, notes, built.prefix, built.report)


def _conversation(prompt: str | Conversation, options: Options) -> Conversation:
    if isinstance(prompt, Conversation):
        return prompt
    return Conversation(
        system=options.system, tools=options.tools, steps=(UserMessage(prompt, options.images),)
    )
