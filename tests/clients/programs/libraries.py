"""Asks through a client library and runs its tool calls: python libraries.py LIBRARY URL MODEL.

It runs in the environment of the clients, and prints what the library has of the conversation as JSON.
"""

import json
import sys

LIBRARY, URL, MODEL = sys.argv[1:4]
QUESTION = "Where is it warmest?"


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 degrees in {city}"


def langchain() -> tuple[list[str], str]:
    """Run LangChain's chat model for OpenAI Responses."""
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(
        model=MODEL,
        base_url=f"{URL}/v1",
        api_key="any",
        use_responses_api=True,
        reasoning={"effort": "high", "summary": "auto"},
    ).bind_tools([tool(get_weather)])
    messages, thoughts = [HumanMessage(QUESTION)], []
    while True:
        reply = model.invoke(messages)
        messages.append(reply)
        thoughts += [block["reasoning"] for block in reply.content_blocks if block["type"] == "reasoning"]
        if not reply.tool_calls:
            return thoughts, reply.text
        for call in reply.tool_calls:
            messages.append(ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]))


def pydantic_ai() -> tuple[list[str], str]:
    """Run an agent of Pydantic AI over OpenAI Chat Completions."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ThinkingPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="any"))
    result = Agent(model, tools=[get_weather]).run_sync(QUESTION)
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ThinkingPart)], result.output


def litellm() -> tuple[list[str], str]:
    """Run LiteLLM as a library over OpenAI Chat Completions."""
    import litellm as library

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]
    messages, thoughts = [{"role": "user", "content": QUESTION}], []
    while True:
        reply = library.completion(
            model=f"openai/{MODEL}", api_base=f"{URL}/v1", api_key="any", messages=messages, tools=tools
        )
        message = reply.choices[0].message
        thoughts.append(message.reasoning_content)
        messages.append(message.model_dump(exclude={"reasoning_content"}))
        if not message.tool_calls:
            return thoughts, message.content
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def ollama() -> tuple[list[str], str]:
    """Run the library of Ollama."""
    from ollama import Client

    client, messages, thoughts = Client(host=URL), [{"role": "user", "content": QUESTION}], []
    while True:
        message = client.chat(model=MODEL, messages=messages, tools=[get_weather], think=True).message
        thoughts.append(message.thinking)
        messages.append(message)
        if not message.tool_calls:
            return thoughts, message.content
        for call in message.tool_calls:
            result = get_weather(**call.function.arguments)
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})


thoughts, text = {function.__name__: function for function in (langchain, pydantic_ai, litellm, ollama)}[
    LIBRARY
]()
print(json.dumps({"thoughts": thoughts, "text": text}))
