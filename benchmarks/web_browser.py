"""A browser for the web benchmarks: each contender has its own tab, and its main thread is measured.

The time is the CPU time of the main thread of a page as the browser counts it (script, style and layout
separately), so a busy machine has little effect. No network is used.
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
BENCHMARK_DIST = ROOT / "benchmarks" / "web" / "dist"
ELEMENT_DIST = ROOT / "web" / "dist"
CHROMIUM = which("chromium") or which("chromium-headless-shell")
ORIGIN = "http://benchmark.localhost"
LIMIT_MS = 120_000
"""How long a page may take for one thing: longer than it takes beside any other work."""
VIEWPORT = {"width": 800, "height": 700}

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>
<style>body {{ font: 14px/1.5 sans-serif }} .box {{ max-block-size: 20rem; overflow: auto }}</style>
<body><script type="module" src="/{name}.js"></script></body></html>"""
ISOLATION_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}
"""Without these flags a page cannot read its memory use."""


class MainThreadCost(NamedTuple):
    """Milliseconds of a main thread; `task` is the total, with painting and the browser's own work."""

    script: float
    style: float
    layout: float
    task: float

    @property
    def total(self) -> float:
        return self.script + self.style + self.layout

    def minus(self, other: "MainThreadCost", count: float = 1) -> "MainThreadCost":
        """The time since another reading, per item of `count`."""
        return MainThreadCost(*((now - earlier) / count for now, earlier in zip(self, other, strict=True)))


class PageMemory(NamedTuple):
    """Memory of a page after garbage collection."""

    heap_mb: float
    all_mb: float
    nodes: int

    def minus(self, other: "PageMemory") -> "PageMemory":
        return PageMemory(self.heap_mb - other.heap_mb, self.all_mb - other.all_mb, self.nodes - other.nodes)


class Tab:
    """One contender, on its own page in its own process."""

    def __init__(self, browser: "Browser", name: str) -> None:
        self.name = name
        context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
        self.page: Page = context.new_page()
        self.page.set_default_timeout(LIMIT_MS)
        self.page.route(f"{ORIGIN}/**", self._fulfill)
        self.page.goto(f"{ORIGIN}/")
        self.page.wait_for_function("window.stage")
        self._cdp_session = context.new_cdp_session(self.page)
        self._cdp_session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def _fulfill(self, route: "Route") -> None:
        path = route.request.url.removeprefix(f"{ORIGIN}/")
        folder = ELEMENT_DIST if path.startswith("element/") else BENCHMARK_DIST
        script = folder / path.removeprefix("element/")
        if not path:
            route.fulfill(
                body=PAGE.format(name=self.name), content_type="text/html", headers=ISOLATION_HEADERS
            )
        elif script.is_file():
            route.fulfill(path=script, content_type="text/javascript", headers=ISOLATION_HEADERS)
        else:
            route.fulfill(status=404)

    def call_stage(self, call: str) -> Any:
        """Call a function of the page; returns when everything is drawn."""
        self.page.bring_to_front()
        return self.page.evaluate(f"() => stage.{call}")

    def check(self) -> None:
        """Check that the page shows the text of the stream."""
        if wrong := self.call_stage("right()"):
            raise WrongAnswer(f"{self.name}: {wrong}")

    def _metrics(self) -> dict[str, float]:
        return {
            metric["name"]: metric["value"]
            for metric in self._cdp_session.send("Performance.getMetrics")["metrics"]
        }

    def total_cost(self) -> MainThreadCost:
        metrics = self._metrics()
        names = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")
        return MainThreadCost(*(metrics[name] * 1000 for name in names))

    def cost_of_call(self, call: str, count: float = 1) -> MainThreadCost:
        """The cost of a call per item of `count`."""
        cost_before = self.total_cost()
        self.call_stage(call)
        return self.total_cost().minus(cost_before, count)

    def memory(self) -> PageMemory:
        for _ in range(2):
            self._cdp_session.send("HeapProfiler.collectGarbage")
        metrics = self._metrics()
        all_bytes = self.page.evaluate(
            "async () => (await performance.measureUserAgentSpecificMemory()).bytes"
        )
        return PageMemory(metrics["JSHeapUsedSize"] / 1e6, all_bytes / 1e6, int(metrics["Nodes"]))


def missing_requirement() -> str:
    """Why nothing can be measured here; empty if it can."""
    if not find_spec("playwright"):
        return "playwright, which drives a browser, is not installed"
    if not CHROMIUM:
        return "there is no Chromium"
    for folder, file in ((ROOT / "web", "thinking-block.js"), (ROOT / "benchmarks" / "web", "streamdown.js")):
        if not (folder / "dist" / file).is_file():
            return f"`npm ci && npm run build` was not run in {folder.relative_to(ROOT)}/"
    return ""


@contextmanager
def running_browser() -> Iterator["Browser"]:
    """Run the system's Chromium until the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--enable-blink-features=ForceEagerMeasureMemory"]
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield chromium
        finally:
            chromium.close()
