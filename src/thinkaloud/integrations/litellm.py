"""LiteLLM: a provider `thinkaloud`, whose answers have their thoughts in `reasoning_content`.

A callback sees an answer when LiteLLM has lost parts of it, and changes nothing of what is streamed, so it is
a custom provider: it is asked in place of LiteLLM's own. A message keeps the record of its turn in
`provider_specific_fields`.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

import litellm
from litellm.llms.custom_llm import CustomLLM, CustomLLMError
from litellm.types.utils import ModelResponse, ModelResponseStream

from thinkaloud.core.canon import Refused, ThinkaloudError
from thinkaloud.core.dialects import openai_chat
from thinkaloud.integrations.request import RECORD, FrameworkRequest, status_of

PROVIDER = RECORD


def register() -> None:
    """Add the provider: `litellm.completion("thinkaloud/deepseek/deepseek-v4-pro", messages)`."""
    others = [row for row in litellm.custom_provider_map if row["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": ThinkaloudHandler()}]


class ThinkaloudHandler(CustomLLM):
    """Any model of any provider. LiteLLM passes all that it knows by name."""

    def completion(self, **call: Any) -> ModelResponse:
        """Ask, and return the whole answer."""
        with _litellm_errors():
            request = _request(call, stream=False)
            request.whole_sync()
        return _whole(request)

    async def acompletion(self, **call: Any) -> ModelResponse:
        """Ask, and return the whole answer."""
        with _litellm_errors():
            request = _request(call, stream=False)
            await request.whole()
        return _whole(request)

    def streaming(self, **call: Any) -> Iterator[ModelResponseStream]:
        """Ask, and yield the answer as it arrives."""
        with _litellm_errors():
            request = _request(call, stream=True)
            chunks = _Chunks()
            for data in request.written_sync(openai_chat.NAME):
                yield from chunks.feed(data)
        yield from chunks.close(request.record)

    async def astreaming(self, **call: Any) -> AsyncIterator[ModelResponseStream]:
        """Ask, and yield the answer as it arrives."""
        with _litellm_errors():
            request = _request(call, stream=True)
            chunks = _Chunks()
            async with aclosing(request.written(openai_chat.NAME)) as written:
                async for data in written:
                    for chunk in chunks.feed(data):
                        yield chunk
        for chunk in chunks.close(request.record):
            yield chunk


class _Chunks:
    """The chunks of an answer. LiteLLM reads nothing after the reason of the end, so that comes last."""

    def __init__(self) -> None:
        self._usage: dict[str, Any] | None = None
        self._end: dict[str, Any] = {}

    def feed(self, data: dict[str, Any]) -> Iterator[ModelResponseStream]:
        if not data["choices"]:
            self._usage = data["usage"]
        elif data["choices"][0]["finish_reason"]:
            self._end = data
        else:
            yield ModelResponseStream(**data)

    def close(self, record: str) -> Iterator[ModelResponseStream]:
        yield self._without_text(delta={"provider_specific_fields": {RECORD: record}})
        if self._usage is not None:
            yield self._without_text(delta={}, usage=self._usage)
        yield ModelResponseStream(**self._end)

    def _without_text(self, *, delta: dict[str, Any], **fields: Any) -> ModelResponseStream:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return ModelResponseStream(**{**self._end, "choices": [choice], **fields})


def _request(call: Mapping[str, Any], *, stream: bool) -> FrameworkRequest:
    if call["api_key"]:
        raise Refused(
            "Thinkaloud does not take `api_key`. Set the provider's environment variable, or store the key "
            "with `thinkaloud keys set`."
        )
    options = dict(call["optional_params"])
    thinking, extra = options.pop("thinking", None), options.pop("extra_body", None)
    if thinking is not None:
        options["reasoning"] = _reasoning(thinking)
    body = {**options, "model": call["model"], "messages": list(map(_message, call["messages"]))}
    return FrameworkRequest.read(
        openai_chat.NAME, {**body, "stream": stream}, base_url=call["api_base"] or "", extra=extra
    )


def _reasoning(thinking: Any) -> dict[str, Any]:
    """Return the setting of thinking; LiteLLM has it as Anthropic does, and our own words do too."""
    match thinking:
        case {"type": "disabled"}:
            return {"enabled": False}
        case {"budget_tokens": int(budget)} | int(budget):
            return {"max_tokens": budget}
        case str():
            return {"effort": thinking}
    return {"enabled": True}


def _message(message: Any) -> dict[str, Any]:
    """Return a message with the record of its turn, and with no opaque data of other models."""
    data = dict(message)
    data.pop("reasoning_details", None)
    record = (data.pop("provider_specific_fields", None) or {}).get(RECORD)
    if record:
        data["reasoning_details"] = [{"type": "reasoning.encrypted", "data": record}]
    return data


def _whole(request: FrameworkRequest) -> ModelResponse:
    body = request.body(openai_chat.NAME)
    body["choices"][0]["message"]["provider_specific_fields"] = {RECORD: request.record}
    return ModelResponse(**body)


@contextmanager
def _litellm_errors() -> Iterator[None]:
    """Raise errors as LiteLLM knows them, so that its retries and fallbacks work."""
    try:
        yield
    except ThinkaloudError as error:
        raise CustomLLMError(status_of(error), str(error)) from error
