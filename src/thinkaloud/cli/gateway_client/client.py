"""The client of a gateway: the `Backend` that chat surfaces and commands use, over HTTP.

It follows the stream of a turn and resumes it after every lost connection. The gateway sends each entry with
its number; after a lost connection the client sends the last number that it has, so that every entry is
yielded once and in order.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Self

import msgspec

from thinkaloud.cli.gateway_client.connection import (
    LONG_RESPONSE_S,
    FixedLocator,
    GatewayAddress,
    GatewayConnection,
    GatewayLocator,
    GatewayRefusal,
)
from thinkaloud.cli.settings import BUILTIN_PROVIDER
from thinkaloud.core.canon import BadFrame, Entry, LimitExceeded, Refused, Usage, Wording, reason_of
from thinkaloud.core.canon.requests import Image, TurnRequest, UserMessage
from thinkaloud.core.wire import Frame, SseDecoder
from thinkaloud.surfaces.chat.backend import (
    BackendUnreachable,
    DisplayPreferences,
    FoundText,
    PastTurn,
    Reconnecting,
    Responder,
    Restarted,
    SessionBusy,
    SessionInfo,
    StorageChanged,
    StreamItem,
    TurnCost,
    TurnInfo,
)

PER_PAGE = 200
_START_ATTEMPTS = 3
"""A turn is started with an idempotency key, so that a request whose response was lost may be repeated."""
_STALL_S = 60.0
"""The gateway sends a heartbeat every 15 s. A connection that is silent for longer is dead."""
_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
_NO_CONTENT = 204
_REPLAY_ATTEMPTS = 5
_SCOPES = {False: "prompts,answers,tools", True: "prompts,answers,tools,thoughts"}


def full_name(provider: str, model: str) -> str:
    """Return a model with the provider that serves it, as one can ask for it again."""
    named = not provider or not model or model.startswith(f"{provider}/")
    return model if named else f"{provider}/{model}"


class _Consumption(msgspec.Struct):
    usage: Usage = Usage()
    usd: str | None = None


class _ReplyCost(msgspec.Struct):
    spent: _Consumption
    parent: int | None = None
    context_window: int | None = None


class _Cost(msgspec.Struct):
    turn: _Consumption
    replies: list[_ReplyCost] = []


class _PricedTurn(msgspec.Struct):
    cost: _Cost


class _SessionPage(msgspec.Struct):
    items: list[SessionInfo]
    next: str = ""


class _Message(msgspec.Struct):
    turn: str
    state: str
    role: str
    content: str
    model: str = ""
    provider: str = ""
    agent_name: str = ""
    versions: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    entries: tuple[Entry, ...] = ()


class _MessagePage(msgspec.Struct):
    items: list[_Message]
    next: str = ""


class _HitPage(msgspec.Struct):
    items: list[FoundText]
    next: str = ""


class _Model(msgspec.Struct):
    id: str
    has_key: bool
    providers: tuple[str, ...] = ()
    thinking: str = ""


class _Provider(msgspec.Struct):
    name: str
    has_key: bool
    local: bool


class _ModelList(msgspec.Struct):
    models: list[_Model]
    providers: list[_Provider]

    def choices(self) -> list[Responder]:
        """Return the models: first those that are ready, then those of local servers, then the others."""
        local = {row.name for row in self.providers if row.local and row.name != BUILTIN_PROVIDER}
        ready = {row.name for row in self.providers if row.has_key} - local
        ready_models: list[Responder] = []
        local_models: list[Responder] = []
        others: list[Responder] = []
        for row in self.models:
            if ready.intersection(row.providers):
                ready_models.append(_choice(row))
            elif row.has_key:
                local_models.append(_choice(row, unchecked=local.intersection(row.providers)))
            else:
                others.append(_choice(row))
        return [*ready_models, *local_models, *others]


class _Agent(msgspec.Struct):
    id: str
    name: str
    description: str = ""


class _AgentPage(msgspec.Struct):
    items: list[_Agent]
    own: list[_Agent] = []
    next: str = ""


class ConversationInfo(msgspec.Struct, frozen=True):
    """A conversation of an imported file."""

    session: str
    title: str
    new: bool
    turns: int
    turns_added: int
    thoughts: int
    calls: int


class ImportedFile(msgspec.Struct, frozen=True):
    """What an import added, or would add."""

    id: str
    format: str
    conversations: list[ConversationInfo]
    unread: list[dict[str, Any]]


class GatewayClient:
    """A gateway as a `Backend`. Open it with `async with`."""

    def __init__(self, locator: GatewayLocator, *, address: str, workspace: str = "") -> None:
        self.address = address
        self.connection = GatewayConnection(locator, workspace=workspace)

    @classmethod
    def at(cls, url: str, *, token: str = "", workspace: str = "") -> Self:
        """Return the client of a gateway with a fixed address."""
        address = GatewayAddress(url.rstrip("/"), token)
        return cls(FixedLocator(address), address=address.url, workspace=workspace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connection.close()

    async def sessions(self, *, after: str = "", limit: int = 50) -> tuple[list[SessionInfo], str]:
        """Return a page of sessions, the most recently used first, and the cursor of the next page."""
        page = await self.connection.fetch("/api/sessions", _SessionPage, after=after, limit=limit)
        return page.items, page.next

    async def create_session(self, *, model: str = "", agent: str = "", title: str = "") -> SessionInfo:
        """Create a session."""
        body = {"model": model, "agent": agent, "title": title}
        return await self.connection.call("POST", "/api/sessions", SessionInfo, body)

    async def rename_session(self, session: str, title: str) -> None:
        """Change the title of a session."""
        await self.connection.call("PATCH", f"/api/sessions/{session}", SessionInfo, {"title": title})

    async def delete_session(self, session: str) -> None:
        """Delete a session and everything in it."""
        await self.connection.send("DELETE", f"/api/sessions/{session}")

    async def turns(self, session: str, *, branch: str = "") -> list[PastTurn]:
        """Return the turns of a session, the oldest first: of the newest branch, or of that with a turn."""
        messages: dict[str, list[_Message]] = {}
        path, after = f"/api/sessions/{session}/messages", ""
        while True:
            page = await self.connection.fetch(
                path, _MessagePage, entries="true", limit=PER_PAGE, after=after, branch=branch
            )
            for message in page.items:
                messages.setdefault(message.turn, []).append(message)
            if not page.next:
                return [_past_turn(turn_messages) for turn_messages in messages.values()]
            after = page.next

    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        """Start a turn and return its id."""
        try:
            return (await self.start(session, request, key)).id
        except GatewayRefusal as error:
            if error.code == "turn_running":
                raise SessionBusy(wording=error.wording) from None
            raise

    async def start(self, session: str, request: TurnRequest, key: str = "") -> TurnInfo:
        """Start a turn."""
        body = _new_turn(request)
        path = f"/api/sessions/{session}/turns"
        headers = {"Idempotency-Key": key or secrets.token_urlsafe(16)}
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            try:
                return await self.connection.call("POST", path, TurnInfo, body, headers=headers)
            except BackendUnreachable:
                if not attempts_left:
                    raise
        raise AssertionError("unreachable")

    async def cost(self, turn: str) -> TurnCost:
        """Return what a turn used so far."""
        cost = (await self.connection.fetch(f"/api/turns/{turn}", _PricedTurn)).cost
        used = cost.turn.usage
        own_replies = [reply for reply in cost.replies if reply.parent is None]
        last = own_replies[-1] if own_replies else _ReplyCost(_Consumption())
        counts = (last.spent.usage.input, last.spent.usage.output)
        return TurnCost(
            input_tokens=used.input,
            output_tokens=used.output,
            usd=cost.turn.usd,
            context_tokens=None if None in counts else sum(filter(None, counts)),
            context_window=last.context_window,
        )

    def stream(self, turn: str, *, after: int = -1) -> AsyncGenerator[StreamItem, None]:
        """Yield the entries of a turn after one of them, live, until the turn has ended and is saved."""
        return follow_turn(self.connection, turn, after=after)

    async def replay(self, turn: str, *, speed: float = 1.0) -> AsyncGenerator[Entry, None]:
        """Yield the entries of an ended turn with their pauses."""
        async with aclosing(follow_turn(self.connection, turn, speed=speed)) as items:
            async for item in items:
                match item:
                    case Entry():
                        yield item
                    case Restarted():
                        raise Refused("The turn was changed while it was replayed. Start the replay again.")
                    case Reconnecting(attempt=attempt, reason=reason) if attempt > _REPLAY_ATTEMPTS:
                        raise BackendUnreachable(wording=reason)

    async def cancel(self, turn: str) -> None:
        """Stop a running turn."""
        await self.connection.send("POST", f"/api/turns/{turn}/cancel")

    async def answer_now(self, turn: str) -> None:
        """Stop the thinking of a turn and make the model answer."""
        await self.connection.send("POST", f"/api/turns/{turn}/answer-now")

    async def approve(self, turn: str, block: int, granted: bool) -> None:
        """Approve or deny a tool call that waits for approval."""
        body = {"block": block, "granted": granted}
        await self.connection.call("POST", f"/api/turns/{turn}/approvals", TurnInfo, body)

    async def search(self, words: str, *, thoughts: bool = False) -> list[FoundText]:
        """Find words in prompts, answers and tools, and in thoughts if asked for."""
        page = await self.connection.fetch(
            "/api/search", _HitPage, q=words, scope=_SCOPES[thoughts], limit=PER_PAGE
        )
        return page.items

    async def export(self, session: str, form: str, **options: str) -> str:
        """Return a session as `text`, `markdown`, `json` or `otlp`, with options of that format."""
        query = {"format": form, **options}
        content = await self.connection.send(
            "GET", f"/api/sessions/{session}/export", query=query, stall_s=LONG_RESPONSE_S
        )
        return content.decode()

    async def import_file(
        self, content: bytes, *, format_name: str = "", dry_run: bool = False
    ) -> ImportedFile:
        """Import a file of any known format, or only return what that would add."""
        start = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:15]
        markdown = start == b"<!-- thinkaloud"
        media_type = "text/markdown" if markdown else "application/octet-stream"
        if start[:1] in (b"{", b"["):
            media_type = "application/json"
        query = {"format": format_name, "dry_run": "true" if dry_run else "false"}
        headers = {"Content-Type": media_type}
        imported = await self.connection.send(
            "POST", "/api/import", content, query=query, headers=headers, stall_s=LONG_RESPONSE_S
        )
        return msgspec.json.decode(imported, type=ImportedFile)

    async def models(self) -> list[Responder]:
        """Return the models that can be chosen."""
        listed = await self.connection.fetch("/api/models", _ModelList)
        return listed.choices()

    async def agents(self) -> list[Responder]:
        """Return the agents that can be chosen: the gateway's own first."""
        agents: list[_Agent] = []
        after = ""
        while True:
            page = await self.connection.fetch("/api/agents", _AgentPage, limit=PER_PAGE, after=after)
            agents += [*page.own, *page.items]
            if not page.next:
                return [Responder(id=row.id, name=row.name, description=row.description) for row in agents]
            after = page.next

    async def preferences(self) -> DisplayPreferences:
        """Return the user's preferences in the workspace."""
        return await self.connection.fetch("/api/preferences", DisplayPreferences)

    async def save_preferences(self, preferences: DisplayPreferences) -> None:
        """Save the user's preferences in the workspace. Those that a terminal does not have are kept."""
        saved = await self.connection.fetch("/api/preferences", dict[str, Any])
        body = {**saved, "display": preferences.display, "language": preferences.language}
        await self.connection.call("PUT", "/api/preferences", dict[str, Any], body)


def _past_turn(messages: list[_Message]) -> PastTurn:
    question = next((message for message in messages if message.role == "user"), messages[0])
    reply = next((message for message in messages if message.role == "assistant"), None)
    return PastTurn(
        id=question.turn,
        prompt=question.content,
        images=question.images,
        state=question.state,
        model="" if reply is None else full_name(reply.provider, reply.model),
        agent_name=question.agent_name,
        versions=question.versions,
        entries=() if reply is None else reply.entries,
    )


def _new_turn(request: TurnRequest) -> dict[str, object]:
    """Return the body of a request for a turn: its one message as a prompt, and what is set."""
    (message,) = request.messages
    assert isinstance(message, UserMessage)
    body = {"prompt": message.text, "images": message.images, "files": message.files}
    options: dict[str, object] = msgspec.to_builtins(msgspec.structs.replace(request, messages=()))
    if request.thinking:
        options["thinking"] = _thinking(request.thinking)
    return body | options


def _thinking(setting: str | int) -> str | int:
    """Return a level as text and a budget as a number. Refuses a setting that is neither."""
    from thinkaloud.client.prepared_request import parse_thinking  # imports all dialects

    parsed = parse_thinking(setting)
    return parsed.level or parsed.budget_tokens or ""


def _choice(model: _Model, unchecked: Iterable[str] = ()) -> Responder:
    """Return a model; `unchecked` are local servers that may not be running."""
    return Responder(
        id=model.id,
        name=model.id,
        thinking=model.thinking,
        ready=model.has_key,
        keyless=() if model.has_key else model.providers,
        unchecked=tuple(sorted(unchecked)),
    )


_entry_decoder = msgspec.json.Decoder(Entry)


class _Reset(msgspec.Struct):
    reason: str = ""


class _Storage(msgspec.Struct):
    saved: bool


class _End(msgspec.Struct, frozen=True):
    """The turn has ended and is saved."""


_END = _End()


async def follow_turn(
    connection: GatewayConnection, turn: str, *, after: int = -1, speed: float | None = None
) -> AsyncGenerator[StreamItem, None]:
    """Yield the entries after a number until the turn has ended. It never gives up by itself."""
    attempt = 0
    while True:
        reason = Wording("The gateway closed the connection before the turn had ended.")
        try:
            async with aclosing(_read_stream(connection, turn, after, speed)) as items:
                async for item in items:
                    if isinstance(item, _End):
                        return
                    attempt = 0
                    if isinstance(item, Restarted):
                        after = -1
                    elif isinstance(item, Entry):
                        after = item.seq
                    yield item
        except BackendUnreachable as error:
            reason = error.wording
        attempt += 1
        yield Reconnecting(attempt, reason)
        await asyncio.sleep(_wait_s(attempt))


async def _read_stream(
    connection: GatewayConnection, turn: str, after: int, speed: float | None
) -> AsyncGenerator[StreamItem | _End, None]:
    """Yield what one connection brings."""
    query: dict[str, str | int] = {} if speed is None else {"speed": str(speed)}
    headers = {"Last-Event-ID": str(after)} if after >= 0 else {}
    decoder = SseDecoder()
    async with connection.open(
        "GET", f"/api/turns/{turn}/events", query=query, headers=headers, stall_s=_STALL_S
    ) as response:
        if response.status == _NO_CONTENT:
            yield _END
            return
        async for chunk in response.chunks():
            try:
                items = [_item(frame) for frame in decoder.feed(chunk)]
            except (msgspec.MsgspecError, BadFrame, LimitExceeded) as error:
                raise Refused(
                    "The stream of turn {turn} cannot be read: {reason} Check that this program and "
                    "the gateway have the same version.",
                    turn=turn,
                    reason=reason_of(error),
                ) from None
            for item in items:
                yield item


def _item(frame: Frame) -> StreamItem | _End:
    match frame.event:
        case "reset":
            return Restarted(msgspec.json.decode(frame.data, type=_Reset).reason)
        case "storage":
            return StorageChanged(msgspec.json.decode(frame.data, type=_Storage).saved)
        case "end":
            return _END
        case _:
            return _entry_decoder.decode(frame.data)


def _wait_s(attempt: int) -> float:
    """Return the pause before an attempt: longer each time, and different for every client."""
    wait_s: float = min(_FIRST_WAIT_S * 2 ** (attempt - 1), _LONGEST_WAIT_S)
    return wait_s * random.uniform(0.5, 1.0)
