"""The built-in model: a small solver without weights, so that everything works with no key and no network.

It searches, and its thinking is the true trace of that search. `run_solver` serves it like any other
provider; `solve` and `check` do the same without a server.

Every name is imported on first use: the HTTP server takes long to import, and tools need only arithmetic.

It imports only `loopback`. Read first: `solver.py`, `puzzle.py`, `skills/number_puzzle.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_MODULES = {
    "puzzle": ("Connections", "LocalServer", "ProviderKey", "SolverEnvironment", "Verdict"),
    "server": ("SolverServer", "run_solver"),
    "solver": ("SolverReply", "SolverToolCall", "check", "solve"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(import_module(f"thinkaloud.builtin.{module}"), name)
            globals()[name] = value  # the next access does not come here
            return value
    raise AttributeError(f"module 'thinkaloud.builtin' has no attribute {name!r}")
