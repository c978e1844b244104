"""Pydantic AI: a model whose thoughts are `ThinkingPart`s.

It takes the place of `OpenAIChatModel` and its relatives. A response keeps the record of its turn in
`provider_details`, which is saved with the history of messages.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import messages as parts
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.usage import RequestUsage

from thinkaloud.client.prepared_request import Options
from thinkaloud.core.canon import Kind, Usage
from thinkaloud.core.canon.requests import File, ToolCall, ToolMessage, UserMessage, message_parts
from thinkaloud.core.context import Context, Step
from thinkaloud.core.transcript import Block, Delta
from thinkaloud.integrations.request import (
    RECORD,
    FrameworkRequest,
    earlier_answer,
    function_tool,
    unsupported_content,
)

_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "parallel_tool_calls")


class ThinkaloudModel(Model):
    """Any model of any provider: `Agent(ThinkaloudModel("deepseek/deepseek-v4-pro"))`."""

    def __init__(
        self, model: str, *, base_url: str = "", thinking: str | int | None = None, settings: Any = None
    ) -> None:
        super().__init__(settings=settings)
        self._model = model
        self._url = base_url
        self._thinking = thinking

    @property
    def model_name(self) -> str:
        """The name of the model, with its provider."""
        return self._model

    @property
    def system(self) -> str:
        """The name of what is asked."""
        return RECORD

    async def request(
        self, messages: list[Any], model_settings: Any, model_request_parameters: ModelRequestParameters
    ) -> Any:
        """Ask, and return the whole response."""
        request = self._request(messages, model_settings, model_request_parameters, stream=False)
        await request.whole()
        return parts.ModelResponse(
            [_part(block) for block in request.turn.own_blocks()],
            usage=_usage(request.turn.usage),
            model_name=request.turn.model,
            provider_name=RECORD,
            provider_details={RECORD: request.record},
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[Any],
        model_settings: Any,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[Any]:
        """Ask, and yield the response as it arrives."""
        request = self._request(messages, model_settings, model_request_parameters, stream=True)
        async with aclosing(request.deltas()) as deltas:
            yield _Stream(model_request_parameters, request, deltas)

    def _request(
        self, messages: list[Any], model_settings: Any, parameters: Any, *, stream: bool
    ) -> FrameworkRequest:
        settings, parameters = self.prepare_request(model_settings, parameters)
        settings = settings or {}
        tools = [*parameters.function_tools, *parameters.output_tools]
        context = Context(
            tuple(step for message in messages for step in _steps(message)),
            _system(messages),
            tuple(function_tool(tool.name, tool.description, tool.parameters_json_schema) for tool in tools),
        )
        options = Options(
            **{name: settings[name] for name in _SETTINGS if name in settings},
            stop=tuple(settings.get("stop_sequences") or ()),
            extra=settings.get("extra_body") or {},
            thinking=self._thinking,
            tool_choice="required" if tools and not parameters.allow_text_output else "",
            on_thinking_unavailable="warn",
            stream=stream,
        )
        return FrameworkRequest(context, model=self._model, base_url=self._url, options=options)


@dataclass
class _Stream(StreamedResponse):
    """A response that is made of deltas; each block of the turn is a part."""

    request: FrameworkRequest
    deltas: AsyncGenerator[Delta, None]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    provider_name: str = RECORD
    provider_url: str | None = None

    @property
    def model_name(self) -> str:
        return self.request.turn.model

    @property
    def timestamp(self) -> datetime:
        return self.started

    async def close_stream(self) -> None:
        await self.deltas.aclose()

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
        async for delta in self.deltas:
            for event in self._events(delta):
                yield event
        self._usage = _usage(self.request.turn.usage)
        self.provider_details = {RECORD: self.request.record}

    def _events(self, delta: Delta) -> Iterator[Any]:
        block, part_id = self.request.turn.blocks[delta.block], delta.block
        match delta.kind:
            case Kind.REASONING:
                yield from self._parts_manager.handle_thinking_delta(
                    vendor_part_id=part_id, content=delta.text, provider_name=RECORD
                )
            case Kind.TEXT:
                yield from self._parts_manager.handle_text_delta(vendor_part_id=part_id, content=delta.text)
            case _:
                event = self._parts_manager.handle_tool_call_delta(
                    vendor_part_id=part_id,
                    tool_name=None if delta.text else block.name,
                    args=delta.text,
                    tool_call_id=block.call_id,
                )
                if event is not None:
                    yield event


def _system(messages: list[Any]) -> str:
    """Return the system prompts, and the newest instructions."""
    requests = [message for message in messages if isinstance(message, parts.ModelRequest)]
    every = (part for message in requests for part in message.parts)
    prompts = [part.content for part in every if isinstance(part, parts.SystemPromptPart)]
    instructions = [message.instructions for message in requests if message.instructions]
    return "\n\n".join([*prompts, *instructions[-1:]])


def _steps(message: Any) -> Iterator[Step]:
    if isinstance(message, parts.ModelResponse):
        text = "".join(part.content for part in message.parts if isinstance(part, parts.TextPart))
        calls = (part for part in message.parts if isinstance(part, parts.ToolCallPart))
        record = (message.provider_details or {}).get(RECORD)
        yield earlier_answer(
            text,
            (ToolCall(call.tool_call_id, call.tool_name, call.args_as_json_str()) for call in calls),
            record,
        )
        return
    for part in message.parts:
        match part:
            case parts.UserPromptPart():
                yield _user_message([part.content] if isinstance(part.content, str) else part.content)
            case parts.ToolReturnPart():
                yield ToolMessage(part.tool_call_id, part.model_response_str(), part.tool_name)
            case parts.RetryPromptPart() if part.tool_name:
                yield ToolMessage(part.tool_call_id, part.model_response(), part.tool_name, failed=True)
            case parts.RetryPromptPart():
                yield UserMessage(part.model_response())


def _user_message(content: Sequence[Any]) -> UserMessage:
    unknown = [type(item).__name__ for item in content if not isinstance(item, str | parts.BinaryContent)]
    if unknown:
        raise unsupported_content("Pydantic AI", unknown)
    files = (File(item.media_type, item.base64) for item in content if not isinstance(item, str))
    return UserMessage("\n\n".join(item for item in content if isinstance(item, str)), *message_parts(files))


def _part(block: Block) -> Any:
    match block.kind:
        case Kind.REASONING:
            return parts.ThinkingPart(block.text, provider_name=RECORD)
        case Kind.TEXT:
            return parts.TextPart(block.text)
    return parts.ToolCallPart(block.name, block.text, tool_call_id=block.call_id)


def _usage(usage: Usage) -> Any:
    details = {} if usage.reasoning is None else {"reasoning_tokens": usage.reasoning}
    return RequestUsage(
        input_tokens=usage.input or 0,
        output_tokens=usage.output or 0,
        cache_read_tokens=usage.cache_read or 0,
        details=details,
    )
