"""Faults of the gateway process: killed, stopped, paused, and given another time of day."""

import asyncio
import signal
from functools import partial
from typing import Any

import aiohttp
from tests.faults.client_faults import post_cancel
from tests.faults.disk_faults import check_copy
from tests.faults.fault_run import FaultRun, LiveTurn
from tests.faults.format_clients import FormatClients
from tests.faults.shifted_clock import write_shift

WHILE_LIVE = 0.8
"""The share of kills while all turns are live. The others hit while turns are started."""
IMPORTS = 4
CLIENTS_OF_A_FORMAT = 5
CANCEL_SHARE = 0.2
PAUSE_S = 1.5
HOUR_S = 3600
LONG = "r150-c150-ms10"
GONE = (aiohttp.ClientError, ConnectionError)
"""What a caller gets whose request is under way when the gateway is killed."""


class Request:
    """One request that creates something. It may be repeated with the same key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acknowledged = False


class KillRound:
    """Readers, writers, imports and cancels at work while the gateway is killed."""

    def __init__(self, run: FaultRun, sessions: list[str]) -> None:
        self.run = run
        self.requests = {session: Request(session) for session in sessions}
        self.imports = [Request(f"import {run.measured.kills}-{number}") for number in range(IMPORTS)]
        self.models = {session: run.pick_model(longest_words=200) for session in sessions}
        self.live_turns: dict[str, LiveTurn] = {}

    async def start_turn(self, session: str) -> None:
        """Start a turn and its readers, unless the gateway is killed meanwhile."""
        model = self.models[session]
        try:
            turn = await self.run.post_turn(session, model, session)
        except GONE:
            return
        self.requests[session].acknowledged = True
        self.live_turns[session] = self.run.follow(turn, session, model)
        if self.run.dice.random() < CANCEL_SHARE:
            await asyncio.sleep(self.run.dice.uniform(0.0, 1.0))
            try:
                await post_cancel(self.run, turn)
            except GONE:
                return

    async def import_session(self, request: Request) -> None:
        """Import a session, unless the gateway is killed meanwhile."""
        await asyncio.sleep(self.run.dice.uniform(0.0, 1.0))
        try:
            await self.run.caller.call("POST", "/api/import", import_file(request.name), status=201)
        except GONE:
            return
        request.acknowledged = True

    async def play(self) -> None:
        """Start everything, kill the gateway, start it again, and check what is left."""
        run = self.run
        tasks = [asyncio.create_task(self.start_turn(session)) for session in self.requests]
        tasks += [asyncio.create_task(self.import_session(request)) for request in self.imports]
        short_model = partial(run.pick_model, longest_words=30)
        clients = FormatClients(run, run.gateway.url, short_model, each=CLIENTS_OF_A_FORMAT)
        if run.dice.random() < WHILE_LIVE:
            await asyncio.wait(tasks[: len(self.requests)], timeout=1.0)
            await run.until_received(list(self.live_turns.values()))
        await asyncio.sleep(run.dice.uniform(0.0, 0.8))
        run.note_memory()
        await run.gateway.kill()
        run.measured.kills += 1
        await asyncio.gather(*tasks)
        await asyncio.to_thread(check_copy, run)
        await run.gateway.start()
        await clients.finish(may_break=True)
        await self._repeat_unanswered()
        await run.finish(list(self.live_turns.values()))
        await self._check_writes()

    async def _repeat_unanswered(self) -> None:
        """Send the requests without a response once more, with the same keys."""
        for session, request in self.requests.items():
            if not request.acknowledged:
                turn = await self.run.post_turn(session, self.models[session], session)
                request.acknowledged = True
                self.live_turns[session] = self.run.follow(turn, session, self.models[session])

    async def _check_writes(self) -> None:
        """Check that each turn and each import is there once."""
        for session, request in self.requests.items():
            body = await self.run.caller.call("GET", f"/api/sessions/{session}")
            self.run.take_write(session, acknowledged=request.acknowledged, found=len(body["turns"]))
        newest = (await self.run.caller.call("GET", "/api/sessions?limit=200"))["items"]
        for request in self.imports:
            ids = [session["id"] for session in newest if session["title"] == request.name]
            self.run.take_write(request.name, acknowledged=request.acknowledged, found=len(ids))
            for session in ids:
                export: Any = await self.run.caller.call("GET", f"/api/sessions/{session}/export?format=json")
                count = len(export["exchanges"])
                self.run.expect(count == IMPORTS, "whole_import", f"{count} of {IMPORTS} turns are there")


def import_file(title: str) -> dict[str, Any]:
    """Return a file with a few turns to import."""
    events = [
        {"type": "turn.started"},
        {"type": "block.started", "block": 0, "kind": "text"},
        {"type": "block.grew", "block": 0, "text": "Forty-two. " * 100},
        {"type": "block.ended", "block": 0},
        {"type": "turn.ended"},
    ]
    entries = [{"seq": seq, "event": event} for seq, event in enumerate(events)]
    exchange = {"asked": [{"role": "user", "text": "Again?"}], "entries": entries}
    return {"thinkaloud": 1, "title": title, "created_ms": None, "exchanges": [exchange] * IMPORTS}


async def kill(run: FaultRun) -> None:
    """The gateway is killed with SIGKILL beside readers, writers, imports and cancels."""
    sessions = [await run.caller.create_session() for _ in range(run.load.turns)]
    await KillRound(run, sessions).play()


async def stop(run: FaultRun) -> None:
    """The gateway is stopped with SIGTERM in mid-stream, and started again."""
    live_turns = await run.start_turns()
    await asyncio.sleep(run.dice.uniform(0.0, 0.5))
    run.note_memory()
    code = await run.gateway.stop()
    run.expect(code == 0, "stopped", f"the gateway ended with exit code {code}")
    await run.gateway.start()
    await run.finish(live_turns)


async def pause(run: FaultRun) -> None:
    """The gateway is stopped by SIGSTOP for a while, like a suspended machine."""
    live_turns = await run.start_turns()
    clients = FormatClients(run, run.gateway.url, lambda: LONG)
    await clients.until_begun()
    for _ in range(2):
        run.gateway.send(signal.SIGSTOP)
        await asyncio.sleep(run.dice.uniform(0.1, PAUSE_S))
        run.gateway.send(signal.SIGCONT)
        await asyncio.sleep(run.dice.uniform(0.0, 0.2))
    await clients.finish(may_break=False)
    await run.finish(live_turns)


async def move_clock(run: FaultRun) -> None:
    """The time of day jumps by an hour, forward and back."""
    live_turns = await run.start_turns([LONG] * run.load.turns)
    for shift_s in (HOUR_S, -HOUR_S, 0):
        write_shift(run.gateway.home, shift_s)
        await asyncio.sleep(run.dice.uniform(0.1, 0.6))
    await run.finish(live_turns)
