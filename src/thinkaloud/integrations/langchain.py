"""LangChain and LangGraph: a chat model whose thoughts are standard `reasoning` content blocks.

It takes the place of `ChatOpenAI` and its relatives. An answer keeps the record of its turn in
`additional_kwargs`, where checkpoints save it too.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages import ToolMessage as ToolResult
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from thinkaloud.client.prepared_request import Options
from thinkaloud.core.canon import Kind, Usage
from thinkaloud.core.canon.requests import File, ToolCall, ToolMessage, UserMessage, message_parts
from thinkaloud.core.context import Context, Step
from thinkaloud.core.transcript import Block, Delta, Turn
from thinkaloud.integrations.request import (
    RECORD,
    FrameworkRequest,
    call_arguments,
    earlier_answer,
    function_tool,
    unsupported_content,
)

_TOOL_CHOICES: dict[Any, str] = {"any": "required", True: "required", None: "", False: ""}
_FILE_BLOCKS = ("image", "file", "audio")


class ThinkaloudChat(BaseChatModel):
    """Any model of any provider: `ThinkaloudChat(model="deepseek/deepseek-v4-pro")`."""

    model: str
    base_url: str = ""
    thinking: str | int | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return RECORD

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "base_url": self.base_url, "thinking": self.thinking}

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | bool | None = None, **kwargs: Any
    ) -> Any:
        """Return this model with tools: functions, LangChain's tools, classes or schemas."""
        functions = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=functions, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs, stream=False)
        request.whole_sync()
        return _whole(request)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs, stream=False)
        await request.whole()
        return _whole(request)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs, stream=True)
        for delta in request.deltas_sync():
            yield _chunk(request.turn, delta)
        yield _last_chunk(request)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs, stream=True)
        async for delta in request.deltas():
            yield _chunk(request.turn, delta)
        yield _last_chunk(request)

    def _request(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any], *, stream: bool
    ) -> FrameworkRequest:
        functions = [tool["function"] for tool in kwargs.get("tools") or ()]
        choice: Any = kwargs.get("tool_choice")
        system = "\n\n".join(str(message.text) for message in messages if isinstance(message, SystemMessage))
        context = Context(
            tuple(_step(message) for message in messages if not isinstance(message, SystemMessage)),
            system,
            tuple(
                function_tool(function["name"], function.get("description"), function.get("parameters"))
                for function in functions
            ),
        )
        options = Options(
            thinking=kwargs.get("thinking", self.thinking),
            temperature=kwargs.get("temperature", self.temperature),
            max_tokens=kwargs.get("max_tokens", self.max_tokens),
            stop=tuple(stop or ()),
            tool_choice=_TOOL_CHOICES.get(choice, choice),
            on_thinking_unavailable="warn",
            stream=stream,
        )
        return FrameworkRequest(context, model=self.model, base_url=self.base_url, options=options)


def _step(message: BaseMessage) -> Step:
    match message:
        case AIMessage():
            calls = [
                ToolCall(call["id"] or "", call["name"], json.dumps(call["args"]))
                for call in message.tool_calls
            ]
            return earlier_answer(str(message.text), calls, message.additional_kwargs.get(RECORD))
        case ToolResult():
            failed = message.status == "error"
            return ToolMessage(message.tool_call_id, str(message.text), message.name or "", failed)
        case HumanMessage():
            blocks = message.content_blocks
            unknown = [block["type"] for block in blocks if not _sendable(block)]
            if unknown:
                raise unsupported_content("LangChain", unknown)
            files = (File(block["mime_type"], block["base64"]) for block in blocks if block["type"] != "text")
            return UserMessage(str(message.text), *message_parts(files))
    raise unsupported_content("LangChain", [message.type])


def _sendable(block: dict[str, Any]) -> bool:
    return block["type"] == "text" or (block["type"] in _FILE_BLOCKS and bool(block.get("base64")))


def _whole(request: FrameworkRequest) -> ChatResult:
    blocks = [_content_block(block) for block in request.turn.own_blocks()]
    message = AIMessage(content_blocks=blocks, **_metadata(request))
    message.invalid_tool_calls = [block for block in blocks if block["type"] == "invalid_tool_call"]
    return ChatResult(generations=[ChatGeneration(message=message)])


def _content_block(block: Block) -> dict[str, Any]:
    match block.kind:
        case Kind.REASONING:
            return {"type": "reasoning", "reasoning": block.text}
        case Kind.TEXT:
            return {"type": "text", "text": block.text}
    call = {"id": block.call_id, "name": block.name}
    arguments = call_arguments(block.text)
    if arguments is None:
        return {"type": "invalid_tool_call", **call, "args": block.text, "error": "not a JSON object"}
    return {"type": "tool_call", **call, "args": arguments}


def _chunk(turn: Turn, delta: Delta) -> ChatGenerationChunk:
    block, index = turn.blocks[delta.block], {"index": delta.block}
    if delta.kind is Kind.REASONING:
        return _message_chunk([{"type": "reasoning", "reasoning": delta.text, **index}])
    if delta.kind is Kind.TEXT:
        return _message_chunk([{"type": "text", "text": delta.text, **index}])
    name, call_id = (None, None) if delta.text else (block.name, block.call_id)
    call = {"type": "tool_call_chunk", "id": call_id, "name": name, "args": delta.text, **index}
    return _message_chunk([call], tool_call_chunks=[call])


def _last_chunk(request: FrameworkRequest) -> ChatGenerationChunk:
    return _message_chunk([], chunk_position="last", **_metadata(request))


def _message_chunk(content: list[Any], **fields: Any) -> ChatGenerationChunk:
    fields.setdefault("response_metadata", {"output_version": "v1"})
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))


def _metadata(request: FrameworkRequest) -> dict[str, Any]:
    turn = request.turn
    return {
        "additional_kwargs": {RECORD: request.record},
        "response_metadata": {"model_name": turn.model, "model_provider": RECORD, "output_version": "v1"},
        "usage_metadata": _usage(turn.usage),
    }


def _usage(usage: Usage) -> dict[str, Any] | None:
    if usage.input is None or usage.output is None:
        return None
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "input_token_details": {"cache_read": usage.cache_read or 0},
        "output_token_details": {} if usage.reasoning is None else {"reasoning": usage.reasoning},
    }
