"""
title: Thinkaloud
description: Any model of any provider, with its thinking shown and sent back as the provider demands.
version: 0.1.0
"""

import json
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel, Field

from thinkaloud import Context, Options
from thinkaloud.core.canon import Kind
from thinkaloud.core.canon.requests import options_of
from thinkaloud.core.context import AnsweredTurn
from thinkaloud.core.dialects.client_request import ClientAnswer
from thinkaloud.core.dialects.openai_chat import parse_request
from thinkaloud.core.transcript import Delta
from thinkaloud.integrations.request import FrameworkRequest, earlier_answer

Chunk = dict[str, Any]
KNOWN_FIELDS = ("messages", "tools", "tool_choice", "temperature", "top_p", "max_tokens", "stop", "seed")


class Pipe:
    """A function of Open WebUI: its models are asked through Thinkaloud."""

    class Valves(BaseModel):
        models: str = Field(
            default="deepseek/deepseek-v4-pro", description="Models with their providers, by comma."
        )
        thinking: str = Field(default="", description="off, low, medium, high; empty leaves it to the model.")
        base_url: str = Field(default="", description="Another server in the place of the provider.")

    def __init__(self) -> None:
        self.valves = self.Valves()

    def pipes(self) -> list[dict[str, str]]:
        names = (name.strip() for name in self.valves.models.split(","))
        return [{"id": name, "name": name} for name in names if name]

    async def pipe(self, body: dict[str, Any]) -> str | AsyncGenerator[Chunk, None]:
        """Answer a chat, or a task of Open WebUI's own, such as a title."""
        request = self._request(body)
        if body.get("stream"):
            return self._chunks(request)
        async for _ in request.deltas():
            pass
        return request.turn.answer

    async def _chunks(self, request: FrameworkRequest) -> AsyncGenerator[Chunk, None]:
        async for delta in request.deltas():
            yield _chunk(_content(request, delta))
        if any(block.kind is Kind.REASONING for block in request.turn.blocks):
            # Open WebUI keeps what it cannot read with the answer, and gives it back to the same model.
            yield _chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": request.record}]})

    def _request(self, body: dict[str, Any]) -> FrameworkRequest:
        asked = {name: body[name] for name in KNOWN_FIELDS if body.get(name) is not None}
        chat = parse_request(json.dumps({"model": "any", **asked}).encode())
        answers = [step for step in chat.steps if isinstance(step, ClientAnswer)]
        records = [thought.opaque for answer in answers for thought in answer.thoughts if thought.opaque]
        steps = [_recalled(step, records) if isinstance(step, ClientAnswer) else step for step in chat.steps]
        chosen = {**options_of(chat), "system": "", "on_thinking_unavailable": "warn"}
        chosen |= {"thinking": self.valves.thinking or None, "stream": bool(body.get("stream"))}
        return FrameworkRequest(
            Context(tuple(steps), chat.system, chat.offered_tools),
            model=body["model"].partition(".")[2],
            base_url=self.valves.base_url,
            options=Options(**chosen),
        )


def _recalled(answer: ClientAnswer, records: list[str]) -> AnsweredTurn:
    """Return an answer with its thoughts. Its record may be in the message before, so all are tried."""
    for record in records:
        recalled = earlier_answer(answer.text, answer.calls, record)
        if recalled.prefix:
            return recalled
    return earlier_answer(answer.text, answer.calls, None)


def _content(request: FrameworkRequest, delta: Delta) -> Chunk:
    if delta.kind is not Kind.TOOL_CALL:
        return {"reasoning_content" if delta.kind is Kind.REASONING else "content": delta.text}
    calls = [block.number for block in request.turn.blocks if block.kind is Kind.TOOL_CALL]
    call: Chunk = {"index": calls.index(delta.block), "function": {"arguments": delta.text}}
    if not delta.text:
        call |= {"id": request.turn.blocks[delta.block].call_id, "type": "function"}
        call["function"]["name"] = delta.name
    return {"tool_calls": [call]}


def _chunk(delta: Chunk) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"object": "chat.completion.chunk", "choices": [choice]}
