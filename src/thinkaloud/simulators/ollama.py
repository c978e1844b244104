"""Ollama's native interface: one JSON object a line, the thought in `message.thinking`.

Capabilities go by the family in the model's name; a name that begins with `missing` was never pulled.
"""

from thinkaloud.simulators.api import (
    Api,
    Asked,
    Json,
    Lookup,
    Refusal,
    Reply,
    Rule,
    compact,
    mapping,
    objects,
)
from thinkaloud.simulators.script import Answer, Heard, Tool, pieces, tokens

_TIME = "1970-01-01T00:00:00Z"
_FAMILIES = {
    "qwen3": ("completion", "tools", "thinking"),
    "gpt-oss": ("completion", "tools", "thinking"),
    "deepseek-r1": ("completion", "thinking"),
    "deepseek-v3.1": ("completion", "tools", "thinking"),
    "glm-4.7": ("completion", "tools", "thinking"),
    "llama3.2": ("completion", "tools"),
    "gemma3": ("completion", "vision"),
}
_LEVELS = ("low", "medium", "high", "max")
_FINISHES = {"stop": "stop", "length": "length", "tool_calls": "stop", "refusal": "stop"}


def _capabilities(name: str) -> tuple[str, ...]:
    known = [family for family in _FAMILIES if name.startswith(family)]
    return _FAMILIES[max(known, key=len)] if known else ("completion", "tools")


def _thinks(asked: Asked) -> bool:
    if "thinking" not in _capabilities(asked.model):
        return False
    return asked.model.startswith("gpt-oss") or asked.body.get("think") is not False


def _model(asked: Asked) -> Refusal | None:
    if not asked.model:
        return Refusal(400, "model is required")
    return Refusal(404, f"model '{asked.model}' not found") if asked.model.startswith("missing") else None


def _think_value(asked: Asked) -> Refusal | None:
    told = asked.body.get("think")
    if told is None or isinstance(told, bool) or told in _LEVELS:
        return None
    known = ", ".join(f'"{level}"' for level in _LEVELS)
    return Refusal(400, f"invalid think value: {compact(told)} (must be {known}, true, or false)")


def _no_thinking(asked: Asked) -> Refusal | None:
    if not asked.body.get("think") or "thinking" in _capabilities(asked.model):
        return None
    return Refusal(400, f'"{asked.model}" does not support thinking')


def _no_tools(asked: Asked) -> Refusal | None:
    if not asked.body.get("tools") or "tools" in _capabilities(asked.model):
        return None
    return Refusal(400, f"registry.ollama.ai/library/{asked.model} does not support tools")


def _hear(asked: Asked) -> Heard:
    told = objects(asked.body.get("messages"))
    last = told[-1] if told else {}
    functions = [mapping(tool.get("function")) for tool in objects(asked.body.get("tools"))]
    tools = tuple(Tool(function.get("name", ""), function.get("parameters")) for function in functions)
    return Heard(str(last.get("content", "")), tools, last.get("role") == "tool")


def _answer(asked: Asked, answer: Answer) -> Reply:
    thought = "" if answer.redacted or not _thinks(asked) else "\n\n".join(answer.thoughts)
    made = [{"function": {"name": call.name, "arguments": call.arguments}} for call in answer.tool_calls]
    frame: Json = {"model": asked.model, "created_at": _TIME}
    counts: Json = {
        "done": True,
        "done_reason": _FINISHES[answer.ending],
        "total_duration": 0,
        "prompt_eval_count": tokens(compact(asked.body.get("messages"))),
        "eval_count": tokens(thought, answer.text, *[compact(call.arguments) for call in answer.tool_calls]),
    }
    message: Json = {"role": "assistant", "content": answer.text}
    message |= {"thinking": thought} if thought else {}
    message |= {"tool_calls": made} if made else {}
    deltas: list[Json] = [{"content": "", "thinking": piece} for piece in pieces(thought)]
    deltas += [{"content": piece} for piece in pieces(answer.text)]
    deltas += [{"content": "", "tool_calls": made}] if made else []
    lines = [frame | {"message": {"role": "assistant", **delta}, "done": False} for delta in deltas]
    lines.append(frame | {"message": {"role": "assistant", "content": ""}, **counts})
    stream = asked.body.get("stream") is not False
    told = tuple(f"{compact(line)}\n".encode() for line in lines)
    return Reply(frame | {"message": message, **counts}, told, stream, "application/x-ndjson")


def _shown(asked: Asked) -> Json | Refusal:
    name = asked.body.get("model") or asked.body.get("name")
    if not isinstance(name, str) or name.startswith("missing"):
        return Refusal(404, f"model '{name}' not found")
    return {
        "details": {"family": name.partition(":")[0], "format": "gguf"},
        "model_info": {},
        "capabilities": list(_capabilities(name)),
    }


def _tags(asked: Asked) -> Json | Refusal:
    about = {"modified_at": _TIME, "size": 0, "digest": ""}
    return {"models": [{"name": f"{name}:latest", "model": f"{name}:latest", **about} for name in _FAMILIES]}


def _error(refusal: Refusal) -> Json:
    return {"error": refusal.message}


RULES = (
    Rule("ollama.model", "a model that was not pulled", "Ollama source: routes", _model),
    Rule(
        "ollama.think-value",
        "a value of think that does not exist",
        "Ollama source: think values",
        _think_value,
    ),
    Rule("ollama.no-thinking", "think on a model without it", "Ollama source: capabilities", _no_thinking),
    Rule("ollama.no-tools", "tools on a model without them", "Ollama source: capabilities", _no_tools),
)

API = Api(
    name="ollama",
    base="",
    path=r"/api/chat",
    rules=RULES,
    hear=_hear,
    answer=_answer,
    error=_error,
    interrupted=lambda place: b'{"error":"the model runner stopped unexpectedly"}\n',
    lookups=(Lookup("POST", r"/api/show", _shown), Lookup("GET", r"/api/tags", _tags)),
    keep_alive=b"\n",
)
