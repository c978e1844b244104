"""Serves the solver as OpenAI Chat Completions on a loopback port, so that it is a provider like any other.

It has no tokens, so it reports no usage. Thinking is sent in small pieces, at a pace that can be followed.
"""

import asyncio
import math
import re
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import msgspec

from thinkaloud import loopback
from thinkaloud.builtin.conversation import InputMessage, ToolFunction, reply_to
from thinkaloud.builtin.puzzle import SolverEnvironment
from thinkaloud.builtin.solver import SolverReply
from thinkaloud.loopback import ServerRequest, ServerResponse

MODEL = "solver"
PACE = 30.0
"""Pieces per second: about as fast as people read."""
MAX_BODY_BYTES = 16 * 1024 * 1024
"""A long conversation is read; of it only the last question, and of that only so much as is allowed."""
MAX_STREAM_SECONDS = {"reasoning_content": 6.0, "content": 2.0}
"""The longest time that a field of the message is streamed; a long text is sent in larger pieces."""

Json = dict[str, Any]


class CompletionTool(msgspec.Struct):
    """A tool that the client offers."""

    function: ToolFunction | None = None


class CompletionRequest(msgspec.Struct):
    """The fields of a request that are read; the others are for models that have weights."""

    messages: list[InputMessage]
    model: str = MODEL
    tools: list[CompletionTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    stream: bool | None = None
    reasoning_effort: str | None = None

    @property
    def callable_tools(self) -> dict[str, ToolFunction]:
        """The tools that may be called, by name."""
        tools = [] if self.tool_choice == "none" else self.tools or []
        return {tool.function.name: tool.function for tool in tools if tool.function}


class BadCompletionRequest(Exception):
    """The request cannot be answered; the message says what is wrong with it."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


_decoder = msgspec.json.Decoder(CompletionRequest)


class SolverServer:
    """The solver on a port; `pace` is in pieces per second, and 0 is as fast as the client reads."""

    def __init__(self, pace: float = PACE, environment: SolverEnvironment | None = None) -> None:
        self.port = 0
        self._pace = pace
        self._environment = environment
        self._ids = count(1)

    @property
    def url(self) -> str:
        """The address of the server."""
        return loopback.url_of(self.port)

    @property
    def base_url(self) -> str:
        """The base URL for a client of OpenAI's API."""
        return f"{self.url}/v1"

    async def handle(self, request: ServerRequest) -> ServerResponse:
        """Answers any request."""
        try:
            match request.method, request.path:
                case "POST", "/v1/chat/completions":
                    return await self._complete(_read_request(request))
                case "GET", "/v1/models":
                    return _json_response({"object": "list", "data": [_model()]})
                case "GET", "/v1/models/solver":
                    return _json_response(_model())
            place = f"{request.method} {request.path}"
            raise BadCompletionRequest(f"There is nothing at {place}.", 404, "not_found")
        except BadCompletionRequest as error:
            return _error_response(error)

    async def _complete(self, body: CompletionRequest) -> ServerResponse:
        head = {"id": f"chatcmpl-solver-{next(self._ids)}", "created": int(time.time()), "model": MODEL}
        if body.stream:
            headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
            return ServerResponse(headers=headers, body=self._events(body, head))
        message = _message(await self._reply(body))
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message)}
        return _json_response({**head, "object": "chat.completion", "choices": [choice]})

    async def _events(self, body: CompletionRequest, head: Json) -> AsyncGenerator[bytes, None]:
        """Yields the server-sent events of a streamed completion."""

        def event(delta: Json, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {**head, "object": "chat.completion.chunk", "choices": [choice]}
            return b"data: " + msgspec.json.encode(chunk) + b"\n\n"

        yield event({"role": "assistant"})
        message = _message(await self._reply(body))
        for field, max_seconds in MAX_STREAM_SECONDS.items():
            async for piece in self._paced(message.get(field) or "", max_seconds):
                yield event({field: piece})
        if calls := message.get("tool_calls"):
            yield event({"tool_calls": [{"index": index, **call} for index, call in enumerate(calls)]})
        yield event({}, _finish_reason(message))
        yield b"data: [DONE]\n\n"

    async def _reply(self, body: CompletionRequest) -> SolverReply:
        """Solves in a thread, so that a long search does not block the other requests."""
        reply = await asyncio.to_thread(
            reply_to, body.messages, body.callable_tools, environment=self._environment
        )
        return msgspec.structs.replace(reply, thinking=()) if body.reasoning_effort == "none" else reply

    async def _paced(self, text: str, max_seconds: float) -> AsyncIterator[str]:
        """Yields the text word by word, or several words at a time where that would take too long."""
        words = re.findall(r"\s*\S+|\s+$", text)
        words_per_piece = max(1, math.ceil(len(words) / (self._pace * max_seconds))) if self._pace else 1
        for index in range(0, len(words), words_per_piece):
            yield "".join(words[index : index + words_per_piece])
            await asyncio.sleep(1 / self._pace if self._pace else 0)


@asynccontextmanager
async def run_solver(
    *,
    pace: float = PACE,
    port: int = 0,
    sock: socket.socket | None = None,
    environment: SolverEnvironment | None = None,
) -> AsyncIterator[SolverServer]:
    """Serves the solver on the loopback address until the block ends; port 0 takes any free port.

    `sock` is a socket that listens already, if there is one.

    `pace` is how many pieces of thinking are sent per second. `environment` has the clock and the models
    that could be asked; both are read only for a question that needs them.
    """
    server = SolverServer(pace, environment)
    listening = loopback.listen(server.handle, port=port, sock=sock, max_body_bytes=MAX_BODY_BYTES)
    async with listening as server.port:
        yield server


def _read_request(request: ServerRequest) -> CompletionRequest:
    if request.truncated:
        raise BadCompletionRequest(f"The body is larger than {MAX_BODY_BYTES} bytes.", 413, "too_large")
    try:
        body = _decoder.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadCompletionRequest(f"The body is not a chat completion request: {error}") from None
    if body.model != MODEL:
        raise BadCompletionRequest(f"The only model here is {MODEL!r}.", 404, "model_not_found")
    if not any(message.role == "user" for message in body.messages):
        raise BadCompletionRequest("There is no message with the role 'user' to answer.")
    return body


def _message(reply: SolverReply) -> Json:
    message: Json = {"role": "assistant", "content": reply.answer or None}
    if reply.thinking:
        message["reasoning_content"] = "\n".join(reply.thinking)
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


def _finish_reason(message: Json) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def _model() -> Json:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "thinkaloud"}


def _json_response(body: Json, status: int = 200) -> ServerResponse:
    headers = {"content-type": "application/json; charset=utf-8"}
    return ServerResponse(status, headers, msgspec.json.encode(body))


def _error_response(error: BadCompletionRequest) -> ServerResponse:
    fields = {"message": str(error), "type": "invalid_request_error", "param": None, "code": error.code}
    return _json_response({"error": fields}, error.status)
