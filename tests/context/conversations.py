"""Small hand-written responses in each provider's format, and the routes they came from."""

import base64
import json
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

import thinkaloud
from thinkaloud.core.canon import BlockEnded, BlockStarted, Event, TurnEnded, TurnFailed
from thinkaloud.core.canon.requests import AssistantMessage, ToolDefinition, ToolMessage, UserMessage
from thinkaloud.core.catalog import Route, builtin_catalog
from thinkaloud.core.catalog import route as find
from thinkaloud.core.context import AnsweredTurn, BuildOptions, BuiltRequest, Context, Step, build

CATALOG = builtin_catalog()
WEATHER = ToolDefinition(
    "get_weather", "The weather in a city.", '{"type":"object","properties":{"city":{"type":"string"}}}'
)
SYSTEM = "Be brief."


def route(name: str) -> Route:
    return find(CATALOG, name, thinking=True, have_key=lambda provider: True)


CLAUDE = route("anthropic/claude-opus-4-5")
BOUND = route("anthropic/claude-opus-5-5")
GPT = route("openai/gpt-5")
CHAT = route("openai-chat/gpt-4o")
OPENROUTER = route("openrouter/anthropic/claude-opus-4.5")
DEEPSEEK = route("deepseek/deepseek-v4-flash")
R1 = route("deepseek/deepseek-reasoner")
KIMI = route("moonshot/kimi-k2-thinking")
GEMINI = route("gemini/gemini-3-pro")
MISTRAL = route("mistral/magistral-medium-2509")
MINIMAX = route("minimax/MiniMax-M2")
VLLM = route("vllm/qwen3-8b")
OLLAMA = route("ollama/qwen3:8b")
COHERE = route("cohere/command-a-reasoning-08-2025")
BEDROCK = route("bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0")
INTERACTIONS = msgspec.structs.replace(
    GEMINI, provider=msgspec.structs.replace(GEMINI.provider, dialect="gemini_interactions", places={})
)
ROUTES = (
    CLAUDE,
    BOUND,
    GPT,
    CHAT,
    OPENROUTER,
    DEEPSEEK,
    R1,
    KIMI,
    GEMINI,
    MISTRAL,
    MINIMAX,
    VLLM,
    OLLAMA,
    COHERE,
    BEDROCK,
    INTERACTIONS,
)


class CityCall(NamedTuple):
    """A call by its id, and the city it asks for."""

    call_id: str
    city: str


def signature_for(thought: str) -> str:
    """Return a base64 signature."""
    return base64.b64encode(f"sealed {thought}".encode()).decode()


def _anthropic(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    content: list[object] = []
    if thought:
        content.append({"type": "thinking", "thinking": thought, "signature": signature_for(thought)})
    if text:
        content.append({"type": "text", "text": text})
    content += [
        {"type": "tool_use", "id": call.call_id, "name": "get_weather", "input": {"city": call.city}}
        for call in calls
    ]
    usage = {"input_tokens": 9, "output_tokens": 40, "output_tokens_details": {"thinking_tokens": 30}}
    stop = "tool_use" if calls else "end_turn"
    return {"type": "message", "model": model, "content": content, "stop_reason": stop, "usage": usage}


def _functions(calls: Sequence[CityCall]) -> list[object]:
    return [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": "get_weather", "arguments": json.dumps({"city": call.city})},
        }
        for call in calls
    ]


def _chat(model: str, message: dict[str, object], calls: Sequence[CityCall]) -> object:
    full_message = {"role": "assistant", **message}
    if calls:
        full_message["tool_calls"] = _functions(calls)
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 40,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    finish = "tool_calls" if calls else "stop"
    return {"model": model, "choices": [{"message": full_message, "finish_reason": finish}], "usage": usage}


def _chat_details(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    detail = {"type": "reasoning.text", "text": thought, "signature": signature_for(thought), "index": 0}
    details = [detail] if thought else []
    return _chat(model, {"content": text, "reasoning": thought or None, "reasoning_details": details}, calls)


def _chat_chunks(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    if not thought:
        return _chat(model, {"content": text}, calls)
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thought}], "closed": True}
    return _chat(model, {"content": [thinking, {"type": "text", "text": text}]}, calls)


def _chat_tags(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    return _chat(model, {"content": (f"<think>{thought}</think>" if thought else "") + text}, calls)


def _chat_field(field: str, model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    return _chat(model, {"content": text, field: thought} if thought else {"content": text}, calls)


def _responses(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    output: list[object] = []
    if thought:
        summary = [{"type": "summary_text", "text": thought}]
        output.append(
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": f"enc:{thought}"}
        )
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{call.call_id}",
            "call_id": call.call_id,
            "name": "get_weather",
            "arguments": json.dumps({"city": call.city}),
        }
        for call in calls
    ]
    return {"object": "response", "model": model, "status": "completed", "output": output}


def _gemini(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    parts: list[dict[str, object]] = []
    if thought:
        parts.append({"text": thought, "thought": True})
    if text:
        parts.append({"text": text})
    parts += [
        {"functionCall": {"id": call.call_id, "name": "get_weather", "args": {"city": call.city}}}
        for call in calls
    ]
    if thought and len(parts) > 1:
        parts[-1 if not calls else -len(calls)]["thoughtSignature"] = signature_for(thought)
    content = {"role": "model", "parts": parts}
    return {"modelVersion": model, "candidates": [{"content": content, "finishReason": "STOP"}]}


def _interactions(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    steps: list[object] = []
    if thought:
        summary = [{"type": "text", "text": thought}]
        steps.append({"type": "thought", "signature": signature_for(thought), "summary": summary})
    if text:
        steps.append({"type": "model_output", "content": [{"type": "text", "text": text}]})
    steps += [
        {
            "type": "function_call",
            "id": call.call_id,
            "name": "get_weather",
            "arguments": {"city": call.city},
        }
        for call in calls
    ]
    status = "requires_action" if calls else "completed"
    return {"object": "interaction", "model": model, "status": status, "steps": steps}


def _ollama(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    message: dict[str, object] = {"role": "assistant", "content": text}
    if thought:
        message["thinking"] = thought
    if calls:
        message["tool_calls"] = [
            {"id": call.call_id, "function": {"name": "get_weather", "arguments": {"city": call.city}}}
            for call in calls
        ]
    return {"model": model, "message": message, "done": True, "done_reason": "stop", "eval_count": 40}


def _bedrock(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    content: list[object] = []
    if thought:
        content.append(
            {"reasoningContent": {"reasoningText": {"text": thought, "signature": signature_for(thought)}}}
        )
    if text:
        content.append({"text": text})
    content += [
        {"toolUse": {"toolUseId": call.call_id, "name": "get_weather", "input": {"city": call.city}}}
        for call in calls
    ]
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": "tool_use" if calls else "end_turn"}


def _cohere(model: str, thought: str, text: str, calls: Sequence[CityCall]) -> object:
    content: list[object] = [{"type": "thinking", "thinking": thought}] if thought else []
    content += [{"type": "text", "text": text}] if text else []
    message: dict[str, object] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = _functions(calls)
    return {"message": message, "finish_reason": "TOOL_CALL" if calls else "COMPLETE"}


def response_body(issuer: Route, thought: str = "", text: str = "", calls: Sequence[CityCall] = ()) -> bytes:
    """Return a whole response of this route's provider."""
    by_rule = {
        "details": _chat_details,
        "details_thought_first": _chat_details,
        "thinking_chunks": _chat_chunks,
        "whole_message": _chat_tags,
    }
    by_dialect = {
        "anthropic_messages": _anthropic,
        "openai_responses": _responses,
        "gemini": _gemini,
        "gemini_interactions": _interactions,
        "ollama": _ollama,
        "bedrock_converse": _bedrock,
        "cohere_v2": _cohere,
    }
    write_body = by_dialect.get(issuer.provider.dialect) or by_rule.get(issuer.replay.name)
    if write_body is None:
        field = issuer.replay.field or "reasoning_content"
        return json.dumps(_chat_field(field, issuer.model_id, thought, text, calls)).encode()
    return json.dumps(write_body(issuer.model_id, thought, text, calls)).encode()


def answered_turn(issuer: Route, body: bytes, prefix: str = "") -> AnsweredTurn:
    turn = thinkaloud.read(body, issuer.provider.dialect, model=issuer.model_id)
    return AnsweredTurn(turn, prefix, issuer.provider.name)


def answer_from(
    issuer: Route, thought: str = "", text: str = "", calls: Sequence[CityCall] = (), prefix: str = ""
) -> AnsweredTurn:
    return answered_turn(issuer, response_body(issuer, thought, text, calls), prefix)


def interrupted_turn(issuer: Route, body: bytes, event_count: int) -> AnsweredTurn:
    """Return the same response, cut off after this many events."""
    reader = thinkaloud.Reader(issuer.provider.dialect, model=issuer.model_id)
    events: list[Event] = [*reader.feed(body), *reader.close()]
    kept_events = [event for event in events[:event_count] if not isinstance(event, TurnEnded | TurnFailed)]
    started = {event.block for event in kept_events if isinstance(event, BlockStarted)}
    ended = {event.block for event in kept_events if isinstance(event, BlockEnded)}
    block_ends = [BlockEnded(block, interrupted=True) for block in sorted(started - ended)]
    turn = thinkaloud.fold([*kept_events, *block_ends, TurnFailed("cut_off", "the connection broke")])
    return AnsweredTurn(turn, "", issuer.provider.name)


def conversation_of(
    *steps: Step, system: str = SYSTEM, tools: tuple[ToolDefinition, ...] = (WEATHER,)
) -> Context:
    return Context(steps, system, tools)


def user_message(text: str = "Weather?") -> UserMessage:
    return UserMessage(text)


def tool_result(call_id: str = "c1", text: str = "18 C") -> ToolMessage:
    return ToolMessage(call_id, text)


def assistant_messages(built: BuiltRequest) -> list[AssistantMessage]:
    return [message for message in built.request.messages if isinstance(message, AssistantMessage)]


def report_codes(built: BuiltRequest) -> list[tuple[int, int | None, str, str]]:
    return [(line.step, line.block, line.status, line.code) for line in built.report.lines]


def prefix_of(conversation: Context, target: Route, build_options: BuildOptions | None = None) -> str:
    return build(conversation, target, build_options).prefix
