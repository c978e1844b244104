"""OpenAI Agents SDK: a model whose thoughts are reasoning items.

It takes the place of `OpenAIChatCompletionsModel` and `LitellmModel`. The SDK keeps a conversation as items
of OpenAI's Responses, so that dialect translates in both directions. The first item of an answer keeps the
record of its turn in `provider_data`, which sessions and saved inputs keep too.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, NamedTuple, get_args

from agents import Model, ModelProvider, ModelResponse, Usage, generation_span
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import Response, ResponseStreamEvent

from thinkaloud.core.canon import Refused
from thinkaloud.core.dialects import openai_responses
from thinkaloud.integrations.request import RECORD, FrameworkRequest, refuse_settings

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "parallel_tool_calls": "parallel_tool_calls",
    "tool_choice": "tool_choice",
}
"""The settings that are sent, and their names in the dialect."""
_REFUSED_SETTINGS = (
    "frequency_penalty",
    "presence_penalty",
    "truncation",
    "verbosity",
    "top_logprobs",
    "context_management",
    "extra_headers",
    "extra_query",
)
_EVENT_CLASSES: dict[str, Any] = {
    get_args(event.model_fields["type"].annotation)[0]: event
    for event in get_args(get_args(ResponseStreamEvent)[0])
}


class _Call(NamedTuple):
    """What the SDK passes to a model, by name or in this order."""

    system_instructions: str | None
    input: str | list[Any]
    model_settings: Any
    tools: list[Any]
    output_schema: Any
    handoffs: list[Any]
    tracing: Any
    previous_response_id: str | None = None
    conversation_id: str | None = None
    prompt: Any = None


class ThinkaloudAgentsModel(Model):
    """Any model of any provider: `Agent(model=ThinkaloudAgentsModel("deepseek/deepseek-v4-pro"))`."""

    def __init__(self, model: str, *, base_url: str = "", thinking: str | int | None = None) -> None:
        self.model = model
        self._url = base_url
        self._thinking = thinking

    async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
        """Ask, and return the whole response."""
        call = _Call(*args, **named)
        request = self._request(call, stream=False)
        with self._span(call) as span:
            await request.whole()
            response: Any = Response.construct(**_with_record(request.body(openai_responses.NAME), request))
            _report(span, call, response)
        usage = Usage(
            requests=1,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            total_tokens=response.usage.total_tokens,
            input_tokens_details=response.usage.input_tokens_details,
            output_tokens_details=response.usage.output_tokens_details,
        )
        return ModelResponse(output=response.output, usage=usage, response_id=None)

    async def stream_response(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        """Ask, and yield the events of the response as they arrive."""
        call = _Call(*args, **named)
        request = self._request(call, stream=True)
        with self._span(call) as span:
            async with aclosing(request.written(openai_responses.NAME)) as events:
                async for data in events:
                    event = _translated(data, request)
                    if event.type == "response.completed":
                        _report(span, call, event.response)
                    yield event

    def _request(self, call: _Call, *, stream: bool) -> FrameworkRequest:
        settings = call.model_settings
        refuse_settings(
            "the OpenAI Agents SDK",
            [name for name in _REFUSED_SETTINGS if getattr(settings, name, None) is not None]
            + [name for name in ("previous_response_id", "conversation_id", "prompt") if getattr(call, name)],
        )
        body = {
            "model": self.model,
            "input": call.input if isinstance(call.input, str) else list(_items(call.input)),
            "instructions": call.system_instructions,
            "tools": [*map(_tool, call.tools), *map(_handoff, call.handoffs)],
            "stream": stream,
            **{field: getattr(settings, name) for name, field in _SETTINGS.items()},
        }
        if settings.reasoning is not None:
            body["reasoning"] = {"effort": settings.reasoning.effort}
        if call.output_schema is not None and not call.output_schema.is_plain_text():
            schema = call.output_schema.json_schema()
            body["text"] = {"format": {"type": "json_schema", "name": "final_output", "schema": schema}}
        return FrameworkRequest.read(
            openai_responses.NAME,
            body,
            base_url=self._url,
            thinking=self._thinking,
            extra={**(settings.extra_body or {}), **(settings.extra_args or {})},
        )

    def _span(self, call: _Call) -> Any:
        config = {**call.model_settings.to_json_dict(), "base_url": self._url, "model_impl": RECORD}
        return generation_span(model=self.model, model_config=config, disabled=call.tracing.is_disabled())


class ThinkaloudProvider(ModelProvider):
    """All models by name: `RunConfig(model_provider=ThinkaloudProvider())`."""

    def __init__(self, *, base_url: str = "", thinking: str | int | None = None) -> None:
        self._url = base_url
        self._thinking = thinking

    def get_model(self, model_name: str | None) -> Model:
        """Return the model of this name."""
        if not model_name:
            raise Refused("An agent names no model. Set it, for example Agent(model='claude-opus-4.5').")
        return ThinkaloudAgentsModel(model_name, base_url=self._url, thinking=self._thinking)


def _items(items: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the input items. Opaque data of other models is left out: it is for them alone."""
    for item in items:
        data = dict(item)
        record = (data.pop("provider_data", None) or {}).get(RECORD)
        if record:
            yield {"type": "reasoning", "encrypted_content": record}
        data.pop("encrypted_content", None)
        yield data


def _tool(tool: Any) -> dict[str, Any]:
    if not hasattr(tool, "params_json_schema"):
        raise Refused(
            "The tool {name} runs at OpenAI, and Thinkaloud does not offer it. Give the agent a function in "
            "its place.",
            name=repr(tool.name),
        )
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.params_json_schema,
    }


def _handoff(handoff: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "name": handoff.tool_name,
        "description": handoff.tool_description,
        "parameters": handoff.input_json_schema,
    }


def _translated(data: dict[str, Any], request: FrameworkRequest) -> Any:
    """Return an event of the stream as the SDK's models for other providers make it."""
    if "item_id" in data:
        data["item_id"] = FAKE_RESPONSES_ID
    if "item" in data:
        data["item"] = _output_item(data["item"], request.turn.model)
    if "response" in data:
        data["response"] = _with_record(data["response"], request)
    if data["type"] == "response.incomplete":
        # For that, the SDK raises and what was said is lost. The response itself says that it is incomplete.
        data["type"] = "response.completed"
    return _EVENT_CLASSES[data["type"]].construct(**data)


def _with_record(response: dict[str, Any], request: FrameworkRequest) -> dict[str, Any]:
    output = [_output_item(item, request.turn.model) for item in response["output"]]
    if output:
        output[0]["provider_data"][RECORD] = request.record
    return {**response, "output": output}


def _output_item(item: dict[str, Any], model: str) -> dict[str, Any]:
    """Return an item that the SDK sends to no other provider's server with an id or opaque data of ours."""
    kept = {name: value for name, value in item.items() if name != "encrypted_content"}
    return {**kept, "id": FAKE_RESPONSES_ID, "provider_data": {"model": model}}


def _report(span: Any, call: _Call, response: Any) -> None:
    if call.tracing.include_data():
        span.span_data.input = call.input
        span.span_data.output = [response.model_dump()]
    usage = response.usage
    span.span_data.usage = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
