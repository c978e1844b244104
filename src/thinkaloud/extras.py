"""The extras of the package: the modules that each of them installs, and how to install a missing one."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import msgspec

from thinkaloud import __version__
from thinkaloud.core.canon import Refused

DISTRIBUTION = "thinkaloud"
"""The name in package metadata. No package index has it, so nobody is told to install it by name alone."""
EXTRAS = {  # `agents` is `mcp` and `prices` together
    "server": ("alembic", "prometheus_client", "sqlalchemy", "starlette", "uvicorn"),
    "mcp": ("mcp",),
    "prices": ("genai_prices",),
    "tui": ("textual", "rich"),
    "flutter": ("flet", "flet_web", "fastapi"),
    "postgres": ("psycopg",),
    "telemetry": ("opentelemetry",),
    "notebook": ("anywidget", "ipywidgets", "traitlets", "IPython"),
}


def installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from the checkout, wheel or repository that is installed."""
    import shlex
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin = _origin()
    url = origin.get("url", "")
    if not url:
        # With a file that does not exist pip fails. It does not look for the name on an index.
        return f"pip install '{DISTRIBUTION}-{__version__}-py3-none-any.whl[{extra}]'"
    if origin.get("dir_info", {}).get("editable"):
        folder = url2pathname(urlsplit(url).path)
        return f"pip install --editable {shlex.quote(f'{folder}[{extra}]')}"
    if repository := origin.get("vcs_info"):
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}"
    return f"pip install {shlex.quote(f'{DISTRIBUTION}[{extra}] @ {url}')}"


def _origin() -> dict[str, Any]:
    """Return where this package was installed from, as installers record it; empty if they did not."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, Any]) if text else {}


@contextmanager
def refuse_missing_extras() -> Iterator[None]:
    """Refuse with the install command if a module is missing that an extra would have installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        extra = next((name for name, modules in EXTRAS.items() if module in modules), "")
        if not extra:
            raise
        raise Refused(
            "The package {name} is not installed. It comes with the extra [{extra}]. Run: {command}",
            name=error.name,
            extra=extra,
            command=install_command(extra),
        ) from None
