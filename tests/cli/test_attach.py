"""How a command finds its gateway: the running one of its home, one inside its process, or another server."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.environment import UserHome
from tests.event_loop import in_event_loop
from tests.patience import PATIENCE_S
from tests.surfaces.memory_backend import asked

from thinkaloud.cli.commands.ask_turn import interrupts
from thinkaloud.cli.gateway_client import ServerChoice, open_backend
from thinkaloud.cli.gateway_client.transport import GatewayRequest, GatewayResponse, HttpTransport
from thinkaloud.cli.settings import BUILTIN_MODEL
from thinkaloud.core.canon import Entry, Refused, TurnEnded
from thinkaloud.gateway.store.engine.file_lock import (
    FileLock,
    LockHolder,
    lock_holder,
    lock_path,
    publish_address,
)
from thinkaloud.surfaces.chat.backend import INSIDE, BackendUnreachable

SERVE = [sys.executable, "-m", "thinkaloud", "serve", "--port", "0"]
SESSIONS_OF_HOME = """
import asyncio, sys
from thinkaloud.cli.gateway_client import open_backend
async def main():
    async with open_backend() as client:
        await client.create_session(title=sys.argv[1])
        print(client.address)
asyncio.run(main())
"""


def start_serve(*options: str) -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen(
        [*SERVE, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def stop(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> None:
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)


@in_event_loop
async def test_gateway_inside_the_process_keeps_sessions_for_the_next_one(home: UserHome) -> None:
    async with open_backend() as client:
        assert client.address == INSIDE
        session = await client.create_session(title="kept")
    assert lock_holder(lock_path(home.folder / "thinkaloud.db")) is None
    async with open_backend() as client:
        assert [row.id for row in (await client.sessions())[0]] == [session.id]


@in_event_loop
async def test_gateway_inside_the_process_is_asked_without_a_socket(
    home: UserHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: HttpTransport, url: str, request: GatewayRequest) -> GatewayResponse:
        raise AssertionError(f"{request.method} {request.path} was sent to {url}")

    monkeypatch.setattr(HttpTransport, "send", refuse)
    async with open_backend() as client:
        session = await client.create_session(model=BUILTIN_MODEL)
        turn = await client.ask(session.id, asked("What is 2 + 2?"))
        items = [item async for item in client.stream(turn)]
        with pytest.raises(Refused, match="No such"):
            await client.connection.send("GET", "/api/nothing")
    assert isinstance(items[-1], Entry)
    assert isinstance(items[-1].event, TurnEnded)


@in_event_loop
async def test_second_command_attaches_to_the_first(home: UserHome) -> None:
    async with open_backend() as first:
        session = await first.create_session(title="shared")
        async with open_backend() as second:
            assert second.address.startswith("http://127.0.0.1:")
            assert [row.id for row in (await second.sessions())[0]] == [session.id]


@in_event_loop
async def test_lock_file_has_mode_600_and_the_port_needs_its_token(home: UserHome) -> None:
    async with open_backend():
        path = lock_path(home.folder / "thinkaloud.db")
        holder = lock_holder(path)
        assert holder is not None
        assert holder.pid == os.getpid()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with open_backend(ServerChoice(url=holder.url)) as stranger:
            with pytest.raises(Refused, match="THINKALOUD_TOKEN"):
                await stranger.sessions()
        token_file = home.folder / "token"
        token_file.write_text(holder.token + "\n", "utf-8")
        async with open_backend(ServerChoice(url=holder.url, token_file=str(token_file))) as known:
            assert await known.sessions() == ([], "")


@pytest.mark.parametrize("options", [(), ("--auth", "token")])
def test_command_attaches_to_serve_and_a_killed_one_is_stale(
    home: UserHome, options: tuple[str, ...]
) -> None:
    async def scenario(url: str) -> str:
        async with open_backend() as client:
            await client.create_session(title=client.address)
            return client.address

    process, url = start_serve(*options)
    try:
        assert asyncio.run(scenario(url)) == url
    finally:
        stop(process, signal.SIGKILL)
    assert url.encode() in lock_path(home.folder / "thinkaloud.db").read_bytes()
    assert asyncio.run(scenario(url)) == INSIDE


def test_commands_that_start_at_once_share_one_gateway_or_wait(home: UserHome) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SESSIONS_OF_HOME, str(number)], stdout=subprocess.PIPE, text=True
        )
        for number in range(4)
    ]
    for process in processes:
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0

    async def titles() -> set[str]:
        async with open_backend() as client:
            return {row.title for row in (await client.sessions())[0]}

    assert asyncio.run(titles()) == {"0", "1", "2", "3"}


@in_event_loop
async def test_gateway_inside_waits_for_the_turns_of_other_commands(home: UserHome) -> None:
    waited: list[int] = []
    async with open_backend(on_wait=waited.append) as client:
        session = await client.create_session()
        turn = await client.ask(session.id, asked("A farmer has 17 sheep and buys 3. How many?"))
    async with open_backend() as client:
        [past] = await client.turns(session.id)
    assert (past.id, past.state) == (turn, "done")


@in_event_loop
async def test_lock_without_an_address_is_waited_for(home: UserHome, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lock_path(home.folder / "thinkaloud.db")
    monkeypatch.setattr("thinkaloud.cli.gateway_client.attach._START_TIMEOUT_S", 0.1)
    with FileLock(path) as lock:
        assert lock.held
        with pytest.raises(Refused, match="serves at no address"):
            async with open_backend():
                pass
        publish_address(path, "http://127.0.0.1:9", "")
        async with open_backend() as client:
            with pytest.raises(BackendUnreachable):
                await client.sessions()


def test_lock_file_that_is_being_written_has_no_address(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    assert lock_holder(path) is None
    with FileLock(path):
        assert lock_holder(path) == LockHolder(os.getpid())
        path.write_bytes(b'{"pid":1')
        assert lock_holder(path) == LockHolder(0)
    assert lock_holder(path) is None


@in_event_loop
async def test_hangup_and_termination_cancel_the_turn_like_ctrl_c() -> None:
    """The process is not ended at once: turns of other commands may run in it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        cancelled = asyncio.Event()
        with interrupts(cancelled.set):
            os.kill(os.getpid(), number)
            await asyncio.wait_for(cancelled.wait(), PATIENCE_S)
