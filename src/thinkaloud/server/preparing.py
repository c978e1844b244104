"""From a request for a turn to a request for a model: who answers, on what terms, after what conversation.

What cannot be asked is refused here, before anything is kept. Settings of the turn come first, then those of
its agent, of its session, of its owner's preferences.
"""

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.agents.agent import Agent, model_alone
from thinkaloud.agents.prepare import prepare_reply
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prepare import PreparedRequest
from thinkaloud.context import WHY, ContextMode, Fate, Said, Step, steps_of
from thinkaloud.server.assembling import assemble
from thinkaloud.server.bodies import NewTurn
from thinkaloud.server.limits import Limits
from thinkaloud.server.refusals import TooLarge
from thinkaloud.store import agents, preferences, turns
from thinkaloud.store.messages import messages_of, turn_of
from thinkaloud.store.rows import AgentSpec, Message, Preferences, Role, Session, TurnRow
from thinkaloud.store.texts import storable

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway

_TURNS_AT_ONCE = 200
_images = msgspec.json.Decoder(tuple[Image, ...])


class Known(msgspec.Struct, frozen=True):
    """What the store knows that matters for the next turn of a session."""

    session: Session
    steps: tuple[Step, ...]
    agent: str
    """The id or the name of the agent that answers; empty where it is a model alone."""
    agents: dict[str, AgentSpec]
    """Those of the store that may have a part in it, by their ids."""
    preferences: Preferences


def look_up(conn: Connection, session: Session, agent_id: str, until: TurnRow | None = None) -> Known:
    """Everything that was said so far, the agents, and the preferences; in one snapshot.

    With `until`, as it was when that turn began.
    """
    wanted = agent_id or session.agent
    told = [
        (row, messages)
        for row, messages in told_turns(conn, session)
        if until is None or row.position < until.position
    ]
    steps = tuple(step for row, messages in told for message in messages for step in _steps(message, row))
    called = agents.with_assistants(conn, session.owner, wanted) if wanted else {}
    return Known(session, steps, wanted, called, preferences.read(conn, session.owner))


def told_turns(conn: Connection, session: Session) -> list[tuple[TurnRow, list[Message]]]:
    """Every turn of a session with its messages, the oldest first."""
    told: list[tuple[TurnRow, list[Message]]] = []
    after = ""
    while True:
        page = turns.of_session(conn, session, limit=_TURNS_AT_ONCE, after=after)
        messages = messages_of(conn, [row.key for row in page.items])
        told += ((row, messages.get(row.key, [])) for row in page.items)
        if not page.next:
            return told
        after = page.next


def _steps(message: Message, row: TurnRow) -> tuple[Step, ...]:
    """A kept message as steps of a conversation."""
    match message.role:
        case Role.USER:
            return (UserMessage(message.content, images_of(message)),)
        case Role.TOOL:
            return (ToolMessage(message.call_id, message.content, message.name, message.failed),)
        case Role.ASSISTANT:
            return steps_of(Said(turn_of(message), row.prefix, row.provider))


def images_of(message: Message) -> tuple[Image, ...]:
    """The pictures of a kept message."""
    return _images.decode(message.images) if message.images else ()


def asked_now(asked: NewTurn, limits: Limits) -> tuple[UserMessage | ToolMessage, ...]:
    """What the request says: results first, since they answer what was said before the prompt.

    It is sent exactly as it is kept: a changed byte would void the thoughts that follow it.
    """
    results = tuple(
        ToolMessage(storable(one.call_id), storable(one.result), storable(one.name), one.failed)
        for one in asked.tool_results
    )
    images = tuple(picture.image() for picture in asked.images)
    prompt = (UserMessage(storable(asked.prompt), images),) if asked.prompt.strip() or images else ()
    if not results and not prompt:
        raise Refused("Nothing is asked: there is neither a prompt nor a tool's result. Send one of them.")
    if sum(map(len, (asked.prompt, *(result.result for result in results)))) > limits.prompt_chars:
        raise TooLarge(
            f"The prompt is longer than the {limits.prompt_chars:,} characters that are taken at once "
            "(limit prompt_chars). Shorten it, or raise the limit."
        )
    return (*results, *prompt)


async def agent_for(gateway: "Gateway", asked: NewTurn, known: Known) -> Agent:
    """Who answers, as this turn wants it."""
    wanted = asked.thinking
    if known.agent:
        agent = await assemble(gateway, known.session.owner, known.agent, known.agents)
        thinking = agent.thinking if wanted is None else wanted
        mode = _mode(asked, agent.context_mode, known)
        model = asked.model or agent.model
        return msgspec.structs.replace(
            agent, model=model, thinking=thinking, context_mode=mode, max_tokens=asked.max_tokens
        )
    return msgspec.structs.replace(
        model_alone(_model(asked.model or known.session.model or gateway.settings.model)),
        thinking=wanted,
        max_tokens=asked.max_tokens,
        context_mode=_mode(asked, ContextMode.PROVIDER_DEFAULT, known),
    )


def prepared(agent: Agent, steps: tuple[Step, ...], first: int, catalog: Catalog) -> PreparedRequest:
    """The request, ready to go, or refused. What is asked now begins at step `first`."""
    request = prepare_reply(agent, steps, catalog=catalog)
    _refuse_lost(request, steps, first)
    return request


def _model(name: str) -> str:
    if name:
        return name
    raise Refused(
        "No model is named: not in the request, not by an agent, and not by the session. Send `model`; "
        "GET /api/models lists those that are known."
    )


def _mode(asked: NewTurn, own: ContextMode, known: Known) -> ContextMode:
    """`provider_default` in an agent says nothing, so that preferences count for it."""
    if asked.context_mode is not None:
        return asked.context_mode
    return known.preferences.context_mode if own is ContextMode.PROVIDER_DEFAULT else own


def _refuse_lost(prepared: PreparedRequest, steps: tuple[Step, ...], first: int) -> None:
    """A result that would not be sent is refused: whoever sent it believes that the model will see it."""
    for line in prepared.report.lines:
        step = steps[line.step]
        if line.step >= first and line.fate is Fate.WITHHELD and isinstance(step, ToolMessage):
            raise Refused(
                f"The result for call {step.call_id!r} cannot be sent. {WHY[line.code]} "
                "Answer every call of the last turn, each by its call_id."
            )
