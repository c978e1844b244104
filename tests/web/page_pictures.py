"""Pictures of the chat page in its states: python -m tests.web.page_pictures FOLDER [NAME...]

Each state is visited in a fresh window against a gateway of its own; the built-in solver answers.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.web.conftest import CHROMIUM
from tests.web.page_visits import PUZZLE, SLOW, Gateway, Visit, ask, finished, gateway_at, visiting

WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}}
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DARK: dict[str, Any] = {"color_scheme": "dark"}

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


def kept(gateway: Gateway) -> str:
    """A conversation with everything an answer can have."""
    gateway.keep(
        "Plans for a garden in spring", ("what grows in shade", "Ferns, hostas.", "Ferns and hostas do.")
    )
    gateway.keep("Translate a recipe", ("translate", "", "Bake for 40 minutes."))
    return gateway.keep("Sums of odd numbers", ("why is 1 + 3 + 5 a square?", THOUGHT, RICH))


def empty(page: Page, gateway: Gateway) -> None:
    page.wait_for_timeout(400)


def streaming(page: Page, gateway: Gateway) -> None:
    ask(page, PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 140")


def streaming_open(page: Page, gateway: Gateway) -> None:
    streaming(page, gateway)
    page.evaluate("() => document.querySelector('thinking-block').open = true")
    page.wait_for_timeout(900)


def answered(page: Page, gateway: Gateway) -> None:
    session = kept(gateway)
    page.evaluate("id => location.hash = id", session)
    page.wait_for_selector(".answer math")
    page.wait_for_selector(".hl-keyword")
    page.reload()
    page.wait_for_selector(".hl-keyword")
    page.wait_for_timeout(500)
    page.evaluate("() => document.querySelector('.scroll').scrollTop = 0")
    page.wait_for_timeout(200)


def opened(page: Page, gateway: Gateway) -> None:
    answered(page, gateway)
    page.evaluate("() => document.querySelector('thinking-block').open = true")
    page.wait_for_timeout(500)


def planner(page: Page, gateway: Gateway) -> None:
    """The agent that comes along, when it has answered: thoughts, a tool, and the checker below its call."""
    page.click(".composer .chip")
    page.locator(".option", has_text="Planner").click()
    ask(page, PUZZLE)
    finished(page)
    page.evaluate(
        "() => { const block = document.querySelector('thinking-block'); block.expandAll();"
        " block.style.setProperty('--thinking-max-block-size', '60rem'); }"
    )
    page.wait_for_timeout(600)  # it opens slowly


def menu(page: Page, gateway: Gateway) -> None:
    answered(page, gateway)
    page.click(".opener")
    page.wait_for_timeout(400)


def agents(page: Page, gateway: Gateway) -> None:
    gateway.call(
        "/api/agents", {"name": "Puzzler", "model": "builtin/solver", "thinking": True, "level": "high"}
    )
    gateway.call(
        "/api/agents",
        {"name": "Careful reader", "model": "claude-opus-4.5", "thinking": True, "budget_tokens": 8192},
    )
    page.get_by_role("button", name="Agents").click()
    page.wait_for_selector(".card")
    page.wait_for_timeout(300)


def agent_form(page: Page, gateway: Gateway) -> None:
    agents(page, gateway)
    page.get_by_role("button", name="Edit Careful reader").click()
    page.wait_for_timeout(400)


def picker(page: Page, gateway: Gateway) -> None:
    page.click(".composer .chip")
    page.wait_for_selector(".option")
    page.wait_for_timeout(300)


def settings(page: Page, gateway: Gateway) -> None:
    page.locator(".side-item").last.click()
    page.wait_for_selector(".dialog select")
    page.wait_for_timeout(300)


def search(page: Page, gateway: Gateway) -> None:
    kept(gateway)
    page.keyboard.press("Control+k")
    page.wait_for_selector(".dialog .input")
    page.keyboard.type("square")
    page.wait_for_selector(".hit")
    page.wait_for_timeout(300)


def find(page: Page, gateway: Gateway) -> None:
    answered(page, gateway)
    page.get_by_role("button", name="Find in thinking").click()
    page.wait_for_selector(".finder input")
    page.keyboard.type("square")
    page.wait_for_timeout(600)


def replay(page: Page, gateway: Gateway) -> None:
    ask(page, PUZZLE)
    finished(page)
    page.get_by_role("button", name="Replay").click()
    page.wait_for_selector(".replay")
    page.wait_for_timeout(1800)


def error(page: Page, gateway: Gateway) -> None:
    ask(page, SLOW)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 60")
    page.route("**/api/**", lambda route: route.abort())
    page.context.set_offline(True)
    page.wait_for_selector(".link-state:not([hidden])")
    page.wait_for_timeout(300)


def refused(page: Page, gateway: Gateway) -> None:
    choice = {"model": "claude-opus-4.5", "agent": "", "name": "claude-opus-4.5", "thinking": ""}
    kept = json.dumps({"choice": choice, "language": "en-US"})
    page.evaluate("kept => localStorage.setItem('thinkaloud', kept)", kept)
    page.reload()
    ask(page, "Why is the sky blue?")
    page.wait_for_selector(".toast.bad")
    page.wait_for_timeout(300)


PICTURES: dict[str, tuple[Callable[[Page, Gateway], None], dict[str, Any]]] = {
    "empty": (empty, WIDE),
    "empty-dark": (empty, {**WIDE, **DARK}),
    "empty-narrow": (empty, NARROW),
    "empty-pt": (empty, {**WIDE, "locale": "pt-BR"}),
    "streaming": (streaming, WIDE),
    "streaming-narrow-dark": (streaming_open, {**NARROW, **DARK}),
    "wide": (answered, WIDE),
    "planner": (planner, {"viewport": {"width": 1100, "height": 1250}}),
    "planner-narrow-dark": (planner, {**NARROW, **DARK}),
    "dark": (opened, {**WIDE, **DARK}),
    "narrow": (opened, NARROW),
    "menu-narrow": (menu, NARROW),
    "agents": (agents, WIDE),
    "agent-form": (agent_form, WIDE),
    "agent-form-narrow": (agent_form, {**NARROW, "viewport": {"width": 900, "height": 740}}),
    "picker": (picker, WIDE),
    "picker-narrow": (picker, NARROW),
    "settings": (settings, WIDE),
    "settings-pt-dark": (settings, {**WIDE, **DARK, "locale": "pt-BR"}),
    "search": (search, WIDE),
    "find": (find, WIDE),
    "replay": (replay, WIDE),
    "error": (error, WIDE),
    "refused": (refused, WIDE),
}


def main(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        for name, (scene, options) in PICTURES.items():
            if names and name not in names:
                continue
            with (
                gateway_at(Path(tempfile.mkdtemp())) as gateway,
                visiting(browser, gateway.url, **options) as visit,
            ):
                page = Visit.open(visit)
                scene(page, gateway)
                page.screenshot(path=folder / f"page-{name}.png")
                visit.context.set_offline(False)
                page.unroute_all()
            print(name, flush=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
