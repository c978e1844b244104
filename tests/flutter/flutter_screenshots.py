"""Pictures of the Flutter block and app: python -m tests.flutter.flutter_screenshots FOLDER [NAME...]

The states of the block stand below one another, in every look. The app is shown in every state, on a phone
and on a wide screen. A NAME is the beginning of a picture's name.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flet as ft
import msgspec
from playwright.sync_api import Browser, sync_playwright
from tests.conftest import CHROMIUM
from tests.flutter.flet_site import FletScreen, FletSite
from tests.flutter.test_flutter_app import DESKTOP, PHONE, THOUGHT, Chat
from tests.patience import PATIENCE_MS
from tests.web.element_states import STATES

from thinkaloud.core.canon import ApprovalAsked, BlockEnded, BlockGrew, BlockStarted, Entry, Event, Kind
from thinkaloud.core.view import PANEL
from thinkaloud.surfaces.flutter import KoderThinkingBlock, chat_page

LOOKS: dict[str, dict[str, Any]] = {
    "320": {"width": 320},
    "390-dark-pt": {"width": 390, "dark": True, "locale": "pt-BR"},
    "800": {"width": 800},
    "800-dark": {"width": 800, "dark": True},
    "1366-pt": {"width": 1366, "locale": "pt-BR"},
    "390-rtl": {"width": 390, "rtl": True},
    "390-large": {"width": 390, "large": True},
    "800-large-pt": {"width": 800, "large": True, "locale": "pt-BR"},
}
CALL: list[Event] = [
    BlockStarted(1, Kind.TOOL_CALL, "delete_file"),
    BlockGrew(1, '{"path": "notes/of-last-year/a-long-name-of-a-file.md", "force": true}'),
    BlockEnded(1),
    ApprovalAsked(1),
]
RICH = (
    "## Layers\n\nThere are **three** of them:\n\n1. the wire\n2. the *view*\n3. `surfaces`\n\n"
    "| layer | size |\n|---|--:|\n| wire | 1,200 |\n| view | 900 |\n\n```python\nprint('a line of "
    "code that is rather long, so that a phone has to break or scroll it')\n```\n\n> See [the guide](https://example.org).\n"
)


def shown_block(state: str, look: dict[str, Any]) -> KoderThinkingBlock:
    """The block in a state of the web element's pictures."""
    events, options = STATES[state]
    block = KoderThinkingBlock(
        policy=options.get("policy"), locale=look.get("locale", "en-US"), clock=lambda: options.get("now")
    )
    block.rtl = look.get("rtl", False)
    for event, at_ms in events:
        block.feed(Entry(block.turn.seq + 1, msgspec.convert(event, Event), at_ms))
    block.flush()
    if options.get("open"):
        block.replace_choices({PANEL: True, **{one.number: True for one in block.turn.blocks}})
    return block


def take_block(screen: FletScreen, look: dict[str, Any], path: Path) -> None:
    """All states below one another."""
    screen.page.set_viewport_size({"width": look["width"], "height": 900})
    size = "32px" if look.get("large") else ""
    screen.page.evaluate("size => document.documentElement.style.fontSize = size", size)

    def show() -> None:
        screen.flet_page.theme_mode = ft.ThemeMode.DARK if look.get("dark") else ft.ThemeMode.LIGHT
        screen.flet_page.scroll = ft.ScrollMode.AUTO

    screen.site.call(show)
    blocks = [shown_block(state, look) for state in STATES]
    screen.mount(*blocks)
    bottom = max(node.top + node.height for node in screen.nodes())
    screen.page.set_viewport_size({"width": look["width"], "height": round(bottom) + 900})
    screen.settle()
    take_screenshot(screen, path)


def take_screenshot(screen: FletScreen, path: Path) -> None:
    """Take the last of some pictures: words are in the semantics tree before they are drawn."""
    for _ in range(4):
        screen.page.wait_for_timeout(800)
        screen.page.screenshot(path=path)


def empty(chat: Chat) -> None:
    chat.wait_for("Ask a question below")


def conversation(chat: Chat) -> None:
    session = chat.backend.add_session("Layers", [("What are the layers?", "I look for layers.", RICH)])
    for title in (
        "Tides",
        "A very long title of a conversation that cannot fit into the list",
        "汉字 and العربية",
    ):
        chat.backend.add_session(title)
    chat.screen.wait_until(lambda: session.id in chat.chat_page.state.sessions)
    chat.site.run(chat.chat_page.open_session(session.id))
    chat.wait_for("There are three")


def streaming(chat: Chat) -> None:
    turn = chat.ask("And how do they hang together?")
    chat.say(turn, *THOUGHT[:2], BlockGrew(0, "First I look at the wire.\nThen at the view of a turn"))
    chat.wait_for("Then at the view")


def approval(chat: Chat) -> None:
    turn = chat.backend.last_turn()
    chat.say(turn, BlockEnded(0), *CALL)
    chat.wait_for("Run delete_file?")


def lost(chat: Chat) -> None:
    chat.backend.unreachable = "No gateway answers at http://127.0.0.1:8787."
    chat.wait_for("No gateway answers")


def back(chat: Chat) -> None:
    chat.backend.unreachable = ""
    chat.wait_for("No gateway answers at http://127.0.0.1:8787.", there=False)


def refused(chat: Chat) -> None:
    chat.site.call(lambda: chat.chat_page._act("stop"))
    chat.wait_for("Stopped")
    chat.backend.refusal = "The model island does not exist. Run `thinkaloud models` for those that do."
    chat.type("One more question")
    chat.page.keyboard.press("Enter")
    chat.wait_for("does not exist")


def sessions(chat: Chat) -> None:
    if chat.page.viewport_size == PHONE:
        chat.tap("menu")
        chat.wait_for("Tides")


def agents(chat: Chat) -> None:
    if chat.page.viewport_size == PHONE:
        chat.tap("back")
    chat.tap("answerer")
    chat.wait_for("ANTHROPIC_API_KEY")


def settings(chat: Chat) -> None:
    chat.tap_text("Close")
    chat.tap("settings")
    chat.page.wait_for_selector("[flt-semantics-identifier=setting-language]", state="attached")


def settings_menu(chat: Chat) -> None:
    chat.tap("setting-preset")
    chat.page.wait_for_selector("[role=menuitemcheckbox]", state="attached")


SCREENS: list[Callable[[Chat], None]] = [
    empty,
    conversation,
    streaming,
    approval,
    lost,
    back,
    refused,
    sessions,
    agents,
    settings,
    settings_menu,
]
"""In the order in which one leads to the next."""


def take_app(screen: FletScreen, folder: Path, name: str, *, dark: bool) -> None:
    """Every screen of the app."""
    chat = Chat(screen)
    screen.site.call(lambda: chat.chat_page.use_theme("dark" if dark else "light"))
    for state in SCREENS:
        state(chat)
        take_screenshot(screen, folder / f"{name}-{state.__name__}.png")
    screen.page.keyboard.press("Escape")
    screen.site.call(chat.chat_page.close)


def open_screen(browser: Browser, site: FletSite, size: Any) -> FletScreen:
    context = browser.new_context(viewport=size, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    return FletScreen(site, context.new_page())


def main() -> None:
    folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    wanted = tuple(names) or ("",)
    vars(chat_page)["GATEWAY_CHECK_S"] = 0.2
    site = FletSite()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        screen = open_screen(browser, site, DESKTOP)
        for name, look in LOOKS.items():
            if f"block-{name}".startswith(wanted):
                take_block(screen, look, Path(folder) / f"block-{name}.png")
        for name, size, dark in (("app-phone", PHONE, True), ("app-wide", DESKTOP, False)):
            if name.startswith(wanted):
                take_app(open_screen(browser, site, size), Path(folder), name, dark=dark)
        browser.close()
    site.close()


if __name__ == "__main__":
    main()
