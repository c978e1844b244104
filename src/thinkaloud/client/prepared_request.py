"""Prepares a request: chooses the route, translates the thinking setting, and builds the content.

Nothing is sent here. `PreparedRequest.notes` names every setting that the model cannot honour.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from thinkaloud.client.files import user_message
from thinkaloud.client.keys import resolve_key
from thinkaloud.client.output import OutputShape, fit_output, output_schema
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import KeyMissing, Refused, Wording, reason_of
from thinkaloud.core.canon.requests import (
    ContextMode,
    File,
    Image,
    OnUnavailable,
    OutputFormat,
    Request,
    RequestOptions,
    Sampling,
    ThinkingLevel,
    ThinkingParameters,
    ThinkingSetting,
    ToolDefinition,
    Verbosity,
    options_of,
)
from thinkaloud.core.catalog import (
    Catalog,
    Provider,
    Route,
    allows_forced_tool,
    has_thinking_suffix,
    key_missing_error,
    resolve_thinking,
    retirement_note,
)
from thinkaloud.core.catalog import route as choose_route
from thinkaloud.core.catalog.thinking import thinks
from thinkaloud.core.context import BuildOptions, Context, Report, UnsupportedThoughts, build
from thinkaloud.core.dialects import build_request
from thinkaloud.core.dialects.parameters import fit_sampling

if TYPE_CHECKING:
    from thinkaloud.client.http import Client

_FREE_CHOICES = ("", "auto", "none")
"""The tool choices that do not force a call."""

HaveKey = Callable[[Provider], bool]


class Options(RequestOptions, frozen=True, kw_only=True):
    """The settings of a request besides prompt and model.

    `output` is the shape of the answer: a class or a JSON Schema. `parse_output` reads an answer of it.
    """

    tools: tuple[ToolDefinition, ...] = ()
    images: tuple[Image, ...] = ()
    files: tuple[str | Path | File, ...] = ()
    """Files of the prompt, by path or as values: images, PDF files, recordings and text."""
    output: OutputShape | None = None
    stream: bool = True
    unsupported: UnsupportedThoughts = UnsupportedThoughts.METADATA
    catalog: Catalog | None = None
    client: "Client | None" = None

    @property
    def shape(self) -> OutputShape | None:
        """The shape of the answer, as a class or as a JSON Schema."""
        return self.output_schema if self.output is None else self.output


class CommonOptions(TypedDict, total=False):
    """Options of a request by name, for functions that take them directly. They are those of `Options`."""

    temperature: float | None
    top_p: float | None
    stop: Sequence[str]
    seed: int | None
    parallel_tool_calls: bool | None
    verbosity: Verbosity | None
    extra: dict[str, Any]
    on_thinking_unavailable: OnUnavailable
    max_tokens: int | None
    tool_choice: str
    output_schema: dict[str, Any] | None
    context_mode: ContextMode | None
    cache: bool
    catalog: Catalog | None
    client: "Client | None"


class AskOptions(CommonOptions, total=False):
    """What `ask` and `stream` take besides."""

    system: str
    tools: Sequence[ToolDefinition]
    images: Sequence[Image]
    files: Sequence[str | Path | File]
    stream: bool
    unsupported: UnsupportedThoughts


def with_options(options: Options | None, chosen: Mapping[str, Any]) -> Options:
    """Return the options with those that were passed by name. Raises `TypeError` for a name that is none."""
    lists = {name: tuple(value) for name, value in chosen.items() if isinstance(value, list)}
    return msgspec.structs.replace(options or Options(), **{**chosen, **lists})


class Fallback(msgspec.Struct, frozen=True):
    """What to do if the provider refuses a request with these words.

    Whether an account may see thoughts, and whether a local model can think, is known to the provider only.
    """

    refusal: str
    note: Wording
    request: Request | None = None
    """The request to send instead; None to raise `ThinkingNotOffered` with the note."""


class PreparedRequest(msgspec.Struct, frozen=True):
    """A request and the route it is sent to."""

    route: Route
    request: Request
    notes: tuple[Wording, ...] = ()
    """That the model is retired, and the settings that it cannot honour, one sentence each."""
    prefix: str = ""
    """Fingerprint of the conversation, stored with the answer."""
    report: Report = Report()
    """What was sent, withheld or transformed, for every block of the conversation."""
    fallbacks: tuple[Fallback, ...] = ()
    """What to send instead if the provider refuses it with known words."""


def parse_thinking(thinking: str | int | None) -> ThinkingSetting:
    """Parse a thinking level ("high") or a token budget (4096); None keeps the model's default."""
    if thinking is None or thinking == "":
        return ThinkingSetting()
    text = str(thinking)
    if text.isdecimal():
        return ThinkingSetting(budget_tokens=int(text))
    try:
        return ThinkingSetting(level=ThinkingLevel(text))
    except ValueError:
        levels = ", ".join(ThinkingLevel)
        raise Refused(
            "Invalid thinking level: {thinking}. Use one of {levels}, or a number of tokens.",
            thinking=repr(thinking),
            levels=levels,
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
    prompt: str | Context,
    *,
    model: str,
    thinking: str | int | None = None,
    options: Options | None = None,
    have_key: HaveKey = has_key,
) -> PreparedRequest:
    """Choose the route, translate the thinking setting, and build the request."""
    options = options or Options()
    _refuse_wrong_types(prompt, options)
    setting = _thinking_setting(model, options.thinking if thinking is None else thinking)
    on = setting.level not in (None, ThinkingLevel.OFF) or setting.budget_tokens is not None
    route = choose_route(options.catalog or load_catalog(), model, thinking=on, have_key=have_key)
    conversation, tool_notes = _with_accepted_tools(_conversation(prompt, options), route, options)
    forced = bool(conversation.tools) and options.tool_choice not in _FREE_CHOICES
    parameters = resolve_thinking(
        route,
        setting,
        max_tokens=options.max_tokens,
        tools=bool(conversation.tools),
        forced_tool=forced,
        on_unavailable=options.on_thinking_unavailable,
    )
    sampling, sampling_notes = fit_sampling(
        route,
        checked_sampling(options),
        thinks=thinks(route.model, parameters),
        tools=bool(conversation.tools),
        effort=parameters.effort,
    )
    output: OutputFormat | None = None
    output_notes: tuple[Wording, ...] = ()
    if options.shape is not None:
        conversation, output, output_notes = _with_output(conversation, route, options.shape)
    build_options = BuildOptions(
        mode=options.context_mode or ContextMode.PROVIDER_DEFAULT,
        unsupported=options.unsupported,
        thinking=parameters,
        max_tokens=parameters.max_tokens,
        tool_choice="auto" if forced and not allows_forced_tool(route, parameters) else options.tool_choice,
        sampling=sampling,
        output=output,
        cache=options.cache,
        stream=options.stream,
    )
    built = build(conversation, route, build_options)
    if sampling.extra:
        build_request(route, built.request)  # refuses a field that is set already while nothing is saved yet
    retirement = retirement_note(route)
    notes = (
        *([retirement] if retirement else []),
        *tool_notes,
        *parameters.notes,
        *sampling_notes,
        *output_notes,
        *built.report.notes,
    )
    fallbacks = fallbacks_for(route, built.request, warn=options.on_thinking_unavailable == "warn")
    return PreparedRequest(route, built.request, notes, built.prefix, built.report, fallbacks)


def _refuse_wrong_types(prompt: object, options: RequestOptions) -> None:
    """Refuse values of other types than those that are declared, for callers without a type checker."""
    if not isinstance(prompt, str | Context):
        raise Refused(
            "The prompt is of type {kind}. Give a text, or a Context with the conversation.",
            kind=type(prompt).__name__,
        )
    try:
        msgspec.convert(options_of(options), RequestOptions)
    except msgspec.ValidationError as error:
        checked_sampling(options)  # has a message of its own
        raise Refused("Invalid option: {reason}. Correct it.", reason=reason_of(error)) from None


def _thinking_setting(model: str, thinking: str | int | None) -> ThinkingSetting:
    """Return the thinking setting. A model whose name asks for thinking thinks by default."""
    setting = parse_thinking(thinking)
    if has_thinking_suffix(model) and setting == ThinkingSetting():
        return ThinkingSetting(level=ThinkingLevel.MEDIUM)
    return setting


def _with_accepted_tools(
    conversation: Context, route: Route, options: Options
) -> tuple[Context, tuple[Wording, ...]]:
    """Leave the tools out if the provider takes none for this model."""
    if not conversation.tools or route.provider.name not in route.model.tools_refused_at:
        return conversation, ()
    reason = Wording("{model_id} takes no tools at {name}", model_id=route.model_id, name=route.provider.name)
    if options.tool_choice not in _FREE_CHOICES:
        raise Refused(
            "{reason}, so none can be forced. Nothing was sent. Choose another model.", reason=reason
        )
    return msgspec.structs.replace(conversation, tools=()), (
        Wording("{reason}, so none were offered.", reason=reason),
    )


def checked_sampling(settings: Sampling) -> Sampling:
    """Return the sampling parameters alone, or refuse a value that is out of range."""
    values = {name: getattr(settings, name) for name in Sampling.__struct_fields__}
    try:
        return msgspec.convert(values, Sampling)
    except msgspec.ValidationError as error:
        raise Refused("Invalid sampling parameter: {reason}. Correct it.", reason=reason_of(error)) from None


def _with_output(
    conversation: Context, route: Route, shape: OutputShape
) -> tuple[Context, OutputFormat | None, tuple[Wording, ...]]:
    """Ask for an answer of this shape: in the request, in the system prompt, or both."""
    output, instruction, notes = fit_output(route, output_schema(shape), tools=bool(conversation.tools))
    system = "\n\n".join(filter(None, (conversation.system, instruction)))
    return msgspec.structs.replace(conversation, system=system), output, notes


def _conversation(prompt: str | Context, options: Options) -> Context:
    if isinstance(prompt, Context):
        return _with_options(prompt, options)
    message = user_message(prompt, (*options.images, *options.files))
    return Context(system=options.system, tools=options.tools, steps=(message,))


def _with_options(conversation: Context, options: Options) -> Context:
    """Return the conversation with the system prompt and the tools of the options, if it has none."""
    if options.images or options.files:
        raise Refused(
            "The options have images or files beside a conversation. Put them into one of its messages. "
            "Nothing was sent."
        )
    for name in ("system", "tools"):
        own, given = getattr(conversation, name), getattr(options, name)
        if own and given and own != given:
            raise Refused(
                "The conversation and the options differ in `{name}`. Set it in one of them. Nothing "
                "was sent.",
                name=name,
            )
    return msgspec.structs.replace(
        conversation,
        system=conversation.system or options.system,
        tools=conversation.tools or options.tools,
    )


def fallbacks_for(route: Route, request: Request, *, warn: bool) -> tuple[Fallback, ...]:
    """Return the fallbacks of a request. `warn` allows an answer without the requested thinking."""
    provider, thinking = route.provider, request.thinking
    fallbacks = []
    if provider.display_refusal and thinking.display:
        shown_nothing = msgspec.structs.replace(thinking, display="")
        note = Wording(
            "{name} returns no thoughts to this account, so the question was asked without them.",
            name=provider.name,
        )
        fallbacks.append(Fallback(provider.display_refusal, note, _with_thinking(request, shown_nothing)))
    if provider.thinking_refusal and (thinking.toggle or thinking.effort):
        note = Wording(
            "Thinking is on, but {model_id} does not support thinking at {name}.",
            model_id=route.model_id,
            name=provider.name,
        )
        if warn:
            without_thinking = ThinkingParameters(max_tokens=thinking.max_tokens)
            note, instead = (
                Wording("{note} It was asked without.", note=note),
                _with_thinking(request, without_thinking),
            )
        else:
            note, instead = Wording("{note} Turn thinking off, or choose another model.", note=note), None
        fallbacks.append(Fallback(provider.thinking_refusal, note, instead))
    return tuple(fallbacks)


def _with_thinking(request: Request, thinking: ThinkingParameters) -> Request:
    return msgspec.structs.replace(request, thinking=thinking)
