"""Gateways for tests on a busy machine; `python -m tests.patient_gateway` is `thinkaloud` with them.

A commit that takes a second is not reported as a failure of the disk, which would be one more line on every
surface. Most files are imported in a thread: to start a process takes half a second of computing.
"""

import asyncio
import io
import itertools
import pickle
import sys
from typing import BinaryIO

from tests.patience import PATIENCE_S

from thinkaloud.gateway.server import gateway
from thinkaloud.gateway.server.files.process_pool import Computation, ProcessPool
from thinkaloud.gateway.store.log.event_log import LogConfig


class PatientSettings(gateway.Settings, frozen=True, kw_only=True):
    """The settings of a gateway that waits for the disk."""

    log_config: LogConfig = LogConfig(slow_commit_s=PATIENCE_S)


class ThreadPool(ProcessPool):
    """Runs most computations in a thread. Of all gateways, one in so many, and the first, is in a process."""

    IN_A_PROCESS = 50
    _count = itertools.count()

    async def run(self, compute: Computation, *arguments: object) -> BinaryIO:
        """Run a computation, with arguments as a process gets them."""
        if next(self._count) % self.IN_A_PROCESS == 0:
            return await super().run(compute, *arguments)
        return await asyncio.to_thread(_computed_file, compute, pickle.dumps(arguments))


def import_and_export_in_threads(gateway: gateway.Gateway) -> None:
    """Let a gateway that was not started yet import and export in threads."""
    limits = gateway.settings.limits
    gateway.imports = ThreadPool(limits.process, limits.imports_per_user)
    gateway.exports = ThreadPool(limits.process, limits.exports_per_user)


def _computed_file(compute: Computation, pickled_arguments: bytes) -> BinaryIO:
    return io.BytesIO(b"".join(compute(*pickle.loads(pickled_arguments))))


def main() -> int:
    """Run a command of `thinkaloud` with such gateways."""
    vars(gateway).update(Settings=PatientSettings, ProcessPool=ThreadPool)
    from thinkaloud.cli import main as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(main())
