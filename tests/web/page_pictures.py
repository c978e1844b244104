"""Pictures of the chat page: python -m tests.web.page_pictures FOLDER [NAME...]

Every state in every look, named STATE-LOOK; a NAME is the beginning of one. The built-in solver answers.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.web.conftest import CHROMIUM
from tests.web.page_visits import (
    PUZZLE,
    QUICK,
    SLOW,
    Gateway,
    ask,
    block,
    finished,
    gateway_at,
    visiting,
    with_careful,
)

WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}}
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": WIDE,
    "dark": {**WIDE, "color_scheme": "dark"},
    "narrow": NARROW,
    "narrow-dark-pt": {**NARROW, "color_scheme": "dark", "locale": "pt-BR"},
    "tall": {"viewport": {"width": 1100, "height": 1250}},
}
ONLY = {"tall": ("planner",)}
"""Looks that are for some states alone; the first of these is the picture in the README."""
RICH = """## Why the sum works

The **first** *n* odd numbers add up to a square: $1 + 3 + \\dots + (2n-1) = n^2$, and in general

$$\\sum_{k=1}^{n} (2k-1) = n^2$$

| n | sum | square |
|--:|:----|:------:|
| 1 | 1 | 1 |
| 2 | 1 + 3 | 4 |
| 3 | 1 + 3 + 5 | 9 |

```python
def odd_sum(n: int) -> int:
    \"\"\"The first n odd numbers, added up.\"\"\"
    return sum(2 * k - 1 for k in range(1, n + 1))  # n ** 2
```

- [x] proved for small *n*
- [ ] proved by induction, see [the outline](https://example.org/outline)

> A picture helps: each odd number is one more corner of the square.
"""
THOUGHT = (
    "The question is about odd numbers.\n\n1. Write down the first few sums: 1, 4, 9, 16.\n"
    "2. They look like **squares**. Is there a reason?\n\nEach new odd number `2k-1` wraps around a square "
    "of side `k-1` as a corner, so the side grows by one. That is the proof; I will show it with a table "
    "and a line of code."
)


ENDED = {"type": "turn.ended", "finish": "stop"}


def kept(gateway: Gateway) -> str:
    """A conversation with everything an answer can have."""
    gateway.keep(
        "Plans for a garden in spring", ("what grows in shade", "Ferns, hostas.", "Ferns and hostas do.")
    )
    gateway.keep("Translate a recipe", ("translate", "", "Bake for 40 minutes."))
    return gateway.keep("Sums of odd numbers", ("why is 1 + 3 + 5 a square?", THOUGHT, RICH))


def side(page: Page, nth: int) -> None:
    """A button of the list's foot: agents, import or settings."""
    if page.locator(".opener").is_visible():
        page.click(".opener")
    page.locator(".side-foot .side-item").nth(nth).click()


def go(page: Page, session: str) -> None:
    page.evaluate("id => { location.hash = id; }", session)
    finished(page)


def asked_of(page: Page, agent: str, question: str) -> None:
    page.locator(".composer .chip").first.click()
    page.locator(".option", has_text=agent).first.click()
    ask(page, question)


def first(page: Page, gateway: Gateway) -> None:
    page.wait_for_selector(".puzzle")


def streaming(page: Page, gateway: Gateway) -> None:
    ask(page, PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 140")


def streaming_open(page: Page, gateway: Gateway) -> None:
    streaming(page, gateway)
    page.evaluate("() => { document.querySelector('thinking-block').open = true; }")


def rest(page: Page, gateway: Gateway) -> None:
    go(page, kept(gateway))
    page.wait_for_selector(".answer math")
    page.wait_for_selector(".hl-keyword")
    page.evaluate("() => { document.querySelector('.scroll').scrollTop = 0; }")


def opened(page: Page, gateway: Gateway) -> None:
    rest(page, gateway)
    page.evaluate("() => { document.querySelector('thinking-block').open = true; }")


def planner(page: Page, gateway: Gateway) -> None:
    """The agent that comes along, when it has answered: thoughts, a tool, and the checker below its call."""
    asked_of(page, "Planner", PUZZLE)
    finished(page)
    page.evaluate(
        "() => { const block = document.querySelector('thinking-block'); block.expandAll();"
        " block.style.setProperty('--thinking-max-block-size', '60rem'); }"
    )


def approval(page: Page, gateway: Gateway) -> None:
    asked_of(page, "Careful", QUICK)
    page.wait_for_selector(".approval")


def aside(page: Page, gateway: Gateway) -> None:
    events: list[dict[str, Any]] = []
    names = ("Planner", "Reader", "Scout", "Checker")
    for number, name in enumerate(names):
        events += block(
            number,
            "assistant_call",
            f"Find out what {name} knows",
            name=name,
            parent=number - 1 if number else None,
        )
    events += block(4, "reasoning", "Two sources say **fern**; one says hosta.", parent=3)
    events += block(5, "tool_call", '{"query": "shade"}', name="search", parent=3, result="fern, hosta")
    events += [{"type": "tool.finished", "block": n, "result": "A fern."} for n in range(3, -1, -1)]
    go(page, gateway.keep_events("What grows in shade?", [*events, *block(6, "text", "A fern."), ENDED]))
    page.evaluate(
        "() => { const block = document.querySelector('thinking-block'); block.open = true;"
        " block.choose(3, true); }"
    )
    page.wait_for_selector(".aside .answer")


def thought_only(page: Page, gateway: Gateway) -> None:
    go(page, gateway.keep_events("Why is the sky blue?", [*block(0, "reasoning", THOUGHT), ENDED]))


def broken(page: Page, gateway: Gateway) -> None:
    lost = {"type": "turn.failed", "code": "cut_off", "message": ""}
    said = [*block(0, "reasoning", THOUGHT), *block(1, "text", "The first *n* odd numbers"), lost]
    go(page, gateway.keep_events("Why is that so?", said))


def links(page: Page, gateway: Gateway) -> None:
    rest(page, gateway)
    page.locator(".reply-tools button").last.click()
    page.wait_for_selector(".links")


def menu(page: Page, gateway: Gateway) -> None:
    rest(page, gateway)
    page.click("[popovertarget=actions]")


def sidebar(page: Page, gateway: Gateway) -> None:
    rest(page, gateway)
    if page.locator(".opener").is_visible():
        page.click(".opener")


def agents(page: Page, gateway: Gateway) -> None:
    gateway.call(
        "/api/agents", {"name": "Puzzler", "model": "builtin/solver", "thinking": True, "level": "high"}
    )
    gateway.call(
        "/api/agents",
        {"name": "Close reader", "model": "claude-opus-4.5", "thinking": True, "budget_tokens": 8192},
    )
    side(page, 0)
    page.wait_for_selector(".card")


def agent_form(page: Page, gateway: Gateway) -> None:
    agents(page, gateway)
    page.locator(".card .quiet").last.click()
    page.wait_for_selector("fieldset")


def picker(page: Page, gateway: Gateway) -> None:
    page.locator(".composer .chip").first.click()
    page.wait_for_selector(".option")


def settings(page: Page, gateway: Gateway) -> None:
    side(page, 2)
    page.wait_for_selector(".dialog select")


def settings_end(page: Page, gateway: Gateway) -> None:
    settings(page, gateway)
    page.click(".key")
    page.locator("#keys-hint").scroll_into_view_if_needed()


def search(page: Page, gateway: Gateway) -> None:
    kept(gateway)
    page.keyboard.press("Control+k")
    page.wait_for_selector(".dialog .input")
    page.keyboard.type("square")
    page.wait_for_selector(".hit")


def find(page: Page, gateway: Gateway) -> None:
    rest(page, gateway)
    if page.locator(".tools .quiet").first.is_visible():
        page.locator(".tools .quiet").first.click()
    else:
        page.click("[popovertarget=actions]")
        page.locator(".menu-item").first.click()
    page.wait_for_selector(".finder input")
    page.keyboard.type("square")
    page.wait_for_function("() => document.querySelector('.count').textContent")


def replay(page: Page, gateway: Gateway) -> None:
    go(page, kept(gateway))
    page.locator(".reply-tools button").nth(2).click()
    page.wait_for_selector(".replay")
    page.wait_for_function("() => document.querySelector('.replay input').value > 1000")


def export(page: Page, gateway: Gateway) -> None:
    menu(page, gateway)
    page.locator(".menu-item").nth(-2).click()
    page.wait_for_selector("dialog [type=radio]")


def offline(page: Page, gateway: Gateway) -> None:
    ask(page, SLOW)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 60")
    page.context.set_offline(True)
    page.wait_for_selector(".link-state:not([hidden])")


def refused(page: Page, gateway: Gateway) -> None:
    picker(page, gateway)
    page.locator(".option", has_text="claude-opus-4.5").first.click()
    ask(page, "Why is the sky blue?")
    page.wait_for_selector(".toast.bad")


SCENES: tuple[Callable[[Page, Gateway], None], ...] = (
    first,
    streaming,
    streaming_open,
    rest,
    opened,
    planner,
    approval,
    aside,
    thought_only,
    broken,
    links,
    menu,
    sidebar,
    agents,
    agent_form,
    picker,
    settings,
    settings_end,
    search,
    find,
    replay,
    export,
    offline,
    refused,
)


def main(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for look, options in LOOKS.items():
            with gateway_at(with_careful(Path(tempfile.mkdtemp()))) as gateway:
                for scene in SCENES:
                    name = f"{scene.__name__.replace('_', '-')}-{look}"
                    if not name.startswith(names or "") or scene.__name__ not in ONLY.get(
                        look, scene.__name__
                    ):
                        continue
                    with visiting(browser, gateway.url, **options) as visit:
                        page = visit.open()
                        page.wait_for_selector(".puzzle")
                        scene(page, gateway)
                        page.wait_for_timeout(400)  # what moves has come to rest
                        page.screenshot(path=folder / f"page-{name}.png")
                        visit.context.set_offline(False)
                    print(name, flush=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
