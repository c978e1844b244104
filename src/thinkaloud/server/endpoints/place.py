"""Places a client's request: after the turn that it continues, or in a new session with its history."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import Connection

from thinkaloud.canon import Entry, Refused
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.client.prepare import Options, parse_thinking, prepare, require_key
from thinkaloud.dialects.client_request import ClientAnswer, ClientRequest
from thinkaloud.server.agent_schemas import ToolBody
from thinkaloud.server.endpoints.history import (
    ClientExchange,
    ClientHistory,
    RememberedTurn,
    events_of_answer,
    fingerprint_after,
    match_turns,
    read_history,
    referenced_turns,
    results_for,
)
from thinkaloud.server.schemas import FileBody, ImageBody, NewTurn, ToolResult
from thinkaloud.store import finish, sessions
from thinkaloud.store.archive import decode_entries, log_lines
from thinkaloud.store.client_turns import find_answers
from thinkaloud.store.messages import messages_of, turn_of
from thinkaloud.store.rows import Owner, Role, Session, TurnRow
from thinkaloud.store.turns import StartedTurn, TurnRequest, normalized_texts

if TYPE_CHECKING:
    from thinkaloud.server.gateway import Gateway


MAX_COPIED_ANSWERS = 2000
"""The most answers of a client's history that are copied into a new session."""


class _CopiedExchange(NamedTuple):
    """An exchange of a client's history, and the stored turn behind it with the lines of its log."""

    exchange: ClientExchange
    match: RememberedTurn | None
    lines: list[bytes]


async def start_client_turn(gateway: "Gateway", owner: Owner, request: ClientRequest) -> StartedTurn:
    """Start the turn that answers a client's request.

    It follows the stored turn that gave the last answer in the client's history. If there is none, or its
    session is busy with another request, a new session gets a copy of the history first.
    """
    # Refuse a model that cannot be asked before anything is copied.
    require_key(prepare("", model=request.model, options=Options(catalog=gateway.catalog)).route)
    if request.continues:
        return await _continue_named(gateway, owner, request)
    history = read_history(request.steps)
    last = await gateway.database.read(lambda conn: _find_last(conn, owner, history))
    if last is not None:
        try:
            return await _follow(gateway, request, history, last)
        except sessions.TurnRunning:
            pass  # a second request of the same conversation, at the same time: it gets its own session
    session, last = await _copy_history(gateway, owner, request.model, history)
    try:
        body = _new_turn(request, history, last)
        return await gateway.turns.start(session, body, client_history=history.fingerprint)
    except Exception:
        await gateway.database.write(lambda conn: sessions.delete(conn, owner, session.id))
        raise


async def _continue_named(gateway: "Gateway", owner: Owner, request: ClientRequest) -> StartedTurn:
    """Start a turn that follows the one whose id the client sent in place of the conversation."""
    named = await gateway.database.read(lambda conn: _remembered(conn, owner, (), (request.continues,)))
    if not named or not named[0].fingerprint:
        raise Refused(
            "The response that this request continues is not known here, or has not ended. Send the whole "
            "conversation instead."
        )
    history = read_history(request.steps, fingerprint_after(named[0]))
    if history.exchanges:
        raise Refused("Send either `previous_response_id` or the earlier answers, not both.")
    return await _follow(gateway, request, history, named[0])


async def _follow(
    gateway: "Gateway", request: ClientRequest, history: ClientHistory, last: RememberedTurn
) -> StartedTurn:
    session = await gateway.database.read(lambda conn: sessions.session_of_turn(conn, last.row))
    if session is None:
        raise sessions.SessionGone("The session of this conversation was deleted. Send the request again.")
    body = _new_turn(request, history, last, follows=last.row.id)
    return await gateway.turns.start(session, body, client_history=history.fingerprint)


def _find_last(conn: Connection, owner: Owner, history: ClientHistory) -> RememberedTurn | None:
    """Return the stored turn that gave the last answer, to exactly the history that the client still has."""
    if not history.exchanges:
        return None
    exchange = history.exchanges[-1]
    remembered = _remembered(conn, owner, (exchange.fingerprint,), ())
    return match_turns((exchange,), remembered)[0]


def _find_all(conn: Connection, owner: Owner, history: ClientHistory) -> list[_CopiedExchange]:
    """Return all exchanges of a history with the stored turns behind them."""
    fingerprints = [exchange.fingerprint for exchange in history.exchanges]
    remembered = _remembered(conn, owner, fingerprints, referenced_turns(history))
    return [
        _CopiedExchange(exchange, match, [] if match is None else list(log_lines(conn, match.row.key)))
        for exchange, match in zip(history.exchanges, match_turns(history.exchanges, remembered), strict=True)
    ]


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


def _new_turn(
    request: ClientRequest, history: ClientHistory, last: RememberedTurn | None, *, follows: str = ""
) -> NewTurn:
    answer = history.exchanges[-1].answer if history.exchanges else ClientAnswer()
    asked = results_for(last, answer, history.asked)
    prompts = [step for step in asked if isinstance(step, UserMessage)]
    setting = parse_thinking(request.thinking)
    body = NewTurn(
        prompt="\n\n".join(prompt.text for prompt in prompts if prompt.text),
        images=tuple(
            ImageBody(media_type=image.media_type, data=image.data)
            for prompt in prompts
            for image in prompt.images
        ),
        files=tuple(
            FileBody(media_type=file.media_type, data=file.data, name=file.name)
            for prompt in prompts
            for file in prompt.files
        ),
        tool_results=tuple(
            ToolResult(
                call_id=step.call_id,
                result=step.result,
                name=step.name,
                failed=step.failed,
                images=tuple(
                    ImageBody(media_type=image.media_type, data=image.data) for image in step.images
                ),
            )
            for step in asked
            if isinstance(step, ToolMessage)
        ),
        follows=follows,
        model=request.model,
        system=request.system,
        thinking=setting.level or setting.budget_tokens,
        on_thinking_unavailable="warn",
        max_tokens=request.max_tokens,
        output_schema=request.output_schema,
        **msgspec.structs.asdict(request.sampling),
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
    try:
        # The bounds of the fields hold for every client.
        return msgspec.convert(msgspec.to_builtins(body), NewTurn)
    except msgspec.ValidationError as error:
        raise Refused(f"The request cannot be carried out: {error}.") from None


async def _copy_history(
    gateway: "Gateway", owner: Owner, model: str, history: ClientHistory
) -> tuple[Session, RememberedTurn | None]:
    """Create a session with the client's history, and return it with the turn behind the last answer.

    Turns that are known are copied whole, others are as the client has them. Each is saved by itself, because
    a long write would delay all other turns.
    """
    if len(history.exchanges) > MAX_COPIED_ANSWERS:
        raise Refused(
            f"The conversation has more than {MAX_COPIED_ANSWERS:,} answers, and its last one is not known "
            "here. Shorten it."
        )
    now_ms = gateway.now_ms()
    session = await gateway.database.write(
        lambda conn: sessions.create(conn, owner, now_ms=now_ms, model=model)
    )
    if not history.exchanges:
        return session, None
    try:
        await gateway.database.write(lambda conn: sessions.hide(conn, session))
        copies = await gateway.database.read(lambda conn: _find_all(conn, owner, history))
        for previous, copy in zip((None, *copies), copies, strict=False):
            save = await asyncio.to_thread(_prepare_copy, session, copy, previous, now_ms)
            await gateway.database.write(save)
    except BaseException:  # also a client that left meanwhile
        await asyncio.shield(
            gateway.database.write(lambda conn: sessions.drop_partial_imports(conn, session))
        )
        raise
    session = await gateway.database.write(lambda conn: sessions.end_import(conn, session, now_ms))
    return session, copies[-1].match


def _prepare_copy(
    session: Session, copy: _CopiedExchange, previous: _CopiedExchange | None, now_ms: int
) -> Callable[[Connection], TurnRow]:
    """Return the write that saves an exchange. All work that needs no database is done here."""
    exchange, match = copy.exchange, copy.match
    asked = exchange.asked
    if previous is not None:
        asked = results_for(previous.match, previous.exchange.answer, asked)
    if match is None:
        events = events_of_answer(exchange.answer, session.model)
        entries = [Entry(seq, event) for seq, event in enumerate(events)]
    else:
        entries = list(decode_entries(copy.lines))
    request = TurnRequest(
        messages=asked,
        model=match.row.model if match else session.model,
        agent=match.row.agent if match else "",
        provider=match.row.provider if match else "",
        prefix=match.row.prefix if match else "",
        client_history=exchange.fingerprint,
        imported=True,
        normalized_texts=normalized_texts(asked),
    )
    return partial(
        finish.save_imported,
        session=session,
        request=request,
        finished=finish.finished_from_entries(entries),
        created_ms=now_ms,
    )
