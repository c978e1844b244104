"""A turn whose every text attacks the terminal, shown by a surface in a process of its own.

`python -m tests.surfaces.hostile_turn tui|plain hostile|clean` shows it. With `clean`, the attacks are taken
out of the texts first: what a surface then writes are its own sequences and nothing else.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator

from tests.surfaces.tui import TestClock, WidgetApp

from thinkaloud.core.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    NoticeGiven,
    SummaryWritten,
    ToolFinished,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.view import PANEL, preset
from thinkaloud.surfaces.plain import PlainWriter, TerminalOptions
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.turn_view import TurnView

ATTACKS = [
    "\x1b[2J\x1b[H",  # clear the screen
    "\x1b[1;5;41m",  # a style that no surface uses
    "\x1b]0;owned\x07\x1b]2;owned\x1b\\",  # the title
    "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",  # a link
    "\x1b]52;c;b3duZWQ=\x07",  # the clipboard
    "\x1b]1337;File=inline=1:AAAA\x07",  # a file
    "\x1b[6n\x1b[5n\x1b[c\x1bZ\x1b[>q\x1b[21t",  # questions that the terminal answers as if typed
    "\x1b[?1003h\x1b[?2004l\x1b[?1049l\x1b[20l",  # modes
    "\x1bP+q544e\x1b\\\x1b_Gf=100;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",  # device strings, pictures
    "\x1bc\x1b(0\x1b#8\x1b7\x1b8\x1bM",  # reset, character sets, the cursor
    "\x9b31m\x9d2;owned\x9c\x90q\x9c\x85\x84",  # 8-bit forms
    "\u202eevil\u2066\u2069\u200f\u061c\u2028\u2029",  # direction and lines
    "\x00\x07\x08\x0b\x0c\x0e\x0f\x7f\r",  # single controls
    "&#27;[31m &#x9b;31m &#x202e;",  # as entities of Markdown
    "```\x1b[31m\n\x1b]2;owned\x07code\n```\n",  # in a code block
    "| \x1b[31m | \x9b |\n|---|---|\n| \x1b]2;owned\x07 | b |\n",  # in a table
    "[\x1b[31mx](https://evil.example/\x1b[31m)",  # in a link
]


def hostile_events(change: Callable[[str], str]) -> Iterator[Event]:
    """Yield a turn with an attack in every place that has a text; texts arrive one character at a time."""
    text = "\n".join(f"attack {n} {attack} end" for n, attack in enumerate(ATTACKS))
    name = change("".join(attack.replace("\n", "") for attack in ATTACKS[:8]))
    yield TurnStarted()
    for number, kind in enumerate((Kind.REASONING, Kind.TOOL_CALL, Kind.ASSISTANT_CALL, Kind.TEXT)):
        yield BlockStarted(number, kind, name=name if number in (1, 2) else "")
        for character in change(text):
            yield BlockGrew(number, character)
        yield BlockEnded(number)
        if number == 1:
            yield ApprovalAsked(number)
        if number in (1, 2):
            yield ToolFinished(number, change(text))
    yield NoticeGiven("other", change(text))
    yield SummaryWritten(change(text))
    yield TurnFailed("broken", change(text))


async def show_tui(change: Callable[[str], str]) -> None:
    """Show the turn on the terminal user interface, in two presets, with everything open."""

    class HostileApp(WidgetApp):
        async def on_ready(self) -> None:
            events = list(hostile_events(change))
            for number, name in enumerate(("trace", "preview")):
                view = TurnView(policy=preset(name), clock=TestClock(), choices={PANEL: True})
                await self.screen.query_one("VerticalScroll").mount(view)
                for seq, event in enumerate(events):
                    view.feed(Entry(seq, event, seq))
                    if seq % 500 == 0:
                        await asyncio.sleep(0.02)
                view.flush()
                for part in (view.thinking, view.answer, view.notices):
                    while not part.laid_out:
                        await asyncio.sleep(0.02)
                for y in range(0, 400, 20):
                    self.screen.query_one("VerticalScroll").scroll_to(y=y, animate=False)
                    await asyncio.sleep(0.02)
                view.display = number == 1
            self.exit()

    await HostileApp().run_async(mouse=False)


def show_plain(change: Callable[[str], str]) -> None:
    """Write the turn to the command line, dimmed and wrapped."""
    terminal = TerminalOptions(dim=True, columns=80, shared_screen=True)
    writer = PlainWriter(sys.stdout, sys.stderr, terminal=terminal)
    for seq, event in enumerate(hostile_events(change)):
        writer.feed(Entry(seq, event, seq))


def main() -> None:
    surface, texts = sys.argv[1:]
    change = clean if texts == "clean" else str
    if surface == "tui":
        asyncio.run(show_tui(change))
    else:
        show_plain(change)


if __name__ == "__main__":
    main()
