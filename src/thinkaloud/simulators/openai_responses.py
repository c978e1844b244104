"""OpenAI Responses: items, each added, filled and done; thoughts as summaries with a sealed copy."""

from collections.abc import Iterator

from thinkaloud.simulators import openai_shared, responses_rules
from thinkaloud.simulators.api import Api, Asked, Json, Lookup, Reply, compact, event, mapping, objects
from thinkaloud.simulators.openai_shared import effort_of
from thinkaloud.simulators.responses_rules import items
from thinkaloud.simulators.script import Answer, Heard, Tool, pieces, tokens

_REASONS = {"length": "max_output_tokens", "refusal": "content_filter"}


def _hear(asked: Asked) -> Heard:
    told = [item for item in items(asked) if item["type"] in ("message", "function_call_output")]
    last = told[-1] if told else {}
    content = last.get("output", last.get("content", ""))
    said = (
        content
        if isinstance(content, str)
        else "".join(str(part.get("text", "")) for part in objects(content))
    )
    functions = [tool for tool in objects(asked.body.get("tools")) if tool.get("type") == "function"]
    tools = [Tool(tool.get("name", ""), tool.get("parameters")) for tool in functions]
    choice = asked.body.get("tool_choice", "auto")
    named = choice if isinstance(choice, str) else str(mapping(choice).get("name", "auto"))
    return Heard(said, tuple(tools), last.get("type") == "function_call_output", named)


def _reasoning(asked: Asked, answer: Answer) -> list[Json]:
    """The reasoning item, when the model reasons and the script has a thought."""
    if effort_of(asked) == "none" or not answer.thoughts:
        return []
    number = f"rs_{asked.memory.number()}"
    shown = mapping(asked.body.get("reasoning")).get("summary") and not answer.redacted
    parts = [{"type": "summary_text", "text": thought} for thought in answer.thoughts] if shown else []
    sealed = asked.secret.seal(kind="reasoning", id=number)
    return [{"type": "reasoning", "id": number, "summary": parts, "encrypted_content": sealed}]


def _output(asked: Asked, answer: Answer) -> list[Json]:
    found = _reasoning(asked, answer)
    thought = found[0]["id"] if found else None
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        name = f"msg_{asked.memory.number()}"
        message: Json = {
            "type": "message",
            "id": name,
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        found.append(message | {"phase": "commentary" if answer.tool_calls else "final_answer"})
    for call in answer.tool_calls:
        number = asked.memory.number()
        found.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": call.name,
                "arguments": compact(call.arguments),
                "status": "completed",
            }
        )
    if thought and len(found) > 1:
        asked.memory.partner[found[1]["id"]] = thought
        asked.memory.partner |= {item["id"]: thought for item in found[1:] if item["type"] == "function_call"}
    return found


def _answer(asked: Asked, answer: Answer) -> Reply:
    output = _output(asked, answer)
    thinking = tokens(*answer.thoughts) if output and output[0]["type"] == "reasoning" else 0
    said = tokens(answer.text, *[compact(call.arguments) for call in answer.tool_calls])
    given = tokens(compact(asked.body["input"]))
    reason = _REASONS.get(answer.ending)
    response: Json = _frame(asked) | {
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": thinking + said,
            "output_tokens_details": {"reasoning_tokens": thinking},
            "total_tokens": given + thinking + said,
        },
    }
    if asked.body.get("store") is not False:
        asked.memory.responses[response["id"]] = [*items(asked), *output]
        asked.memory.items |= {item["id"]: item for item in output}
    stream = asked.body.get("stream") is True
    return Reply(response, tuple(_framed(response)) if stream else (), stream)


def _frame(asked: Asked) -> Json:
    """A response before anything is known of it."""
    reasoning = mapping(asked.body.get("reasoning"))
    return {
        "id": f"resp_{asked.memory.number()}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "model": asked.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "instructions": asked.body.get("instructions"),
        "metadata": asked.body.get("metadata") or {},
        "parallel_tool_calls": asked.body.get("parallel_tool_calls", True),
        "previous_response_id": asked.body.get("previous_response_id"),
        "reasoning": {"effort": effort_of(asked), "summary": reasoning.get("summary")},
        "store": asked.body.get("store") is not False,
        "temperature": 1.0,
        "tool_choice": asked.body.get("tool_choice", "auto"),
        "tools": asked.body.get("tools") or [],
        "top_p": 1.0,
        "usage": None,
    }


def _framed(response: Json) -> Iterator[bytes]:
    for number, told in enumerate(_events(response)):
        yield event(told | {"sequence_number": number}, told["type"])


def _events(response: Json) -> Iterator[Json]:
    begun = response | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    fill = {"reasoning": _thought_events, "message": _message_events, "function_call": _call_events}
    for index, item in enumerate(response["output"]):
        place: Json = {"item_id": item["id"], "output_index": index}
        yield {"type": "response.output_item.added", "output_index": index, "item": _begun(item)}
        yield from fill[item["type"]](item, place)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _begun(item: Json) -> Json:
    """An item as it is added; its seal is not final yet."""
    match item["type"]:
        case "reasoning":
            return item | {"summary": [], "encrypted_content": item["encrypted_content"][:16]}
        case "message":
            return item | {"content": [], "status": "in_progress"}
        case _:
            return item | {"arguments": "", "status": "in_progress"}


def _thought_events(item: Json, place: Json) -> Iterator[Json]:
    name = "response.reasoning_summary"
    for number, part in enumerate(item["summary"]):
        at = place | {"summary_index": number}
        yield at | {"type": f"{name}_part.added", "part": part | {"text": ""}}
        for piece in pieces(part["text"]):
            yield at | {"type": f"{name}_text.delta", "delta": piece}
        yield at | {"type": f"{name}_text.done", "text": part["text"]}
        yield at | {"type": f"{name}_part.done", "part": part}


def _message_events(item: Json, place: Json) -> Iterator[Json]:
    part = item["content"][0]
    at = place | {"content_index": 0}
    yield at | {"type": "response.content_part.added", "part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield at | {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
    yield at | {"type": "response.output_text.done", "text": part["text"], "logprobs": []}
    yield at | {"type": "response.content_part.done", "part": part}


def _call_events(item: Json, place: Json) -> Iterator[Json]:
    told = item["arguments"]
    for piece in filter(None, (told[:7], told[7:])):
        yield place | {"type": "response.function_call_arguments.delta", "delta": piece}
    done = {"type": "response.function_call_arguments.done", "name": item["name"], "arguments": told}
    yield place | done


def _interrupted(place: int) -> bytes:
    told = {"type": "error", "code": "server_error", "message": "The server is overloaded.", "param": None}
    return event(told | {"sequence_number": place}, "error")


API = Api(
    name="openai-responses",
    base="/v1",
    path=r"/v1/responses",
    rules=responses_rules.RULES,
    hear=_hear,
    answer=_answer,
    error=openai_shared.error,
    interrupted=_interrupted,
    lookups=(Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", openai_shared.listed),),
)
