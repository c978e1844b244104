"""Gemini's native interface: responses as chunks, with a signature on the part that follows the thought.

A stream comes as server-sent events with `alt=sse` and as one JSON array without.
"""

from thinkaloud.simulators import gemini_rules
from thinkaloud.simulators.api import (
    Api,
    Asked,
    Json,
    Lookup,
    Refusal,
    Reply,
    compact,
    event,
    mapping,
    objects,
)
from thinkaloud.simulators.gemini_rules import (
    MODELS,
    Gemini,
    contents,
    parts,
    pick,
    row_of,
    subject,
    thinking_config,
)
from thinkaloud.simulators.script import Answer, Heard, Tool, pieces, tokens

_FINISHES = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "refusal": "SAFETY"}
_STATUSES = {404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def _hear(asked: Asked) -> Heard:
    last = contents(asked)[-1]
    results = parts(last, "functionResponse")
    said = "".join(str(part.get("text", "")) for part in parts(last))
    if results:
        said = compact(mapping(pick(results[0], "functionResponse")).get("response"))
    tools = []
    for tool in objects(asked.body.get("tools")):
        for function in objects(pick(tool, "functionDeclarations")):
            schema = function.get("parameters") or pick(function, "parametersJsonSchema")
            tools.append(Tool(function.get("name", ""), schema))
    mode = str(
        mapping(pick(mapping(pick(asked.body, "toolConfig")), "functionCallingConfig")).get("mode", "auto")
    )
    return Heard(said, tuple(tools), bool(results), mode.lower())


def _thinks(asked: Asked) -> bool:
    row = row_of(asked)
    return bool(row.levels) or (row.most > 0 and pick(thinking_config(asked), "thinkingBudget") != 0)


def _signed(asked: Asked, part: Json) -> Json:
    return part | {"thoughtSignature": asked.secret.seal(model=asked.model, subject=subject(part))}


def _parts(asked: Asked, answer: Answer) -> list[Json]:
    """The parts of a whole answer; the signature is on the first call, or else on the text."""
    found: list[Json] = []
    thinks = _thinks(asked)
    if thinks and pick(thinking_config(asked), "includeThoughts") and not answer.redacted:
        found += [{"text": thought, "thought": True} for thought in answer.thoughts]
    if answer.text:
        text: Json = {"text": answer.text}
        found.append(_signed(asked, text) if thinks and not answer.tool_calls else text)
    for index, call in enumerate(answer.tool_calls):
        made = {"id": f"call_{asked.memory.number()}", "name": call.name, "args": call.arguments}
        part: Json = {"functionCall": made}
        found.append(_signed(asked, part) if thinks and index == 0 else part)
    return found or [{"text": ""}]


def _answer(asked: Asked, answer: Answer) -> Reply:
    told = _parts(asked, answer)
    usage = _usage(asked, answer)
    about: Json = {"modelVersion": asked.model, "responseId": f"resp_{asked.memory.number()}"}
    ending: Json = {"finishReason": _FINISHES[answer.ending], "index": 0}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": told}, **ending}],
        "usageMetadata": usage,
        **about,
    }
    if "stream" not in asked.path:
        return Reply(whole, (), False)
    streamed = _streamed(told)
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], **about}
        for part in streamed
    ]
    chunks[-1]["candidates"][0] |= ending
    chunks[-1]["usageMetadata"] = usage
    if asked.query.get("alt") == "sse":
        return Reply(whole, tuple(event(chunk) for chunk in chunks), True)
    return _array(whole, chunks)


def _array(whole: Json, chunks: list[Json]) -> Reply:
    """A stream as one JSON array, piece by piece."""
    told = [("[" if number == 0 else ",\r\n") + compact(chunk) for number, chunk in enumerate(chunks)]
    broken = f",\r\n{compact(_error(Refusal(503, 'The model is overloaded.')))}]".encode()
    media = "application/json; charset=utf-8"
    return Reply(whole, (*(one.encode() for one in told), b"]"), True, media, interrupted=broken)


def _streamed(told: list[Json]) -> list[Json]:
    """The parts as they are streamed: text word by word, its signature on an empty text at the end."""
    found: list[Json] = []
    for part in told:
        if "text" not in part:
            found.append(part)
            continue
        thought = {"thought": True} if part.get("thought") else {}
        found += [{"text": piece, **thought} for piece in pieces(part["text"])]
        if "thoughtSignature" in part:
            found.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
    return found or [{"text": ""}]


def _usage(asked: Asked, answer: Answer) -> Json:
    given = tokens(compact(asked.body["contents"]))
    said = tokens(answer.text, *[compact(call.arguments) for call in answer.tool_calls])
    thought = tokens(*answer.thoughts) if _thinks(asked) else 0
    counts = {"promptTokenCount": given, "candidatesTokenCount": said, "thoughtsTokenCount": thought}
    return counts | {"totalTokenCount": given + said + thought}


def _error(refusal: Refusal) -> Json:
    status = refusal.kind or _STATUSES.get(refusal.status, "INVALID_ARGUMENT")
    told: Json = {"code": refusal.status, "message": refusal.message, "status": status}
    return {"error": told | ({"details": list(refusal.details)} if refusal.details else {})}


def _interrupted(place: int) -> bytes:
    return event(_error(Refusal(503, "The model is overloaded. Please try again later.")))


def _listed(asked: Asked) -> Json | Refusal:
    if not asked.model:
        return {"models": [_described(name, row) for name, row in MODELS.items()]}
    row = MODELS.get(asked.model)
    return _described(asked.model, row) if row else Refusal(404, f"Model is not found: models/{asked.model}")


def _described(name: str, row: Gemini) -> Json:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": 1048576,
        "outputTokenLimit": 65536,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
        "thinking": bool(row.levels) or row.most > 0,
    }


_VERSION = r"/v1(?:alpha|beta)?/models"
API = Api(
    name="gemini",
    base="",
    path=_VERSION + r"/(?P<model>[^/:]+):(?:generateContent|streamGenerateContent)",
    rules=gemini_rules.RULES,
    hear=_hear,
    answer=_answer,
    error=_error,
    interrupted=_interrupted,
    lookups=(Lookup("GET", _VERSION + r"(?:/(?P<model>[^/:]+))?", _listed),),
)
