"""Draws the moving picture of the chat in the README: `python docs/pictures/draw_chat.py`.

The chat runs without a terminal and is given a recorded turn. Each row of the screen is drawn once for
every text that it shows, and is visible while it shows it.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from xml.sax.saxutils import escape

import msgspec
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.strip import Strip

from thinkaloud.core.canon import Entry
from thinkaloud.core.canon.requests import TurnRequest
from thinkaloud.surfaces.chat.backend import (
    DisplayPreferences,
    PastTurn,
    Responder,
    SessionInfo,
    StreamItem,
    TurnCost,
)
from thinkaloud.surfaces.tui.screens.app import ChatApp, ChatOptions

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("chat.svg")
RECORDING = ROOT / "examples" / "recorded_turn.ndjson"
QUESTION = "I leave the office at 17:50. Do I catch the 18:40 ferry?"
SIZE = (84, 22)
FRAME_MS = 250
TYPED_FRAME_MS = 60
MOST_BYTES = 150_000

CELL, LINE, LEFT, TOP = 8.4, 18, 16, 42
BACKGROUND, FOREGROUND = "#121212", "#e0e0e0"
FONT = "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
BUTTONS = "".join(f'<circle cx="{x}" cy="18" r="6"/>' for x in (24, 44, 64))


class RecordedBackend:
    """A gateway with one session. Its only turn is the recorded one, given as fast as the script wants."""

    address = "a recorded turn"

    def __init__(self) -> None:
        lines = RECORDING.read_bytes().splitlines()
        self.entries = [msgspec.json.decode(line, type=Entry) for line in lines]
        self.arrived: asyncio.Queue[Entry] = asyncio.Queue()
        self.info = SessionInfo(id="s1", title="The last ferry")
        self.asked = False

    async def sessions(self, *, after: str = "", limit: int = 50) -> tuple[list[SessionInfo], str]:
        return [self.info] if self.asked else [], ""

    async def create_session(self, *, model: str = "", agent: str = "", title: str = "") -> SessionInfo:
        return self.info

    async def turns(self, session: str) -> list[PastTurn]:
        return []

    async def ask(self, session: str, request: TurnRequest, key: str = "") -> str:
        self.asked = True
        return "t1"

    async def stream(self, turn: str, *, after: int = -1) -> AsyncIterator[StreamItem]:
        for _ in self.entries:
            yield await self.arrived.get()

    async def cost(self, turn: str) -> TurnCost:
        return TurnCost()

    async def models(self) -> list[Responder]:
        return []

    async def preferences(self) -> DisplayPreferences:
        return DisplayPreferences(display={"preset": "default"}, language="en-US")

    async def save_preferences(self, preferences: DisplayPreferences) -> None:
        return None


class Film:
    """The frames so far: what each row of the screen shows, and how long."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, list[str]]] = []

    async def shoot(self, pilot: Pilot[None], shown_ms: int) -> None:
        """Add the present screen."""
        await pilot.pause(0.05)
        strips = pilot.app.screen._compositor.render_strips()
        self.frames.append((shown_ms, [_row(strip) for strip in strips]))

    def svg(self) -> str:
        """Return the moving picture."""
        duration_ms = sum(shown_ms for shown_ms, _ in self.frames)
        width, height = LEFT * 2 + SIZE[0] * CELL, TOP + SIZE[1] * LINE + 8
        rows = "\n".join(self._rows(duration_ms))
        return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img"
 aria-label="A chat in the terminal: a question, the thinking with a tool and an assistant, and the answer">
<rect width="100%" height="100%" rx="10" fill="{BACKGROUND}"/>
<g fill="#3a3f4b">{BUTTONS}</g>
<g font-family="{FONT}" font-size="14" fill="{FOREGROUND}" xml:space="preserve">
{rows}
</g>
</svg>
"""

    def _rows(self, duration_ms: int) -> list[str]:
        """Return every row with every text that it ever shows, and the times at which it shows it."""
        times: dict[tuple[int, str], list[tuple[int, int]]] = {}
        start_ms = 0
        for shown_ms, rows in self.frames:
            for number, row in enumerate(rows):
                if not row:
                    continue
                spans = times.setdefault((number, row), [])
                if spans and spans[-1][1] == start_ms:
                    spans[-1] = (spans[-1][0], start_ms + shown_ms)
                else:
                    spans.append((start_ms, start_ms + shown_ms))
            start_ms += shown_ms
        return [_timed(number, row, spans, duration_ms) for (number, row), spans in times.items()]


def _timed(number: int, row: str, spans: list[tuple[int, int]], duration_ms: int) -> str:
    place = f'<g transform="translate({LEFT},{TOP + number * LINE})"'
    if spans == [(0, duration_ms)]:
        return f"{place}>{row}</g>"
    values, moments = ["hidden"], [0.0]
    for start_ms, end_ms in spans:
        if start_ms == 0:
            values, moments = ["visible"], [0.0]
        else:
            values.append("visible")
            moments.append(start_ms / duration_ms)
        if end_ms < duration_ms:
            values.append("hidden")
            moments.append(end_ms / duration_ms)
    key_times = ";".join(f"{moment:.4g}" for moment in moments)
    animation = (
        f'<animate attributeName="visibility" values="{";".join(values)}" keyTimes="{key_times}" '
        f'calcMode="discrete" dur="{duration_ms / 1000:g}s" repeatCount="indefinite"/>'
    )
    return f'{place} visibility="{values[-1]}">{row}{animation}</g>'


def _row(strip: Strip) -> str:
    """Return one row: backgrounds, then texts, each at its column."""
    rectangles, texts = [], []
    column = 0
    for segment in strip:
        columns = cell_len(segment.text)
        style = segment.style
        colour = _hex(style and style.color) or FOREGROUND
        background = _hex(style and style.bgcolor) or BACKGROUND
        if style and style.reverse:
            colour, background = background, colour
        if background != BACKGROUND and columns:
            x, width = column * CELL, columns * CELL
            rectangles.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{LINE}" fill="{background}"/>')
        if segment.text.strip():
            texts.append(_text(segment.text, column, colour, bold=bool(style and style.bold)))
        column += columns
    return "".join([*rectangles, *texts])


def _text(text: str, column: int, colour: str, *, bold: bool) -> str:
    x = (column + cell_len(text) - cell_len(text.lstrip())) * CELL
    weight = ' font-weight="bold"' if bold else ""
    fill = "" if colour == FOREGROUND else f' fill="{colour}"'
    return f'<text x="{x:.1f}" y="13"{fill}{weight}>{escape(text.strip())}</text>'


def _hex(colour: object) -> str:
    triplet = getattr(colour, "triplet", None)
    return "" if triplet is None else str(triplet.hex)


async def film() -> Film:
    """Run the chat, and take a frame whenever something has changed."""
    backend, made = RecordedBackend(), Film()
    app = ChatApp(backend, ChatOptions(gateway_check_s=0.2))  # type: ignore[arg-type]
    async with app.run_test(size=SIZE) as pilot:
        await made.shoot(pilot, 600)
        for character in QUESTION:
            await pilot.press("space" if character == " " else character)
            await made.shoot(pilot, TYPED_FRAME_MS)
        await pilot.press("enter")
        shown_until_ms = 0
        for entry in backend.entries:
            backend.arrived.put_nowait(entry)
            if (entry.at_ms or 0) - shown_until_ms >= FRAME_MS:
                await made.shoot(pilot, (entry.at_ms or 0) - shown_until_ms)
                shown_until_ms = entry.at_ms or 0
        await pilot.pause(0.5)
        await made.shoot(pilot, 2_500)
        await pilot.press("ctrl+l")
        await made.shoot(pilot, 4_000)
    return made


if __name__ == "__main__":
    picture = asyncio.run(film()).svg()
    if len(picture.encode()) > MOST_BYTES:
        sys.exit(f"The picture has {len(picture.encode())} bytes; the limit is {MOST_BYTES}.")
    PICTURE.write_text(picture, encoding="utf-8")
    print(f"drew {PICTURE.name}, {len(picture.encode())} bytes")
