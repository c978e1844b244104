"""The solver behind OpenAI's Chat Completions on a loopback port: it is reached like any other provider.

It has no tokens, so it reports no usage. Thinking comes in small pieces, at a pace that can be followed.
"""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

import msgspec
from aiohttp import web

from thinkaloud.builtin.conversation import Function, Message, reply_to
from thinkaloud.builtin.solver import Reply

HOST = "127.0.0.1"
MODEL = "solver"
PACE = 30.0
"""Pieces a second: about as fast as one reads."""
LARGEST_BODY = 1024 * 1024
LONGEST_THINKING_S = 6.0
LONGEST_ANSWER_S = 2.0

Json = dict[str, Any]


class Tool(msgspec.Struct):
    """A tool that is offered."""

    function: Function | None = None


class Body(msgspec.Struct):
    """What is read of a request; the rest is for models that have weights."""

    messages: list[Message]
    model: str = MODEL
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    stream: bool | None = None
    reasoning_effort: str | None = None

    @property
    def offered(self) -> dict[str, Function]:
        """The tools that may be called, by name."""
        tools = [] if self.tool_choice == "none" else self.tools or []
        return {tool.function.name: tool.function for tool in tools if tool.function}


class Refusal(Exception):
    """A request that cannot be answered, and what is wrong with it."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


_body = msgspec.json.Decoder(Body)


class Server:
    """The solver on a port; `pace` is pieces a second, and 0 is as fast as they are taken."""

    def __init__(self, pace: float = PACE, local_servers: Sequence[str] = ()) -> None:
        self.port = 0
        self._pace = pace
        self._local_servers = tuple(local_servers)
        self._numbers = count(1)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's takes as its base URL."""
        return f"{self.url}/v1"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        try:
            match request.method, request.path:
                case "POST", "/v1/chat/completions":
                    return await self._converse(request, await _read(request))
                case "GET", "/v1/models":
                    return web.json_response({"object": "list", "data": [_model()]})
                case "GET", "/v1/models/solver":
                    return web.json_response(_model())
            raise Refusal(f"There is nothing at {request.method} {request.path}.", 404, "not_found")
        except Refusal as refusal:
            return _refused(refusal)

    async def _converse(self, request: web.Request, body: Body) -> web.StreamResponse:
        head = {"id": f"chatcmpl-solver-{next(self._numbers)}", "created": int(time.time()), "model": MODEL}
        if body.stream:
            return await self._stream(request, body, head)
        message = _message(await self._reply(body))
        choice = {"index": 0, "message": message, "finish_reason": _finish(message)}
        return web.json_response({**head, "object": "chat.completion", "choices": [choice]})

    async def _stream(self, request: web.Request, body: Body, head: Json) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        )
        await response.prepare(request)

        async def send(delta: Json, finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {**head, "object": "chat.completion.chunk", "choices": [choice]}
            await response.write(b"data: " + msgspec.json.encode(chunk) + b"\n\n")

        with suppress(ConnectionError):  # the other side went away: there is nobody to tell
            await send({"role": "assistant"})
            message = _message(await self._reply(body))
            for field, longest_s in (
                ("reasoning_content", LONGEST_THINKING_S),
                ("content", LONGEST_ANSWER_S),
            ):
                async for piece in self._paced(message.get(field) or "", longest_s):
                    await send({field: piece})
            if calls := message.get("tool_calls"):
                await send({"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
            await send({}, _finish(message))
            await response.write(b"data: [DONE]\n\n")
            await response.write_eof()
        return response

    async def _reply(self, body: Body) -> Reply:
        """The reply, worked out in a thread of its own: a search takes time that others need not wait for."""
        reply = await asyncio.to_thread(
            reply_to, body.messages, body.offered, local_servers=self._local_servers
        )
        return msgspec.structs.replace(reply, thinking=()) if body.reasoning_effort == "none" else reply

    async def _paced(self, text: str, longest_s: float) -> AsyncIterator[str]:
        """The text word by word, or by more words at a time where it would take too long."""
        words = re.findall(r"\s*\S+|\s+$", text)
        together = max(1, math.ceil(len(words) / (self._pace * longest_s))) if self._pace else 1
        for at in range(0, len(words), together):
            yield "".join(words[at : at + together])
            await asyncio.sleep(1 / self._pace if self._pace else 0)


@asynccontextmanager
async def listening(server: Server, port: int = 0) -> AsyncIterator[Server]:
    """Listen on the loopback address until the block ends; port 0 takes any free one."""
    app = web.Application(client_max_size=LARGEST_BODY)
    app.router.add_route("*", "/{path:.*}", server.handle)
    options: Json = {"handle_signals": False, "handler_cancellation": True, "shutdown_timeout": 0.1}
    runner = web.AppRunner(app, access_log=None, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


async def _read(request: web.Request) -> Body:
    try:
        body = _body.decode(await request.read())
    except web.HTTPRequestEntityTooLarge:
        raise Refusal(f"The body is larger than {LARGEST_BODY} bytes.", 413, "too_large") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(f"The body is not a chat completion request: {error}") from None
    if body.model != MODEL:
        raise Refusal(f"The only model here is {MODEL!r}.", 404, "model_not_found")
    if not any(message.role == "user" for message in body.messages):
        raise Refusal("There is no message with the role 'user' to answer.")
    return body


def _message(reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.answer or None}
    if reply.thinking:
        message["reasoning_content"] = "\n".join(reply.thinking)
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


def _finish(message: Json) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def _model() -> Json:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "thinkaloud"}


def _refused(refusal: Refusal) -> web.Response:
    error = {"message": str(refusal), "type": "invalid_request_error", "param": None, "code": refusal.code}
    return web.json_response({"error": error}, status=refusal.status)
