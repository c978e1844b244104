"""What Gemini refuses: calls of the current turn without signature, seals not its own, wrong budgets."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from thinkaloud.simulators.api import Asked, Json, Refusal, Rule, mapping, objects
from thinkaloud.simulators.signing import fingerprint

_SKIP = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
_FIELDS = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
_FIELDS |= {"cachedContent", "model", "labels", "serviceTier", "store"}
_ALL = ("MINIMAL", "LOW", "MEDIUM", "HIGH")


class Gemini(NamedTuple):
    """What one model takes: levels, or a budget between two numbers; with neither it does not think."""

    levels: tuple[str, ...] = ()
    least: int = -1
    most: int = -1
    can_be_off: bool = False
    signs: bool = False


def _third(levels: tuple[str, ...] = _ALL) -> Gemini:
    return Gemini(levels, 1, 32768, signs=True)


MODELS = {
    "gemini-2.0-flash": Gemini(),
    "gemini-2.5-pro": Gemini((), 128, 32768),
    "gemini-2.5-flash": Gemini((), 1, 24576, True),
    "gemini-2.5-flash-lite": Gemini((), 512, 24576, True),
    "gemini-3-pro-preview": _third(("LOW", "HIGH")),
    "gemini-3.1-pro-preview": _third(_ALL[1:]),
    "gemini-3-flash-preview": _third(),
    "gemini-3.5-flash": _third(),
    "gemini-3.6-flash": _third(),
    "gemini-3.7-flash": _third(_ALL[1:]),
    "gemini-3.8-flash": _third(_ALL[1:]),
    "gemini-4-argon": _third(_ALL[1:]),
    "gemini-4-carbon": _third(),
}


def row_of(asked: Asked) -> Gemini:
    """The row of the model asked for."""
    return MODELS.get(asked.model, Gemini())


def pick(told: Json, name: str) -> Any:
    """A field by either of the two spellings that the service takes."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return told.get(name, told.get(snake))


def thinking_config(asked: Asked) -> Json:
    """How this request wants to think."""
    return mapping(pick(mapping(pick(asked.body, "generationConfig")), "thinkingConfig"))


def contents(asked: Asked) -> list[Json]:
    """The conversation."""
    return objects(asked.body.get("contents"))


def parts(content: Json, name: str = "") -> list[Json]:
    """The parts of a message, or those that hold this field."""
    found = objects(content.get("parts"))
    return [part for part in found if pick(part, name) is not None] if name else found


def _bad(message: str) -> Refusal:
    return Refusal(400, message, "INVALID_ARGUMENT")


def _key(asked: Asked) -> Refusal | None:
    given = asked.headers.get("x-goog-api-key") or asked.query.get("key", "")
    if asked.opens(given):
        return None
    if not given:
        words = "Method doesn't allow unregistered callers (callers without established identity)."
        return Refusal(403, words, "PERMISSION_DENIED")
    about = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    return Refusal(
        400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", details=(about,)
    )


def _model(asked: Asked) -> Refusal | None:
    if asked.model in MODELS:
        return None
    return Refusal(404, f"models/{asked.model} is not found for API version v1beta.", "NOT_FOUND")


def _shape(asked: Asked) -> Refusal | None:
    known = {pick({name: name}, name) for name in _FIELDS}
    for name in asked.body:
        words = name.split("_")
        if words[0] + "".join(word.capitalize() for word in words[1:]) not in known:
            return _bad(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    if not contents(asked):
        return _bad("* GenerateContentRequest.contents: contents is not specified")
    return None


def _roles(asked: Asked) -> Refusal | None:
    for at, content in enumerate(contents(asked)):
        if content.get("role", "user") not in ("user", "model", "function"):
            return _bad("Please use a valid role: user, model.")
        if not parts(content):
            return _bad(f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.")
    return None


def _both(asked: Asked) -> Refusal | None:
    told = thinking_config(asked)
    if pick(told, "thinkingBudget") is None or pick(told, "thinkingLevel") is None:
        return None
    return _bad("You can only set only one of thinking budget and thinking level.")


def _no_thinking(asked: Asked) -> Refusal | None:
    row = row_of(asked)
    told = thinking_config(asked)
    wants = pick(told, "thinkingBudget") or pick(told, "thinkingLevel") or pick(told, "includeThoughts")
    if wants and not row.levels and row.most < 0:
        return _bad("Thinking is not supported by this model.")
    return None


def _budget(asked: Asked) -> Refusal | None:
    budget, row = pick(thinking_config(asked), "thinkingBudget"), row_of(asked)
    if budget is None or budget == -1 or row.most < 0 or (budget == 0 and row.can_be_off):
        return None
    if budget == 0:
        return _bad("Budget 0 is invalid. This model only works in thinking mode.")
    if row.least <= budget <= row.most:
        return None
    words = f"Please choose a value between {row.least} and {row.most}."
    return _bad(f"The thinking budget {budget} is invalid. {words}")


def _level(asked: Asked) -> Refusal | None:
    level = pick(thinking_config(asked), "thinkingLevel")
    if level is None or str(level).upper() in row_of(asked).levels:
        return None
    if not row_of(asked).levels:
        return _bad("Thinking level is not supported for this model.")
    return _bad(f"Thinking level {str(level).upper()} is not supported for this model.")


def _signed(asked: Asked) -> Iterator[tuple[int, int, Json, str]]:
    for at, content in enumerate(contents(asked)):
        for number, part in enumerate(parts(content)):
            if seal := pick(part, "thoughtSignature"):
                yield at, number, part, str(seal)


def subject(part: Json) -> str:
    """What a signature is for: a call with its arguments, or just text."""
    call = mapping(pick(part, "functionCall"))
    return fingerprint(call.get("name"), call.get("args") or {}) if call else "text"


def _altered(asked: Asked) -> Refusal | None:
    for at, number, part, seal in _signed(asked):
        if seal in _SKIP:
            continue
        note = asked.secret.open(seal)
        place = f"contents[{at}].parts[{number}]"
        if note is None or note["subject"] != subject(part):
            return _bad(f"Corrupted thought signature. ({place})")
        if note["model"] != asked.model:
            return _bad(f"Invalid thought signature: it was made by another model. ({place})")
    return None


def _current_turn(asked: Asked) -> list[tuple[int, Json]]:
    """Everything after the last message in which a person spoke."""
    told = list(enumerate(contents(asked)))
    for at, content in reversed(told):
        spoken = content.get("role", "user") == "user" and not parts(content, "functionResponse")
        if spoken:
            return told[at + 1 :]
    return told


def _missing(asked: Asked) -> Refusal | None:
    if not row_of(asked).signs:
        return None
    for at, content in _current_turn(asked):
        called = parts(content, "functionCall")
        if called and not pick(called[0], "thoughtSignature"):
            name = mapping(pick(called[0], "functionCall")).get("name")
            return _bad(
                "Function call is missing a thought_signature in functionCall parts. This is required for "
                f"tools to work correctly. Function call `{name}`, position {at}."
            )
    return None


def _calls_open(asked: Asked) -> Refusal | None:
    for content, after in pairwise([*contents(asked), {}]):
        called = len(parts(content, "functionCall"))
        if called and called != len(parts(after, "functionResponse")):
            return _bad(
                "Please ensure that the number of function response parts is equal to the number of function "
                "call parts of the function call turn."
            )
    return None


RULES = (
    Rule("gemini.key", "no key, or a wrong one", "vendor docs: errors", _key),
    Rule("gemini.model", "a model that does not exist", "vendor docs: errors", _model),
    Rule("gemini.shape", "an unknown field, or no contents", "vendor docs: errors", _shape),
    Rule("gemini.roles", "a role that does not exist, or no parts", "vendor docs", _roles),
    Rule("gemini.both", "a budget and a level together", "vendor docs: thinking", _both),
    Rule(
        "gemini.no-thinking", "a thinking config for a model that does not think", "SDK types", _no_thinking
    ),
    Rule(
        "gemini.budget", "a budget out of range, or 0 where it cannot be off", "pydantic-ai profiles", _budget
    ),
    Rule("gemini.level", "a level that this model does not take", "pydantic-ai profiles", _level),
    Rule(
        "gemini.altered",
        "a signature altered, or of another part or model",
        "vendor docs: signatures",
        _altered,
    ),
    Rule(
        "gemini.missing",
        "a step of the current turn whose first call has no signature",
        "vendor docs: signatures, strands#1298",
        _missing,
    ),
    Rule("gemini.calls-open", "calls and responses that do not match in number", "vendor docs", _calls_open),
)
