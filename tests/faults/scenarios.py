"""The table of fault scenarios, and how their rounds are played."""

import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from tests.faults import client_faults, disk_faults, process_faults, provider_faults
from tests.faults.fault_run import FaultRun, GatewaySetup, Load, Measurements, start_run

from thinkaloud.client import Timeouts
from thinkaloud.server.gateway import Settings

Play = Callable[[FaultRun], Awaitable[None]]


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

    @property
    def summary(self) -> str:
        """What happens, in one sentence."""
        return (self.play.__doc__ or "").strip()


_IMPATIENT = GatewaySetup(settings=Settings(timeouts=Timeouts(idle_s=1.0), heartbeat_s=0.3))

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("kill", process_faults.kill),
    Scenario("stop", process_faults.stop, GatewaySetup(options=("--grace", "0.5"))),
    Scenario("pause", process_faults.pause),
    Scenario("clock", process_faults.move_clock, GatewaySetup(program="tests.faults.shifted_clock")),
    Scenario("reload", client_faults.reload_pages),
    Scenario("reset", client_faults.reset_connections),
    Scenario("black hole", client_faults.swallow_bytes, GatewaySetup(settings=Settings(heartbeat_s=0.3))),
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
    Scenario("full disk", disk_faults.fill_disk),
    Scenario("hanging disk", disk_faults.hang_disk),
    Scenario("foreign snapshot", disk_faults.hold_snapshot),
    Scenario("log not read", client_faults.ignore_log, log_ignored=True),
)


async def run_scenario(scenario: Scenario, home: Path, provider: str, plan: Plan) -> Measurements:
    """Play rounds of a scenario on one home, at least one."""
    home.mkdir(parents=True)
    started_s = time.monotonic()
    with _log_pipe(home, ignored=scenario.log_ignored):
        async with start_run(home, provider, scenario.setup, plan.load) as run:
            run.dice, run.keep = random.Random(f"{plan.seed} {scenario.name}"), plan.keep
            while True:
                await scenario.play(run)
                run.measured.rounds += 1
                run.note_memory()
                if not plan.another_round(run.measured, time.monotonic() - started_s):
                    break
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
