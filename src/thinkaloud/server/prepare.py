"""From an agent as it is kept to one that can run: its tools found, its assistants with it.

A kept agent names the tools that the gateway runs; which there are is for whoever runs the gateway to say.
Agents come from the store, by their ids, and from the gateway's own file, by their names.

From a request for a turn to a request for a model: who answers, on what terms, after what conversation.

What cannot be asked is refused here, before anything is kept. Settings of the turn come first, then those of
its agent, of its session, of its owner's preferences.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.builtin_tools import search_sessions
from thinkaloud.agents.config import SEARCH_SESSIONS, AgentConfig, agent_from_config
from thinkaloud.agents.prepare import prepare_reply
from thinkaloud.agents.spec import Agent, RunLimits, assemble, bare_model
from thinkaloud.agents.tools import Tool
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Image, ThinkingLevel, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import REASONS, AnsweredTurn, ContextMode, SendStatus, Step, steps_of
from thinkaloud.server.errors import PayloadTooLarge
from thinkaloud.server.limits import GatewayLimits
from thinkaloud.server.schemas import NewTurn
from thinkaloud.store import agents, preferences, search, turns
from thinkaloud.store.messages import messages_of, turn_of
from thinkaloud.store.rows import (
    AgentSpec,
    Owner,
    Preferences,
    Role,
    SearchKind,
    Session,
    StoredMessage,
    TurnRow,
)
from thinkaloud.store.texts import storable

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


MAX_HITS = 10
_SEARCHED_KINDS = frozenset({SearchKind.PROMPT, SearchKind.ANSWER})
"""A tool finds what was asked and answered. What was thought stays with whoever looks for it."""


async def assemble_agent(
    gateway: "Gateway", owner: Owner, root_name: str, stored_specs: Mapping[str, AgentSpec]
) -> Agent:
    """The agent that is wanted, ready to run; `kept` holds those of the store that it may need."""
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
    """An agent without tools and assistants, and the names of both."""
    if spec is not None:
        return _agent_from_spec(name, spec), spec.uses, spec.assistants
    if row is not None:
        return agent_from_config(name, row), row.tools, row.assistants
    raise Refused(f"There is no agent {name!r} in this workspace. Name another one, or none.")


def _agent_from_spec(agent_id: str, spec: AgentSpec) -> Agent:
    return Agent(
        name=spec.name,
        id=agent_id,
        description=spec.description,
        model=spec.model,
        system=spec.system,
        thinking=thinking_setting(spec),
        context_mode=spec.context_mode,
        client_tools=spec.tools,
        limits=_agent_limits(spec),
        summary_model=spec.summary_model,
    )


def thinking_setting(spec: AgentSpec) -> str | int | None:
    """How hard an agent is to think, as `prepare` takes it."""
    if not spec.thinking:
        return ThinkingLevel.OFF
    return spec.budget_tokens or spec.level or ThinkingLevel.MEDIUM


def available_tools(gateway: "Gateway") -> tuple[str, ...]:
    """The names that an agent of this gateway may use."""
    return (*gateway.toolbox.names, SEARCH_SESSIONS)


def refuse_unknown_tools(gateway: "Gateway", names: Iterable[str]) -> None:
    """Refuse names of tools that this gateway does not have."""
    available = available_tools(gateway)
    if unknown := [name for name in names if name.partition("/")[0] not in available]:
        raise Refused(
            f"This gateway has no tool {unknown[0]!r}. It has {', '.join(available)}. Whoever runs it adds tools "
            "in agents.toml."
        )


async def _find_tools(gateway: "Gateway", owner: Owner, names: tuple[str, ...]) -> tuple[Tool, ...]:
    refuse_unknown_tools(gateway, names)
    toolbox_names = [name for name in names if name != SEARCH_SESSIONS]
    tools = await gateway.toolbox.find(toolbox_names) if toolbox_names else ()
    return (*tools, _search_tool(gateway, owner)) if SEARCH_SESSIONS in names else tools


def _search_tool(gateway: "Gateway", owner: Owner) -> Tool:
    async def search_text(words: str) -> str:
        page = await gateway.database.read(
            lambda conn: search.find(conn, owner, words, kinds=_SEARCHED_KINDS, limit=MAX_HITS)
        )
        hits = (f"{hit.session_title or hit.session} ({hit.kind}): {hit.snippet}" for hit in page.items)
        return "\n".join(hits) or "Nothing was found."

    return search_sessions(search_text)


def _agent_limits(spec: AgentSpec) -> RunLimits:
    defaults = RunLimits()
    return RunLimits(
        replies=spec.most_replies or defaults.replies,
        output_tokens=spec.most_output_tokens,
        seconds=spec.most_seconds or defaults.seconds,
        usd=spec.most_usd,
    )


_TURNS_PER_PAGE = 200
_STEPS_PREPARED_INLINE = 40
"""A short conversation takes less time to prepare than a thread takes to start on it."""
_images_decoder = msgspec.json.Decoder(tuple[Image, ...])


class SessionContext(msgspec.Struct, frozen=True):
    """What the store knows that matters for the next turn of a session."""

    session: Session
    steps: tuple[Step, ...]
    agent: str
    """The id or the name of the agent that answers; empty where it is a model alone."""
    agents: dict[str, AgentSpec]
    """Those of the store that may have a part in it, by their ids."""
    preferences: Preferences


def load_context(
    conn: Connection, session: Session, agent_id: str, until: TurnRow | None = None
) -> SessionContext:
    """Everything that was said so far, the agents, and the preferences; in one snapshot.

    With `until`, as it was when that turn began.
    """
    answering_agent = agent_id or session.agent
    turn_messages = [
        (row, messages)
        for row, messages in turns_with_messages(conn, session)
        if until is None or row.position < until.position
    ]
    steps = tuple(
        step
        for row, messages in turn_messages
        for message in messages
        for step in _message_steps(message, row)
    )
    agent_specs = agents.with_assistants(conn, session.owner, answering_agent) if answering_agent else {}
    return SessionContext(session, steps, answering_agent, agent_specs, preferences.read(conn, session.owner))


def turns_with_messages(conn: Connection, session: Session) -> list[tuple[TurnRow, list[StoredMessage]]]:
    """Every turn of a session with its messages, the oldest first."""
    turn_messages: list[tuple[TurnRow, list[StoredMessage]]] = []
    after = ""
    while True:
        page = turns.of_session(conn, session, limit=_TURNS_PER_PAGE, after=after)
        messages = messages_of(conn, [row.key for row in page.items])
        turn_messages += ((row, messages.get(row.key, [])) for row in page.items)
        if not page.next:
            return turn_messages
        after = page.next


def _message_steps(message: StoredMessage, row: TurnRow) -> tuple[Step, ...]:
    """A kept message as steps of a conversation."""
    match message.role:
        case Role.USER:
            return (UserMessage(message.content, images_of(message)),)
        case Role.TOOL:
            return (ToolMessage(message.call_id, message.content, message.name, message.failed),)
        case Role.ASSISTANT:
            return steps_of(AnsweredTurn(turn_of(message), row.prefix, row.provider))


def images_of(message: StoredMessage) -> tuple[Image, ...]:
    """The pictures of a kept message."""
    return _images_decoder.decode(message.images) if message.images else ()


def request_messages(body: NewTurn, limits: GatewayLimits) -> tuple[UserMessage | ToolMessage, ...]:
    """What the request says: results first, since they answer what was said before the prompt.

    It is sent exactly as it is kept: a changed byte would void the thoughts that follow it.
    """
    results = tuple(
        ToolMessage(
            storable(tool_result.call_id),
            storable(tool_result.result),
            storable(tool_result.name),
            tool_result.failed,
        )
        for tool_result in body.tool_results
    )
    images = tuple(image_body.image() for image_body in body.images)
    prompt = (UserMessage(storable(body.prompt), images),) if body.prompt.strip() or images else ()
    if not results and not prompt:
        raise Refused("Nothing is asked: there is neither a prompt nor a tool's result. Send one of them.")
    if sum(map(len, (body.prompt, *(result.result for result in results)))) > limits.prompt_chars:
        raise PayloadTooLarge(
            f"The prompt is longer than the {limits.prompt_chars:,} characters that are taken at once "
            "(limit prompt_chars). Shorten it, or raise the limit."
        )
    return (*results, *prompt)


async def resolve_agent(gateway: "Gateway", body: NewTurn, context: SessionContext) -> Agent:
    """Who answers, as this turn wants it."""
    requested_thinking = body.thinking
    if context.agent:
        agent = await assemble_agent(gateway, context.session.owner, context.agent, context.agents)
        thinking = agent.thinking if requested_thinking is None else requested_thinking
        mode = _context_mode(body, agent.context_mode, context)
        model = body.model or agent.model
        return msgspec.structs.replace(
            agent, model=model, thinking=thinking, context_mode=mode, max_tokens=body.max_tokens
        )
    return msgspec.structs.replace(
        bare_model(_require_model(body.model or context.session.model or gateway.settings.model)),
        thinking=requested_thinking,
        max_tokens=body.max_tokens,
        context_mode=_context_mode(body, ContextMode.PROVIDER_DEFAULT, context),
    )


async def prepare_request(
    agent: Agent, steps: tuple[Step, ...], first_new_step: int, catalog: Catalog
) -> PreparedRequest:
    """Build the request, or refuse it. The new messages begin at step `first_new_step`."""
    if len(steps) < _STEPS_PREPARED_INLINE:
        request = prepare_reply(agent, steps, catalog=catalog)
    else:
        request = await asyncio.to_thread(prepare_reply, agent, steps, catalog=catalog)
    _refuse_unsent_results(request, steps, first_new_step)
    return request


def _require_model(name: str) -> str:
    if name:
        return name
    raise Refused(
        "No model is named: not in the request, not by an agent, and not by the session. Send `model`; "
        "GET /api/models lists those that are known."
    )


def _context_mode(body: NewTurn, agent_mode: ContextMode, context: SessionContext) -> ContextMode:
    """`provider_default` in an agent says nothing, so that preferences count for it."""
    if body.context_mode is not None:
        return body.context_mode
    return context.preferences.context_mode if agent_mode is ContextMode.PROVIDER_DEFAULT else agent_mode


def _refuse_unsent_results(prepared: PreparedRequest, steps: tuple[Step, ...], first_new_step: int) -> None:
    """A result that would not be sent is refused: whoever sent it believes that the model will see it."""
    for line in prepared.report.lines:
        step = steps[line.step]
        if (
            line.step >= first_new_step
            and line.status is SendStatus.WITHHELD
            and isinstance(step, ToolMessage)
        ):
            raise Refused(
                f"The result for call {step.call_id!r} cannot be sent. {REASONS[line.code]} "
                "Answer every call of the last turn, each by its call_id."
            )
