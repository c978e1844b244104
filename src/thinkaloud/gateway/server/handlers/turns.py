"""Handlers for turns: start, read, cancel, answer now, approve. Their stream is in `server.turn_stream`."""

import asyncio

import msgspec

from thinkaloud.agents.prices import cost_of
from thinkaloud.agents.run import waits_for_approval
from thinkaloud.core.canon import Refused
from thinkaloud.core.catalog import ThinkingSupport, find_model
from thinkaloud.core.transcript import Approval, Turn
from thinkaloud.core.view import copy_text, gateway_answer, speech_text, thinking_block
from thinkaloud.gateway.server.handlers.sessions import request_session, turn_summary
from thinkaloud.gateway.server.http.errors import NotFound
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.schemas.sessions import (
    ContextBody,
    ContextLine,
    TurnBody,
    TurnSummary,
    WaitingCall,
)
from thinkaloud.gateway.server.streams.thought_filter import hide_thoughts
from thinkaloud.gateway.server.turns.commands import ANSWER_NOW, CANCEL
from thinkaloud.gateway.server.turns.running_turn import visible_turn
from thinkaloud.gateway.store.log.commands import CommandKind, TurnCommand
from thinkaloud.gateway.store.queries import sessions, turns
from thinkaloud.gateway.store.queries.messages import messages_of, timestamps_of, turn_of
from thinkaloud.gateway.store.rows import Role, ThinkingShown, TurnRow, TurnState

ACCEPTED = 202


async def start(request: RouteRequest) -> RouteResponse:
    """Start a turn (202), or return the one that the same request started before (200)."""
    session = request_session(request)
    started = await request.gateway.turns.start(
        session, request.body.turn_request(), request.headers.get("idempotency-key", "")
    )
    summary = turn_summary(started.turn, session.id)
    return RouteResponse(content=summary, status=ACCEPTED if started.new else 200)


async def read(request: RouteRequest) -> TurnBody:
    """Return a turn, running or ended."""
    gateway, row = request.gateway, _turn_row(request)
    turn = await current_turn(request, row)
    if row.state is TurnState.RUNNING and not turn.live:
        row = await _reload_row(request, row)  # the turn ended between the two reads
    owner_preferences = await gateway.database.read(
        lambda conn: gateway.preferences.read(conn, request.owner)
    )
    # A turn may be megabytes long, and building its body on the event loop would delay all streams.
    return await asyncio.to_thread(
        _turn_body,
        request,
        await _load_summary(request, row),
        turn,
        request.grant.thinking_of(row),
        owner_preferences.language,
    )


async def read_context(request: RouteRequest) -> ContextBody:
    """Return what of the conversation was sent back to the model with this turn's request, and why."""
    row = _turn_row(request)
    session = await request.gateway.database.read(
        lambda conn: sessions.owned_session_of_turn(conn, request.owner, row)
    )
    if session is None:
        raise NotFound()
    prepared = await request.gateway.turns.context_report(row, session)
    return ContextBody(
        turn=row.id,
        provider=prepared.route.provider.name,
        model=prepared.route.model_id,
        lines=tuple(
            ContextLine(
                step=line.step,
                block=line.block,
                kind=line.kind,
                status=line.status,
                code=line.code,
                reason=str(line.reason),
            )
            for line in prepared.report.lines
        ),
        notes=tuple(map(str, prepared.notes)),
    )


async def cancel(request: RouteRequest) -> RouteResponse:
    """Cancel a running turn (202). A turn that has ended is returned unchanged (200)."""
    row = _turn_row(request)
    if row.state is not TurnState.RUNNING:
        return RouteResponse(content=await _load_summary(request, row))
    try:
        await request.gateway.commands.run_command(row, CANCEL)
        status = ACCEPTED
    except Refused:
        status = 200  # it ended at this moment
        if (await _reload_row(request, row)).state is TurnState.RUNNING:
            raise
    row = await _reload_row(request, row)
    return RouteResponse(content=await _load_summary(request, row), status=status)


async def answer_now(request: RouteRequest) -> RouteResponse:
    """Stop the thinking of a running turn and make the model answer now."""
    row = _turn_row(request)
    await request.gateway.commands.run_command(row, ANSWER_NOW)
    return RouteResponse(content=await _load_summary(request, row), status=ACCEPTED)


async def decide_approval(request: RouteRequest) -> RouteResponse:
    """Approve or deny a tool call that waits for approval."""
    row = _turn_row(request)
    decision = request.body
    decided_by = request.grant.user.name if request.grant.user else ""
    command = TurnCommand(
        kind=CommandKind.DECIDE, block=decision.block, granted=decision.granted, given_by=decided_by
    )
    await request.gateway.commands.run_command(row, command)
    return RouteResponse(content=await _load_summary(request, row), status=ACCEPTED)


async def current_turn(request: RouteRequest, row: TurnRow) -> Turn:
    """Return a turn, from its message rows if it has ended, or from its log while it runs."""
    if row.state is TurnState.RUNNING:
        return await visible_turn(request.gateway.log, row.key)
    messages_by_turn = await request.gateway.database.read(lambda conn: messages_of(conn, [row.key]))
    for message in reversed(messages_by_turn.get(row.key, [])):
        if message.role is Role.ASSISTANT:
            return turn_of(message)
    raise NotFound()


def _turn_body(
    request: RouteRequest, summary: TurnSummary, full_turn: Turn, shown: ThinkingShown, language: str
) -> TurnBody:
    turn, catalog = hide_thoughts(full_turn, shown), request.gateway.catalog
    model = find_model(catalog, summary.model) or find_model(catalog, turn.model)
    supports = None if model is None else model.thinking is not ThinkingSupport.NONE
    return TurnBody(
        **msgspec.structs.asdict(summary),
        **msgspec.structs.asdict(gateway_answer(turn, model_supports=supports)),
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
