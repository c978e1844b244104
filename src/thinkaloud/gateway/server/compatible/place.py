"""Places a client's request: after the turn that it continues, or in a new session with its history."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import Connection

from thinkaloud.client.prepared_request import Options, prepare, require_key
from thinkaloud.core.canon import Entry, Refused, reason_of
from thinkaloud.core.canon.requests import (
    RequestOptions,
    ToolDefinition,
    ToolMessage,
    TurnRequest,
    UserMessage,
    options_of,
)
from thinkaloud.core.dialects.client_request import ClientAnswer, ClientRequest, Thread, joined_message
from thinkaloud.core.export.client_answers import answer_of, events_of_answer
from thinkaloud.gateway.server.compatible.history import (
    ClientExchange,
    ClientHistory,
    RememberedTurn,
    fingerprint_after,
    match_turns,
    read_history,
    referenced_turns,
    results_for,
)
from thinkaloud.gateway.server.http.errors import ThreadBusy, ThreadNotFound
from thinkaloud.gateway.server.streams.entry_feed import EntryFeed
from thinkaloud.gateway.server.turns.prepare import HeldTools, read_options
from thinkaloud.gateway.server.turns.registry import ClientTurn
from thinkaloud.gateway.store.log import finish
from thinkaloud.gateway.store.log.archive import decode_entries, log_lines
from thinkaloud.gateway.store.queries import sessions
from thinkaloud.gateway.store.queries.messages import messages_of, turn_of
from thinkaloud.gateway.store.queries.turns import NewTurnRow, StartedTurn, find_answers, normalized_texts
from thinkaloud.gateway.store.rows import Owner, Role, Session, SessionClient, TurnRow

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

MAX_COPIED_ANSWERS = 2000
"""The most answers of a client's history that are copied into a new session."""
MAX_BRANCHED_ANSWERS = 20
"""The most answers after the first change of a history that are added to its session, in one write."""

MAX_HELD_TOOLS = 1000
"""The most tools that a thread holds, withdrawn ones too, so that it cannot grow for ever."""


class _CopiedExchange(NamedTuple):
    """An exchange of a client's history, and the stored turn behind it."""

    exchange: ClientExchange
    match: RememberedTurn | None

    @property
    def known(self) -> bool:
        """Whether the stored turn answered exactly the history that the client has before it."""
        return self.match is not None and self.match.fingerprint == self.exchange.fingerprint


class _Thread(NamedTuple):
    """A conversation of which the client sends only what is new."""

    last: RememberedTurn
    system: str
    held: HeldTools
    holder: str
    """The id of the turn that stores the tools."""


class _PreparedCopy(NamedTuple):
    """An exchange, ready to be saved."""

    request: NewTurnRow
    finished: finish.FinishedTurn


async def start_client_turn(
    gateway: "Gateway", owner: Owner, request: ClientRequest, client: SessionClient, feed: EntryFeed
) -> StartedTurn:
    """Start the turn that answers a request of this client, and pass its entries to `feed`.

    It follows the stored turn that gave the last answer in the client's history. If there is none, or its
    session is busy with another request, a new session gets a copy of the history first.
    """
    history = read_history(request.steps)
    held = None if request.thread is Thread.NONE else HeldTools(request.tools, request.tool_offers)
    if not history.exchanges and not request.continues:
        turn_request = _turn_request(request, history, None)
        client_turn = ClientTurn(history.fingerprint, feed, held)
        return await gateway.turns.start_in_new_session(owner, turn_request, client, client_turn)
    # Refuse a model that cannot be asked before anything is copied.
    require_key(prepare("", model=request.model, options=Options(catalog=gateway.catalog)).route)
    request = await _with_referenced_answers(gateway, owner, request)
    if request.thread is Thread.CONTINUE:
        return await _continue_thread(gateway, owner, request, feed)
    if request.continues:
        return await _continue_named(gateway, owner, request, feed)
    history = read_history(request.steps)
    client_turn = ClientTurn(history.fingerprint, feed, held)
    last = await gateway.database.read(lambda conn: _find_last(conn, owner, history))
    if last is not None:
        try:
            return await _follow(gateway, request, history, last, client_turn)
        except sessions.TurnRunning:
            pass  # a second request of the same conversation, at the same time: it gets its own session
    if branched := await _branch_history(gateway, owner, history):
        session, last, follows = branched
        turn_request = _turn_request(request, history, last, follows=follows)
        return await gateway.turns.start(session, turn_request, client_turn=client_turn)
    async with _hidden_session(gateway, owner, request.model, client, history) as session:
        last = await _copy_history(gateway, owner, session, history)
        turn_request = _turn_request(request, history, last)
        return await gateway.turns.start(session, turn_request, client_turn=client_turn)


async def _with_referenced_answers(gateway: "Gateway", owner: Owner, request: ClientRequest) -> ClientRequest:
    """Put the answers of stored turns in the places where the client sent references to their items."""
    ids = {step.turn for step in request.steps if isinstance(step, ClientAnswer) and step.turn}
    if not ids:
        return request
    remembered = await gateway.database.read(lambda conn: _remembered(conn, owner, (), ids))
    answers = {found.row.id: answer_of(found.turn) for found in remembered}
    if ids - answers.keys():
        raise Refused(
            "An `item_reference` refers to an item that is not known here. Send the item itself instead."
        )
    steps = tuple(
        answers[step.turn] if isinstance(step, ClientAnswer) and step.turn else step for step in request.steps
    )
    return msgspec.structs.replace(request, steps=steps)


async def _continue_named(
    gateway: "Gateway", owner: Owner, request: ClientRequest, feed: EntryFeed
) -> StartedTurn:
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
    return await _follow(gateway, request, history, named[0], ClientTurn(history.fingerprint, feed))


async def _continue_thread(
    gateway: "Gateway", owner: Owner, request: ClientRequest, feed: EntryFeed
) -> StartedTurn:
    """Start a turn that follows the named one, with the system prompt and the tools that are held.

    Each refusal has a code at which the client sends the whole conversation again.
    """
    thread = await gateway.database.read(lambda conn: _find_thread(conn, owner, request.continues))
    if thread is None:
        raise ThreadNotFound(
            "The thread that this request continues is not held here, or its last answer has not ended. Send "
            "the whole conversation, with `thread.type` set to `create`."
        )
    history = read_history(request.steps, fingerprint_after(thread.last))
    if history.exchanges:
        raise ThreadNotFound(
            "Answers that were not given here cannot be added to a thread. Send the whole conversation, with "
            "`thread.type` set to `create`."
        )
    held = HeldTools(_merged(thread.held.tools, request.tools), thread.held.offers | request.tool_offers)
    if max(len(held.tools), len(held.offers)) > MAX_HELD_TOOLS:
        raise ThreadNotFound(
            "A thread holds at most {max_held_tools} tools, withdrawn ones too. Send the whole "
            "conversation, with `thread.type` set to `create`.",
            max_held_tools=f"{MAX_HELD_TOOLS:,}",
        )
    request = msgspec.structs.replace(
        request,
        system=_extended(thread.system, request.system),
        tools=held.tools,
        tool_offers=held.offers,
    )
    if held == thread.held:
        # A thread has many turns and, mostly, the same tools. They are stored once.
        held = HeldTools(turn=thread.holder)
    client_turn = ClientTurn(history.fingerprint, feed, held)
    try:
        return await _follow(gateway, request, history, thread.last, client_turn)
    except sessions.SessionGone:
        raise ThreadNotFound(
            "The thread that this request continues has just been deleted. Send the whole conversation, with "
            "`thread.type` set to `create`."
        ) from None
    except sessions.TurnRunning:
        raise ThreadBusy(
            "Another request continues this conversation at the moment. Wait for it, or send the whole "
            "conversation, with `thread.type` set to `create`."
        ) from None


def _extended(held: str, sent: str) -> str:
    """Return a thread's system prompt with what the client sent, unless it ends with that already."""
    if f"\n\n{held}".endswith(f"\n\n{sent}"):
        return held
    return "\n\n".join(filter(None, (held, sent)))


def _find_thread(conn: Connection, owner: Owner, turn_id: str) -> _Thread | None:
    """Return the thread whose last answer this turn gave; None if it is not held."""
    named = _remembered(conn, owner, (), (turn_id,))
    if not named:
        return None
    options = read_options(named[0].row)
    held, holder = options.held, turn_id
    if held is not None and held.turn:
        holder = held.turn
        rows = find_answers(conn, owner, (), (holder,))
        held = read_options(rows[0][0]).held if rows else None
    return None if held is None else _Thread(named[0], options.system, held, holder)


def _merged(held: Iterable[ToolDefinition], sent: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    return tuple({tool.name: tool for tool in (*held, *sent)}.values())


async def _follow(
    gateway: "Gateway",
    request: ClientRequest,
    history: ClientHistory,
    last: RememberedTurn,
    client_turn: ClientTurn,
) -> StartedTurn:
    session = await gateway.database.read(lambda conn: sessions.session_of_turn(conn, last.row))
    if session is None:
        raise sessions.SessionGone("The session of this conversation was deleted. Send the request again.")
    turn_request = _turn_request(request, history, last, follows=last.row.id)
    return await gateway.turns.start(session, turn_request, client_turn=client_turn)


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
    matches = match_turns(history.exchanges, remembered)
    return list(map(_CopiedExchange, history.exchanges, matches))


def _lines_of(conn: Connection, copies: Iterable[_CopiedExchange]) -> list[list[bytes]]:
    """Return the log of each exchange whose turn is known; nothing for the others."""
    return [[] if copy.match is None else list(log_lines(conn, copy.match.row.key)) for copy in copies]


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


def _turn_request(
    request: ClientRequest, history: ClientHistory, last: RememberedTurn | None, *, follows: str = ""
) -> TurnRequest:
    """Return what is new in a client's request. Its prompts are one message, after the tool results."""
    answer = history.exchanges[-1].answer if history.exchanges else ClientAnswer()
    asked = results_for(last, answer, history.asked)
    results = [step for step in asked if isinstance(step, ToolMessage)]
    prompts = [step for step in asked if isinstance(step, UserMessage)]
    prompt = joined_message(
        [prompt.text for prompt in prompts],
        [image for prompt in prompts for image in prompt.images],
        [file for prompt in prompts for file in prompt.files],
    )
    options = options_of(request)
    try:
        # The bounds of the options hold for every client.
        msgspec.convert(options, RequestOptions)
    except msgspec.ValidationError as error:
        raise Refused("The request cannot be carried out: {reason}.", reason=reason_of(error)) from None
    return TurnRequest(
        **options,
        messages=(*results, prompt) if prompt.text.strip() or prompt.images or prompt.files else (*results,),
        model=request.model,
        tools=request.offered_tools,
        follows=follows,
    )


@asynccontextmanager
async def _hidden_session(
    gateway: "Gateway", owner: Owner, model: str, client: SessionClient, history: ClientHistory
) -> AsyncIterator[Session]:
    """Create a session to copy a history to. It is deleted if the block fails or is cancelled."""
    if len(history.exchanges) > MAX_COPIED_ANSWERS:
        raise Refused(
            "The conversation has more than {max_copied_answers} answers, and its last one is not "
            "known here. Shorten it.",
            max_copied_answers=f"{MAX_COPIED_ANSWERS:,}",
        )
    now_ms = gateway.now_ms()
    new = sessions.NewClientSession(model=model, client=client)

    def create(conn: Connection) -> Session:
        session = sessions.create_for_client(conn, owner, new, now_ms)
        sessions.hide(conn, session)
        return session

    def drop(conn: Connection) -> None:
        sessions.drop_partial_imports(conn, session)
        sessions.delete(conn, owner, session.id)  # if it is visible already

    session = await gateway.database.write(create)
    try:
        yield session
    except asyncio.CancelledError:  # the client left, or the disk does not respond
        gateway.write_later(drop)
        raise
    except Exception:
        await gateway.database.write(drop)
        raise


async def _copy_history(
    gateway: "Gateway", owner: Owner, session: Session, history: ClientHistory
) -> RememberedTurn | None:
    """Copy the client's history to a hidden session and show it. Return the turn behind the last answer.

    Turns that are known are copied whole, others are as the client has them. Each is saved by itself, because
    a long write would delay all other turns.
    """
    now_ms = gateway.now_ms()
    copies = await gateway.database.read(lambda conn: _find_all(conn, owner, history))
    for previous, copy in zip((None, *copies), copies, strict=False):
        (lines,) = await gateway.database.read(partial(_lines_of, copies=(copy,)))
        prepared = await asyncio.to_thread(_prepare_copy, session, copy, previous, lines)
        request = msgspec.structs.replace(prepared.request, imported=True)
        await gateway.database.write(
            partial(_save_copy, session=session, copy=prepared._replace(request=request), now_ms=now_ms)
        )
    await gateway.database.write(lambda conn: sessions.end_import(conn, session, now_ms))
    return copies[-1].match if copies else None


async def _branch_history(
    gateway: "Gateway", owner: Owner, history: ClientHistory
) -> tuple[Session, RememberedTurn | None, str] | None:
    """Add what the client changed of a known history to its session, as a branch.

    Return the session, the stored turn behind the last answer, and the id of the last turn of the branch.
    Return None if the beginning of the history is not known, too much follows it, or the session is busy.
    """
    copies = await gateway.database.read(lambda conn: _find_all(conn, owner, history))
    first = 1 + max((number for number, copy in enumerate(copies) if copy.known), default=-1)
    before, changed = copies[:first], copies[first:]
    base = before[-1].match if before else None
    if base is None or not 0 < len(changed) <= MAX_BRANCHED_ANSWERS:
        return None
    session = await gateway.database.read(lambda conn: sessions.session_of_turn(conn, base.row))
    if session is None:
        return None
    all_lines = await gateway.database.read(partial(_lines_of, copies=changed))
    prepared = [
        await asyncio.to_thread(_prepare_copy, session, copy, previous, lines)
        for previous, copy, lines in zip(copies[first - 1 :], changed, all_lines, strict=False)
    ]
    now_ms = gateway.now_ms()

    def save(conn: Connection) -> TurnRow:
        row = base.row
        for copy in prepared:
            request = msgspec.structs.replace(copy.request, parent=row.key)
            row = _save_copy(conn, session, copy._replace(request=request), now_ms)
        return row

    try:
        last = await gateway.database.write(save)
    except sessions.TurnRunning:
        return None
    return session, changed[-1].match, last.id


def _save_copy(conn: Connection, session: Session, copy: _PreparedCopy, now_ms: int) -> TurnRow:
    return finish.save_imported(conn, session, copy.request, copy.finished, created_ms=now_ms).turn


def _prepare_copy(
    session: Session, copy: _CopiedExchange, previous: _CopiedExchange | None, lines: list[bytes]
) -> _PreparedCopy:
    """Prepare an exchange to be saved. All work that needs no database is done here."""
    exchange, match = copy.exchange, copy.match
    asked = exchange.asked
    if previous is not None:
        asked = results_for(previous.match, previous.exchange.answer, asked)
    if match is None:
        events = events_of_answer(exchange.answer, session.model)
        entries = [Entry(seq, event) for seq, event in enumerate(events)]
    else:
        entries = list(decode_entries(lines))
    request = NewTurnRow(
        messages=asked,
        model=match.row.model if match else session.model,
        agent=match.row.agent if match else "",
        provider=match.row.provider if match else "",
        prefix=match.row.prefix if match else "",
        client_history=exchange.fingerprint,
        normalized_texts=normalized_texts(asked),
    )
    return _PreparedCopy(request, finish.finished_from_entries(entries))
