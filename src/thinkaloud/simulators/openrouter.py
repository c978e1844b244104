"""OpenRouter: every thought twice, as `reasoning` and as `reasoning_details` that must go back unread."""

from thinkaloud.simulators import chat, openrouter_rules
from thinkaloud.simulators.api import Api, Asked, Json, Lookup, Refusal, Reply, compact, event
from thinkaloud.simulators.chat import Thought
from thinkaloud.simulators.openrouter_rules import MODELS, effort_of, reasoning, route
from thinkaloud.simulators.script import Answer, pieces, tokens
from thinkaloud.simulators.signing import fingerprint


def _details(asked: Asked, answer: Answer) -> list[Json]:
    """The thoughts of this answer, in the form of the route's maker."""
    form = route(asked).format
    found: list[Json] = []
    for index, thought in enumerate(answer.thoughts):
        text = "" if answer.redacted else thought
        about: Json = {"format": form, "index": index}
        name = f"rs_{asked.memory.number()}"
        sealed = asked.secret.seal(
            kind="detail", form=form, text=fingerprint(text), id=name, index=str(index)
        )
        hidden: Json = {"type": "reasoning.encrypted", "data": sealed, "id": name, **about}
        shown: Json = {"type": "reasoning.text", "text": text, **about}
        if form == "anthropic-claude-v1":
            found += [hidden] if answer.redacted else [shown | {"signature": sealed}]
        elif form.endswith("responses-v1"):
            summary = {"type": "reasoning.summary", "summary": text, "id": name, **about}
            found += [summary, hidden] if text else [hidden]
        elif form == "google-gemini-v1":
            found += [shown, hidden] if text else [hidden]
        elif text:
            found.append(shown)
    return found


def _streamed(details: list[Json]) -> tuple[tuple[Json, ...], tuple[Json, ...]]:
    """The deltas of these details: text as it comes, signatures and sealed copies late; none is told too."""
    early: list[Json] = [] if details else [{"role": "assistant", "content": "", "reasoning_details": []}]
    late: list[Json] = []
    for detail in details:
        name = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(detail["type"])
        if name is None:
            late.append({"content": "", "reasoning_details": [detail]})
            continue
        bare = {key: value for key, value in detail.items() if key != "signature"}
        for piece in pieces(detail[name]):
            told = {"reasoning": piece, "reasoning_details": [bare | {name: piece}]}
            early.append({"role": "assistant", "content": "", **told})
        if "signature" in detail:
            signed = {key: value for key, value in detail.items() if key != name}
            late.append({"content": "", "reasoning_details": [signed]})
    return tuple(early), tuple(late)


def _thought(asked: Asked, answer: Answer) -> Thought:
    if not route(asked).reasons or effort_of(asked) == "none":
        return Thought(fields={"reasoning": None})
    count = tokens(*answer.thoughts)
    if reasoning(asked).get("exclude") is True:
        return Thought(fields={"reasoning": None}, tokens=count)
    details = _details(asked, answer)
    text = "" if answer.redacted else "\n\n".join(answer.thoughts)
    early, late = _streamed(details)
    return Thought(early, {"reasoning": text or None, "reasoning_details": details}, late, count)


def _answer(asked: Asked, answer: Answer) -> Reply:
    thought = _thought(asked, answer)
    reply = chat.reply(asked, answer, thought, usage_always=True)
    details = thought.fields.get("reasoning_details")
    for call in reply.whole["choices"][0]["message"].get("tool_calls", ()):
        if details is not None:
            asked.memory.items[call["id"]] = {"details": details}
    return reply


def _error(refusal: Refusal) -> Json:
    told: Json = {"code": refusal.status, "message": refusal.message}
    if refusal.details:
        told["metadata"] = refusal.details[0]
    return {"error": told}


def _interrupted(place: int) -> bytes:
    about = {"error_type": "provider_overloaded", "provider_code": "overloaded"}
    told = {"code": 502, "message": "Provider disconnected", "metadata": about}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return event(compact({"id": "gen-sim", "error": told, "choices": [choice]}))


def _listed(asked: Asked) -> Json | Refusal:
    return {"data": [openrouter_rules.described(name, row) for name, row in MODELS.items()]}


API = Api(
    name="openrouter",
    base="/api/v1",
    path=r"/api/v1/chat/completions",
    rules=openrouter_rules.RULES,
    hear=chat.hear,
    answer=_answer,
    error=_error,
    interrupted=_interrupted,
    lookups=(Lookup("GET", r"/api/v1/models", _listed),),
    keep_alive=b": OPENROUTER PROCESSING\n\n",
)
