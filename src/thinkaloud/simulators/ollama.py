"""Ollama's native API: one JSON object per line, the thought in `message.thinking`.

Capabilities follow from the family in the model's name; a name that starts with `missing` is not installed.
"""

from thinkaloud.simulators.api import (
    ApiError,
    ApiRequest,
    Json,
    Lookup,
    Rule,
    SimulatedApi,
    SimulatedResponse,
    answer_tokens,
    compact_json,
    mapping,
)
from thinkaloud.simulators.chat_completions import offered_tools, request_messages
from thinkaloud.simulators.output_rules import ANY_OBJECT
from thinkaloud.simulators.script import (
    ReceivedPrompt,
    ScriptedAnswer,
    count_tokens,
    split_words,
)

_CREATED_AT = "1970-01-01T00:00:00Z"
_FAMILY_CAPABILITIES = {
    "qwen3": ("completion", "tools", "thinking"),
    "gpt-oss": ("completion", "tools", "thinking"),
    "deepseek-r1": ("completion", "thinking"),
    "deepseek-v3.1": ("completion", "tools", "thinking"),
    "glm-4.7": ("completion", "tools", "thinking"),
    "llama3.2": ("completion", "tools"),
    "gemma3": ("completion", "vision"),
}
_LEVELS = ("low", "medium", "high", "max")
_DONE_REASONS = {"stop": "stop", "length": "length", "tool_calls": "stop", "refusal": "stop"}


def _capabilities(name: str) -> tuple[str, ...]:
    known = [family for family in _FAMILY_CAPABILITIES if name.startswith(family)]
    if not known:
        return ("completion", "tools")
    return _FAMILY_CAPABILITIES[max(known, key=len)]


def _thinking_on(request: ApiRequest) -> bool:
    if "thinking" not in _capabilities(request.model):
        return False
    return request.model.startswith("gpt-oss") or request.body.get("think") is not False


def _check_model(request: ApiRequest) -> ApiError | None:
    if not request.model:
        return ApiError(400, "model is required")
    if request.model.startswith("missing"):
        return ApiError(404, f"model '{request.model}' not found")
    return None


def _check_think_value(request: ApiRequest) -> ApiError | None:
    think = request.body.get("think")
    if think is None or isinstance(think, bool) or think in _LEVELS:
        return None
    known = ", ".join(f'"{level}"' for level in _LEVELS)
    return ApiError(400, f"invalid think value: {compact_json(think)} (must be {known}, true, or false)")


def _check_thinking_supported(request: ApiRequest) -> ApiError | None:
    if not request.body.get("think") or "thinking" in _capabilities(request.model):
        return None
    return ApiError(400, f'"{request.model}" does not support thinking')


def _check_tools_supported(request: ApiRequest) -> ApiError | None:
    if not request.body.get("tools") or "tools" in _capabilities(request.model):
        return None
    return ApiError(400, f"registry.ollama.ai/library/{request.model} does not support tools")


def _read_prompt(request: ApiRequest) -> ReceivedPrompt:
    messages = request_messages(request)
    last = messages[-1] if messages else {}
    output = request.body.get("format")
    schema = ANY_OBJECT if output == "json" else mapping(output)
    return ReceivedPrompt(
        text=str(last.get("content", "")),
        tools=offered_tools(request),
        after_tool=last.get("role") == "tool",
        output_schema=schema or None,
    )


def _respond(request: ApiRequest, answer: ScriptedAnswer) -> SimulatedResponse:
    thought = ""
    if _thinking_on(request) and not answer.redacted:
        thought = "\n\n".join(answer.thoughts)
    frame: Json = {"model": request.model, "created_at": _CREATED_AT}
    counts: Json = {
        "done": True,
        "done_reason": _DONE_REASONS[answer.finish_reason],
        "total_duration": 0,
        "prompt_eval_count": count_tokens(compact_json(request.body.get("messages"))),
        "eval_count": count_tokens(thought) + answer_tokens(answer),
    }
    message: Json = {"role": "assistant", "content": answer.text}
    deltas: list[Json] = [{"content": "", "thinking": piece} for piece in split_words(thought)]
    deltas += [{"content": piece} for piece in split_words(answer.text)]
    if thought:
        message["thinking"] = thought
    if answer.tool_calls:
        functions = [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls]
        message["tool_calls"] = [{"function": function} for function in functions]
        deltas.append({"content": "", "tool_calls": message["tool_calls"]})
    lines = [frame | {"message": {"role": "assistant", **delta}, "done": False} for delta in deltas]
    lines.append(frame | {"message": {"role": "assistant", "content": ""}, **counts})
    return SimulatedResponse(
        body=frame | {"message": message, **counts},
        events=tuple(f"{compact_json(line)}\n".encode() for line in lines),
        stream=request.body.get("stream") is not False,
        content_type="application/x-ndjson",
    )


def _show_model(request: ApiRequest) -> Json | ApiError:
    name = request.body.get("model") or request.body.get("name")
    if not isinstance(name, str) or name.startswith("missing"):
        return ApiError(404, f"model '{name}' not found")
    return {
        "details": {"family": name.partition(":")[0], "format": "gguf"},
        "model_info": {},
        "capabilities": list(_capabilities(name)),
    }


def _list_models(request: ApiRequest) -> Json | ApiError:
    metadata = {"modified_at": _CREATED_AT, "size": 0, "digest": ""}
    return {
        "models": [
            {"name": f"{name}:latest", "model": f"{name}:latest", **metadata} for name in _FAMILY_CAPABILITIES
        ]
    }


def _error_body(error: ApiError) -> Json:
    return {"error": error.message}


RULES = (
    Rule("ollama.model", "a model that is not installed", "Ollama source: routes", _check_model),
    Rule(
        "ollama.think-value",
        "an unknown value of think",
        "Ollama source: think values",
        _check_think_value,
    ),
    Rule(
        "ollama.no-thinking",
        "think on a model that does not support it",
        "Ollama source: capabilities",
        _check_thinking_supported,
    ),
    Rule(
        "ollama.no-tools",
        "tools on a model that does not support them",
        "Ollama source: capabilities",
        _check_tools_supported,
    ),
)

API = SimulatedApi(
    name="ollama",
    base_path="",
    path_pattern=r"/api/chat",
    rules=RULES,
    read_prompt=_read_prompt,
    respond=_respond,
    error_body=_error_body,
    interruption=lambda place: b'{"error":"the model runner stopped unexpectedly"}\n',
    lookups=(Lookup("POST", r"/api/show", _show_model), Lookup("GET", r"/api/tags", _list_models)),
    keep_alive=b"\n",
)
