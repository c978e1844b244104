"""OpenRouter: every thought twice, as `reasoning` and as `reasoning_details` to be sent back unchanged."""

from thinkaloud.simulators import chat_completions
from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    sse_event,
)
from thinkaloud.simulators.chat_completions import ThoughtParts
from thinkaloud.simulators.openrouter import rules as openrouter_rules
from thinkaloud.simulators.openrouter.rules import (
    MODELS,
    base_model,
    model_row,
    reasoning_options,
    request_effort,
)
from thinkaloud.simulators.script import ScriptedAnswer, count_tokens, split_words
from thinkaloud.simulators.seals import fingerprint


def _reasoning_details(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    """Return the thoughts of this response, in the format of the model's vendor."""
    row = model_row(request)
    detail_format = row.detail_format
    details: list[Json] = []
    thoughts = answer.thoughts or ([""] if row.requires_signatures and answer.tool_calls else [])
    for index, thought in enumerate(thoughts):
        text = "" if answer.redacted else thought
        identity: Json = {"format": detail_format, "index": index}
        detail_id = f"rs_{request.state.next_id()}"
        seal = request.signing_key.seal(
            kind="detail",
            form=detail_format,
            model=base_model(request),
            text=fingerprint(text),
            id=detail_id,
            index=str(index),
        )
        encrypted_detail: Json = {"type": "reasoning.encrypted", "data": seal, "id": detail_id, **identity}
        text_detail: Json = {"type": "reasoning.text", "text": text, **identity}
        if detail_format == "anthropic-claude-v1":
            details += [encrypted_detail] if answer.redacted else [text_detail | {"signature": seal}]
        elif detail_format.endswith("responses-v1"):
            summary = {"type": "reasoning.summary", "summary": text, "id": detail_id, **identity}
            details += [summary, encrypted_detail] if text else [encrypted_detail]
        elif detail_format == "google-gemini-v1":
            details += [text_detail, encrypted_detail] if text else [encrypted_detail]
        elif text:
            details.append(text_detail)
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
    return {"data": [openrouter_rules.describe_model(name, row) for name, row in MODELS.items()]}


API = SimulatedApi(
    name="openrouter",
    base_path="/api/v1",
    path_pattern=r"/api/v1/chat/completions",
    rules=openrouter_rules.RULES,
    read_prompt=chat_completions.read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", r"/api/v1/models", _list_models),),
    keep_alive=b": OPENROUTER PROCESSING\n\n",
)
