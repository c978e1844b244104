"""OpenAI Chat Completions: it reasons, counts it, and shows none of it."""

from thinkaloud.simulators import chat, openai_shared
from thinkaloud.simulators.api import Api, Asked, Lookup, Refusal, Reply, Rule, names
from thinkaloud.simulators.chat import MESSAGE_FIELDS, Thought, check_calls, check_messages, messages
from thinkaloud.simulators.openai_shared import bad, check_effort, check_key, check_model, effort_of, gpt
from thinkaloud.simulators.script import Answer, tokens

_FIELDS = names(
    """model messages audio frequency_penalty function_call functions logit_bias logprobs
    max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls prediction
    presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort
    response_format safety_identifier seed service_tier stop store stream stream_options temperature
    tool_choice tools top_logprobs top_p user verbosity web_search_options"""
)


def _fields(asked: Asked) -> Refusal | None:
    unknown = next((name for name in asked.body if name not in _FIELDS), None)
    return bad(f"Unknown parameter: '{unknown}'.", "unknown_parameter", unknown) if unknown else None


def _message_fields(asked: Asked) -> Refusal | None:
    for at, message in enumerate(messages(asked)):
        unknown = next((name for name in message if name not in MESSAGE_FIELDS), None)
        if unknown:
            name = f"messages[{at}].{unknown}"
            return bad(f"Unknown parameter: '{name}'.", "unknown_parameter", name)
    return None


def _effort(asked: Asked) -> Refusal | None:
    return check_effort(asked, "reasoning_effort", asked.body.get("reasoning_effort"))


def _sampling(asked: Asked) -> Refusal | None:
    if effort_of(asked) == "none" or asked.body.get("temperature") in (None, 1):
        return None
    words = (
        f"Unsupported value: 'temperature' does not support {asked.body['temperature']} with this model. "
        "Only the default (1) value is supported."
    )
    return bad(words, "unsupported_value", "temperature")


def _max_tokens(asked: Asked) -> Refusal | None:
    row = gpt(asked.model)
    if not row or not row.efforts or asked.body.get("max_tokens") is None:
        return None
    words = "Unsupported parameter: 'max_tokens' is not supported with this model."
    words += " Use 'max_completion_tokens' instead."
    return bad(words, "unsupported_parameter", "max_tokens")


def _tools_with_reasoning(asked: Asked) -> Refusal | None:
    row = gpt(asked.model)
    if not row or row.chat_tools or not asked.body.get("tools") or effort_of(asked) == "none":
        return None
    words = (
        f"Function tools with reasoning_effort are not supported for {asked.model} in /v1/chat/completions. "
        "Please use /v1/responses instead."
    )
    return bad(words, None, "reasoning_effort")


def _answer(asked: Asked, answer: Answer) -> Reply:
    reasons = effort_of(asked) != "none"
    return chat.reply(asked, answer, Thought(tokens=tokens(*answer.thoughts) if reasons else 0))


RULES = (
    Rule("openai-chat.key", "no key, or a wrong one", "vendor docs: error codes", check_key),
    Rule("openai-chat.model", "a model that does not exist", "vendor docs: error codes", check_model),
    Rule("openai-chat.messages", "no messages", "SDK types", check_messages),
    Rule("openai-chat.fields", "an unknown parameter", "SDK types", _fields),
    Rule("openai-chat.message-fields", "an unknown field in a message", "cc-switch#2365", _message_fields),
    Rule("openai-chat.effort", "an effort that this model does not take", "vendor docs: reasoning", _effort),
    Rule("openai-chat.sampling", "a temperature while reasoning", "@ai-sdk/openai", _sampling),
    Rule("openai-chat.max-tokens", "max_tokens on a reasoning model", "vendor docs: reasoning", _max_tokens),
    Rule("openai-chat.tools", "tools while GPT-5.6 reasons", "@ai-sdk/openai", _tools_with_reasoning),
    Rule("openai-chat.calls-open", "a call without its result, or the reverse", "vendor docs", check_calls),
)

API = Api(
    name="openai-chat",
    base="/v1",
    path=r"/v1/chat/completions",
    rules=RULES,
    hear=chat.hear,
    answer=_answer,
    error=openai_shared.error,
    interrupted=chat.interrupted,
    lookups=(Lookup("GET", r"/v1/models(?:/(?P<model>[^/]+))?", openai_shared.listed),),
)
