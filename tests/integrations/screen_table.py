"""The screens on which the block is shown, and their table in the docs.

A screen is another program's page: a notebook, or an app of a library. Its program is in `screens/`: it opens
the stream of `screen_stream.py` and shows it. `drive_screens.py` runs it and writes the row.
"""

import fcntl
import re
from pathlib import Path
from typing import Any, NamedTuple

from tests.integrations.environments import ROOT

ADAPTERS = ROOT / "src/thinkaloud/integrations"
PROGRAMS = ROOT / "tests/integrations/screens"
PAGES = ROOT / "docs/integrations"
TABLE = PAGES / "screens.md"
SERVED_MODULES = ("django", "fastapi", "flask")
"""Modules that bring the element to pages of your own; the table in `servers.md` is about them."""
COMMON_MODULES = ("chunks",)
CHECKS = ("live", "stays open", "hostile text", "cut off")
_USES_ELEMENT = re.compile(r"^from thinkaloud\.integrations(?:\.element)? import .*", re.MULTILINE)
_PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
_ROW = re.compile(r"^\| \[([^]]+)\]\(\w+\.md\) \|.*\n", re.MULTILINE)


class Screen(NamedTuple):
    """A screen: what is installed for it, and how its program is started on a port."""

    name: str
    module: str
    """The module of `thinkaloud.integrations`, and the name of its page in the docs."""
    packages: tuple[str, ...]
    program: str
    """A file in `screens/`."""
    command: tuple[str, ...]
    """The arguments of Python, in a folder with the program; `{port}` and `{program}` are filled in."""
    path: str = "/"
    tells_stories: bool = False


_NOTEBOOK = "anywidget"
SCREENS = (
    Screen(
        "JupyterLab",
        "notebook",
        ("jupyterlab", _NOTEBOOK),
        "jupyterlab.ipynb",
        (
            *("-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
            *("--port={port}", "--notebook-dir=.", "--IdentityProvider.token=", "--LabApp.news_url="),
        ),
        "/lab/tree/jupyterlab.ipynb?reset",
        tells_stories=True,
    ),
    Screen(
        "marimo",
        "notebook",
        ("marimo", _NOTEBOOK),
        "marimo_notebook.py",
        ("-m", "marimo", "--quiet", "run", "--headless", "--no-token", "--port={port}", "{program}"),
        tells_stories=True,
    ),
    Screen(
        "Panel",
        "notebook",
        ("panel", "ipywidgets_bokeh", _NOTEBOOK),
        "panel_app.py",
        ("-m", "panel", "serve", "{program}", "--port={port}"),
        "/panel_app",
    ),
    Screen(
        "Shiny for Python",
        "notebook",
        ("shiny", "shinywidgets", _NOTEBOOK),
        "shiny_app.py",
        ("-m", "shiny", "run", "--port={port}", "{program}"),
    ),
    Screen(
        "Streamlit",
        "streamlit",
        ("streamlit",),
        "streamlit_app.py",
        ("-m", "streamlit", "run", "{program}", "--server.port={port}", "--server.headless=true"),
        tells_stories=True,
    ),
    Screen(
        "Gradio",
        "gradio",
        ("gradio",),
        "gradio_app.py",
        ("{program}", "{port}"),
        tells_stories=True,
    ),
    Screen(
        "Chainlit",
        "chainlit",
        ("chainlit",),
        "chainlit_app.py",
        ("-m", "chainlit", "run", "{program}", "--port={port}", "--headless"),
        tells_stories=True,
    ),
    Screen(
        "NiceGUI",
        "nicegui",
        ("nicegui",),
        "nicegui_app.py",
        ("{program}", "{port}"),
        tells_stories=True,
    ),
)


def screen_modules() -> list[str]:
    """Return the modules that show the element on a screen."""
    paths = ADAPTERS.glob("*.py")
    uses_element = (path.stem for path in paths if "element" in _imported(path.read_text("utf-8")))
    return sorted(name for name in uses_element if name not in (*SERVED_MODULES, *COMMON_MODULES))


def _imported(source: str) -> str:
    return " ".join(_USES_ELEMENT.findall(source))


def program_of(module: str) -> str:
    """Return the first program of a module's page."""
    match = _PROGRAM.search((PAGES / f"{module}.md").read_text("utf-8"))
    assert match is not None, f"docs/integrations/{module}.md has no program"
    return match[1]


def rows() -> dict[str, str]:
    """Return the rows of the table by the name of their screen."""
    return {match[1]: match[0] for match in _ROW.finditer(TABLE.read_text("utf-8"))}


def make_row(screen: Screen, versions: dict[str, str], date: str, measured: dict[str, Any]) -> str:
    """Return the row for what was measured: what each check found, and the stories that were right."""
    cells = [f"[{screen.name}]({screen.module}.md)"]
    cells.append(", ".join(f"{package} {number}" for package, number in versions.items()))
    cells += [date, *("yes" if measured[check] else "no" for check in CHECKS), measured.get("stories", "")]
    return f"| {' | '.join(cells)} |\n"


def write_row(name: str, row: str) -> None:
    """Replace the row of a screen, or add it below the others."""
    replace_row(TABLE, rows().get(name), row)


def replace_row(table: Path, old: str | None, row: str) -> None:
    """Replace a row of a table, or add it below the others."""
    with table.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several may be measured at the same time
        text = file.read()
        if old is None:
            end = text.index("<!-- end -->")
            text = text[:end] + row + text[end:]
        else:
            text = text.replace(old, row)
        file.seek(0)
        file.truncate()
        file.write(text)
