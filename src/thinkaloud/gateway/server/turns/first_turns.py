"""Starts the first turn of a session before it is saved, where no other process can look for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection

from thinkaloud.gateway.store.engine.database import Query
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.queries.keys import KeyReserve
from thinkaloud.gateway.store.queries.turns import NewTurnRow, StartedTurn
from thinkaloud.gateway.store.queries.values import new_id
from thinkaloud.gateway.store.rows import Session

if TYPE_CHECKING:
    from thinkaloud.gateway.server.gateway import Gateway

OpenSession = Callable[[Connection, int | None], Session]
"""Returns the session of a turn that starts. One that is created has the reserved key, if there is one."""


class FirstTurns:
    """Starts the first turns of sessions. The first commit of its log saves such a turn and its session."""

    def __init__(self, gateway: "Gateway") -> None:
        self._gateway = gateway
        self._key_reserve = KeyReserve(gateway.database)

    @property
    def may_start(self) -> bool:
        """Whether a turn may start before it is saved: not while the disk accepts no writes."""
        return self._gateway.database.exclusive and self._gateway.log.saved

    async def start(
        self, open_session: OpenSession, request: NewTurnRow
    ) -> tuple[StartedTurn, Query[object]]:
        """Return the turn, and the change that saves it with its session."""
        session_key, turn_key = await self._key_reserve.take()
        now_ms, writer = self._gateway.now_ms(), self._gateway.node.id
        request = msgspec.structs.replace(request, key=turn_key, id=new_id("trn"))

        def save(conn: Connection) -> None:
            session = open_session(conn, session_key)
            turns.start_turn(conn, session, request, now_ms=now_ms, writer=writer)

        return StartedTurn(turns.new_turn(request, session_key, now_ms=now_ms), new=True), save
