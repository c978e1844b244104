"""A Flet app in a thread of the test, and the browser's view of it: what Flutter tells assistive technology.

A test changes controls with `FletSite.call`, in the event loop of the app, and reads the semantics tree.
"""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import flet as ft
from tests.patience import PATIENCE_S

from thinkaloud.surfaces.flutter.system_fonts import SystemFonts
from thinkaloud.surfaces.flutter.web_server import AppServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

Result = TypeVar("Result")

# The nodes with words or a state, in the order in which a screen reader meets them.
_NODES_SCRIPT = """() => [...document.querySelectorAll("flt-semantics")].map(node => {
  const own = [...node.childNodes].filter(one => one.tagName !== "FLT-SEMANTICS" &&
    one.tagName !== "FLT-SEMANTICS-CONTAINER").map(one => one.textContent).join("");
  const box = node.getBoundingClientRect();
  return {
    name: node.getAttribute("flt-semantics-identifier") ?? "",
    role: node.getAttribute("role") ?? "",
    text: node.getAttribute("aria-label") ?? own,
    expanded: node.getAttribute("aria-expanded"),
    tabindex: node.getAttribute("tabindex"),
    top: box.top, left: box.left, width: box.width, height: box.height,
  };
}).filter(node => node.name || node.role || node.text || node.expanded !== null)"""


class Node(NamedTuple):
    """A node of the semantics tree."""

    name: str
    role: str
    text: str
    expanded: str | None
    tabindex: str | None
    top: float
    left: float
    width: float
    height: float


class FletSite:
    """Serves one app; `pages` has the page of every browser that opened it.

    A process has one site only: the end of one Flet server deletes the files of all others.
    """

    def __init__(self) -> None:
        self.pages: list[ft.Page] = []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="flet site", daemon=True).start()
        self.fonts = SystemFonts()
        self._server = AppServer(self._open, title="test", fonts=self.fonts)
        self.url = self._server.url
        self._running = asyncio.run_coroutine_threadsafe(self._server.run(), self._loop)

    async def _open(self, page: ft.Page) -> None:
        self.pages.append(page)

    def call(self, work: Callable[[], Result]) -> Result:
        """Do something in the event loop of the app, and return its result."""

        async def run() -> Result:
            return work()

        return self.run(run())

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the event loop of the app, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def close(self) -> None:
        self._server.stop()
        self._running.result(PATIENCE_S)


class FletScreen:
    """A browser page with a Flet app, read through its semantics tree."""

    def __init__(self, site: FletSite, page: "Page") -> None:
        self.site, self.page = site, page
        self._marks = itertools.count(1)
        opened = len(site.pages)
        page.goto(site.url)
        page.wait_for_selector("flt-semantics-placeholder", state="attached")
        page.evaluate("document.querySelector('flt-semantics-placeholder').click()")
        self.wait_until(lambda: len(site.pages) > opened)
        self.flet_page = site.pages[opened]
        self.mark = ft.Semantics(identifier="mark", label="0", content=ft.Container(width=1, height=1))

    def mount(self, *controls: ft.Control) -> None:
        """Show these controls and nothing else."""

        def show() -> None:
            self.flet_page.controls = [*controls, self.mark]
            self.flet_page.update()

        self.site.call(show)
        self.settle()

    def settle(self) -> None:
        """Wait until everything that was sent before is on the screen."""
        number = f"mark {next(self._marks)}"

        def change() -> None:
            self.mark.label = number
            self.mark.update()

        self.site.call(change)
        self.page.wait_for_function(
            "text => document.querySelector('[flt-semantics-identifier=mark]')?.textContent === text",
            arg=number,
            polling=15,
        )

    def prefer_motion(self, motion: Literal["reduce", "no-preference"]) -> None:
        """Set what the person wants of motion, and wait until Flutter has heard of it from the browser."""

        async def motion_reduced() -> bool:
            features = await ft.SemanticsService().get_accessibility_features()
            return features.disable_animations or features.reduce_motion

        def known() -> bool:
            asked = self.site.call(lambda: self.flet_page.run_task(motion_reduced))
            self.wait_until(asked.done)
            return asked.result() is (motion == "reduce")

        self.page.emulate_media(reduced_motion=motion)
        self.wait_until(known)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so, while the browser goes on."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, "It did not happen."
            self.page.wait_for_timeout(15)

    def nodes(self) -> list[Node]:
        """Return the nodes with words or a state, in order."""
        nodes: list[dict[str, Any]] = self.page.evaluate(_NODES_SCRIPT)
        return [Node(**node) for node in nodes if node["name"] != "mark"]

    def texts(self) -> list[str]:
        """Return all words on the screen, in order."""
        return [node.text for node in self.nodes() if node.text]

    def node(self, name: str) -> Node | None:
        """Return the node with an identifier."""
        return next((node for node in self.nodes() if node.name == name), None)

    def found(self, name: str) -> Node:
        """Return the node with an identifier as soon as it is there: Flutter makes nodes anew as it draws."""
        nodes: list[Node] = []

        def find() -> bool:
            node = self.node(name)
            nodes.extend([] if node is None else [node])
            return node is not None

        self.wait_until(find)
        return nodes[0]

    def top(self, name: str) -> float:
        """Return where the node with an identifier begins."""
        return self.found(name).top

    def height(self, text: str) -> float:
        """Return how high the node with these words is."""
        return next((node.height for node in self.nodes() if node.text == text), 0)

    def press(self, name: str) -> None:
        """Click the header with an identifier, and wait until it is open or closed by that.

        The browser tells the app of a click in its own time. What the app sends meanwhile, such as a mark,
        says nothing about whether the click has arrived.
        """
        before = self.found(name).expanded

        def changed() -> bool:
            node = self.node(name)  # Flutter makes nodes anew: one that is missing says nothing
            return node is not None and node.expanded != before

        def done() -> bool:
            if not changed():
                return False
            self.settle()
            return changed()

        self.page.locator(f"[flt-semantics-identifier='{name}']").click()
        self.wait_until(done)
