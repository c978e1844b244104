"""One request of a framework: its deltas as they arrive, the turn, and the record that the framework keeps.

A framework keeps the conversation in messages of its own. The record is text that it keeps with an answer,
unread, and gives back with the next request: with it, the provider gets back all that it demands.
"""

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import msgspec

from thinkaloud.client.api import entries
from thinkaloud.client.prepared_request import Options, prepare, require_key
from thinkaloud.client.sync import loop_runner, step_through
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import (
    Event,
    KeyMissing,
    ProviderFault,
    Refused,
    ThinkaloudError,
    TurnFailed,
    Wording,
)
from thinkaloud.core.canon.requests import ToolCall, ToolDefinition, options_of
from thinkaloud.core.catalog.catalog import Catalog, split_provider
from thinkaloud.core.context import AnsweredTurn, Context, Step, write_answer
from thinkaloud.core.dialects import CLIENT_FORMATS
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientStep
from thinkaloud.core.dialects.writer import ResponseHead, call_id
from thinkaloud.core.export.client_answers import recall
from thinkaloud.core.transcript import Block, Delta, Turn, apply, delta_of

RECORD = "thinkaloud"
"""The name under which frameworks keep the record of an answer."""


class FrameworkRequest:
    """A request that is sent when its deltas are iterated over. `turn` is the turn so far."""

    def __init__(
        self, context: Context, *, model: str, base_url: str = "", options: Options | None = None
    ) -> None:
        options = options or Options()
        if base_url:
            options = msgspec.structs.replace(options, catalog=_catalog_at(model, base_url))
        self._prepared = prepare(context, model=model, options=options)
        require_key(self._prepared.route)
        self._id = uuid4().hex
        self.turn = Turn()

    @classmethod
    def read(
        cls,
        dialect: str,
        body: Mapping[str, object],
        *,
        base_url: str = "",
        thinking: str | int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> "FrameworkRequest":
        """Return a request that a framework wrote in this dialect.

        The record of an earlier answer is in it as the opaque data of a thought; there is no other such data.
        `thinking` is for a request that does not choose it. Fields that the dialect does not know and `extra`
        are for the provider, who gets them as they are.
        """
        request = CLIENT_FORMATS[dialect].parse_request(msgspec.json.encode(body))
        context = Context(tuple(map(_known_answer, request.steps)), request.system, request.tools)
        options = Options(**options_of(request), stream=request.stream)
        unknown = {name: body[name] for name in request.ignored if name in body}
        chosen: dict[str, Any] = {"extra": {**unknown, **(extra or {})}}
        if options.thinking is None:
            chosen["thinking"] = thinking
        options = msgspec.structs.replace(options, **chosen)
        return cls(context, model=request.model, base_url=base_url, options=options)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the answer as it arrives, each event after it changed `turn`.

        A turn that fails is raised as `ProviderFault`.
        """
        async with aclosing(entries(self._prepared)) as stamped:
            async for entry in stamped:
                apply(self.turn, entry)
                if isinstance(entry.event, TurnFailed):
                    raise ProviderFault(wording=entry.event.wording or Wording.plain(entry.event.message))
                yield entry.event

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Yield what of the events a program shows."""
        async with aclosing(self.events()) as events:
            async for event in events:
                if delta := delta_of(self.turn, event):
                    yield delta

    def deltas_sync(self) -> Generator[Delta, None, None]:
        """Yield the same, blocking, also where an event loop runs."""
        return step_through(self.deltas())

    async def whole(self) -> Turn:
        """Return the whole turn."""
        async with aclosing(self.events()) as events:
            async for _ in events:
                pass
        return self.turn

    def whole_sync(self) -> Turn:
        """Return the same, blocking, also where an event loop runs."""
        with loop_runner() as run:
            return run(self.whole())

    async def written(self, dialect: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the answer as it arrives, as the events or chunks of a dialect."""
        writer = CLIENT_FORMATS[dialect].response_format.make_writer(self._head)
        async with aclosing(self.events()) as events:
            async for event in events:
                for part in writer.feed(event, self.turn).split(b"\n\n"):
                    data = part.partition(b"data: ")[2]
                    if data.startswith(b"{"):
                        yield msgspec.json.decode(data)

    def written_sync(self, dialect: str) -> Generator[dict[str, Any], None, None]:
        """Yield the same, blocking, also where an event loop runs."""
        return step_through(self.written(dialect))

    def body(self, dialect: str) -> dict[str, Any]:
        """Return the whole turn as the body of a response in this dialect."""
        write_whole = CLIENT_FORMATS[dialect].response_format.write_whole
        assert write_whole is not None
        return msgspec.json.decode(write_whole(self.turn, self._head), type=dict[str, Any])

    @property
    def _head(self) -> ResponseHead:
        return ResponseHead(turn=self._id, model=self._prepared.route.model_id)

    def call_id(self, block: Block) -> str:
        """Return the id of a call, also where the provider has none."""
        return call_id(self._id, block)

    @property
    def record(self) -> str:
        """The turn as text, to be kept with the answer."""
        provider = self._prepared.route.provider.name
        return write_answer(AnsweredTurn(self.turn, self._prepared.prefix, provider))


def earlier_answer(text: str, calls: Iterable[ToolCall], record: object) -> AnsweredTurn:
    """Return an answer of the conversation as it is sent back, by its record if there is a fitting one."""
    return recall(ClientAnswer(text, tuple(calls)), record if isinstance(record, str) else "")


def _known_answer(step: ClientStep) -> Step:
    if not isinstance(step, ClientAnswer):
        return step
    return recall(step, next((thought.opaque for thought in step.thoughts if thought.opaque), ""))


def function_tool(name: str, description: str | None, parameters: object) -> ToolDefinition:
    """Return a tool that the framework runs; `parameters` is its JSON Schema."""
    schema = parameters or {"type": "object", "properties": {}}
    return ToolDefinition(name, description or "", msgspec.json.encode(schema).decode())


def call_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call as the frameworks want them; None if they are no JSON object."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        return None


def unsupported_content(framework: str, kinds: Sequence[str]) -> Refused:
    """Return the error for parts of a message that cannot be sent."""
    return Refused(
        "A message of {framework} has parts that Thinkaloud does not send: {kinds}. Use text, and images and "
        "files as base64.",
        framework=framework,
        kinds=", ".join(kinds),
    )


def status_of(error: ThinkaloudError) -> int:
    """Return the HTTP status by which a framework decides whether to try again."""
    match error:
        case KeyMissing():
            return 401
        case ProviderFault():
            return error.status or 502
    return 400


def refuse_settings(framework: str, names: Sequence[str]) -> None:
    """Refuse settings that are not sent, so that none is lost unnoticed."""
    if names:
        raise Refused(
            "Thinkaloud does not send these settings of {framework}: {names}. Leave them out, or pass fields "
            "of the provider in `extra_body`.",
            framework=framework,
            names=", ".join(names),
        )


def _catalog_at(model: str, base_url: str) -> Catalog:
    catalog = load_catalog()
    provider, _ = split_provider(catalog, model)
    if provider is None:
        raise Refused(
            "With base_url the model needs its provider: {example}. Use `vllm/` for any other server that is "
            "compatible with OpenAI's Chat Completions.",
            example=f"deepseek/{model}",
        )
    return catalog.with_base_url(provider.name, base_url)
