"""Asks a simulator with the SDK of its vendor and runs its tool calls: python sdks.py SDK URL MODEL.

The replies with calls are streamed, and the last one arrives whole. It runs in the environment of the
clients, and prints what the SDK has of the conversation as JSON.
"""

import json
import sys
from typing import Any

SDK, URL, MODEL = sys.argv[1:4]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
QUESTION = {"role": "user", "content": "Where is it warmest?"}
Conversation = tuple[list[str], str]


def result(call: Any) -> dict[str, str]:
    """Run a call and return its result as a message."""
    city = json.loads(call.function.arguments)["city"]
    return {"role": "tool", "tool_call_id": call.id, "content": f"18 degrees in {city}"}


def cohere() -> Conversation:
    """Run the SDK of Cohere, whose thoughts are blocks of the content, or else a plan before the calls."""
    from cohere import ClientV2

    client = ClientV2(api_key="any", base_url=URL)
    messages: list[Any] = [QUESTION]
    thought, plan, calls = "", "", list[Any]()
    for event in client.chat_stream(model=MODEL, messages=messages, tools=TOOLS):
        if event.type == "content-delta":
            thought += event.delta.message.content.thinking or ""
        elif event.type == "tool-plan-delta":
            plan += event.delta.message.tool_plan
        elif event.type == "tool-call-start":
            calls.append(event.delta.message.tool_calls)
        elif event.type == "tool-call-delta":
            calls[event.index].function.arguments += event.delta.message.tool_calls.function.arguments
        elif event.type == "message-end":
            assert event.delta.finish_reason == "TOOL_CALL"
            assert event.delta.usage.tokens.output_tokens > 0
    said = {"tool_plan": plan} if plan else {"content": [{"type": "thinking", "thinking": thought}]}
    messages += [{"role": "assistant", "tool_calls": calls, **said}, *map(result, calls)]
    last = client.chat(model=MODEL, messages=messages, tools=TOOLS)
    assert (last.finish_reason, last.usage.tokens.output_tokens > 0) == ("COMPLETE", True)
    *blocks, answer = last.message.content
    return [thought or plan, *(block.thinking for block in blocks)], answer.text


def mistralai() -> Conversation:
    """Run the SDK of Mistral, whose thoughts are chunks of the content."""
    from mistralai.client import Mistral

    def parts(content: Any) -> tuple[str, str]:
        chunks = content if isinstance(content, list) else []
        thought = "".join(
            part.text for chunk in chunks if chunk.type == "thinking" for part in chunk.thinking
        )
        text = "".join(chunk.text for chunk in chunks if chunk.type == "text")
        return thought, content if isinstance(content, str) else text

    client = Mistral(api_key="any", server_url=URL)
    messages: list[Any] = [QUESTION]
    thought, calls = "", list[Any]()
    for event in client.chat.stream(model=MODEL, messages=messages, tools=TOOLS):
        delta = event.data.choices[0].delta if event.data.choices else None
        thought += parts(delta.content)[0] if delta else ""
        calls += (delta and delta.tool_calls) or []
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    sent = [call.model_dump(mode="json", exclude_unset=True) for call in calls]
    messages += [{"role": "assistant", "content": [chunk], "tool_calls": sent}, *map(result, calls)]
    last = client.chat.complete(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    last_thought, text = parts(last.content)
    return [thought, last_thought], text


def openrouter() -> Conversation:
    """Run the SDK of OpenRouter, whose thoughts are details that go back as they came."""
    from openrouter import OpenRouter

    client = OpenRouter(api_key="any", server_url=f"{URL}/api/v1")
    messages: list[Any] = [QUESTION]
    options = {"model": MODEL, "tools": TOOLS, "reasoning": {"effort": "high"}}
    thought, details, calls = "", list[dict[str, Any]](), list[Any]()
    for chunk in client.chat.send(messages=messages, stream=True, **options):
        delta = chunk.choices[0].delta if chunk.choices else None
        thought += (delta and delta.reasoning) or ""
        for detail in (delta and delta.reasoning_details) or []:
            fields = detail.model_dump(mode="json", exclude_unset=True)
            if details and details[-1]["index"] == fields["index"]:
                fields["text"] = details[-1].get("text", "") + fields.get("text", "")
                details[-1] |= fields
            else:
                details.append(fields)
        for call in (delta and delta.tool_calls) or []:
            if call.id:
                calls.append(call)
            else:
                calls[-1].function.arguments += call.function.arguments
    sent = [{"id": c.id, "type": "function", "function": c.function.model_dump()} for c in calls]
    answer = {"role": "assistant", "content": None, "reasoning_details": details, "tool_calls": sent}
    messages += [answer, *map(result, calls)]
    last = client.chat.send(messages=messages, **options).choices[0].message
    return [thought, last.reasoning], last.content


thoughts, answer = {function.__name__: function for function in (cohere, mistralai, openrouter)}[SDK]()
print(json.dumps({"thoughts": thoughts, "text": answer}))
