"""The built-in model: a small solver without weights, so that everything works with no key and no network.

It searches, and its thinking is the true trace of that search. `run_solver` serves it like any other
provider; `solve` and `check` do the same without a server.

It imports only `loopback`. Read first: `solver.py`, `puzzle.py`, `skills/number_puzzle.py`.
"""

from thinkaloud.builtin.puzzle import Connections, LocalServer, ProviderKey, SolverEnvironment, Verdict
from thinkaloud.builtin.server import SolverServer, run_solver
from thinkaloud.builtin.solver import SolverReply, SolverToolCall, check, solve

__all__ = [
    "Connections",
    "LocalServer",
    "ProviderKey",
    "SolverEnvironment",
    "SolverReply",
    "SolverServer",
    "SolverToolCall",
    "Verdict",
    "check",
    "run_solver",
    "solve",
]
