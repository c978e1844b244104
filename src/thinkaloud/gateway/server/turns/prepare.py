"""Turns a request for a turn into a model request: loads the conversation, the agent and its tools.

Agents come from the store, by id, or from the operator's `agents.toml`, by name. The operator decides which
tools the gateway runs. Settings are looked up in this order: turn, agent, session, preferences of the user.
A request that cannot be sent is refused here, before anything is saved.
"""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.builtin_tools import search_sessions
from thinkaloud.agents.config import SEARCH_SESSIONS, AgentConfig, agent_from_config
from thinkaloud.agents.loop import prepare_reply
from thinkaloud.agents.spec import Agent, RunLimits, apply_request, assemble, bare_model
from thinkaloud.agents.tools import Tool
from thinkaloud.client.prepared_request import PreparedRequest, parse_thinking
from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import (
    ContextMode,
    File,
    Image,
    RequestOptions,
    ThinkingLevel,
    ToolDefinition,
    ToolMessage,
    TurnRequest,
    UserMessage,
    message_parts,
    options_of,
)
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.context import REASONS, AnsweredTurn, SendStatus, Step, steps_of
from thinkaloud.gateway.server.http.errors import PayloadTooLarge
from thinkaloud.gateway.server.http.limits import GatewayLimits
from thinkaloud.gateway.server.turns.preferences import PreferenceStore
from thinkaloud.gateway.store.queries import agents, turns
from thinkaloud.gateway.store.queries.messages import messages_of, turn_of
from thinkaloud.gateway.store.queries.values import storable
from thinkaloud.gateway.store.rows import (
    AgentSpec,
    Owner,
    Preferences,
    Role,
    SearchKind,
    Session,
    StoredMessage,
    TurnRow,
)
from thinkaloud.gateway.store.search.find import find_hits

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway


MAX_HITS = 10
_SEARCHED_KINDS = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})
"""The search tool sees prompts and answers only: a model must not read the thinking of earlier turns."""


async def assemble_agent(
    gateway: "Gateway", owner: Owner, root_name: str, stored_specs: Mapping[str, AgentSpec]
) -> Agent:
    """Return an agent with its tools and assistants. `stored_specs` holds the stored agents it may need."""
    parts: dict[str, tuple[Agent, tuple[str, ...]]] = {}
    pending = [root_name]
    while pending:
        current_name = pending.pop()
        agent, uses, assistants = _agent_without_tools(
            current_name, stored_specs.get(current_name), gateway.gateway_agents.agents.get(current_name)
        )
        tools = await _find_tools(gateway, owner, uses)
        parts[current_name] = msgspec.structs.replace(agent, tools=tools), assistants
        pending += [name for name in assistants if name not in parts]
    return assemble(root_name, parts.__getitem__)


def _agent_without_tools(
    name: str, spec: AgentSpec | None, row: AgentConfig | None
) -> tuple[Agent, tuple[str, ...], tuple[str, ...]]:
    """Return an agent without tools and assistants, the names of its tools, and those of its assistants."""
    if spec is not None:
        return agent_from_spec(name, spec), spec.uses, spec.assistants
    if row is not None:
        return agent_from_config(name, row), row.tools, row.assistants
    raise Refused(
        "No agent {name} in this workspace. GET /api/agents lists the available agents; leave "
        "`agent` out to ask a model directly.",
        name=repr(name),
    )


def agent_from_spec(agent_id: str, spec: AgentSpec) -> Agent:
    """Return the agent of a stored spec, without its own tools and assistants."""
    defaults = RunLimits()
    return Agent(
        name=spec.name,
        id=agent_id,
        description=spec.description,
        model=spec.model,
        system=spec.system,
        thinking=thinking_setting(spec),
        context_mode=spec.context_mode,
        client_tools=spec.tools,
        limits=RunLimits(
            replies=spec.most_replies or defaults.replies,
            output_tokens=spec.most_output_tokens,
            seconds=spec.most_seconds or defaults.seconds,
            usd=spec.most_usd,
        ),
        summary_model=spec.summary_model,
    )


def thinking_setting(spec: AgentSpec) -> str | int:
    """Return the thinking setting of a stored spec, as `client.prepare` takes it."""
    if not spec.thinking:
        return ThinkingLevel.OFF
    return spec.budget_tokens or spec.level or ThinkingLevel.MEDIUM


def available_tools(gateway: "Gateway") -> tuple[str, ...]:
    """Return the names of all tools that the gateway runs."""
    return (*gateway.toolbox.names, SEARCH_SESSIONS)


def refuse_unknown_tools(gateway: "Gateway", names: Iterable[str]) -> None:
    """Refuse a tool name that the gateway does not have."""
    available = available_tools(gateway)
    if unknown := [name for name in names if name.partition("/")[0] not in available]:
        raise Refused(
            "This gateway has no tool {unknown}. Available tools: {available}. The operator adds "
            "tools in agents.toml.",
            unknown=repr(unknown[0]),
            available=", ".join(available),
        )


async def _find_tools(gateway: "Gateway", owner: Owner, names: tuple[str, ...]) -> tuple[Tool, ...]:
    refuse_unknown_tools(gateway, names)
    toolbox_names = [name for name in names if name != SEARCH_SESSIONS]
    tools = await gateway.toolbox.find(toolbox_names) if toolbox_names else ()
    return (*tools, _search_tool(gateway, owner)) if SEARCH_SESSIONS in names else tools


def _search_tool(gateway: "Gateway", owner: Owner) -> Tool:
    async def search_text(words: str) -> str:
        page = await gateway.database.read(
            lambda conn: find_hits(conn, owner, words, kinds=_SEARCHED_KINDS, limit=MAX_HITS)
        )
        hits = (f"{hit.session_title or hit.session} ({hit.kind}): {hit.snippet}" for hit in page.items)
        return "\n".join(hits) or "No matches. Try fewer or other words."

    return search_sessions(search_text)


_TURNS_PER_PAGE = 200
_STEPS_PREPARED_INLINE = 40
"""A short conversation takes less time to prepare than a thread takes to start on it."""
_files_decoder = msgspec.json.Decoder(tuple[File, ...])


class HeldTools(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tools of a client that does not send them with every request."""

    tools: tuple[ToolDefinition, ...] = ()
    offers: dict[str, bool] = {}
    """As in `ClientRequest.tool_offers`."""
    turn: str = ""
    """The id of an earlier turn that holds all this. Empty if this one does."""


class StoredOptions(RequestOptions, frozen=True, omit_defaults=True):
    """The options of a request as they are stored with its turn, to resume it when it was suspended."""

    held: HeldTools | None = None


_options_encoder = msgspec.json.Encoder()
_options_decoder = msgspec.json.Decoder(StoredOptions)


def write_options(request: TurnRequest, held: HeldTools | None) -> str:
    """Return the options of a request as JSON. The choice of a tool is left out, as the tools are."""
    options = options_of(request) | {"tool_choice": ""}
    return _options_encoder.encode(StoredOptions(**options, held=held)).decode()


def read_options(row: TurnRow) -> StoredOptions:
    """Return the options that are stored with a turn."""
    return _options_decoder.decode(row.options or "{}")


class SessionContext(msgspec.Struct, frozen=True):
    """What the store holds for the next turn of a session."""

    owner: Owner
    model: str
    """The model of the session; may be empty."""
    steps: tuple[Step, ...]
    agent: str
    """The id or name of the agent; empty if a model is asked directly."""
    agents: dict[str, AgentSpec]
    """The stored agents that may take part, by id: the agent and all its assistants."""
    preferences: Preferences
    parent: int | None
    """The key of the turn that the next one follows."""


def load_context(
    conn: Connection,
    session: Session,
    agent_id: str,
    stored_preferences: PreferenceStore,
    parent: int | None,
) -> SessionContext:
    """Load the conversation up to a turn, the agents and the preferences in one snapshot of the database."""
    answering_agent = agent_id or session.agent
    steps = tuple(
        step
        for row, messages in ([] if parent is None else turns_with_messages(conn, session, parent))
        for message in messages
        for step in _message_steps(message, row)
    )
    agent_specs = agents.with_assistants(conn, session.owner, answering_agent) if answering_agent else {}
    owner_preferences = stored_preferences.read(conn, session.owner)
    return SessionContext(
        session.owner, session.model, steps, answering_agent, agent_specs, owner_preferences, parent
    )


def turns_with_messages(
    conn: Connection, session: Session, leaf: int | None = None
) -> list[tuple[TurnRow, list[StoredMessage]]]:
    """Return the turns of a branch, or of the active one, with their messages, the oldest first."""
    turn_messages: list[tuple[TurnRow, list[StoredMessage]]] = []
    after = ""
    while True:
        page = turns.of_session(conn, session, limit=_TURNS_PER_PAGE, after=after, leaf=leaf)
        messages = messages_of(conn, [row.key for row in page.items])
        turn_messages += ((row, messages.get(row.key, [])) for row in page.items)
        if not page.next:
            return turn_messages
        after = page.next


def _message_steps(message: StoredMessage, row: TurnRow) -> tuple[Step, ...]:
    """Return a stored message as steps of a conversation."""
    match message.role:
        case Role.USER:
            return (UserMessage(message.content, *attached_to(message)),)
        case Role.TOOL:
            images, _ = attached_to(message)
            return (ToolMessage(message.call_id, message.content, message.name, message.failed, images),)
        case Role.ASSISTANT:
            return steps_of(AnsweredTurn(turn_of(message), row.prefix, row.provider))


def attached_to(message: StoredMessage) -> tuple[tuple[Image, ...], tuple[File, ...]]:
    """Return the images and the other files of a stored message."""
    return message_parts(_files_decoder.decode(message.images) if message.images else ())


def storable_messages(request: TurnRequest, limits: GatewayLimits) -> tuple[UserMessage | ToolMessage, ...]:
    """Return the messages of a request as they are stored, or refuse them.

    The model gets exactly the text that is stored. If one byte differed, the provider would reject the
    signatures of later thinking.
    """
    messages = tuple(map(_storable_message, request.messages))
    if not messages:
        raise Refused(
            "The request has neither a prompt nor a tool result. Send a message with text, an image, a file "
            "or a tool result."
        )
    texts = (message.text if isinstance(message, UserMessage) else message.result for message in messages)
    if sum(map(len, texts)) > limits.prompt_chars:
        raise PayloadTooLarge(
            "The prompt and the tool results are longer than {prompt_chars} characters (limit "
            "prompt_chars). Shorten them, or raise the limit.",
            prompt_chars=f"{limits.prompt_chars:,}",
        )
    return messages


def _storable_message(message: UserMessage | ToolMessage) -> UserMessage | ToolMessage:
    if isinstance(message, UserMessage):
        files = tuple(File(file.media_type, file.data, storable(file.name)) for file in message.files)
        return UserMessage(storable(message.text), message.images, files)
    return ToolMessage(
        storable(message.call_id),
        storable(message.result),
        storable(message.name),
        message.failed,
        message.images,
    )


def with_preferred_thinking(request: TurnRequest, context: SessionContext) -> TurnRequest:
    """Return the request with the user's preferred thinking, if nothing else says how much to think."""
    preferred = context.preferences.thinking
    if request.thinking is not None or context.agent or not preferred:
        return request
    thinking = parse_thinking(preferred)
    return msgspec.structs.replace(request, thinking=thinking.level or thinking.budget_tokens)


async def resolve_agent(gateway: "Gateway", request: TurnRequest, context: SessionContext) -> Agent:
    """Return the agent for a turn, with the settings of the request applied."""
    if context.agent:
        agent = await assemble_agent(gateway, context.owner, context.agent, context.agents)
    else:
        model = request.model or context.model or context.preferences.model or gateway.settings.model
        agent = bare_model(_require_model(model))
    agent = apply_request(agent, request)
    # In an agent, `provider_default` means unset, so the preferences apply.
    if request.context_mode is None and agent.context_mode in (None, ContextMode.PROVIDER_DEFAULT):
        agent = msgspec.structs.replace(agent, context_mode=context.preferences.context_mode)
    return agent


async def prepare_request(
    agent: Agent, steps: tuple[Step, ...], first_new_step: int, catalog: Catalog
) -> PreparedRequest:
    """Build the request, or refuse it. The new messages begin at step `first_new_step`."""
    build = partial(prepare_reply, agent, steps, catalog=catalog)
    prepared = build() if len(steps) < _STEPS_PREPARED_INLINE else await asyncio.to_thread(build)
    _refuse_unsent_results(prepared, steps, first_new_step)
    return prepared


def _require_model(name: str) -> str:
    if name:
        return name
    raise Refused(
        "No model is set: not in the request, the agent, the session or the gateway. Send `model`; "
        "GET /api/models lists the known models."
    )


def _refuse_unsent_results(prepared: PreparedRequest, steps: tuple[Step, ...], first_new_step: int) -> None:
    """Refuse a tool result that would be dropped: the client relies on the model seeing it."""
    for line in prepared.report.lines:
        step = steps[line.step]
        if (
            line.step >= first_new_step
            and line.status is SendStatus.WITHHELD
            and isinstance(step, ToolMessage)
        ):
            raise Refused(
                "The result for call {call_id} cannot be sent. {reasons} Send one result for every "
                "call of the last turn, with its call_id.",
                call_id=repr(step.call_id),
                reasons=REASONS[line.code],
            )
