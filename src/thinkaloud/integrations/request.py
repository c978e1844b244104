"""One request of a framework: its deltas as they arrive, the turn, and the record that the framework keeps.

A framework keeps the conversation in messages of its own. The record is text that it keeps with an answer,
unread, and gives back with the next request: with it, the provider gets back all that it demands.
"""

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from thinkaloud.client.api import entries
from thinkaloud.client.prepared_request import Options, prepare, require_key
from thinkaloud.client.sync import step_through
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import ProviderFault, Refused, TurnFailed, Wording
from thinkaloud.core.canon.requests import ToolCall, ToolDefinition
from thinkaloud.core.catalog.catalog import Catalog, split_provider
from thinkaloud.core.context import AnsweredTurn, Context, write_answer
from thinkaloud.core.dialects.client_request import ClientAnswer
from thinkaloud.core.export.client_answers import recall
from thinkaloud.core.transcript import Delta, Turn, apply, delta_of

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
        self.turn = Turn()

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Yield the answer as it arrives. A turn that fails is raised as `ProviderFault`."""
        async with aclosing(entries(self._prepared)) as stamped:
            async for entry in stamped:
                apply(self.turn, entry)
                if isinstance(entry.event, TurnFailed):
                    raise ProviderFault(wording=entry.event.wording or Wording.plain(entry.event.message))
                if delta := delta_of(self.turn, entry.event):
                    yield delta

    def deltas_sync(self) -> Generator[Delta, None, None]:
        """Yield the same, blocking, also where an event loop runs."""
        return step_through(self.deltas())

    @property
    def record(self) -> str:
        """The turn as text, to be kept with the answer."""
        provider = self._prepared.route.provider.name
        return write_answer(AnsweredTurn(self.turn, self._prepared.prefix, provider))


def earlier_answer(text: str, calls: Iterable[ToolCall], record: object) -> AnsweredTurn:
    """Return an answer of the conversation as it is sent back, by its record if there is a fitting one."""
    return recall(ClientAnswer(text, tuple(calls)), record if isinstance(record, str) else "")


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
