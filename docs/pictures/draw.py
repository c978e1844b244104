"""Draws the picture of a replay from what the command really prints: `python docs/pictures/draw.py`."""

import subprocess
import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).with_name("replay.svg")
COMMAND = ("replay", "--speed", "0", "examples/recorded_turn.ndjson")
COLUMNS = 96
BUTTONS = "".join(f'<circle cx="{x}" cy="22" r="6"/>' for x in (24, 44, 64))
LINE, LEFT, TOP = 20, 22, 56
FONT = "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def drawn() -> str:
    """The picture as SVG."""
    run = subprocess.run(
        [sys.executable, "-m", "thinkaloud", *COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        cwd=PICTURE.parents[2],
    )
    lines = [f"$ thinkaloud {' '.join(COMMAND)}", *run.stdout.decode().splitlines()]
    rows = [(row, line) for line in lines for row in _wrapped(line)]
    height = TOP + LINE * len(rows) + 16
    texts = "\n".join(_text(number, row, line) for number, (row, line) in enumerate(rows))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" role="img"
 aria-label="A recorded turn on the plain command line: thoughts marked and dim, the answer below">
<rect width="900" height="{height}" rx="10" fill="#14161b"/>
<g fill="#3a3f4b">{BUTTONS}</g>
<g font-family="{FONT}" font-size="14" xml:space="preserve">
{texts}
</g>
</svg>
"""


def _wrapped(line: str) -> list[str]:
    indent = "        " if line.startswith("[think]") else ""
    return textwrap.wrap(line, COLUMNS, subsequent_indent=indent) or [""]


def _text(number: int, row: str, line: str) -> str:
    colour = "#8b93a7" if line.startswith("[think]") else "#7fd1b9" if line.startswith("$") else "#e8eaf0"
    return f'<text x="{LEFT}" y="{TOP + LINE * number}" fill="{colour}">{escape(row)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    print(f"drew {PICTURE.name}")
