"""The Flutter chat in a real browser: sessions, questions, who answers, settings, approval, and phones.

All tests share one chat and one browser page, and each has sessions of its own.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal

import pytest
from tests.flutter.flet_site import FletScreen, FletSite
from tests.patience import patient_context
from tests.surfaces.memory_backend import MemoryBackend, MemoryTurn, asked

from thinkaloud.core.canon import (
    ApprovalAsked,
    ApprovalSettled,
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Event,
    Finish,
    Kind,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.transcript import Block
from thinkaloud.surfaces.chat.backend import SessionInfo
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatTurn
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter import chat_page, composer_row
from thinkaloud.surfaces.flutter.chat_page import ChatSettings, open_chat
from thinkaloud.surfaces.flutter.composer_row import ApprovalCard
from thinkaloud.surfaces.flutter.session_sidebar import SIDEBAR_WIDTH
from thinkaloud.surfaces.flutter.words import TEXTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

PHONE: "ViewportSize" = {"width": 360, "height": 740}
DESKTOP: "ViewportSize" = {"width": 1366, "height": 800}

_HAS_TEXT_SCRIPT = """([text, there]) => there === [...document.querySelectorAll(
    "flt-semantics, flt-semantics span, flt-semantics input, flt-semantics textarea")].some(
  node => node.textContent.includes(text) || node.getAttribute("aria-label")?.includes(text))"""

# The names by which a control can be meant: its identifier, its words, its tag.
_NAMES_SCRIPT = """node => [node.getAttribute("flt-semantics-identifier"),
  node.getAttribute("aria-label") ?? node.textContent, node.tagName.toLowerCase()]"""
_CAN_FOCUS_SCRIPT = f"""name => [...document.querySelectorAll("[tabindex='0'], textarea")].some(
  node => ({_NAMES_SCRIPT})(node).includes(name))"""
# Flutter moves the focus of the browser within its next frames.
_FOCUS_SCRIPT = f"""async () => {{
  for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
  return ({_NAMES_SCRIPT})(document.activeElement);
}}"""


class Chat:
    """The chat with a gateway in memory, read and used as a person would."""

    def __init__(self, screen: FletScreen) -> None:
        self.screen, self.page, self.site = screen, screen.page, screen.site
        self.backend = MemoryBackend()
        self.chat_page = self.site.run(
            open_chat(screen.flet_page, self.backend, ChatSettings(answerer=Answerer("island")))
        )
        self.wait_for("Ask a question below")

    def wait_for(self, text: str, *, there: bool = True) -> None:
        self.page.wait_for_function(_HAS_TEXT_SCRIPT, arg=[text, there], polling=15)

    def wait_for_call(self, *call: object) -> None:
        self.screen.wait_until(lambda: call in self.backend.calls)

    def tap(self, name: str) -> None:
        self.page.locator(f"[flt-semantics-identifier='{name}']").click()

    def tap_text(self, text: str, role: Literal["button", "menuitem", "menuitemcheckbox"] = "button") -> None:
        self.page.get_by_role(role, name=text).first.click()

    def add_session(self, title: str, *exchanges: tuple[str, str, str]) -> SessionInfo:
        info = self.site.call(lambda: self.backend.add_session(title, exchanges))
        self.wait_for_session(title)
        return info

    def wait_for_session(self, title: str) -> None:
        if self.page.viewport_size == DESKTOP:
            self.wait_for(title)

    def open(self, session: SessionInfo, text: str) -> None:
        if self.page.viewport_size == PHONE:
            self.tap("menu")
        self.tap(f"session-{session.id}")
        self.wait_for(text)

    def ask(self, text: str) -> MemoryTurn:
        """Ask a question, and return its turn when it runs."""
        turns = len(self.backend.turns_by_id)
        self.type(text)
        while len(self.backend.turns_by_id) == turns:  # like typed words, a key may come before the focus
            self.page.locator("textarea").first.focus()
            self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(50)
        self.wait_for(text)
        return self.backend.last_turn()

    def type(self, text: str, box_name: Literal["textarea", "input"] = "textarea") -> None:
        """Put text into a box, until it is there.

        Flutter drops what arrives before it has noticed the focus, and the browser shows the text
        nevertheless until Flutter draws the box again. So the message box has it only when the app has it.
        """
        box = self.page.locator(box_name).first
        field = self.chat_page.frame.composer.field if box_name == "textarea" else None
        while box.input_value() != text or (field is not None and field.value != text):
            box.focus()
            self.page.keyboard.press("Control+A")
            self.page.keyboard.insert_text(text)
            self.page.wait_for_timeout(50)

    def tab_to(self, name: str) -> None:
        """Press Tab until the focus is on the control with this identifier, text or tag."""
        self.page.wait_for_function(_CAN_FOCUS_SCRIPT, arg=name, polling=15)
        met: list[str] = []
        while name not in (focus := self.page.evaluate(_FOCUS_SCRIPT)):
            assert len(met) < 60, f"{name} is not reached: {met}"
            met.append(focus[0] or focus[1][:30])
            self.page.keyboard.press("Tab")

    def press(self, name: str, key: Literal["Enter", "Space"] = "Enter") -> None:
        """Go to a control and press it, without a pointer."""
        self.tab_to(name)
        self.page.keyboard.press(key)

    def say(self, turn: MemoryTurn, *events: Event, end: bool = False) -> None:
        def work() -> None:
            turn.say(*events)
            if end:
                turn.end()

        self.site.call(work)


@pytest.fixture(scope="module")
def one_chat(browser: "Browser", flet_site: FletSite) -> Iterator[Chat]:
    """A chat on a page of its own: it changes more of a page than a control that is mounted."""
    with (
        patient_context(browser, viewport=DESKTOP, reduced_motion="reduce") as context,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(chat_page, "GATEWAY_CHECK_S", 0.2)
        patch.setattr(composer_row, "TYPE_AHEAD_S", 0.0)
        chat = Chat(FletScreen(flet_site, context.new_page()))
        yield chat
        flet_site.call(chat.chat_page.close)


@pytest.fixture
def chat(one_chat: Chat) -> Chat:
    one_chat.page.set_viewport_size(DESKTOP)
    one_chat.tap("new")
    one_chat.wait_for("Ask a question below")
    return one_chat


THOUGHT: list[Event] = [
    TurnStarted(),
    BlockStarted(0, Kind.REASONING),
    BlockGrew(0, "Hmm."),
    BlockEnded(0),
]


def answer(block: int, text: str) -> list[Event]:
    return [BlockStarted(block, Kind.TEXT), BlockGrew(block, text), BlockEnded(block), TurnEnded(Finish.STOP)]


def test_words_typed_while_a_call_waits_do_not_approve_it(chat: Chat) -> None:
    chat.add_session("Layers", ("What are they?", "I look for layers.", "There are three."))
    turn = chat.ask("Why so many?")
    chat.tab_to("textarea")
    call: list[Event] = [BlockStarted(1, Kind.TOOL_CALL, "shell"), BlockGrew(1, "{}"), BlockEnded(1)]
    chat.say(turn, *THOUGHT, *call, ApprovalAsked(1))
    chat.wait_for("Run shell?")
    for key in ("s", "t", "o", "p", "y", "Enter", "Control+y"):
        chat.page.keyboard.press(key)
    chat.tap_text("Deny")
    chat.wait_for_call("approve", turn.id, 1, False)
    assert [call for call in chat.backend.calls if call[0] == "approve"] == [("approve", turn.id, 1, False)]


@pytest.mark.parametrize("hidden_between", [False, True])
def test_second_press_does_not_answer_the_next_call(
    monkeypatch: pytest.MonkeyPatch, hidden_between: bool
) -> None:
    now_s = 100.0
    monkeypatch.setattr(composer_row, "time", SimpleNamespace(monotonic=lambda: now_s))
    monkeypatch.setattr(composer_row, "TYPE_AHEAD_S", 0.5)
    answers: list[tuple[str, int, bool]] = []
    card = ApprovalCard(lambda *answer: answers.append(answer))
    words = ScreenWords("en-US", TEXTS)
    chat_turn = ChatTurn("Clean up.", id="t1")
    first, second = Block(1, Kind.TOOL_CALL, name="ls"), Block(2, Kind.TOOL_CALL, name="rm")
    card.show([(chat_turn, first)], words)
    now_s += 0.5
    card._answer(True)
    if hidden_between:
        card.show([], words)
    now_s += 0.2
    card.show([(chat_turn, second)], words)
    card._answer(True)
    assert answers == [("t1", 1, True)]
    now_s += 0.5
    card._answer(False)
    assert answers == [("t1", 1, True), ("t1", 2, False)]


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_session_is_opened_asked_approved_and_answered(chat: Chat, size: "ViewportSize") -> None:
    """R054, R064, R065: from the list to the answer, with a tool that waits for approval, on both widths."""
    session = chat.add_session("Layers", ("What are they?", "I look for layers.", "There are **three**."))
    chat.page.set_viewport_size(size)
    if size == PHONE:
        chat.screen.wait_until(lambda: chat.screen.node(f"session-{session.id}") is None)
    chat.open(session, "There are three.")
    chat.screen.wait_until(lambda: chat.screen.node("thinking-panel") is not None)

    turn = chat.ask("Why so many?")
    assert turn.request == asked("Why so many?", model="island")
    call: list[Event] = [
        BlockStarted(1, Kind.TOOL_CALL, "shell"),
        BlockGrew(1, '{"command": "ls"}'),
        BlockEnded(1),
    ]
    chat.say(turn, *THOUGHT, *call, ApprovalAsked(1))
    chat.wait_for("Run shell?")
    chat.wait_for("command: ls")
    chat.tap_text("Run")
    chat.wait_for_call("approve", turn.id, 1, True)

    result: list[Event] = [ApprovalSettled(1, True), ToolFinished(1, "a b")]
    chat.say(turn, *result, *answer(2, "Because of weight."), end=True)
    chat.wait_for("Because of weight.")
    chat.wait_for("Run shell?", there=False)
    chat.page.wait_for_selector("[flt-semantics-identifier=send]", state="attached")


def test_two_sessions_stream_while_the_person_goes_from_one_to_the_other(chat: Chat) -> None:
    """The list says what happens in the one that is not shown, and nothing of it is lost."""
    first = chat.add_session("First", ("One?", "A thought.", "One."))
    second = chat.add_session("Second", ("Two?", "A thought.", "Two."))
    chat.open(first, "One.")
    turn = chat.ask("And then?")
    chat.say(turn, *THOUGHT, BlockStarted(1, Kind.TEXT), BlockGrew(1, "Half of it "))
    chat.wait_for("Half of it")
    chat.type("not sent yet")
    chat.open(second, "Two.")
    chat.wait_for("Half of it", there=False)
    chat.wait_for("A turn runs")
    other = chat.ask("Something else?")
    chat.say(turn, BlockGrew(1, "and the rest."), BlockEnded(1), TurnEnded(Finish.STOP), end=True)
    chat.wait_for("A turn has ended")
    chat.say(other, *THOUGHT, *answer(1, "Something."), end=True)
    chat.wait_for("Something.")
    chat.open(first, "Half of it and the rest.")
    chat.wait_for("A turn has ended", there=False)
    assert chat.chat_page.frame.composer.field.value == "not sent yet"


def test_answer_now_and_stop_reach_the_gateway(chat: Chat) -> None:
    session = chat.add_session("Long", ("One?", "A thought.", "One."))
    chat.open(session, "One.")
    turn = chat.ask("Think about it.")
    chat.say(turn, *THOUGHT[:3])
    chat.wait_for("Thinking...")
    chat.tap("now")
    chat.wait_for_call("answer_now", turn.id)
    chat.tap("stop")
    chat.wait_for_call("cancel", turn.id)
    chat.wait_for("Stopped")
    chat.page.wait_for_selector("[flt-semantics-identifier=send]", state="attached")


def test_session_is_renamed_and_deleted(chat: Chat) -> None:
    session = chat.add_session("Wrong name", ("One?", "A thought.", "One."))
    chat.open(session, "One.")
    chat.tap(f"session-menu-{session.id}")
    chat.tap_text("Rename", "menuitem")
    chat.type("Right name", "input")
    chat.page.keyboard.press("Enter")
    chat.wait_for_call("rename_session", session.id, "Right name")
    chat.wait_for("Wrong name", there=False)
    chat.tap(f"session-menu-{session.id}")
    chat.tap_text("Delete", "menuitem")
    chat.wait_for("Right name")
    chat.tap_text("Delete")
    chat.wait_for_call("delete_session", session.id)
    chat.wait_for("Right name", there=False)
    chat.wait_for("Ask a question below")


def test_another_agent_answers_and_one_that_is_not_ready_cannot_be_chosen(chat: Chat) -> None:
    chat.tap("answerer")
    chat.wait_for("ANTHROPIC_API_KEY is not set.")
    chat.tap_text("Planner")
    chat.wait_for("ANTHROPIC_API_KEY is not set.", there=False)
    chat.wait_for("planner")
    turn = chat.ask("Plan it.")
    assert turn.request == asked("Plan it.", agent="planner")
    chat.say(turn, *THOUGHT, *answer(1, "A plan."), end=True)
    chat.wait_for("A plan.")
    chat.tap("answerer")
    chat.tap_text("Island")
    chat.wait_for("ANTHROPIC_API_KEY is not set.", there=False)


def test_settings_are_saved_and_hold_at_once(chat: Chat) -> None:
    chat.tap("settings")
    chat.tap("setting-language")
    chat.tap_text("Brazilian Portuguese", "menuitemcheckbox")
    chat.screen.wait_until(lambda: chat.backend.saved.language == "pt-BR")
    chat.wait_for("Idioma")  # the window itself, too
    chat.tap("setting-effort")
    chat.tap_text("muito", "menuitemcheckbox")
    chat.wait_for("Quanto o modelo pensa\nmuito")
    chat.tap("setting-preset")
    chat.tap_text("resumo", "menuitemcheckbox")
    chat.screen.wait_until(lambda: chat.backend.saved.display["preset"] == "trace")
    chat.tap("setting-language")
    chat.tap_text("Inglês", "menuitemcheckbox")
    chat.tap_text("Close")
    chat.wait_for("island · high")
    chat.type("/thinking hide")
    chat.page.keyboard.press("Enter")
    chat.screen.wait_until(lambda: chat.backend.saved.display.get("show_thinking") is False)
    chat.type("/thinking show")
    chat.page.keyboard.press("Enter")
    chat.screen.wait_until(lambda: chat.backend.saved.display.get("show_thinking") is not False)


def open_and_close_session_menu(chat: Chat, menu: str) -> None:
    chat.press(menu)
    chat.wait_for("Rename")
    chat.page.keyboard.press("Escape")
    chat.wait_for("Rename", there=False)
    chat.press(menu, "Space")
    chat.press("Rename")
    chat.wait_for("Save")
    chat.page.keyboard.press("Escape")
    chat.wait_for("Save", there=False)
    chat.press(menu)
    chat.press("Delete")
    chat.wait_for("and everything in it?")
    chat.press("Cancel")
    chat.wait_for("and everything in it?", there=False)


def test_whole_app_is_used_from_the_keyboard(chat: Chat) -> None:
    """R133: Tab reaches everything, Enter and Space press it, and Escape closes menus and windows."""
    first = chat.add_session("By keys", ("One?", "A thought.", "One."))
    chat.add_session("Another", ("Two?", "A thought.", "Two."))
    chat.page.mouse.move(700, 300)  # away from buttons: the first Escape would close a tooltip
    chat.press(f"session-{first.id}")
    chat.wait_for("One.")
    chat.press("thinking-panel", "Space")
    chat.page.wait_for_selector("[flt-semantics-identifier=thinking-panel][aria-expanded=true]")
    chat.press("blocks")
    chat.page.wait_for_selector("[flt-semantics-identifier=thinking-panel][aria-expanded=false]")

    chat.tab_to("textarea")
    chat.type("Why?")
    chat.press("send", "Space")
    chat.screen.wait_until(lambda: ("ask", first.id) in [call[:2] for call in chat.backend.calls])
    turn = chat.backend.last_turn()
    call: list[Event] = [BlockStarted(1, Kind.TOOL_CALL, "shell"), BlockGrew(1, "{}"), BlockEnded(1)]
    chat.say(turn, *THOUGHT, *call, ApprovalAsked(1))
    chat.wait_for("Run shell?")
    chat.press("Run")
    chat.wait_for_call("approve", turn.id, 1, True)
    chat.say(turn, ApprovalSettled(1, True), ToolFinished(1, "a b"))
    chat.wait_for("Run shell?", there=False)
    chat.press("now")
    chat.wait_for_call("answer_now", turn.id)
    chat.press("stop")
    chat.wait_for_call("cancel", turn.id)

    open_and_close_session_menu(chat, f"session-menu-{first.id}")

    chat.press("settings")
    chat.press("setting-theme")
    chat.press("dark")
    chat.screen.wait_until(lambda: chat.chat_page.theme == "dark")
    chat.press("setting-theme", "Space")
    chat.press("as the device")
    chat.screen.wait_until(lambda: chat.chat_page.theme == "system")
    chat.page.keyboard.press("Escape")
    chat.wait_for("How much the model thinks", there=False)
    chat.press("answerer")
    chat.wait_for("ANTHROPIC_API_KEY is not set.")
    chat.press("Planner\nplans, then works")
    chat.screen.wait_until(lambda: chat.chat_page.state.answerer.agent == "planner")

    chat.page.set_viewport_size(PHONE)  # as in a window that is enlarged
    chat.screen.wait_until(lambda: chat.screen.node("menu") is not None)
    chat.press("menu")
    chat.press("back")
    chat.press("menu")
    chat.press("Another")
    chat.wait_for("Two.")
    chat.chat_page.state.answerer = Answerer("island")


def test_hostile_text_stays_text_and_leaves_the_buttons_on_the_screen(chat: Chat) -> None:
    """Reordering is removed, HTML is text, and a tool with a very long name can be denied on a phone."""
    hostile = f"not\u202egnp.exe\u2066\u200b<b onclick='alert(1)'>&amp; \U0001f600 {'x' * 3000}"
    shown = "notgnp.exe\u200b<b onclick='alert(1)'>&amp; \U0001f600 xxx"
    session = chat.site.call(lambda: chat.backend.add_session(hostile[:200], [(hostile, hostile, "One.")]))
    chat.wait_for(f"More about {shown}")
    chat.open(session, "One.")
    chat.page.set_viewport_size(PHONE)
    turn = chat.ask("Next?")
    call: list[Event] = [BlockStarted(1, Kind.TOOL_CALL, hostile), BlockGrew(1, "{}"), BlockEnded(1)]
    chat.say(turn, *THOUGHT, *call, ApprovalAsked(1))
    chat.wait_for(f"Run {shown}")
    assert not {"\u202e", "\u2066"} & set("".join(chat.screen.texts()))
    assert chat.page.locator("flt-semantics b").count() == 0
    chat.screen.wait_until(
        lambda: any(
            node.top + node.height < chat.screen.top("stop") < PHONE["height"]
            for node in chat.screen.nodes()
            if node.text == "Run"
        )
    )
    chat.tap_text("Deny")
    chat.wait_for_call("approve", turn.id, 1, False)
    chat.say(turn, ApprovalSettled(1, False), *answer(2, "Then not."), end=True)
    chat.wait_for("Then not.")


def test_lost_gateway_is_said_and_its_return_too(chat: Chat) -> None:
    """What was typed stays, and is sent when the gateway is back. The notice of that covers nothing."""
    session = chat.add_session("Here", ("One?", "A thought.", "One."))
    chat.open(session, "One.")
    chat.backend.unreachable = "Nobody answers at memory."
    chat.wait_for("Nobody answers at memory.")
    chat.type("Are you there?")
    chat.page.keyboard.press("Enter")
    chat.screen.wait_until(lambda: ("ask", session.id) in [call[:2] for call in chat.backend.calls])
    chat.backend.unreachable = ""
    chat.wait_for("Nobody answers at memory.", there=False)
    assert chat.chat_page.frame.composer.field.value == "Are you there?"
    chat.wait_for("The gateway is back.")
    chat.screen.wait_until(
        lambda: any(
            node.left > SIDEBAR_WIDTH and node.top + node.height <= chat.screen.top("send")
            for node in chat.screen.nodes()
            if node.text == "The gateway is back."
        )
    )
    chat.tap("close-notice")
    chat.wait_for("The gateway is back.", there=False)
    turn = chat.ask("Are you there?")
    chat.say(turn, *THOUGHT, *answer(1, "Yes."), end=True)
    chat.wait_for("Yes.")
