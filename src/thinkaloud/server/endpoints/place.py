"""Places a client's request: after the turn that it continues, or in a new session with its history."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Entry, Refused
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.client.prepare import parse_thinking
from thinkaloud.dialects.client_request import ClientAnswer, ClientRequest
from thinkaloud.server.agent_schemas import ToolBody
from thinkaloud.server.endpoints.history import (
    Asked,
    ClientExchange,
    ClientHistory,
    RememberedTurn,
    events_of_answer,
    match_turns,
    read_history,
    referenced_turns,
    results_for,
)
from thinkaloud.server.schemas import ImageBody, NewTurn, ToolResult
from thinkaloud.store import finish, sessions
from thinkaloud.store.archive import decode_entries, log_lines
from thinkaloud.store.client_turns import find_answers
from thinkaloud.store.messages import messages_of, turn_of
from thinkaloud.store.rows import Owner, Role, Session
from thinkaloud.store.turns import StartedTurn, TurnRequest

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


async def start_client_turn(gateway: "Gateway", owner: Owner, request: ClientRequest) -> StartedTurn:
    """Start the turn that answers a client's request.

    It follows the stored turn that gave the last answer in the client's history. If there is none, or its
    session is busy with another request, a new session gets a copy of the history first.
    """
    history = read_history(request.steps)
    matches = await gateway.database.read(lambda conn: _find_matches(conn, owner, history))
    last = matches[-1] if matches else None
    if request.continues:
        last = await gateway.database.read(lambda conn: _find_named(conn, owner, request.continues))
    if last is not None and (request.continues or _continues(history, last)):
        session = await gateway.database.read(lambda conn: sessions.session_of_turn(conn, last.row))
        assert session is not None
        body = _new_turn(request, history, last)
        try:
            return await gateway.turns.start(session, body, client_history=history.fingerprint)
        except sessions.TurnRunning:
            pass  # a second request of the same conversation, at the same time: it gets its own session
    session = await gateway.database.write(
        lambda conn: _create_session(conn, owner, request.model, history, matches, gateway.now_ms())
    )
    body = msgspec.structs.replace(_new_turn(request, history, last), follows="")
    return await gateway.turns.start(session, body, client_history=history.fingerprint)


def _continues(history: ClientHistory, last: RememberedTurn) -> bool:
    """Whether the stored turn answered exactly the history that the client still has."""
    return last.fingerprint == history.exchanges[-1].fingerprint


def _find_matches(conn: Connection, owner: Owner, history: ClientHistory) -> list[RememberedTurn | None]:
    if not history.exchanges:
        return []
    fingerprints = [exchange.fingerprint for exchange in history.exchanges]
    return match_turns(history, _remembered(conn, owner, fingerprints, referenced_turns(history)))


def _find_named(conn: Connection, owner: Owner, turn_id: str) -> RememberedTurn:
    for remembered in _remembered(conn, owner, (), (turn_id,)):
        return remembered
    raise Refused(
        "The response that this request continues is not known here, or has not ended. Send the whole "
        "conversation instead."
    )


def _remembered(
    conn: Connection, owner: Owner, fingerprints: Iterable[bytes], turn_ids: Iterable[str]
) -> list[RememberedTurn]:
    rows = find_answers(conn, owner, fingerprints, turn_ids)
    messages = messages_of(conn, [row.key for row, _ in rows])
    return [
        RememberedTurn(row, fingerprint, turn_of(message))
        for row, fingerprint in rows
        for message in messages.get(row.key, ())
        if message.role is Role.ASSISTANT
    ]


def _new_turn(request: ClientRequest, history: ClientHistory, last: RememberedTurn | None) -> NewTurn:
    answer = history.exchanges[-1].answer if history.exchanges else ClientAnswer()
    asked = results_for(last.turn if last else None, answer, history.asked)
    prompts = [step for step in asked if isinstance(step, UserMessage)]
    setting = parse_thinking(request.thinking)
    return NewTurn(
        prompt="\n\n".join(prompt.text for prompt in prompts if prompt.text),
        images=tuple(
            ImageBody(media_type=image.media_type, data=image.data)
            for prompt in prompts
            for image in prompt.images
        ),
        tool_results=tuple(
            ToolResult(call_id=step.call_id, result=step.result, name=step.name, failed=step.failed)
            for step in asked
            if isinstance(step, ToolMessage)
        ),
        follows=last.row.id if last else "",
        model=request.model,
        system=request.system,
        thinking=setting.level or setting.budget_tokens,
        on_thinking_unavailable="warn",
        max_tokens=request.max_tokens,
        tools=tuple(
            ToolBody(
                name=tool.name,
                description=tool.description,
                parameters=msgspec.json.decode(tool.parameters, type=dict[str, object]),
            )
            for tool in request.tools
        ),
        tool_choice=request.tool_choice,
    )


def _create_session(
    conn: Connection,
    owner: Owner,
    model: str,
    history: ClientHistory,
    matches: list[RememberedTurn | None],
    now_ms: int,
) -> Session:
    """Create a session with the client's history. Turns that are known are copied whole."""
    session = sessions.create(conn, owner, now_ms=now_ms, model=model)
    if not history.exchanges:
        return session
    sessions.hide(conn, session)
    previous: RememberedTurn | None = None
    answer = ClientAnswer()
    for exchange, match in zip(history.exchanges, matches, strict=True):
        asked = results_for(previous.turn if previous else None, answer, exchange.asked)
        _save_exchange(conn, session, exchange, match, asked, now_ms)
        previous, answer = match, exchange.answer
    return sessions.end_import(conn, session, now_ms)


def _save_exchange(
    conn: Connection,
    session: Session,
    exchange: ClientExchange,
    match: RememberedTurn | None,
    asked: Asked,
    now_ms: int,
) -> None:
    if match is None:
        events = events_of_answer(exchange.answer, session.model)
        entries = [Entry(seq, event) for seq, event in enumerate(events)]
    else:
        entries = list(decode_entries(log_lines(conn, match.row.key)))
    request = TurnRequest(
        messages=asked,
        model=match.row.model if match else session.model,
        provider=match.row.provider if match else "",
        prefix=match.row.prefix if match else "",
        client_history=exchange.fingerprint,
        imported=True,
    )
    finished = finish.finished_from_entries(entries)
    finish.save_imported(conn, session, request, finished, created_ms=now_ms)
