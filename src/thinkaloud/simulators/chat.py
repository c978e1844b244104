"""Chat Completions as everyone speaks it; where the thought goes is what each vendor decides.

A vendor hands over its thought as the deltas of a stream and as the fields of a whole message, and gets
both forms of the answer.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from thinkaloud.simulators.api import Asked, Json, Refusal, Reply, compact, event, mapping, objects
from thinkaloud.simulators.script import Answer, Heard, Tool, pieces, tokens

FINISHES = {"stop": "stop", "length": "length", "tool_calls": "tool_calls", "refusal": "content_filter"}
MESSAGE_FIELDS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
}


class Thought(NamedTuple):
    """A thought on its way out: as deltas before the text and after it, and as fields of the message."""

    deltas: tuple[Json, ...] = ()
    fields: Mapping[str, Any] = MappingProxyType({})
    late: tuple[Json, ...] = ()
    tokens: int = 0
    tagged: str = ""


def messages(asked: Asked) -> list[Json]:
    """The messages of the request."""
    return objects(asked.body.get("messages"))


def calls(message: Json) -> list[Json]:
    """The tool calls of an assistant's message."""
    return objects(message.get("tool_calls")) if message.get("role") == "assistant" else []


def hear(asked: Asked) -> Heard:
    """What the default answer goes by."""
    last = messages(asked)[-1] if messages(asked) else {}
    content = last.get("content") or ""
    said = (
        content
        if isinstance(content, str)
        else "".join(str(part.get("text", "")) for part in objects(content))
    )
    functions = [mapping(tool.get("function")) for tool in objects(asked.body.get("tools"))]
    tools = [Tool(function.get("name", ""), function.get("parameters")) for function in functions]
    choice = asked.body.get("tool_choice", "auto")
    named = choice if isinstance(choice, str) else str(mapping(choice.get("function")).get("name", "auto"))
    return Heard(said, tuple(tools), last.get("role") == "tool", named)


def forced_tool(asked: Asked) -> bool:
    """True when the request leaves the model no choice but to call."""
    choice = asked.body.get("tool_choice")
    return choice == "required" or isinstance(choice, dict)


def check_messages(asked: Asked) -> Refusal | None:
    """Refuses a request without messages."""
    return (
        None if messages(asked) else Refusal(400, "Missing required parameter: 'messages'.", param="messages")
    )


def check_calls(asked: Asked) -> Refusal | None:
    """Refuses a call without its result right after it, and a result without its call."""
    waiting: list[object] = []
    for message in [*messages(asked), {"role": "end"}]:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return Refusal(
                    400,
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message "
                    "with 'tool_calls'.",
                    param="messages",
                )
            waiting.remove(message.get("tool_call_id"))
        elif waiting:
            return Refusal(
                400,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{', '.join(map(str, waiting))}",
                param="messages",
            )
        else:
            waiting = [call.get("id") for call in calls(message)]
    return None


def check_bearer(asked: Asked) -> Refusal | None:
    """Refuses a missing or wrong key."""
    return (
        None if asked.opens(asked.bearer) else Refusal(401, "Invalid Authentication", "authentication_error")
    )


def reasoning_field(answer: Answer, name: str, shown: bool) -> Thought:
    """A thought in a field of its own, word by word."""
    told = "" if answer.redacted else "\n\n".join(answer.thoughts)
    if not shown:
        return Thought()
    deltas = tuple({name: piece, "content": None} for piece in pieces(told))
    return Thought(deltas, {name: told}, tokens=tokens(told))


def reply(asked: Asked, answer: Answer, thought: Thought, *, usage_always: bool = False) -> Reply:
    """The answer in both forms."""
    number = asked.memory.number()
    made = [
        {
            "id": f"call_{asked.memory.number()}",
            "type": "function",
            "function": {"name": call.name, "arguments": compact(call.arguments)},
        }
        for call in answer.tool_calls
    ]
    text = thought.tagged + answer.text
    if thought.deltas or thought.late or thought.tagged:
        asked.memory.after_thought |= {str(call["id"]) for call in made}
    message: Json = {"role": "assistant", "content": text if text or not made else None, **thought.fields}
    if made:
        message["tool_calls"] = made
    finish = FINISHES[answer.ending]
    frame: Json = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
    }
    usage = _usage(asked, answer, thought)
    whole = frame | {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}
    if asked.body.get("stream") is not True:
        return Reply(whole, (), False)
    wanted = usage_always or mapping(asked.body.get("stream_options")).get("include_usage")
    told = _chunks(frame | {"object": "chat.completion.chunk"}, _deltas(text, made, thought), finish)
    ends = [frame | {"object": "chat.completion.chunk", "choices": [], "usage": usage}] if wanted else []
    return Reply(whole, (*map(event, [*told, *ends]), event("[DONE]")), True)


def _usage(asked: Asked, answer: Answer, thought: Thought) -> Json:
    given = tokens(compact(asked.body["messages"]))
    said = thought.tokens + tokens(answer.text, *[compact(call.arguments) for call in answer.tool_calls])
    return {
        "prompt_tokens": given,
        "completion_tokens": said,
        "total_tokens": given + said,
        "completion_tokens_details": {"reasoning_tokens": thought.tokens},
    }


def _deltas(text: str, made: list[Json], thought: Thought) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    yield from thought.deltas
    for piece in pieces(text):
        yield {"content": piece}
    for index, call in enumerate(made):
        told = call["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **call, "function": call["function"] | {"arguments": ""}}]}
        for piece in filter(None, (told[:7], told[7:])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
    yield from thought.late


def _chunks(frame: Json, deltas: Iterator[Json], finish: str) -> Iterator[Json]:
    for delta in deltas:
        yield frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}


def error(refusal: Refusal) -> Json:
    """An error as the vendors of this interface tell it."""
    kinds = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}
    kind = refusal.kind or kinds.get(refusal.status, "invalid_request_error")
    told: Json = {
        "message": refusal.message,
        "type": kind,
        "param": refusal.param,
        "code": refusal.code or kind,
    }
    return {"error": told}


def interrupted(place: int) -> bytes:
    """The event that ends a stream which broke."""
    return event({"error": {"message": "The server is overloaded", "type": "server_error", "code": None}})


def model_list(names: list[str]) -> Json:
    """Models as the models endpoint lists them."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in names],
    }
