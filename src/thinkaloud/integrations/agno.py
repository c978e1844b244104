"""Agno: a model whose thoughts are in `reasoning_content`.

It takes the place of `OpenAILike` and its relatives. A message keeps the record of its turn in
`provider_data`, which sessions save too.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from agno.exceptions import ModelProviderError
from agno.metrics import MessageMetrics
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.utils.openai import images_to_message
from pydantic import BaseModel

from thinkaloud.core.canon import ThinkaloudError
from thinkaloud.core.dialects import openai_chat
from thinkaloud.integrations.request import RECORD, FrameworkRequest, status_of, unsupported_content

_UNSUPPORTED = ("audio", "files", "videos")


@dataclass
class Thinkaloud(Model):
    """Any model of any provider: `Agent(model=Thinkaloud(id="deepseek/deepseek-v4-pro"))`."""

    name: str | None = "Thinkaloud"
    provider: str | None = "Thinkaloud"
    supports_native_structured_outputs: bool = True
    base_url: str = ""
    thinking: str | int | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    def invoke(self, **call: Any) -> ModelResponse:
        """Ask, and return the whole answer."""
        with self._asking(call):
            request = self._request(call, stream=False)
            request.whole_sync()
        return self._parse_provider_response(request)

    async def ainvoke(self, **call: Any) -> ModelResponse:
        """Ask, and return the whole answer."""
        with self._asking(call):
            request = self._request(call, stream=False)
            await request.whole()
        return self._parse_provider_response(request)

    def invoke_stream(self, **call: Any) -> Iterator[ModelResponse]:
        """Ask, and yield the answer as it arrives; calls come with its end."""
        with self._asking(call):
            request = self._request(call, stream=True)
            for data in request.written_sync(openai_chat.NAME):
                yield self._parse_provider_response_delta(data)
        yield _end(request)

    async def ainvoke_stream(self, **call: Any) -> AsyncIterator[ModelResponse]:
        """Ask, and yield the answer as it arrives; calls come with its end."""
        with self._asking(call):
            request = self._request(call, stream=True)
            async with aclosing(request.written(openai_chat.NAME)) as written:
                async for data in written:
                    yield self._parse_provider_response_delta(data)
        yield _end(request)

    @contextmanager
    def _asking(self, call: dict[str, Any]) -> Iterator[None]:
        """Measure the time, and raise errors as Agno knows them, so that its retries work."""
        metrics = call["assistant_message"].metrics
        if metrics is not None:
            metrics.start_timer()
        try:
            yield
        except ThinkaloudError as error:
            raise ModelProviderError(str(error), status_of(error), self.name, self.id) from error
        finally:
            if metrics is not None:
                metrics.stop_timer()

    def _request(self, call: dict[str, Any], *, stream: bool) -> FrameworkRequest:
        compressed = bool(call.get("compress_tool_results"))
        body = {
            "model": self.id,
            "messages": [_message(message, compressed=compressed) for message in call["messages"]],
            "tools": call.get("tools"),
            "tool_choice": call.get("tool_choice"),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "response_format": _response_format(call.get("response_format")),
            "stream": stream,
        }
        return FrameworkRequest.read(openai_chat.NAME, body, base_url=self.base_url, thinking=self.thinking)

    def _parse_provider_response(self, response: FrameworkRequest, **kwargs: Any) -> ModelResponse:
        message = response.body(openai_chat.NAME)["choices"][0]["message"]
        whole = _end(response)
        whole.role = message["role"]
        whole.content = message["content"]
        whole.reasoning_content = message.get("reasoning_content")
        return whole

    def _parse_provider_response_delta(self, response: dict[str, Any]) -> ModelResponse:
        delta = response["choices"][0]["delta"] if response["choices"] else {}
        return ModelResponse(
            content=delta.get("content") or None, reasoning_content=delta.get("reasoning_content")
        )


def _message(message: Any, *, compressed: bool) -> dict[str, Any]:
    unsupported = [kind for kind in _UNSUPPORTED if getattr(message, kind)]
    if unsupported:
        raise unsupported_content("Agno", unsupported)
    content = message.get_content(compressed)  # by place: its name differs between versions
    if message.images:
        text = [{"type": "text", "text": content}] if content else []
        content = [*text, *images_to_message(message.images)]
    data = {
        "role": message.role,
        "content": content,
        "tool_calls": message.tool_calls or None,
        "tool_call_id": message.tool_call_id,
        "name": message.tool_name,
    }
    record = (message.provider_data or {}).get(RECORD)
    if record:
        data["reasoning_details"] = [{"type": "reasoning.encrypted", "data": record}]
    return data


def _response_format(shape: Any) -> Any:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return {"type": "json_schema", "json_schema": {"schema": shape.model_json_schema()}}
    return shape


def _end(request: FrameworkRequest) -> ModelResponse:
    """Return what an answer has besides texts."""
    message = request.body(openai_chat.NAME)["choices"][0]["message"]
    usage = request.turn.usage
    return ModelResponse(
        tool_calls=message.get("tool_calls") or [],
        provider_data={RECORD: request.record},
        response_usage=MessageMetrics(
            input_tokens=usage.input or 0,
            output_tokens=usage.output or 0,
            total_tokens=(usage.input or 0) + (usage.output or 0),
            reasoning_tokens=usage.reasoning or 0,
            cache_read_tokens=usage.cache_read or 0,
            cache_write_tokens=usage.cache_write or 0,
        ),
    )
