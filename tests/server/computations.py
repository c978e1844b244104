"""Computations for the processes of a pool. Each process imports this module, and so little else."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from thinkaloud.core.canon import Refused
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.files.process_pool import Computation, ProcessPool
from thinkaloud.importers import DamagedFile


class Unnamed(DamagedFile):
    """An error that is not in the table of those that pass."""


def allocate(size: int) -> Iterator[bytes]:
    yield str(len(bytearray(size))).encode()


def compute_forever() -> Iterator[bytes]:
    while True:
        pass
    yield b""


def write_forever() -> Iterator[bytes]:
    while True:
        yield bytes(MIB)


def fill_a_file() -> Iterator[bytes]:
    with (Path(os.environ["TMPDIR"]) / "file").open("wb") as file:
        for _ in range(20):
            file.write(bytes(MIB))
    yield b""


def refuse(error: type[Refused]) -> Iterable[bytes]:
    yield b"what was written before"
    raise error("No.")


def crash() -> Iterator[bytes]:
    yield b""
    raise RuntimeError("a fault")


def wait_for(path: str) -> Iterator[bytes]:
    Path(f"{path}.started").touch()
    while not Path(path).exists():
        time.sleep(0.01)
    yield b"done"


async def run(pool: ProcessPool, user: int, compute: Computation, *arguments: object) -> bytes:
    with pool.admit(user) as place:
        async with place.lock:
            output = await place.run(compute, *arguments)
    with output:
        return output.read()
