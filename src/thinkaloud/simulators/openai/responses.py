"""OpenAI Responses: items with added, delta and done events; thoughts as summaries with encrypted content."""

from collections.abc import Iterator
from itertools import pairwise

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    RuleTable,
    SimulatedApi,
    SimulatedResponse,
    answer_tokens,
    compact_json,
    content_text,
    mapping,
    objects,
    split_names,
    sse_event,
)
from thinkaloud.simulators.openai import models as openai_models
from thinkaloud.simulators.openai.models import (
    check_effort,
    check_key,
    check_model,
    check_sampling,
    check_verbosity,
    find_model,
    invalid_request,
    request_effort,
)
from thinkaloud.simulators.output_rules import (
    json_word_violation,
    requested_schema,
    responses_format,
    strict_violation,
)
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)

_REQUEST_FIELDS = split_names(
    """model input instructions store include reasoning stream stream_options tools tool_choice
    temperature top_p max_output_tokens max_tool_calls metadata parallel_tool_calls
    previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention
    safety_identifier service_tier text top_logprobs truncation user background conversation
    context_management moderation access_programs image client_metadata"""
)
_REASONING_FIELDS = {"effort", "summary", "generate_summary", "context", "mode"}
_OUTPUT_TYPES = ("message", "function_call", "custom_tool_call")
MIN_OUTPUT_TOKENS = 16
MAX_CALL_ID_CHARS = 64


def input_items(request: ApiRequest) -> list[Json]:
    """Return the input items, preceded by those of an earlier response."""
    raw_input = request.body.get("input")
    if isinstance(raw_input, str):
        raw_input = [{"type": "message", "role": "user", "content": raw_input}]
    stored_items = request.state.responses.get(str(request.body.get("previous_response_id")), [])
    return [*stored_items, *(_resolve_item(request, item) for item in objects(raw_input))]


def _resolve_item(request: ApiRequest, item: Json) -> Json:
    """Return a stored item that is referenced by its id."""
    stored = request.state.items.get(str(item.get("id")))
    if stored is not None and (item.get("type") == "item_reference" or _lacks_payload(item)):
        return stored
    return item if "type" in item else {"type": "message", **item}


def _lacks_payload(item: Json) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


RULES = RuleTable("openai-responses")
RULES.refuses("key", "missing or wrong key", "vendor docs: error codes")(check_key)
RULES.refuses("model", "unknown model", "vendor docs: error codes")(check_model)


@RULES.refuses("shape", "an unknown parameter, or missing input", "SDK types")
def _check_shape(request: ApiRequest) -> ApiError | None:
    unknown = next((name for name in request.body if name not in _REQUEST_FIELDS), None)
    if unknown:
        return invalid_request(f"Unknown parameter: '{unknown}'.", "unknown_parameter", unknown)
    reasoning = mapping(request.body.get("reasoning"))
    unknown = next((name for name in reasoning if name not in _REASONING_FIELDS), None)
    if unknown:
        return invalid_request(
            f"Unknown parameter: 'reasoning.{unknown}'.", "unknown_parameter", f"reasoning.{unknown}"
        )
    if not isinstance(request.body.get("input"), str | list) or not request.body["input"]:
        return invalid_request("Missing required parameter: 'input'.", "missing_required_parameter", "input")
    return None


@RULES.refuses("max-tokens", "max_output_tokens under 16", "pi#6265, hindsight#58")
def _check_max_tokens(request: ApiRequest) -> ApiError | None:
    max_tokens = request.body.get("max_output_tokens")
    if max_tokens is None or max_tokens >= MIN_OUTPUT_TOKENS:
        return None
    message = "Invalid 'max_output_tokens': integer below minimum value."
    message += f" Expected a value >= {MIN_OUTPUT_TOKENS}, but got {max_tokens} instead."
    return invalid_request(message, "integer_below_min_value", "max_output_tokens")


@RULES.refuses("call-id", "a call id of more than 64 characters", "Roo-Code#10763, 9router#393")
def _check_call_ids(request: ApiRequest) -> ApiError | None:
    for index, item in enumerate(input_items(request)):
        call_id = str(item.get("call_id", ""))
        if len(call_id) > MAX_CALL_ID_CHARS:
            name = f"input[{index}].call_id"
            message = f"Invalid '{name}': string too long. Expected a string with maximum length "
            message += f"{MAX_CALL_ID_CHARS}, but got a string with length {len(call_id)} instead."
            return invalid_request(message, "string_above_max_length", name)
    return None


@RULES.refuses("effort", "an effort that this model does not support", "vendor docs: reasoning")
def _check_effort(request: ApiRequest) -> ApiError | None:
    return check_effort(request, "reasoning.effort", mapping(request.body.get("reasoning")).get("effort"))


RULES.refuses("verbosity", "a length of the answer that this model does not support", "big-AGI#947")(
    check_verbosity
)
RULES.refuses("sampling", "temperature or top_p while reasoning", "@ai-sdk/openai")(check_sampling)


@RULES.refuses(
    "unverified",
    "a summary of thoughts, with a key that starts with `unverified`",
    "OpenHands/software-agent-sdk#987, openai-cookbook#2271",
)
def _check_verified(request: ApiRequest) -> ApiError | None:
    summary = mapping(request.body.get("reasoning")).get("summary")
    if summary is None or not request.bearer.startswith("unverified"):
        return None
    message = "Your organization must be verified to generate reasoning summaries."
    return invalid_request(message, "unsupported_value", "reasoning.summary")


@RULES.refuses(
    "include", "encrypted content of a model that does not reason", "pydantic-ai#2867, hermes-agent#24234"
)
def _check_include(request: ApiRequest) -> ApiError | None:
    row = find_model(request.model)
    included = request.body.get("include")
    if row is None or row.efforts or not isinstance(included, list):
        return None
    if "reasoning.encrypted_content" in included:
        return invalid_request("Encrypted content is not supported with this model.", None, "include")
    return None


@RULES.refuses(
    "output",
    "a strict schema with open objects or optional fields, or JSON that the input does not mention",
    "vendor docs: structured outputs",
)
def _check_output(request: ApiRequest) -> ApiError | None:
    output_format = responses_format(request)
    words = [request.body.get("input"), request.body.get("instructions")]
    return strict_violation(output_format, "text.format") or json_word_violation(
        output_format, words, "text.format"
    )


@RULES.refuses("previous", "a previous_response_id that was not stored", "vendor docs")
def _check_previous(request: ApiRequest) -> ApiError | None:
    response_id = request.body.get("previous_response_id")
    if response_id is None or str(response_id) in request.state.responses:
        return None
    message = f"Previous response with id '{response_id}' not found."
    return invalid_request(message, "previous_response_not_found", "previous_response_id")


@RULES.refuses(
    "unknown-id",
    "an item by its id alone that was not stored",
    "vercel/ai#7543, openai-agents-js#546, bifrost#5410",
)
def _check_known_ids(request: ApiRequest) -> ApiError | None:
    for item in input_items(request):
        unknown = item.get("type") == "item_reference" or (
            _lacks_payload(item) and str(item.get("id")) not in request.state.items
        )
        if not unknown:
            continue
        message = f"Item with id '{item.get('id')}' not found."
        if request.body.get("store") is False:
            message += (
                " Items are not persisted when `store` is set to false."
                " Try again with `store` set to true, or remove this item from your input."
            )
        return ApiError(404, message, "invalid_request_error", None, "input")
    return None


@RULES.refuses("duplicate", "the same item twice", "OpenRouterTeam/ai-sdk-provider#254")
def _check_duplicates(request: ApiRequest) -> ApiError | None:
    seen: set[str] = set()
    for item in input_items(request):
        item_id = str(item.get("id") or "")
        if item_id and item_id in seen:
            message = (
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input and "
                "try again."
            )
            return invalid_request(message, None, "input")
        seen.add(item_id)
    return None


def _sealed_id(request: ApiRequest, item: Json) -> str | None:
    """Return the id that a reasoning item was created with, from its encrypted content."""
    claims = request.signing_key.read_seal(item.get("encrypted_content"))
    return claims["id"] if claims and claims.get("kind") == "reasoning" else None


@RULES.refuses(
    "undecipherable",
    "encrypted content that was altered, is foreign, or belongs to another item",
    "sub2api#3138",
)
def check_decipherable(request: ApiRequest) -> ApiError | None:
    """Refuse encrypted content that this server did not issue for this item."""
    for item in input_items(request):
        if item.get("type") != "reasoning" or not item.get("encrypted_content"):
            continue
        sealed_id = _sealed_id(request, item)
        if sealed_id is not None and item.get("id", sealed_id) == sealed_id:
            continue
        reason = "Encrypted content could not be decrypted or parsed."
        if sealed_id is not None:
            reason = "Encrypted content item_id did not match the target item id."
        excerpt = str(item["encrypted_content"])[:8]
        message = f"The encrypted content {excerpt}... could not be verified. Reason: {reason}"
        return invalid_request(message, "invalid_encrypted_content", "input")
    return None


@RULES.refuses("thought-alone", "a reasoning item without the item that followed it", "@ai-sdk/openai")
def _check_thought_followed(request: ApiRequest) -> ApiError | None:
    for item, following in pairwise([*input_items(request), {}]):
        if item.get("type") != "reasoning":
            continue
        follows = (
            following.get("type") in ("reasoning", *_OUTPUT_TYPES)
            and following.get("role", "assistant") == "assistant"
        )
        if not follows:
            name = item.get("id") or _sealed_id(request, item)
            message = f"Item '{name}' of type 'reasoning' was provided without its required following item."
            return invalid_request(message, None, "input")
    return None


@RULES.refuses("without-thought", "an item without its reasoning item", "@ai-sdk/openai")
def _check_thought_present(request: ApiRequest) -> ApiError | None:
    seen: set[str] = set()
    for item in input_items(request):
        if item.get("type") == "reasoning":
            seen |= {str(item.get("id")), str(_sealed_id(request, item))}
        thought_id = request.state.thought_of_item.get(str(item.get("id")))
        if thought_id is not None and thought_id not in seen:
            message = (
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
                f"'reasoning' item: '{thought_id}'."
            )
            return invalid_request(message, None, "input")
    return None


@RULES.refuses("calls-open", "a call without output, or the reverse", "vendor docs")
def check_calls_answered(request: ApiRequest) -> ApiError | None:
    """Refuse a call without its output, and an output without its call."""
    all_items = input_items(request)
    call_ids = [item.get("call_id") for item in all_items if item.get("type") == "function_call"]
    output_ids = [item.get("call_id") for item in all_items if item.get("type") == "function_call_output"]
    for call in call_ids:
        if call not in output_ids:
            return invalid_request(f"No tool output found for function call {call}.", None, "input")
    for call in output_ids:
        if call not in call_ids:
            return invalid_request(
                f"No tool call found for function call output with call_id {call}.", None, "input"
            )
    return None


_INCOMPLETE_REASONS = {"length": "max_output_tokens", "refusal": "content_filter"}


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    last: Json = {}
    for item in input_items(request):
        if item["type"] in ("message", "function_call_output"):
            last = item
    text = content_text(last.get("output", last.get("content", "")))
    functions = [tool for tool in objects(request.body.get("tools")) if tool.get("type") == "function"]
    choice = request.body.get("tool_choice", "auto")
    if not isinstance(choice, str):
        choice = str(mapping(choice).get("name", "auto"))
    return ReceivedPrompt(
        text,
        tools=tuple(OfferedTool(tool.get("name", ""), tool.get("parameters")) for tool in functions),
        after_tool=last.get("type") == "function_call_output",
        tool_choice=choice,
        output_schema=requested_schema(responses_format(request)),
    )


def _reasoning_items(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    """Return the reasoning item, if the model reasons and the script has a thought."""
    if request_effort(request) == "none" or not answer.thoughts:
        return []
    item_id = f"rs_{request.state.next_id()}"
    shown = mapping(request.body.get("reasoning")).get("summary") and not answer.redacted
    parts = [{"type": "summary_text", "text": thought} for thought in answer.thoughts] if shown else []
    seal = request.signing_key.seal(kind="reasoning", id=item_id)
    return [{"type": "reasoning", "id": item_id, "summary": parts, "encrypted_content": seal}]


def _output_items(request: ApiRequest, answer: ScriptedAnswer) -> list[Json]:
    output = _reasoning_items(request, answer)
    reasoning_id = output[0]["id"] if output else None
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        message_id = f"msg_{request.state.next_id()}"
        message: Json = {
            "type": "message",
            "id": message_id,
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        output.append(message | {"phase": "commentary" if answer.tool_calls else "final_answer"})
    for call in answer.tool_calls:
        call_number = request.state.next_id()
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{call_number}",
                "call_id": f"call_{call_number}",
                "name": call.name,
                "arguments": compact_json(call.arguments),
                "status": "completed",
            }
        )
    if reasoning_id and len(output) > 1:
        request.state.thought_of_item[output[1]["id"]] = reasoning_id
        request.state.thought_of_item |= {
            item["id"]: reasoning_id for item in output[1:] if item["type"] == "function_call"
        }
    return output


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    output = _output_items(request, answer)
    reasoning_tokens = 0
    if output and output[0]["type"] == "reasoning":
        reasoning_tokens = count_tokens(*answer.thoughts)
    output_tokens = reasoning_tokens + answer_tokens(answer)
    input_tokens = count_tokens(compact_json(request.body["input"]))
    reason = _INCOMPLETE_REASONS.get(answer.finish_reason)
    response: Json = _empty_response(request) | {
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": output_tokens,
            "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
            "total_tokens": input_tokens + output_tokens,
        },
    }
    if request.body.get("store") is not False:
        request.state.responses[response["id"]] = [*input_items(request), *output]
        request.state.items |= {item["id"]: item for item in output}
    if request.body.get("stream") is not True:
        return SimulatedResponse(response, (), False)
    return SimulatedResponse(response, tuple(_encoded_events(response)), True)


def _empty_response(request: ApiRequest) -> Json:
    """Return a response object without output."""
    reasoning = mapping(request.body.get("reasoning"))
    return {
        "id": f"resp_{request.state.next_id()}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "model": request.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": request.body.get("instructions"),
        "metadata": request.body.get("metadata") or {},
        "parallel_tool_calls": request.body.get("parallel_tool_calls", True),
        "previous_response_id": request.body.get("previous_response_id"),
        "reasoning": {"effort": request_effort(request), "summary": reasoning.get("summary")},
        "store": request.body.get("store") is not False,
        "temperature": 1.0,
        "tool_choice": request.body.get("tool_choice", "auto"),
        "tools": request.body.get("tools") or [],
        "top_p": 1.0,
        "usage": None,
    }


def _encoded_events(response: Json) -> Iterator[bytes]:
    for number, payload in enumerate(_stream_events(response)):
        yield sse_event(payload | {"sequence_number": number}, payload["type"])


def _stream_events(response: Json) -> Iterator[Json]:
    started = response | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    events_by_type = {"reasoning": _thought_events, "message": _message_events, "function_call": _call_events}
    for index, item in enumerate(response["output"]):
        item_place: Json = {"item_id": item["id"], "output_index": index}
        yield {"type": "response.output_item.added", "output_index": index, "item": _started_item(item)}
        yield from events_by_type[item["type"]](item, item_place)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _started_item(item: Json) -> Json:
    """Return an item as first added; its encrypted content is not final yet."""
    match item["type"]:
        case "reasoning":
            return item | {"summary": [], "encrypted_content": item["encrypted_content"][:16]}
        case "message":
            return item | {"content": [], "status": "in_progress"}
        case _:
            return item | {"arguments": "", "status": "in_progress"}


def _thought_events(item: Json, item_place: Json) -> Iterator[Json]:
    name = "response.reasoning_summary"
    for number, part in enumerate(item["summary"]):
        part_place = item_place | {"summary_index": number}
        yield part_place | {"type": f"{name}_part.added", "part": part | {"text": ""}}
        for piece in split_words(part["text"]):
            yield part_place | {"type": f"{name}_text.delta", "delta": piece}
        yield part_place | {"type": f"{name}_text.done", "text": part["text"]}
        yield part_place | {"type": f"{name}_part.done", "part": part}


def _message_events(item: Json, item_place: Json) -> Iterator[Json]:
    part = item["content"][0]
    part_place = item_place | {"content_index": 0}
    yield part_place | {"type": "response.content_part.added", "part": part | {"text": ""}}
    for piece in split_words(part["text"]):
        yield part_place | {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
    yield part_place | {"type": "response.output_text.done", "text": part["text"], "logprobs": []}
    yield part_place | {"type": "response.content_part.done", "part": part}


def _call_events(item: Json, item_place: Json) -> Iterator[Json]:
    arguments = item["arguments"]
    for piece in filter(None, (arguments[:7], arguments[7:])):
        yield item_place | {"type": "response.function_call_arguments.delta", "delta": piece}
    done = {"type": "response.function_call_arguments.done", "name": item["name"], "arguments": arguments}
    yield item_place | done


def _interruption(event_index: int) -> bytes:
    payload = {"type": "error", "code": "server_error", "message": "The server is overloaded.", "param": None}
    return sse_event(payload | {"sequence_number": event_index}, "error")


API = SimulatedApi(
    name="openai-responses",
    base_path="/v1",
    path_pattern=r"/v1/responses",
    rules=tuple(RULES),
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=openai_models.error_body,
    interruption=_interruption,
    lookups=openai_models.LOOKUPS,
)
