"""The built-in model: a small solver with no weights, so that everything works with no key and no network.

It searches, and its thinking is the true trace of that search. `running` serves it like any other provider,
`solve` and `check` are the same without a server.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from thinkaloud.builtin.checker import Verdict, check
from thinkaloud.builtin.server import MODEL, PACE, Server, listening
from thinkaloud.builtin.solver import Reply, ToolCall, solve

__all__ = ["MODEL", "PACE", "Reply", "Server", "ToolCall", "Verdict", "check", "running", "solve"]


@asynccontextmanager
async def running(
    *, pace: float = PACE, port: int = 0, local_servers: Sequence[str] = ()
) -> AsyncIterator[Server]:
    """The solver on the loopback address until the block ends.

    `pace` is how many pieces of thinking are told in a second; `local_servers` are names of model servers
    that were found on this machine, to be offered to whoever asks for what the solver cannot do.
    """
    async with listening(Server(pace, local_servers), port) as server:
        yield server
