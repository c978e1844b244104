"""LlamaIndex: a function-calling LLM whose thoughts are `ThinkingBlock`s.

It takes the place of `OpenAILike` and its relatives. An answer keeps the record of its turn in its first
thinking block, because memories count the text beside the blocks as tokens; without one, in
`additional_kwargs`.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from llama_index.core.base.llms import generic_utils
from llama_index.core.base.llms import types as llm
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from thinkaloud.client.prepared_request import Options
from thinkaloud.core.canon import Kind, Refused
from thinkaloud.core.canon.requests import File, ToolCall, ToolMessage, UserMessage, message_parts
from thinkaloud.core.context import Context, Step
from thinkaloud.core.dialects import openai_chat
from thinkaloud.core.transcript import Block, Delta
from thinkaloud.integrations.request import (
    RECORD,
    FrameworkRequest,
    call_arguments,
    earlier_answer,
    function_tool,
    unsupported_content,
)

_SYSTEM_ROLES = (llm.MessageRole.SYSTEM, llm.MessageRole.DEVELOPER)
_ANSWER_ROLES = (llm.MessageRole.ASSISTANT, llm.MessageRole.CHATBOT, llm.MessageRole.MODEL)
_RESULT_ROLES = (llm.MessageRole.TOOL, llm.MessageRole.FUNCTION)
_FILE_BLOCKS = (llm.ImageBlock, llm.AudioBlock, llm.DocumentBlock)
_NO_FILES = (llm.TextBlock, llm.ThinkingBlock, llm.ToolCallBlock, llm.CachePoint)


class ThinkaloudLLM(FunctionCallingLLM):
    """Any model of any provider: `ThinkaloudLLM(model="deepseek/deepseek-v4-pro")`."""

    model: str
    base_url: str = ""
    thinking: str | int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    context_window: int = 128_000
    """How many tokens LlamaIndex may fill; set it for a model that takes fewer."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class in saved settings."""
        return "ThinkaloudLLM"

    @property
    def metadata(self) -> llm.LLMMetadata:
        """What LlamaIndex needs to know of the model."""
        return llm.LLMMetadata(
            context_window=self.context_window,
            num_output=self.max_tokens or -1,
            is_chat_model=True,
            is_function_calling_model=True,
            model_name=self.model,
        )

    @llm_chat_callback()
    def chat(self, messages: Sequence[llm.ChatMessage], **kwargs: Any) -> llm.ChatResponse:
        """Ask, and return the whole answer."""
        request = self._request(messages, kwargs, stream=False)
        request.whole_sync()
        return _whole(request)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[llm.ChatMessage], **kwargs: Any) -> llm.ChatResponse:
        """Ask, and return the whole answer."""
        request = self._request(messages, kwargs, stream=False)
        await request.whole()
        return _whole(request)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[llm.ChatMessage], **kwargs: Any) -> Iterator[llm.ChatResponse]:
        """Ask, and yield the answer so far with each piece."""
        request = self._request(messages, kwargs, stream=True)

        def responses() -> Iterator[llm.ChatResponse]:
            for delta in request.deltas_sync():
                yield _part(request, delta)
            yield _whole(request)

        return responses()

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[llm.ChatMessage], **kwargs: Any
    ) -> AsyncIterator[llm.ChatResponse]:
        """Ask, and yield the answer so far with each piece."""
        request = self._request(messages, kwargs, stream=True)

        async def responses() -> AsyncIterator[llm.ChatResponse]:
            async for delta in request.deltas():
                yield _part(request, delta)
            yield _whole(request)

        return responses()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> llm.CompletionResponse:
        """Ask with a text instead of messages."""
        return generic_utils.chat_to_completion_decorator(self.chat)(prompt, **kwargs)

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> llm.CompletionResponse:
        """Ask with a text instead of messages."""
        return await generic_utils.achat_to_completion_decorator(self.achat)(prompt, **kwargs)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask with a text instead of messages, and yield the answer so far with each piece."""
        return generic_utils.stream_chat_to_completion_decorator(self.stream_chat)(prompt, **kwargs)

    @llm_completion_callback()
    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask with a text instead of messages, and yield the answer so far with each piece."""
        return await generic_utils.astream_chat_to_completion_decorator(self.astream_chat)(prompt, **kwargs)

    def get_tool_calls_from_response(
        self, response: llm.ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Return the calls of an answer; their arguments are empty while they are not whole."""
        blocks = [block for block in response.message.blocks if isinstance(block, llm.ToolCallBlock)]
        if not blocks and error_on_no_tool_call:
            raise Refused("The model called no tool. Allow an answer without one, or force a call.")
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=_arguments(block)
            )
            for block in blocks
        ]

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: str | llm.ChatMessage | None = None,
        chat_history: list[llm.ChatMessage] | None = None,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or ())
        if user_msg:
            messages.append(llm.ChatMessage(content=user_msg) if isinstance(user_msg, str) else user_msg)
        choice = kwargs.pop("tool_choice", None) or ("required" if tool_required else "")
        return {"messages": messages, "tools": tools, "tool_choice": choice, **kwargs}

    def _request(
        self, messages: Sequence[llm.ChatMessage], kwargs: dict[str, Any], *, stream: bool
    ) -> FrameworkRequest:
        system = "\n\n".join(_text(message) for message in messages if message.role in _SYSTEM_ROLES)
        tools = [tool.metadata for tool in kwargs.get("tools") or ()]
        context = Context(
            tuple(_step(message) for message in messages if message.role not in _SYSTEM_ROLES),
            system,
            tuple(
                function_tool(tool.get_name(), tool.description, tool.get_parameters_dict()) for tool in tools
            ),
        )
        options = Options(
            thinking=kwargs.get("thinking", self.thinking),
            temperature=kwargs.get("temperature", self.temperature),
            max_tokens=kwargs.get("max_tokens", self.max_tokens),
            tool_choice=kwargs.get("tool_choice", ""),
            parallel_tool_calls=None if kwargs.get("allow_parallel_tool_calls", True) else False,
            on_thinking_unavailable="warn",
            stream=stream,
        )
        return FrameworkRequest(context, model=self.model, base_url=self.base_url, options=options)


def _step(message: llm.ChatMessage) -> Step:
    text = _text(message)
    if message.role in _ANSWER_ROLES:
        blocks = [block for block in message.blocks if isinstance(block, llm.ToolCallBlock)]
        calls = [
            ToolCall(block.tool_call_id or "", block.tool_name, _arguments_text(block)) for block in blocks
        ]
        return earlier_answer(text, calls, _record(message))
    images, files = message_parts(_files(message))
    if message.role in _RESULT_ROLES:
        call_id = message.additional_kwargs.get("tool_call_id") or ""
        return ToolMessage(call_id, text, message.additional_kwargs.get("name") or "", images=images)
    return UserMessage(text, images, files)


def _text(message: llm.ChatMessage) -> str:
    """Return the text as it was, without the line breaks that `content` has between blocks."""
    return "".join(block.text for block in message.blocks if isinstance(block, llm.TextBlock))


def _files(message: llm.ChatMessage) -> Iterator[File]:
    for block in message.blocks:
        if isinstance(block, _NO_FILES):
            continue
        url = str(getattr(block, "url", None) or "")
        if not isinstance(block, _FILE_BLOCKS) or (url and not url.startswith("data:")):
            raise unsupported_content("LlamaIndex", [block.block_type])
        head, _, data = block.inline_url().partition(";base64,")
        yield File(head.removeprefix("data:"), data)


def _record(message: llm.ChatMessage) -> object:
    thoughts = (block for block in message.blocks if isinstance(block, llm.ThinkingBlock))
    places = [*(thought.additional_information for thought in thoughts), message.additional_kwargs]
    return next((place[RECORD] for place in places if RECORD in place), None)


def _whole(request: FrameworkRequest) -> llm.ChatResponse:
    message = _message(request)
    thought = next((block for block in message.blocks if isinstance(block, llm.ThinkingBlock)), None)
    place = thought.additional_information if thought else message.additional_kwargs
    place[RECORD] = request.record
    return llm.ChatResponse(message=message, delta="", raw=request.body(openai_chat.NAME))


def _part(request: FrameworkRequest, delta: Delta) -> llm.ChatResponse:
    thinking = {"thinking_delta": delta.text} if delta.kind is Kind.REASONING else {}
    text = delta.text if delta.kind is Kind.TEXT else ""
    return llm.ChatResponse(message=_message(request), delta=text, additional_kwargs=thinking)


def _message(request: FrameworkRequest) -> llm.ChatMessage:
    blocks = [_block(request, block) for block in request.turn.own_blocks()]
    return llm.ChatMessage(role=llm.MessageRole.ASSISTANT, blocks=blocks)


def _block(request: FrameworkRequest, block: Block) -> Any:
    match block.kind:
        case Kind.REASONING:
            return llm.ThinkingBlock(content=block.text)
        case Kind.TEXT:
            return llm.TextBlock(text=block.text)
    arguments = call_arguments(block.text)
    return llm.ToolCallBlock(
        tool_call_id=request.call_id(block),
        tool_name=block.name,
        tool_kwargs=block.text if arguments is None else arguments,
    )


def _arguments(block: llm.ToolCallBlock) -> dict[str, Any]:
    if isinstance(block.tool_kwargs, str):
        return call_arguments(block.tool_kwargs) or {}
    return dict(block.tool_kwargs)


def _arguments_text(block: llm.ToolCallBlock) -> str:
    return block.tool_kwargs if isinstance(block.tool_kwargs, str) else json.dumps(block.tool_kwargs)
