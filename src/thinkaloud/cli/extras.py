"""The extras of the package, and the modules that each of them installs."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from thinkaloud.canon import Refused

EXTRAS = {
    "server": ("alembic", "sqlalchemy", "starlette", "uvicorn"),
    "agents": ("mcp", "genai_prices"),
    "tui": ("textual", "rich"),
    "flutter": ("flet", "flet_web", "fastapi", "uvicorn"),
    "postgres": ("psycopg",),
}


def installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'thinkaloud[{extra}]'"


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Refuse with the install command if a module of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS[extra]:
            raise
        raise Refused(
            f"The package {error.name} is not installed. It comes with the extra [{extra}]. "
            f"Run: {install_command(extra)}"
        ) from None
