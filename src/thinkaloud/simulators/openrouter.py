"""OpenRouter: every thought twice, as `reasoning` and as `reasoning_details` to be sent back unchanged."""

from typing import NamedTuple

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    RuleTable,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.chat_completions import (
    ThoughtParts,
    check_calls,
    check_messages,
    request_messages,
    tool_calls,
)
from thinkaloud.simulators.script import ScriptedAnswer, count_tokens, split_words
from thinkaloud.simulators.seals import fingerprint

_SKIP_SIGNATURE = "skip_thought_signature_validator"
_VERBOSITIES = ("low", "medium", "high", "xhigh", "max")
_EFFORTS = ("max", "xhigh", "high", "medium", "low", "minimal", "none")
_DETAIL_FORMATS = {
    "anthropic": "anthropic-claude-v1",
    "openai": "openai-responses-v1",
    "google": "google-gemini-v1",
    "x-ai": "xai-responses-v1",
}
_VENDORS = {*_DETAIL_FORMATS, "deepseek", "qwen", "moonshotai", "z-ai", "minimax", "mistralai", "meta-llama"}


class OpenRouterModel(NamedTuple):
    """The reasoning parameters of one model."""

    detail_format: str = "unknown"
    reasons: bool = True
    mandatory: bool = False
    on_by_default: bool = True
    takes_budget: bool = False
    thought_first: bool = False
    requires_signatures: bool = False


MODELS = {
    "anthropic/claude-sonnet-4.5": OpenRouterModel(
        "anthropic-claude-v1", on_by_default=False, takes_budget=True, thought_first=True
    ),
    "anthropic/claude-opus-5.5": OpenRouterModel("anthropic-claude-v1", mandatory=True),
    "openai/gpt-4o": OpenRouterModel(reasons=False),
    "openai/gpt-5": OpenRouterModel("openai-responses-v1", mandatory=True),
    "openai/gpt-6-sol": OpenRouterModel("openai-responses-v1"),
    "google/gemini-2.5-flash": OpenRouterModel("google-gemini-v1", takes_budget=True),
    "google/gemini-3-pro-preview": OpenRouterModel(
        "google-gemini-v1", mandatory=True, requires_signatures=True
    ),
    "deepseek/deepseek-r1": OpenRouterModel(mandatory=True),
    "deepseek/deepseek-v4-pro": OpenRouterModel(),
    "x-ai/grok-4": OpenRouterModel("openai-responses-v1", mandatory=True),
    "meta-llama/llama-3.3-70b-instruct": OpenRouterModel(reasons=False),
}


def base_model(request: ApiRequest) -> str:
    """Return the model without a suffix such as `:thinking`."""
    return request.model.partition(":")[0]


def model_row(request: ApiRequest) -> OpenRouterModel:
    """Return the row of a model; one that is not listed has the parameters of its vendor's models."""
    vendor = request.model.partition("/")[0]
    return MODELS.get(base_model(request), OpenRouterModel(_DETAIL_FORMATS.get(vendor, "unknown")))


def reasoning_options(request: ApiRequest) -> Json:
    """Return the reasoning object of the request."""
    return mapping(request.body.get("reasoning"))


def request_effort(request: ApiRequest) -> str:
    """Return the requested effort; `none` if reasoning is off."""
    options = reasoning_options(request)
    effort = options.get("effort") or request.body.get("reasoning_effort")
    if effort is not None:
        return str(effort)
    if options.get("enabled") is False:
        return "none"
    requested = options.get("enabled") is True or options.get("max_tokens") is not None
    return "medium" if requested or model_row(request).on_by_default else "none"


def _upstream_error(request: ApiRequest, raw: str) -> ApiError:
    """Return a refusal by the provider behind the route."""
    metadata = {"raw": raw, "provider_name": request.model.partition("/")[0]}
    return ApiError(400, "Provider returned error", details=(metadata,))


RULES = RuleTable("openrouter")


@RULES.refuses("key", "missing or wrong key", "vendor docs: errors")
def _check_key(request: ApiRequest) -> ApiError | None:
    if request.accepts_key(request.bearer):
        return None
    return ApiError(401, "User not found." if request.bearer else "No auth credentials found")


@RULES.refuses("model", "unknown model", "vendor docs: errors")
def _check_model(request: ApiRequest) -> ApiError | None:
    vendor, _, name = request.model.partition("/")
    if name and vendor in _VENDORS:
        return None
    return ApiError(400, f"{request.model} is not a valid model ID")


RULES.refuses("messages", "no messages", "vendor docs")(check_messages)


@RULES.refuses("both", "effort and max_tokens together", "vendor docs: reasoning tokens")
def _check_effort_or_budget(request: ApiRequest) -> ApiError | None:
    options = reasoning_options(request)
    if options.get("effort") is None or options.get("max_tokens") is None:
        return None
    return ApiError(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" may be specified')


@RULES.refuses("verbosity", "an unknown length of the answer", "SDK types")
def _check_verbosity(request: ApiRequest) -> ApiError | None:
    verbosity = request.body.get("verbosity")
    if verbosity is None or verbosity in _VERBOSITIES:
        return None
    return ApiError(400, f"Invalid verbosity '{verbosity}': expected one of {', '.join(_VERBOSITIES)}")


@RULES.refuses("effort", "an unknown effort, or two that differ", "vendor docs: reasoning tokens")
def _check_effort(request: ApiRequest) -> ApiError | None:
    effort = reasoning_options(request).get("effort")
    top_effort = request.body.get("reasoning_effort")
    if effort is None:
        effort = top_effort
    elif top_effort is not None and effort != top_effort:
        return ApiError(400, '"reasoning_effort" and "reasoning.effort" must agree')
    if effort is None or effort in _EFFORTS:
        return None
    return ApiError(400, f"Invalid reasoning effort '{effort}': expected one of {', '.join(_EFFORTS)}")


@RULES.refuses("mandatory", "off, where reasoning is mandatory", "pydantic-ai profiles")
def _check_mandatory(request: ApiRequest) -> ApiError | None:
    if model_row(request).mandatory and request_effort(request) == "none":
        return ApiError(400, "Reasoning is mandatory for this endpoint and cannot be disabled")
    return None


def _sealed_details(request: ApiRequest) -> list[tuple[int, Json, str]]:
    """Return every signed or encrypted detail: the message index, the detail, the seal."""
    sealed = []
    for index, message in enumerate(request_messages(request)):
        for detail in objects(message.get("reasoning_details")):
            seal = detail.get("data") or detail.get("signature")
            if seal:
                sealed.append((index, detail, str(seal)))
    return sealed


@RULES.refuses("unsigned", "a Claude thought without a signature", "OpenRouterTeam/ai-sdk-provider source")
def _check_signed(request: ApiRequest) -> ApiError | None:
    for index, message in enumerate(request_messages(request)):
        for detail in objects(message.get("reasoning_details")):
            claude = detail.get("format", "anthropic-claude-v1") == "anthropic-claude-v1"
            claude = claude or model_row(request).detail_format == "anthropic-claude-v1"
            if claude and detail.get("type") == "reasoning.text" and not detail.get("signature"):
                return _upstream_error(request, f"messages.{index}: Invalid `signature` in `thinking` block")
    return None


@RULES.refuses("duplicate", "the same detail twice", "OpenRouterTeam/ai-sdk-provider#254")
def _check_duplicates(request: ApiRequest) -> ApiError | None:
    seen: set[str] = set()
    for _, detail, seal in _sealed_details(request):
        if seal in seen and seal != _SKIP_SIGNATURE:
            return _upstream_error(request, f"Duplicate item found with id {detail.get('id') or seal[:8]}.")
        seen.add(seal)
    return None


@RULES.refuses("altered", "a detail that was altered or is out of order", "vendor docs: preserving reasoning")
def _check_unaltered(request: ApiRequest) -> ApiError | None:
    last_position: tuple[int, int] = (-1, -1)
    for index, detail, seal in _sealed_details(request):
        if seal == _SKIP_SIGNATURE:
            continue
        claims = request.signing_key.read_seal(seal)
        text = detail.get("text", "")
        if claims is None or ("signature" in detail and claims["text"] != fingerprint(text)):
            return _upstream_error(
                request, f"messages.{index}: Invalid signature or encrypted content in reasoning_details"
            )
        position = (index, int(claims["index"]))
        if position < last_position:
            return _upstream_error(request, f"messages.{index}: reasoning_details are not in their order")
        last_position = position
    return None


@RULES.refuses("missing", "a tool turn without its details", "vendor docs: preserving reasoning")
def _check_details_returned(request: ApiRequest) -> ApiError | None:
    """Require the details of a thought on calls that followed it, even if the list is empty."""
    if request_effort(request) == "none":
        return None
    for index, message in enumerate(request_messages(request)):
        details = message.get("reasoning_details")
        for call in tool_calls(message):
            issued = request.state.items.get(str(call.get("id")))
            if issued is None or issued["model"] != base_model(request):
                continue
            seals = [detail for detail in issued["details"] if detail.get("data") or detail.get("signature")]
            returned = [
                detail for detail in objects(details) if detail.get("data") or detail.get("signature")
            ]
            if details is None or len(returned) < len(seals):
                return _upstream_error(
                    request, f"messages.{index}: reasoning_details must be passed back with its tool calls"
                )
    return None


@RULES.refuses(
    "foreign",
    "a signed or encrypted detail of another model",
    "forgecode#2363, llxprt-code#2335, Roo-Code#10759",
)
def _check_own_details(request: ApiRequest) -> ApiError | None:
    """Refuse seals of another model. A vendor without seals does not look at them."""
    if model_row(request).detail_format == "unknown":
        return None
    for index, _, seal in _sealed_details(request):
        claims = request.signing_key.read_seal(seal) or {}
        if seal != _SKIP_SIGNATURE and claims.get("model") != base_model(request):
            return _upstream_error(request, f"messages.{index}: Invalid `signature` in `thinking` block")
    return None


def _open_loop(request: ApiRequest) -> list[tuple[int, Json]]:
    """Return the messages with tool calls since the last user message."""
    open_loop: list[tuple[int, Json]] = []
    for index, message in enumerate(request_messages(request)):
        if message.get("role") == "user":
            open_loop = []
        elif tool_calls(message):
            open_loop.append((index, message))
    return open_loop


@RULES.refuses(
    "thought-first",
    "an open tool loop without a thought, while Claude thinks with a budget",
    "OpenRouterTeam/ai-sdk-provider#177",
)
def _check_thought_first(request: ApiRequest) -> ApiError | None:
    if not model_row(request).thought_first or request_effort(request) == "none":
        return None
    for index, message in _open_loop(request)[-1:]:
        if not objects(message.get("reasoning_details")):
            return _upstream_error(
                request,
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block",
            )
    return None


@RULES.refuses(
    "signature", "a call of the current turn without a signature, for Gemini 3", "MassGen#624, Roo-Code#10640"
)
def _check_call_signatures(request: ApiRequest) -> ApiError | None:
    if not model_row(request).requires_signatures:
        return None
    for index, message in _open_loop(request):
        if not any(detail.get("data") for detail in objects(message.get("reasoning_details"))):
            return _upstream_error(
                request,
                "Gemini models require OpenRouter reasoning details to be preserved in each request. "
                f"Upstream error: Function call is missing a thought_signature in functionCall parts. "
                f"(messages.{index})",
            )
    return None


RULES.refuses("calls-open", "a call without its result, or the reverse", "vendor docs")(check_calls)


def describe_model(name: str, row: OpenRouterModel) -> Json:
    """Return a model as listed by the models endpoint."""
    description: Json = {"id": name, "name": name, "created": 0, "context_length": 128000}
    if row.reasons:
        efforts = _EFFORTS[:-1] if row.mandatory else _EFFORTS
        description["reasoning"] = {
            "mandatory": row.mandatory,
            "default_enabled": row.on_by_default,
            "default_effort": "medium",
            "supported_efforts": None if row.takes_budget else list(efforts),
            "supports_max_tokens": row.takes_budget,
        }
    return description


def _reasoning_details(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    """Return the thoughts of this response, in the format of the model's vendor."""
    row = model_row(request)
    thoughts = answer.thoughts
    if not thoughts and row.requires_signatures and answer.tool_calls:
        thoughts = [""]  # a call is signed even if no thought precedes it
    details: list[Json] = []
    for index, thought in enumerate(thoughts):
        text = "" if answer.redacted else thought
        identity: Json = {"format": row.detail_format, "index": index}
        detail_id = f"rs_{request.state.next_id()}"
        seal = request.signing_key.seal(
            kind="detail",
            form=row.detail_format,
            model=base_model(request),
            text=fingerprint(text),
            id=detail_id,
            index=str(index),
        )
        encrypted_detail: Json = {"type": "reasoning.encrypted", "data": seal, "id": detail_id, **identity}
        text_detail: Json = {"type": "reasoning.text", "text": text, **identity}
        if row.detail_format == "anthropic-claude-v1":
            details.append(encrypted_detail if answer.redacted else text_detail | {"signature": seal})
            continue
        if text and row.detail_format.endswith("responses-v1"):
            details.append({"type": "reasoning.summary", "summary": text, "id": detail_id, **identity})
        elif text:
            details.append(text_detail)
        if row.detail_format != "unknown":
            details.append(encrypted_detail)
    return details


def _detail_deltas(details: list[Json]) -> tuple[tuple[Json, ...], tuple[Json, ...]]:
    """Return the deltas of these details: text first, then signatures and encrypted copies."""
    text_deltas: list[Json] = (
        [] if details else [{"role": "assistant", "content": "", "reasoning_details": []}]
    )
    seal_deltas: list[Json] = []
    for detail in details:
        name = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(detail["type"])
        if name is None:
            seal_deltas.append({"content": "", "reasoning_details": [detail]})
            continue
        unsigned = {key: value for key, value in detail.items() if key != "signature"}
        for piece in split_words(detail[name]):
            delta = {"reasoning": piece, "reasoning_details": [unsigned | {name: piece}]}
            text_deltas.append({"role": "assistant", "content": "", **delta})
        if "signature" in detail:
            signed = {key: value for key, value in detail.items() if key != name}
            seal_deltas.append({"content": "", "reasoning_details": [signed]})
    return tuple(text_deltas), tuple(seal_deltas)


def _thought_parts(request: ApiRequest, answer: ScriptedAnswer) -> ThoughtParts:
    if not model_row(request).reasons or request_effort(request) == "none":
        return ThoughtParts(fields={"reasoning": None})
    count = count_tokens(*answer.thoughts)
    if reasoning_options(request).get("exclude") is True:
        return ThoughtParts(fields={"reasoning": None}, tokens=count)
    details = _reasoning_details(request, answer)
    text = "" if answer.redacted else "\n\n".join(answer.thoughts)
    text_deltas, seal_deltas = _detail_deltas(details)
    return ThoughtParts(
        text_deltas, {"reasoning": text or None, "reasoning_details": details}, seal_deltas, count
    )


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    thought = _thought_parts(request, answer)
    provider = {"provider": request.model.partition("/")[0]}
    response = chat_completions.respond(request, answer, thought, usage_always=True, extra_fields=provider)
    details = thought.fields.get("reasoning_details")
    for call in response.body["choices"][0]["message"].get("tool_calls", ()):
        if details is not None:
            request.state.items[call["id"]] = {"details": details, "model": base_model(request)}
    return response


def _error_body(error: ApiError) -> Json:
    detail: Json = {"code": error.status, "message": error.message}
    if error.details:
        detail["metadata"] = error.details[0]
    return {"error": detail}


def _interruption(event_index: int) -> bytes:
    metadata = {"error_type": "provider_overloaded", "provider_code": "overloaded"}
    error = {"code": 502, "message": "Provider disconnected", "metadata": metadata}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return sse_event(compact_json({"id": "gen-sim", "error": error, "choices": [choice]}))


def _list_models(request: ApiRequest) -> Json | ApiError:
    return {"data": [describe_model(name, row) for name, row in MODELS.items()]}


API = SimulatedApi(
    name="openrouter",
    base_path="/api/v1",
    path_pattern=r"/api/v1/chat/completions",
    rules=tuple(RULES),
    read_prompt=chat_completions.read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", r"/api/v1/models", _list_models),),
    keep_alive=b": OPENROUTER PROCESSING\n\n",
)
