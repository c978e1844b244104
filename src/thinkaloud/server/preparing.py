"""From a request for a turn to a request for a model: who answers, on what terms, after what conversation.

What cannot be asked is refused here, before anything is kept. Settings of the turn come first, then those of
its agent, of its session, of its owner's preferences.
"""

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Image, Level, ToolMessage, UserMessage
from thinkaloud.catalog import Catalog
from thinkaloud.client.prompting import Options, Prepared, need_key, prepare
from thinkaloud.context import WHY, ContextMode, Conversation, Fate, Said, Step
from thinkaloud.server.bodies import NewTurn
from thinkaloud.server.limits import Limits
from thinkaloud.server.refusals import TooLarge
from thinkaloud.store import agents, preferences, turns
from thinkaloud.store.messages import messages_of, turn_of
from thinkaloud.store.rows import Agent, AgentSpec, Message, Preferences, Role, Session, TurnRow
from thinkaloud.store.texts import storable

_TURNS_AT_ONCE = 200
_images = msgspec.json.Decoder(tuple[Image, ...])


class Known(msgspec.Struct, frozen=True):
    """What the store knows that matters for the next turn of a session."""

    session: Session
    steps: tuple[Step, ...]
    agent: Agent | None
    preferences: Preferences


def look_up(conn: Connection, session: Session, agent_id: str) -> Known:
    """Everything that was said so far, the agent, and the preferences; in one snapshot."""
    wanted = agent_id or session.agent
    agent = agents.get(conn, session.owner, wanted) if wanted else None
    if wanted and agent is None:
        raise Refused(f"There is no agent {wanted!r} in this workspace. Name another one, or none.")
    steps = tuple(
        step_of(message, row) for row, messages in told_turns(conn, session) for message in messages
    )
    return Known(session, steps, agent, preferences.read(conn, session.owner))


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


def step_of(message: Message, row: TurnRow) -> Step:
    """A kept message as a step of a conversation."""
    match message.role:
        case Role.USER:
            return UserMessage(message.content, images_of(message))
        case Role.TOOL:
            return ToolMessage(message.call_id, message.content, message.name, message.failed)
        case Role.ASSISTANT:
            return Said(turn_of(message), row.prefix, row.provider)


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


def model_of(asked: NewTurn, known: Known, default: str) -> str:
    """The model that is to answer."""
    if name := asked.model or (known.agent.spec.model if known.agent else known.session.model) or default:
        return name
    raise Refused(
        "No model is named: not in the request, not by an agent, and not by the session. Send `model`; "
        "GET /api/models lists those that are known."
    )


def prepared(
    asked: NewTurn, known: Known, said: tuple[UserMessage | ToolMessage, ...], model: str, catalog: Catalog
) -> Prepared:
    """The request, ready to go; refused where it cannot be asked as it stands."""
    spec = known.agent.spec if known.agent else None
    tools = spec.tools if spec else ()
    options = Options(
        tools=tools, max_tokens=asked.max_tokens, context_mode=_mode(asked, known), catalog=catalog
    )
    conversation = Conversation((*known.steps, *said), spec.system if spec else "", tools)
    ready = prepare(conversation, model=model, thinking=thinking_of(asked.thinking, spec), options=options)
    need_key(ready.route)
    _refuse_lost(ready, conversation, len(known.steps))
    return ready


def thinking_of(wanted: Level | int | None, spec: AgentSpec | None) -> str | int | None:
    """How hard to think, as `prepare` takes it; None leaves it to the model."""
    if wanted is not None or spec is None:
        return wanted
    if not spec.thinking:
        return Level.OFF
    return spec.budget_tokens or spec.level or Level.MEDIUM


def _mode(asked: NewTurn, known: Known) -> ContextMode:
    """`provider_default` in an agent says nothing, so that preferences count for it."""
    own = known.agent.spec.context_mode if known.agent else ContextMode.PROVIDER_DEFAULT
    if asked.context_mode is not None:
        return asked.context_mode
    return known.preferences.context_mode if own is ContextMode.PROVIDER_DEFAULT else own


def _refuse_lost(ready: Prepared, conversation: Conversation, first: int) -> None:
    """A result that would not be sent is refused: whoever sent it believes that the model will see it."""
    for line in ready.built.report.lines:
        step = conversation.steps[line.step]
        if line.step >= first and line.fate is Fate.WITHHELD and isinstance(step, ToolMessage):
            raise Refused(
                f"The result for call {step.call_id!r} cannot be sent. {WHY[line.code]} "
                "Answer every call of the last turn, each by its call_id."
            )
