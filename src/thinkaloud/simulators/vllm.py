"""vLLM: thoughts in `reasoning`, or as tags in the text when the model's name says `raw` or `prefilled`.

It serves whatever it was started with, so every name is served but one that begins with `missing`.
"""

from thinkaloud.simulators import chat
from thinkaloud.simulators.api import Api, Asked, Json, Lookup, Refusal, Reply, Rule, mapping
from thinkaloud.simulators.chat import Thought, check_messages, reasoning_field
from thinkaloud.simulators.script import Answer, tokens

MODELS = ["qwen3-8b", "qwen3-8b-raw", "qwen3.5-9b-prefilled", "gpt-oss-20b", "llama-3.1-8b"]
_EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max"}


def _thinks(asked: Asked) -> bool:
    if "llama" in asked.model:
        return False
    template = mapping(asked.body.get("chat_template_kwargs"))
    wanted = template.get("enable_thinking", template.get("thinking"))
    return bool(wanted) if wanted is not None else asked.body.get("reasoning_effort") != "none"


def _key(asked: Asked) -> Refusal | None:
    """A key is asked for only when the server was started with one."""
    if asked.key is None and not asked.bearer.startswith("bad"):
        return None
    return None if asked.opens(asked.bearer) else Refusal(401, "Unauthorized", "AuthenticationError")


def _model(asked: Asked) -> Refusal | None:
    if asked.model and not asked.model.startswith("missing"):
        return None
    return Refusal(404, f"The model `{asked.model}` does not exist.", "NotFoundError", param="model")


def _effort(asked: Asked) -> Refusal | None:
    effort = asked.body.get("reasoning_effort")
    taken = {"low", "medium", "high"} if "gpt-oss" in asked.model else _EFFORTS
    if effort is None or effort in taken:
        return None
    known = ", ".join(f"'{one}'" for one in sorted(taken))
    return Refusal(400, f"reasoning_effort='{effort}' is not supported by this model; it takes {known}.")


def _answer(asked: Asked, answer: Answer) -> Reply:
    told = "" if answer.redacted else "\n\n".join(answer.thoughts)
    if not _thinks(asked) or not told:
        return chat.reply(asked, answer, Thought())
    if "raw" in asked.model or "prefilled" in asked.model:
        opened = "" if "prefilled" in asked.model else "<think>\n"
        return chat.reply(asked, answer, Thought(tagged=f"{opened}{told}\n</think>\n\n", tokens=tokens(told)))
    shown = asked.body.get("include_reasoning", True) is not False
    return chat.reply(asked, answer, reasoning_field(answer, "reasoning", shown))


def _error(refusal: Refusal) -> Json:
    kinds = {429: "RateLimitError", 503: "ServiceUnavailableError"}
    kind = refusal.kind or kinds.get(refusal.status, "BadRequestError")
    told = {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.status}
    return {"error": told}


def _listed(asked: Asked) -> Json | Refusal:
    return chat.model_list(MODELS)


RULES = (
    Rule("vllm.key", "a wrong key, or none where one was set", "vendor docs: serving", _key),
    Rule("vllm.model", "a model that is not served", "vLLM source: serving models", _model),
    Rule("vllm.messages", "no messages", "vLLM source: protocol", check_messages),
    Rule("vllm.effort", "an effort that this model does not take", "vLLM source: gpt-oss", _effort),
)

API = Api(
    name="vllm",
    base="/v1",
    path=r"/v1/chat/completions",
    rules=RULES,
    hear=chat.hear,
    answer=_answer,
    error=_error,
    interrupted=chat.interrupted,
    lookups=(Lookup("GET", r"/v1/models", _listed),),
)
