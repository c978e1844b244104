"""The built-in model: a small solver without weights, so that everything works with no key and no network.

It searches, and its thinking is the true trace of that search. `run_solver` serves it like any other
provider; `solve` and `check` do the same without a server.

It imports only `loopback`. Read first: `solver.py`, `search.py`, `skills/__init__.py`.
"""

from thinkaloud.builtin.checker import check
from thinkaloud.builtin.question import Connections, LocalServer, ProviderKey, SolverEnvironment, Verdict
from thinkaloud.builtin.server import SolverServer, run_solver
from thinkaloud.builtin.solver import SolverReply, SolverToolCall, solve

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
