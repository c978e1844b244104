"""The built-in model: a small solver without weights, so that everything works with no key and no network.

It searches, and its thinking is the true trace of that search. `running` serves it like any other provider;
`solve` and `check` do the same without a server.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from thinkaloud.builtin.checker import Verdict, check
from thinkaloud.builtin.server import MODEL, PACE, SolverServer, listening
from thinkaloud.builtin.solver import SolverReply, SolverToolCall, solve

__all__ = [
    "MODEL",
    "PACE",
    "SolverReply",
    "SolverServer",
    "SolverToolCall",
    "Verdict",
    "check",
    "running",
    "solve",
]


@asynccontextmanager
async def running(
    *, pace: float = PACE, port: int = 0, local_servers: Sequence[str] = ()
) -> AsyncIterator[SolverServer]:
    """Serves the solver on the loopback address until the block ends.

    `pace` is how many pieces of thinking are sent per second. `local_servers` are names of model servers
    found on this machine; the answer to a question that the solver cannot read names them.
    """
    async with listening(SolverServer(pace, local_servers), port) as server:
        yield server
