"""Turns: begun, read as they stand, and cancelled. Their stream is in `server.events`."""

import asyncio

import msgspec

from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.run import waits
from thinkaloud.server.bodies import TurnBody, TurnBrief, WaitingCall
from thinkaloud.server.handlers.sessions import session_of, turn_brief
from thinkaloud.server.live_turn import turn_so_far
from thinkaloud.server.refusals import Conflict, NotFound
from thinkaloud.server.routing import Call, Reply
from thinkaloud.store import preferences, sessions, turns
from thinkaloud.store.messages import messages_of, stamps_of, turn_of
from thinkaloud.store.rows import Role, State, TurnRow
from thinkaloud.transcript import Approval, Turn
from thinkaloud.view import copy_text, gateway, speech_text, thinking_block

ACCEPTED = 202


async def start(call: Call) -> Reply:
    """Ask: 202 with the turn that begins, or 200 with the one that this very request has begun before."""
    session = session_of(call)
    started = await call.gateway.runs.start(session, call.body, call.headers.get("idempotency-key", ""))
    brief = turn_brief(started.turn, session.id)
    return Reply(content=brief, status=ACCEPTED if started.new else 200)


async def read(call: Call) -> TurnBody:
    """A turn as it stands, while it runs and after."""
    database, row = call.gateway.database, _turn_row(call)
    turn = await turn_now(call, row)
    if row.state is State.RUNNING and not turn.live:
        row = await _again(call, row)  # it came to its end while it was looked at
    wishes = await database.read(lambda conn: preferences.read(conn, call.owner))
    # A turn may be megabytes long, and everybody else's streams go on meanwhile.
    return await asyncio.to_thread(_body, await _brief(call, row), turn, wishes.language)


async def cancel(call: Call) -> Reply:
    """End a turn that runs: 202; one that is over stays as it is: 200."""
    row = _turn_row(call)
    if row.state is not State.RUNNING:
        return Reply(content=await _brief(call, row))
    if await call.gateway.runs.cancel(row):
        return Reply(content=await _brief(call, await _again(call, row)), status=ACCEPTED)
    row = await _again(call, row)
    if row.state is State.RUNNING:
        raise Conflict("This turn runs in another gateway, which alone can cancel it. Ask that one.")
    return Reply(content=await _brief(call, row))


async def answer_now(call: Call) -> Reply:
    """Stop the thinking of a turn, and have it answer."""
    row = _turn_row(call)
    call.gateway.runs.live_turn(row).answer_now()
    return Reply(content=await _brief(call, row), status=ACCEPTED)


async def settle(call: Call) -> Reply:
    """Let a call run that waits for it, or not."""
    row, decision = _turn_row(call), call.body
    by = call.granted.user.name if call.granted.user else ""
    call.gateway.runs.live_turn(row).settle(decision.block, granted=decision.granted, by=by)
    return Reply(content=await _brief(call, row), status=ACCEPTED)


async def turn_now(call: Call, row: TurnRow) -> Turn:
    """A turn from its rows when it is over, and from its log so far while it runs."""
    if row.state is State.RUNNING:
        return await turn_so_far(call.gateway.log, row.key)
    told = await call.gateway.database.read(lambda conn: messages_of(conn, [row.key]))
    said = [message for message in told.get(row.key, ()) if message.role is Role.ASSISTANT]
    if not said:
        raise NotFound()
    return turn_of(said[-1])


def _body(brief: TurnBrief, turn: Turn, language: str) -> TurnBody:
    return TurnBody(
        **msgspec.structs.asdict(brief),
        **msgspec.structs.asdict(gateway(turn)),
        thinking_block=thinking_block(turn),
        copy_text=copy_text(turn),
        speech_text=speech_text(turn, language),
        outcome=turn.outcome,
        usage=turn.usage,
        cost=cost_of(turn, provider=brief.provider, at_ms=turn.started_ms),
        stamps=stamps_of(turn),
        notices=tuple(turn.notices),
        waiting=_waiting(turn),
    )


def _waiting(turn: Turn) -> tuple[WaitingCall, ...]:
    if not waits(turn):
        return ()
    calls = (block for block in turn.blocks if block.approval is Approval.ASKED and block.awaited)
    return tuple(WaitingCall(block=call.number, name=call.name, arguments=call.text) for call in calls)


def _turn_row(call: Call) -> TurnRow:
    assert call.granted.turn is not None
    return call.granted.turn


async def _again(call: Call, row: TurnRow) -> TurnRow:
    found = await call.gateway.database.read(lambda conn: turns.get(conn, call.owner, row.id))
    if found is None:
        raise NotFound()
    return found


async def _brief(call: Call, row: TurnRow) -> TurnBrief:
    session = await call.gateway.database.read(lambda conn: sessions.of_turn(conn, call.owner, row))
    if session is None:
        raise NotFound()
    return turn_brief(row, session.id)
