"""OpenAI Responses: items with added, delta and done events; thoughts as summaries with encrypted content."""

from collections.abc import Iterator

from thinkaloud.simulators.api import (
    ApiRequest,
    Json,
    Lookup,
    SimulatedApi,
    SimulatedResponse,
    compact_json,
    content_text,
    mapping,
    objects,
    sse_event,
)
from thinkaloud.simulators.openai import models as openai_models
from thinkaloud.simulators.openai import responses_rules as openai_responses_rules
from thinkaloud.simulators.openai.models import request_effort
from thinkaloud.simulators.openai.responses_rules import input_items
from thinkaloud.simulators.output_rules import requested_schema, responses_format
from thinkaloud.simulators.script import (
    OfferedTool,
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)

_INCOMPLETE_REASONS = {"length": "max_output_tokens", "refusal": "content_filter"}


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    prompt_items = [
        item for item in input_items(request) if item["type"] in ("message", "function_call_output")
    ]
    last = prompt_items[-1] if prompt_items else {}
    content = last.get("output", last.get("content", ""))
    text = content_text(content)
    functions = [tool for tool in objects(request.body.get("tools")) if tool.get("type") == "function"]
    tools = [OfferedTool(tool.get("name", ""), tool.get("parameters")) for tool in functions]
    choice = request.body.get("tool_choice", "auto")
    tool_choice = choice if isinstance(choice, str) else str(mapping(choice).get("name", "auto"))
    schema = requested_schema(responses_format(request))
    return ReceivedPrompt(text, tuple(tools), last.get("type") == "function_call_output", tool_choice, schema)


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
    reasoning_tokens = count_tokens(*answer.thoughts) if output and output[0]["type"] == "reasoning" else 0
    answer_tokens = count_tokens(answer.text, *[compact_json(call.arguments) for call in answer.tool_calls])
    input_tokens = count_tokens(compact_json(request.body["input"]))
    reason = _INCOMPLETE_REASONS.get(answer.finish_reason)
    response: Json = _empty_response(request) | {
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": reasoning_tokens + answer_tokens,
            "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
            "total_tokens": input_tokens + reasoning_tokens + answer_tokens,
        },
    }
    if request.body.get("store") is not False:
        request.state.responses[response["id"]] = [*input_items(request), *output]
        request.state.items |= {item["id"]: item for item in output}
    stream = request.body.get("stream") is True
    return SimulatedResponse(response, tuple(_encoded_events(response)) if stream else (), stream)


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
    rules=openai_responses_rules.RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=openai_models.error_body,
    interruption=_interruption,
    lookups=(Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", openai_models.list_models),),
)
