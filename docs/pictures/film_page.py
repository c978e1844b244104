"""Films the chat page for the README: `python docs/pictures/film_page.py` (needs `pip install pillow`).

A gateway of its own runs the built-in solver. A question is asked, the thought streams and closes, and is
opened with a click. Pictures are taken as fast as the browser gives them; equal ones are joined.
"""

import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from tests.conftest import CHROMIUM
from tests.web.chat_page import PUZZLE, ask, gateway_at, open_visit

PICTURE = Path(__file__).with_name("page.webp")
MOST_BYTES = 1_500_000
SIZE: dict[str, Any] = {"viewport": {"width": 960, "height": 720}}
QUALITY = 80
STREAMING_S, CLOSED_S, OPEN_S = 12.0, 2.0, 4.0
_DONE = "document.querySelector('thinking-block')?.state.view.status === 'done'"


class Frame(NamedTuple):
    """What the page shows, and since when."""

    at_s: float
    png: bytes


def frames(page: Page, seconds: float, until: str = "false") -> Iterator[Frame]:
    """Take pictures for some seconds, or until a condition in the page is true."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s and not page.evaluate(until):
        yield Frame(time.monotonic(), page.screenshot())


def film() -> list[Frame]:
    """Play the scene in a browser, and return what it showed."""
    folder = tempfile.TemporaryDirectory()
    with folder as home, gateway_at(Path(home)) as gateway, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with open_visit(browser, gateway.url, **SIZE) as visit:
            page = visit.open()
            page.wait_for_selector(".puzzle")
            shown = list(frames(page, 1.0))
            ask(page, PUZZLE)
            shown += frames(page, STREAMING_S, _DONE)
            shown += frames(page, CLOSED_S)
            page.evaluate("() => { document.querySelector('thinking-block').open = true; }")
            shown += frames(page, OPEN_S)
    return shown


def save(shown: list[Frame], path: Path) -> None:
    """Write an animation in which each picture stays as long as it stood on the page."""
    kept: list[Frame] = []
    for frame in shown:
        if not kept or frame.png != kept[-1].png:
            kept.append(frame)
    ends_s = [frame.at_s for frame in kept[1:]] + [shown[-1].at_s]
    durations_ms = [
        max(20, round((end_s - frame.at_s) * 1000)) for frame, end_s in zip(kept, ends_s, strict=True)
    ]
    first, *others = (Image.open(io.BytesIO(frame.png)).convert("RGB") for frame in kept)
    options = {"quality": QUALITY, "method": 6, "loop": 0}
    first.save(path, save_all=True, append_images=others, duration=durations_ms, **options)


if __name__ == "__main__":
    save(film(), PICTURE)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"That is more than {MOST_BYTES:,} bytes.")
