"""Processes for uploaded files and exports: bounded, fair by user, and ended with their clients."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.event_loop import in_event_loop
from tests.patience import PATIENCE_S
from tests.server.caller import wait_until
from tests.server.computations import (
    Unnamed,
    allocate,
    compute_forever,
    crash,
    fill_a_file,
    refuse,
    run,
    wait_for,
    write_forever,
)

from thinkaloud.core.canon import Refused
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.files.process_pool import Computation, ProcessFailed, ProcessPool
from thinkaloud.gateway.server.http.errors import (
    BadRequest,
    PayloadTooLarge,
    ServiceUnavailable,
    TooManyRequests,
)
from thinkaloud.gateway.server.http.limits import ProcessLimits
from thinkaloud.importers import DamagedFile


@pytest.fixture(autouse=True)
def importable_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes import the computations of the tests: they do not look in the current folder."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.mark.parametrize(
    ("compute", "limits", "message"),
    [
        (allocate, ProcessLimits(memory_bytes=300 * MIB), "more than 300 MiB of memory"),
        (compute_forever, ProcessLimits(cpu_s=1), "longer than 1 s of computing"),
        (compute_forever, ProcessLimits(wall_s=1), "longer than 1 s"),
        (write_forever, ProcessLimits(output_bytes=3 * MIB), "more than 3 MiB"),
    ],
)
@in_event_loop
async def test_process_ends_at_its_limit(compute: Computation, limits: ProcessLimits, message: str) -> None:
    """S16."""
    pool = ProcessPool(limits, 4)
    arguments = (400 * MIB,) if compute is allocate else ()
    with pytest.raises(PayloadTooLarge, match=message):
        await run(pool, 1, compute, *arguments)
    pool.close()


@in_event_loop
async def test_file_that_a_process_writes_is_bounded() -> None:
    pool = ProcessPool(ProcessLimits(output_bytes=3 * MIB), 4)
    with pytest.raises(PayloadTooLarge, match="more than 3 MiB on the disk"):
        await run(pool, 1, fill_a_file)
    pool.close()


@in_event_loop
async def test_process_within_its_limits_gives_its_output() -> None:
    pool = ProcessPool(ProcessLimits(), 4)
    assert await run(pool, 1, allocate, 100 * MIB) == b"%d" % (100 * MIB)
    pool.close()


@in_event_loop
async def test_refusals_pass_as_the_same_error_and_faults_as_a_failure() -> None:
    pool = ProcessPool(ProcessLimits(), 4)
    for raised, expected in ((BadRequest, BadRequest), (Unnamed, DamagedFile)):
        with pytest.raises(Refused, match=r"No\.") as refusal:
            await run(pool, 1, refuse, raised)
        assert type(refusal.value) is expected
    with pytest.raises(ProcessFailed, match="a fault"):
        await run(pool, 1, crash)
    pool.close()


@in_event_loop
async def test_user_with_many_requests_does_not_keep_others_waiting(tmp_path: Path) -> None:
    """Of one user one computation runs at a time, so another user finds a free slot."""
    pool = ProcessPool(ProcessLimits(), 4)
    gates = [str(tmp_path / str(number)) for number in range(4)]
    many = [asyncio.create_task(run(pool, 1, wait_for, gate)) for gate in gates]
    await wait_until(Path(f"{gates[0]}.started").exists)
    with pytest.raises(TooManyRequests):
        await run(pool, 1, allocate, 1)
    assert await run(pool, 2, allocate, 1) == b"1"
    assert not any(request.done() for request in many)
    assert not Path(f"{gates[1]}.started").exists()
    for gate in gates:
        Path(gate).touch()
    assert await asyncio.gather(*many) == [b"done"] * 4
    assert await run(pool, 1, allocate, 1) == b"1"
    pool.close()


@in_event_loop
async def test_cancelled_computation_is_killed_and_frees_its_slot(tmp_path: Path) -> None:
    pool = ProcessPool(ProcessLimits(), 4, size=1)
    gate = str(tmp_path / "gate")
    first = asyncio.create_task(run(pool, 1, wait_for, gate))
    await wait_until(Path(f"{gate}.started").exists)
    waiting = asyncio.create_task(run(pool, 2, wait_for, gate))
    first.cancel()
    waiting.cancel()
    await asyncio.wait((first, waiting))
    assert await run(pool, 1, allocate, 1) == b"1"
    pool.close()


@in_event_loop
async def test_close_ends_what_runs(tmp_path: Path) -> None:
    pool = ProcessPool(ProcessLimits(), 4)
    gate = str(tmp_path / "gate")
    running = asyncio.create_task(run(pool, 1, wait_for, gate))
    await wait_until(Path(f"{gate}.started").exists)
    await asyncio.to_thread(pool.close)
    with pytest.raises(ServiceUnavailable, match="stopping"):
        async with asyncio.timeout(PATIENCE_S):
            await running
    with pytest.raises(ServiceUnavailable, match="stopping"):
        await run(pool, 1, allocate, 1)


@in_event_loop
async def test_process_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit('a file of the current folder was run')")
    monkeypatch.chdir(tmp_path)
    pool = ProcessPool(ProcessLimits(), 4)
    assert await run(pool, 1, allocate, 1) == b"1"
    pool.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@in_event_loop
async def test_lower_limits_of_the_operator_stay() -> None:
    """They can only be set for a whole process, so a shell runs the gateway's computation with them."""
    script = f"""
import asyncio
from tests.server.computations import allocate, run
from thinkaloud.gateway.server.http.limits import ProcessLimits
from thinkaloud.gateway.server.files.process_pool import ProcessPool

async def main():
    pool = ProcessPool(ProcessLimits(output_bytes={8 * MIB}), 4)
    print((await run(pool, 1, allocate, 1)).decode())
    pool.close()

asyncio.run(main())
"""
    shell = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", 'ulimit -f 4096 && exec "$0" -c "$1"', sys.executable, script),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(shell.communicate(), PATIENCE_S)
    assert (shell.returncode, output) == (0, b"1\n")
