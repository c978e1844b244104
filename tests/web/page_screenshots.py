"""Pictures of the chat page: python -m tests.web.page_screenshots FOLDER [NAME...]

Every state in every look, named STATE-LOOK; a NAME is the beginning of one. The built-in solver answers.
"""

import base64
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import FilePayload, Page, sync_playwright
from tests.conftest import CHROMIUM
from tests.web.chat_page import (
    PUZZLE,
    QUICK_QUESTION,
    SLOW_PUZZLE,
    GatewayProcess,
    ask,
    block_events,
    gateway_at,
    open_visit,
    wait_for_answers,
    with_approval_agent,
)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG image of one pixel."""
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 860}}
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
VARIANTS: dict[str, dict[str, Any]] = {
    "light": WIDE,
    "dark": {**WIDE, "color_scheme": "dark"},
    "narrow": NARROW,
    "narrow-dark-pt": {**NARROW, "color_scheme": "dark", "locale": "pt-BR"},
    "tall": {"viewport": {"width": 1100, "height": 1320}},
}
VARIANT_SCENES = {"tall": ("planner",)}
"""Looks that are for some states alone; the first of these is the picture of the page in the docs."""
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


PASTE_LONG = """() => {
  const data = new DataTransfer();
  data.setData("text/plain", "a line of a long text\\n".repeat(400));
  const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector("#message").dispatchEvent(event);
}"""


@cache
def keep_conversations(gateway: GatewayProcess) -> str:
    """A conversation with everything an answer can have, once for each gateway: the list stays short."""
    gateway.import_exchanges(
        "Plans for a garden in spring", ("what grows in shade", "Ferns, hostas.", "Ferns and hostas do.")
    )
    gateway.import_exchanges("Translate a recipe", ("translate", "", "Bake for 40 minutes."))
    return gateway.import_exchanges("Sums of odd numbers", ("why is 1 + 3 + 5 a square?", THOUGHT, RICH))


def click_sidebar_button(page: Page, nth: int) -> None:
    """A button of the list's foot: agents, figures, import or settings."""
    if page.locator(".opener").is_visible():
        page.click(".opener")
    page.locator(".side-foot .side-item").nth(nth).click()


def open_session(page: Page, session: str) -> None:
    page.evaluate("id => { location.hash = id; }", session)
    wait_for_answers(page)


def ask_agent(page: Page, agent: str, question: str) -> None:
    page.locator(".composer .chip").first.click()
    page.locator(".option", has_text=agent).first.click()
    ask(page, question)


def start_page(page: Page, gateway: GatewayProcess) -> None:
    page.wait_for_selector(".puzzle")


def streaming(page: Page, gateway: GatewayProcess) -> None:
    ask(page, PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 140")


def streaming_open(page: Page, gateway: GatewayProcess) -> None:
    streaming(page, gateway)
    page.evaluate("() => { document.querySelector('thinking-block').open = true; }")


def finished_answer(page: Page, gateway: GatewayProcess) -> None:
    open_session(page, keep_conversations(gateway))
    page.wait_for_selector(".answer math")
    page.wait_for_selector(".hl-keyword")
    page.evaluate("() => { document.querySelector('.scroll').scrollTop = 0; }")


def opened_thinking(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    page.evaluate("() => { document.querySelector('thinking-block').open = true; }")


def planner(page: Page, gateway: GatewayProcess) -> None:
    """The agent that comes along, when it has answered: thoughts, a tool, and the checker below its call."""
    ask_agent(page, "Planner", PUZZLE)
    wait_for_answers(page)
    page.evaluate(
        "() => { const block = document.querySelector('thinking-block'); block.expandAll();"
        " block.style.setProperty('--thinking-max-block-size', '60rem'); }"
    )


def approval(page: Page, gateway: GatewayProcess) -> None:
    ask_agent(page, "Careful", QUICK_QUESTION)
    page.wait_for_selector(".approval")


def side_panel(page: Page, gateway: GatewayProcess) -> None:
    events: list[dict[str, Any]] = []
    names = ("Planner", "Reader", "Scout", "Checker")
    for number, name in enumerate(names):
        events += block_events(
            number,
            "assistant_call",
            f"Find out what {name} knows",
            name=name,
            parent=number - 1 if number else None,
        )
    events += block_events(4, "reasoning", "Two sources say **fern**; one says hosta.", parent=3)
    events += block_events(
        5, "tool_call", '{"query": "shade"}', name="search", parent=3, result="fern, hosta"
    )
    events += [{"type": "tool.finished", "block": n, "result": "A fern."} for n in range(3, -1, -1)]
    open_session(
        page,
        gateway.import_events("What grows in shade?", [*events, *block_events(6, "text", "A fern."), ENDED]),
    )
    page.evaluate(
        "() => { const block = document.querySelector('thinking-block'); block.open = true;"
        " block.choose(3, true); }"
    )
    page.wait_for_selector(".aside .answer")


def thought_only(page: Page, gateway: GatewayProcess) -> None:
    open_session(
        page, gateway.import_events("Why is the sky blue?", [*block_events(0, "reasoning", THOUGHT), ENDED])
    )


def connection_lost(page: Page, gateway: GatewayProcess) -> None:
    lost = {"type": "turn.failed", "code": "cut_off", "message": ""}
    events = [
        *block_events(0, "reasoning", THOUGHT),
        *block_events(1, "text", "The first *n* odd numbers"),
        lost,
    ]
    open_session(page, gateway.import_events("Why is that so?", events))


def links(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    page.locator(".reply-tools button").last.click()
    page.wait_for_selector(".links")


def menu(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    page.locator(".bar .tools > button").last.click()
    page.wait_for_selector("#actions")


def sidebar(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    if page.locator(".opener").is_visible():
        page.click(".opener")


@cache
def keep_agents(gateway: GatewayProcess) -> None:
    """Two agents that somebody made."""
    gateway.call(
        "/api/agents", {"name": "Puzzler", "model": "builtin/solver", "thinking": True, "level": "high"}
    )
    gateway.call(
        "/api/agents",
        {"name": "Close reader", "model": "claude-opus-4.5", "thinking": True, "budget_tokens": 8192},
    )


def agents(page: Page, gateway: GatewayProcess) -> None:
    keep_agents(gateway)
    click_sidebar_button(page, 0)
    page.wait_for_selector(".card")


def agent_form(page: Page, gateway: GatewayProcess) -> None:
    agents(page, gateway)
    page.locator(".card .quiet").last.click()
    page.wait_for_selector("fieldset")


def picker(page: Page, gateway: GatewayProcess) -> None:
    page.locator(".composer .chip").first.click()
    page.wait_for_selector(".option")


def settings(page: Page, gateway: GatewayProcess) -> None:
    click_sidebar_button(page, 3)
    page.wait_for_selector(".dialog select")


def settings_end(page: Page, gateway: GatewayProcess) -> None:
    settings(page, gateway)
    page.click(".key")
    page.locator("#keys-hint").scroll_into_view_if_needed()


def search(page: Page, gateway: GatewayProcess) -> None:
    keep_conversations(gateway)
    page.keyboard.press("Control+k")
    page.wait_for_selector(".dialog .input")
    page.check("input[value=thoughts]")
    page.fill(".dialog .input", "square")
    page.wait_for_selector(".hit")


def find(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    if page.locator(".tools .quiet").first.is_visible():
        page.locator(".tools .quiet").first.click()
    else:
        page.locator(".bar .tools > button").last.click()
        page.wait_for_selector("#actions")
        page.locator(".menu-item").first.click()
    page.wait_for_selector(".finder input")
    page.keyboard.type("square")
    page.wait_for_function("() => document.querySelector('.count').textContent")


def replay(page: Page, gateway: GatewayProcess) -> None:
    open_session(page, keep_conversations(gateway))
    page.locator(".reply-tools button").nth(2).click()
    page.wait_for_selector(".replay")
    page.wait_for_function("() => document.querySelector('.replay input').value > 1000")


def export(page: Page, gateway: GatewayProcess) -> None:
    menu(page, gateway)
    page.locator(".menu-item").nth(-3).click()
    page.wait_for_selector("dialog [type=radio]")


def session_menu(page: Page, gateway: GatewayProcess) -> None:
    sidebar(page, gateway)
    page.locator(".sessions li").first.hover()
    page.locator(".sessions li > button").first.click()
    page.wait_for_selector("#actions")


def attached(page: Page, gateway: GatewayProcess) -> None:
    files: list[FilePayload] = [
        {"name": "picture.png", "mimeType": "image/png", "buffer": base64.b64decode(PIXEL)},
        {"name": "notes of the meeting.txt", "mimeType": "text/plain", "buffer": b"17 apples"},
    ]
    page.locator("input[type=file]").set_input_files(files)
    page.wait_for_selector(".attachment >> nth=1")


def commands(page: Page, gateway: GatewayProcess) -> None:
    page.locator("#message").press_sequentially("/")
    page.wait_for_selector(".slash-menu li")


def shortcut_sheet(page: Page, gateway: GatewayProcess) -> None:
    page.fill("#message", "")
    page.locator("#message").press_sequentially("/keys")
    page.wait_for_selector(".slash-menu li")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog kbd")


def share(page: Page, gateway: GatewayProcess) -> None:
    menu(page, gateway)
    page.locator(".menu-item", has=page.locator(".icon-share")).click()
    page.check("dialog [type=checkbox]")


def figures(page: Page, gateway: GatewayProcess) -> None:
    ask(page, QUICK_QUESTION)
    wait_for_answers(page)
    click_sidebar_button(page, 1)
    page.wait_for_selector(".figure-plot canvas")


def offline(page: Page, gateway: GatewayProcess) -> None:
    ask(page, SLOW_PUZZLE)
    page.wait_for_function("() => document.querySelector('thinking-block')?.text.length > 60")
    page.context.set_offline(True)
    page.wait_for_selector(".link-state:not([hidden])")


def refused(page: Page, gateway: GatewayProcess) -> None:
    picker(page, gateway)
    page.locator(".option", has_text="claude-opus-4.5").first.click()
    ask(page, "Why is the sky blue?")
    page.wait_for_selector(".error-card")


def waiting(page: Page, gateway: GatewayProcess) -> None:
    ask(page, SLOW_PUZZLE)
    page.wait_for_selector("thinking-block[status=streaming]")
    ask(page, QUICK_QUESTION)
    ask(page, "Which of the steps was the longest one, and why was it? " * 4)
    page.wait_for_selector(".queue li >> nth=1")
    page.evaluate(PASTE_LONG)
    page.wait_for_selector(".attachment")


def long_question(page: Page, gateway: GatewayProcess) -> None:
    question = "\n".join(f"  {number}. a line of a long question" for number in range(200))
    open_session(page, gateway.import_exchanges("Long question", (question, "A thought.", "An answer.")))
    page.wait_for_selector(".show-more")


def edited_question(page: Page, gateway: GatewayProcess) -> None:
    finished_answer(page, gateway)
    page.locator(".edit-prompt").last.click()
    page.wait_for_selector(".edit textarea")


def suggestions(page: Page, gateway: GatewayProcess) -> None:
    ask(page, "Tell me about the train to Lyon")
    page.wait_for_selector(".suggestions button")


SCENES: tuple[Callable[[Page, GatewayProcess], None], ...] = (
    start_page,
    streaming,
    streaming_open,
    finished_answer,
    opened_thinking,
    planner,
    approval,
    side_panel,
    thought_only,
    connection_lost,
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
    session_menu,
    attached,
    commands,
    shortcut_sheet,
    share,
    figures,
    offline,
    refused,
    waiting,
    long_question,
    edited_question,
    suggestions,
)


def main(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for variant, options in VARIANTS.items():
            with gateway_at(with_approval_agent(Path(tempfile.mkdtemp()))) as gateway:
                for scene in SCENES:
                    name = f"{scene.__name__.replace('_', '-')}-{variant}"
                    if not name.startswith(names or "") or scene.__name__ not in VARIANT_SCENES.get(
                        variant, scene.__name__
                    ):
                        continue
                    with open_visit(browser, gateway.url, **options) as visit:
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
