"""A browser for the benchmarks of the page: contenders on tabs of their own, and what their main threads did.

The time is the processor time of a page's main thread as the browser itself counts it (script, style and
layout apart), so a busy machine disturbs it little. Nothing is asked of any network.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.report import WrongAnswer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "benchmarks" / "web" / "dist"
ELEMENT = ROOT / "web" / "dist"
CHROMIUM = which("chromium") or which("chromium-headless-shell")
ORIGIN = "http://benchmark.localhost"
VIEWPORT = {"width": 800, "height": 700}

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>
<style>body {{ font: 14px/1.5 sans-serif }} .box {{ max-block-size: 20rem; overflow: auto }}</style>
<body><script type="module" src="/{name}.js"></script></body></html>"""
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
"""Without these a page is not told how much memory it takes."""


class Cost(NamedTuple):
    """Milliseconds of a main thread; `task` is all of it, painting and the browser's own work too."""

    script: float
    style: float
    layout: float
    task: float

    @property
    def total(self) -> float:
        return self.script + self.style + self.layout

    def less(self, other: "Cost", count: float = 1) -> "Cost":
        """What was spent since another reading, for one of `count` things."""
        return Cost(*((now - then) / count for now, then in zip(self, other, strict=True)))


class Memory(NamedTuple):
    """What a page holds after its garbage is gone."""

    heap_mb: float
    all_mb: float
    nodes: int

    def less(self, other: "Memory") -> "Memory":
        return Memory(self.heap_mb - other.heap_mb, self.all_mb - other.all_mb, self.nodes - other.nodes)


class Tab:
    """One contender on a page of its own, in a process of its own."""

    def __init__(self, browser: "Browser", name: str) -> None:
        self.name = name
        context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
        self.page: Page = context.new_page()
        self.page.set_default_timeout(120_000)
        self.page.route(f"{ORIGIN}/**", self._answer)
        self.page.goto(f"{ORIGIN}/")
        self.page.wait_for_function("window.stage")
        self._meter = context.new_cdp_session(self.page)
        self._meter.send("Performance.enable", {"timeDomain": "threadTicks"})

    def _answer(self, route: "Route") -> None:
        path = route.request.url.removeprefix(f"{ORIGIN}/")
        folder = ELEMENT if path.startswith("element/") else BUILT
        script = folder / path.removeprefix("element/")
        if not path:
            route.fulfill(body=PAGE.format(name=self.name), content_type="text/html", headers=ISOLATED)
        elif script.is_file():
            route.fulfill(path=script, content_type="text/javascript", headers=ISOLATED)
        else:
            route.fulfill(status=404)

    def play(self, call: str) -> Any:
        """Call the stage; it comes back when everything is drawn."""
        self.page.bring_to_front()
        return self.page.evaluate(f"() => stage.{call}")

    def check(self) -> None:
        """What is shown must be what was said."""
        if wrong := self.play("right()"):
            raise WrongAnswer(f"{self.name}: {wrong}")

    def _metrics(self) -> dict[str, float]:
        return {one["name"]: one["value"] for one in self._meter.send("Performance.getMetrics")["metrics"]}

    def spent(self) -> Cost:
        found = self._metrics()
        names = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")
        return Cost(*(found[name] * 1000 for name in names))

    def cost(self, call: str, count: float = 1) -> Cost:
        """What a call cost, for one of the `count` things that it does."""
        before = self.spent()
        self.play(call)
        return self.spent().less(before, count)

    def memory(self) -> Memory:
        for _ in range(2):
            self._meter.send("HeapProfiler.collectGarbage")
        found = self._metrics()
        whole = self.page.evaluate("async () => (await performance.measureUserAgentSpecificMemory()).bytes")
        return Memory(found["JSHeapUsedSize"] / 1e6, whole / 1e6, int(found["Nodes"]))


def missing() -> str:
    """Why nothing can be measured here; empty where it can."""
    if not find_spec("playwright"):
        return "playwright, which drives a browser, is not installed"
    if not CHROMIUM:
        return "there is no Chromium"
    for folder, file in ((ROOT / "web", "thinking-block.js"), (ROOT / "benchmarks" / "web", "streamdown.js")):
        if not (folder / "dist" / file).is_file():
            return f"`npm ci && npm run build` was not run in {folder.relative_to(ROOT)}/"
    return ""


@contextmanager
def browser() -> Iterator["Browser"]:
    """The system's Chromium, for as long as the block lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--enable-blink-features=ForceEagerMeasureMemory"]
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield started
        finally:
            started.close()
