"""Turns: begun, read as they stand, and cancelled. Their stream is in `server.events`."""

import asyncio

import msgspec

from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.run import waits_for_approval
from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.errors import Conflict, NotFound
from thinkaloud.server.handlers.sessions import request_session, turn_summary
from thinkaloud.server.running_turn import visible_turn
from thinkaloud.server.schemas import TurnBody, TurnSummary, WaitingCall
from thinkaloud.store import preferences, sessions, turns
from thinkaloud.store.messages import messages_of, timestamps_of, turn_of
from thinkaloud.store.rows import Role, TurnRow, TurnState
from thinkaloud.transcript import Approval, Turn
from thinkaloud.view import copy_text, gateway_answer, speech_text, thinking_block

ACCEPTED = 202


async def start(request: RouteRequest) -> RouteResponse:
    """Ask: 202 with the turn that begins, or 200 with the one that this very request has begun before."""
    session = request_session(request)
    started = await request.gateway.turns.start(
        session, request.body, request.headers.get("idempotency-key", "")
    )
    summary = turn_summary(started.turn, session.id)
    return RouteResponse(content=summary, status=ACCEPTED if started.new else 200)


async def read(request: RouteRequest) -> TurnBody:
    """A turn as it stands, while it runs and after."""
    database, row = request.gateway.database, _turn_row(request)
    turn = await current_turn(request, row)
    if row.state is TurnState.RUNNING and not turn.live:
        row = await _reload_row(request, row)  # it came to its end while it was looked at
    owner_preferences = await database.read(lambda conn: preferences.read(conn, request.owner))
    # A turn may be megabytes long, and everybody else's streams go on meanwhile.
    return await asyncio.to_thread(
        _turn_body, await _load_summary(request, row), turn, owner_preferences.language
    )


async def cancel(request: RouteRequest) -> RouteResponse:
    """End a turn that runs: 202; one that is over stays as it is: 200."""
    row = _turn_row(request)
    if row.state is not TurnState.RUNNING:
        return RouteResponse(content=await _load_summary(request, row))
    if await request.gateway.turns.cancel(row):
        return RouteResponse(
            content=await _load_summary(request, await _reload_row(request, row)), status=ACCEPTED
        )
    row = await _reload_row(request, row)
    if row.state is TurnState.RUNNING:
        raise Conflict("This turn runs in another gateway, which alone can cancel it. Ask that one.")
    return RouteResponse(content=await _load_summary(request, row))


async def answer_now(request: RouteRequest) -> RouteResponse:
    """Stop the thinking of a turn, and have it answer."""
    row = _turn_row(request)
    request.gateway.turns.running_turn(row).answer_now()
    return RouteResponse(content=await _load_summary(request, row), status=ACCEPTED)


async def decide_approval(request: RouteRequest) -> RouteResponse:
    """Let a call run that waits for it, or not."""
    row, decision = _turn_row(request), request.body
    decided_by = request.grant.user.name if request.grant.user else ""
    request.gateway.turns.running_turn(row).decide(decision.block, granted=decision.granted, by=decided_by)
    return RouteResponse(content=await _load_summary(request, row), status=ACCEPTED)


async def current_turn(request: RouteRequest, row: TurnRow) -> Turn:
    """A turn from its rows when it is over, and from its log so far while it runs."""
    if row.state is TurnState.RUNNING:
        return await visible_turn(request.gateway.log, row.key)
    messages_by_turn = await request.gateway.database.read(lambda conn: messages_of(conn, [row.key]))
    assistant_messages = [
        message for message in messages_by_turn.get(row.key, ()) if message.role is Role.ASSISTANT
    ]
    if not assistant_messages:
        raise NotFound()
    return turn_of(assistant_messages[-1])


def _turn_body(summary: TurnSummary, turn: Turn, language: str) -> TurnBody:
    return TurnBody(
        **msgspec.structs.asdict(summary),
        **msgspec.structs.asdict(gateway_answer(turn)),
        thinking_block=thinking_block(turn),
        copy_text=copy_text(turn),
        speech_text=speech_text(turn, language),
        outcome=turn.outcome,
        usage=turn.usage,
        cost=cost_of(turn, provider=summary.provider, at_ms=turn.started_ms),
        stamps=timestamps_of(turn),
        notices=tuple(turn.notices),
        waiting=_waiting_calls(turn),
    )


def _waiting_calls(turn: Turn) -> tuple[WaitingCall, ...]:
    if not waits_for_approval(turn):
        return ()
    calls = (block for block in turn.blocks if block.approval is Approval.ASKED and block.awaiting_result)
    return tuple(
        WaitingCall(block=tool_call.number, name=tool_call.name, arguments=tool_call.text)
        for tool_call in calls
    )


def _turn_row(request: RouteRequest) -> TurnRow:
    assert request.grant.turn is not None
    return request.grant.turn


async def _reload_row(request: RouteRequest, row: TurnRow) -> TurnRow:
    reloaded = await request.gateway.database.read(lambda conn: turns.get(conn, request.owner, row.id))
    if reloaded is None:
        raise NotFound()
    return reloaded


async def _load_summary(request: RouteRequest, row: TurnRow) -> TurnSummary:
    session = await request.gateway.database.read(
        lambda conn: sessions.owned_session_of_turn(conn, request.owner, row)
    )
    if session is None:
        raise NotFound()
    return turn_summary(row, session.id)
