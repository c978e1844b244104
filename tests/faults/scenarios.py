"""The table of fault scenarios, and how their rounds are played."""

import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import msgspec
from tests.faults import (
    abuse_faults,
    client_faults,
    cluster_faults,
    disk_faults,
    kill_storms,
    process_faults,
    provider_faults,
)
from tests.faults.cluster_run import start_cluster_run
from tests.faults.fault_run import FaultRun, GatewaySetup, Load, Measurements, start_run

from thinkaloud.client import Timeouts
from thinkaloud.gateway.server.gateway import Settings

RESUME_LIMIT_MS = 300
"""A reader that reconnects to a running gateway."""
RESTART_LIMIT_MS = 5_000
"""A reader of a gateway that is started again, with the start."""
SILENCE_LIMIT_MS = 1_500 + RESUME_LIMIT_MS
"""A reader of a silent connection, with the time after which it gives up."""

Play = Callable[[FaultRun], Awaitable[None]]
StartRun = Callable[[Path, str, GatewaySetup, Load], AbstractAsyncContextManager[FaultRun]]


class Plan(msgspec.Struct, frozen=True):
    """How a scenario is played: with which faults, under which load, and for how many rounds."""

    seed: int
    load: Load
    another_round: Callable[[Measurements, float], bool]
    """Whether to play another round, after these measurements and this many seconds."""
    keep: Path | None = None
    """A file that gets all histories."""


class Scenario(msgspec.Struct, frozen=True):
    """A fault: its name, how one round of it is played, and on which gateway."""

    name: str
    play: Play
    setup: GatewaySetup = GatewaySetup()
    log_ignored: bool = False
    """Whether the log goes to a pipe that nobody reads."""
    start: StartRun = start_run
    """Starts one gateway on SQLite, or several on PostgreSQL."""
    resume_limit_ms: int | None = None
    """How long a reader may take to resume, 99 times of 100; None if no connection is broken."""

    @property
    def summary(self) -> str:
        """What happens, in one sentence."""
        return (self.play.__doc__ or "").strip()


_IMPATIENT = GatewaySetup(settings=Settings(timeouts=Timeouts(idle_s=1.0), heartbeat_s=0.3))
_WITH_TOKENS = GatewaySetup(options=("--auth", "token"))

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("kill", process_faults.kill, resume_limit_ms=RESTART_LIMIT_MS),
    Scenario("kill storm", kill_storms.kill_often, GatewaySetup(forked=True)),
    Scenario("stop", process_faults.stop, GatewaySetup(options=("--grace", "0.5"))),
    Scenario("pause", process_faults.pause),
    Scenario("clock", process_faults.move_clock, GatewaySetup(program="tests.faults.shifted_clock")),
    Scenario("reload", client_faults.reload_pages, resume_limit_ms=RESUME_LIMIT_MS),
    Scenario("reset", client_faults.reset_connections, resume_limit_ms=RESUME_LIMIT_MS),
    Scenario(
        "black hole",
        client_faults.swallow_bytes,
        GatewaySetup(settings=Settings(heartbeat_s=0.3)),
        resume_limit_ms=SILENCE_LIMIT_MS,
    ),
    Scenario("slow link", client_faults.slow_links),
    Scenario(
        "stalled readers", client_faults.stall_readers, GatewaySetup(settings=Settings(send_timeout_s=1.5))
    ),
    Scenario("cancel", client_faults.cancel_turns),
    Scenario("repeated request", client_faults.repeat_requests),
    Scenario("provider breaks off", provider_faults.break_responses),
    Scenario("provider stalls", provider_faults.stall_responses, _IMPATIENT),
    Scenario("provider drips", provider_faults.drip_responses),
    Scenario("provider floods", provider_faults.flood_responses),
    Scenario("provider refuses", provider_faults.refuse_requests),
    Scenario("full disk", disk_faults.fill_disk, resume_limit_ms=RESTART_LIMIT_MS),
    Scenario("hanging disk", disk_faults.hang_disk),
    Scenario("foreign snapshot", disk_faults.hold_snapshot),
    Scenario("log not read", client_faults.ignore_log, log_ignored=True),
    Scenario("upload bombs", abuse_faults.upload_bombs),
    Scenario("provider bombs", abuse_faults.provider_bombs),
    Scenario("revoked token", abuse_faults.revoke_while_streaming, _WITH_TOKENS),
    Scenario("unfair neighbour", abuse_faults.flood_beside_neighbour, _WITH_TOKENS),
    Scenario("node kill", cluster_faults.kill_node, start=start_cluster_run),
    Scenario(
        "node kill storm", kill_storms.kill_nodes_often, GatewaySetup(forked=True), start=start_cluster_run
    ),
    Scenario("node pause", cluster_faults.pause_node, start=start_cluster_run),
    Scenario("database kill", cluster_faults.kill_database, start=start_cluster_run),
    Scenario("database silent", cluster_faults.silence_database, start=start_cluster_run),
    Scenario("database reset", cluster_faults.reset_database, start=start_cluster_run),
    Scenario("database slow", cluster_faults.slow_database, start=start_cluster_run),
    Scenario("rolling restart", cluster_faults.restart_nodes, start=start_cluster_run),
    Scenario("cancel anywhere", cluster_faults.cancel_anywhere, start=start_cluster_run),
)


async def run_scenario(scenario: Scenario, home: Path, provider: str, plan: Plan) -> Measurements:
    """Play rounds of a scenario on one home, at least one."""
    home.mkdir(parents=True)
    started_s = time.monotonic()
    with _log_pipe(home, ignored=scenario.log_ignored):
        async with scenario.start(home, provider, scenario.setup, plan.load) as run:
            run.dice, run.keep = random.Random(f"{plan.seed} {scenario.name}"), plan.keep
            while True:
                await scenario.play(run)
                run.measured.rounds += 1
                run.note_memory()
                if not plan.another_round(run.measured, time.monotonic() - started_s):
                    break
        if scenario.start is start_run:
            disk_faults.check_file(run, run.gateway.database)
    return run.measured


@contextmanager
def _log_pipe(home: Path, *, ignored: bool) -> Iterator[None]:
    """Make the log file of the gateway a pipe, and read it only at the end."""
    if not ignored:
        yield
        return
    log = home / "stderr.log"
    os.mkfifo(log)
    pipe = os.open(log, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(pipe)
