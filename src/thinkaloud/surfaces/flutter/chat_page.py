"""The chat in one browser page: what happens when a person acts, or `ChatState` tells that something changed.

The controls are in `chat_frame`. Work that waits for the gateway runs beside the page (`page_flows`).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import flet as ft
import msgspec

from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled, Entry, Refused
from thinkaloud.core.view import Policy
from thinkaloud.surfaces.chat.backend import Backend, BackendUnreachable
from thinkaloud.surfaces.chat.chat_session import EFFORTS, Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.chat_state import ChatState
from thinkaloud.surfaces.chat.display import GATEWAY_CHECK_S
from thinkaloud.surfaces.flutter import page_flows
from thinkaloud.surfaces.flutter.chat_frame import ChatFrame, FrameActs
from thinkaloud.surfaces.flutter.controls import screen_line
from thinkaloud.surfaces.flutter.page_tasks import PageFlows, start_task
from thinkaloud.surfaces.flutter.system_fonts import SystemFonts
from thinkaloud.surfaces.flutter.words import FlutterDisplay


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the person chose on the command line. Empty is what the preferences say."""

    answerer: Answerer = Answerer()
    session: str = ""
    language: str = ""
    theme: str = ""
    default_model: str = ""
    """The model of the gateway, if it is known here."""


class ChatPage:
    """The chat of one browser page."""

    def __init__(self, page: ft.Page, backend: Backend, display: FlutterDisplay, answerer: Answerer) -> None:
        self.page = page
        self.display = display
        self.state = ChatState(backend, self, answerer)
        self.chat: ChatSession | None = None
        """The session that is shown; None for one that has no question yet."""
        self.theme = "system"
        acts = FrameActs(self._act, self._act_on_session, self._answer_call, self._copy)
        self.frame = ChatFrame(display, acts)
        self._flows = PageFlows(page, self._show_error)
        self._asking = False
        self._gateway_lost = ""

    # Start

    def start(self, session: str) -> None:
        """Show the page with a session, or an empty one, and watch the gateway."""
        page = self.page
        page.title = "Thinkaloud"
        page.padding = page.spacing = 0
        page.theme = ft.Theme(color_scheme_seed=ft.Colors.INDIGO)
        page.dark_theme = ft.Theme(color_scheme_seed=ft.Colors.INDIGO)
        page.on_resize = lambda _: self.frame.fit(page)
        page.on_close = self.close
        page.controls = []
        self.show(None)
        self.frame.fit(page)
        page.controls = [ft.SafeArea(self.frame, expand=True)]
        page.update()
        self.run_flow(self._open_first(session))
        start_task(page, self._watch_gateway)

    async def _open_first(self, session: str) -> None:
        await self.state.refresh_sessions()
        if session:
            await self.open_session(session)

    def run_flow(self, flow: Coroutine[Any, Any, None]) -> None:
        """Run work beside the page, until the page closes. What the gateway refuses is shown."""
        self._flows.start(flow)

    def show_notice(self, text: str) -> None:
        """Show a short notice."""
        if not self._flows.closed:
            self.frame.show_notice(text, self.display.words)

    def _show_error(self, error: Exception) -> None:
        self.show_notice(self.display.error_text(error))

    def watch_fonts(self, fonts: SystemFonts) -> None:
        """Say for which scripts this machine has no font, as soon as a text needs one."""
        self.frame.font_line.watch(fonts, self.display.words)

    def close(self) -> None:
        """End all work beside the page."""
        self._flows.close()
        self.frame.font_line.leave()

    # What `ChatState` tells

    def feed(self, session: ChatSession, chat_turn: ChatTurn, entry: Entry) -> None:
        """Apply an entry to a turn, and draw it if its session is shown."""
        exchange = self.frame.conversation.exchange(chat_turn) if session is self.chat else None
        if exchange is None:
            chat_turn.feed(entry)
        else:
            exchange.feed(entry)
            self.frame.conversation.follow_end()
        if isinstance(entry.event, ApprovalAsked | ApprovalSettled):
            self._show_approval()
            self.sessions_changed()

    def turn_changed(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw the state of a turn."""
        if session is not self.chat:
            session.unread = session.unread or not chat_turn.running
        elif exchange := self.frame.conversation.exchange(chat_turn):
            exchange.turn_column.flush()
            exchange.show_state()
            self.frame.conversation.follow_end()
        self._show_approval()
        self.show_composer()

    def turn_restarted(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw a turn again from its first entry."""
        exchange = self.frame.conversation.exchange(chat_turn) if session is self.chat else None
        if exchange is not None:
            exchange.restart()

    def sessions_changed(self) -> None:
        """Draw the list of sessions, and the title."""
        words = self.display.words
        shown, title = "", ""
        if self.chat:
            shown, title = self.chat.info.id, screen_line(self.chat.info.title)
        more = bool(self.state.more_sessions)
        self.frame.sidebar.show(self.state.sessions.values(), shown, words, more=more)
        self.frame.top_bar.show(title, words)

    async def _watch_gateway(self) -> None:
        while not self._flows.closed:
            await asyncio.sleep(GATEWAY_CHECK_S)
            try:
                await self.state.refresh_sessions()
                lost = ""
            except (Refused, BackendUnreachable) as error:
                lost = self.display.error_text(error)
            if lost != self._gateway_lost:
                self._gateway_lost = lost
                self._show_lost()
            if lost:
                continue
            for chat, chat_turn in self.state.unfollowed():
                self.run_flow(self.state.follow(chat, chat_turn))

    def _show_lost(self) -> None:
        lost = self._gateway_lost
        words = self.display.words
        self.frame.lost_line.show(words.text("gateway.lost", reason=screen_line(lost)) if lost else "")
        self.frame.conversation.follow_end()  # there is less room for it now, or more
        if not lost:
            self.show_notice(words.text("gateway.back"))

    # Which session is shown

    async def open_session(self, session: str) -> None:
        """Show a session."""
        chat = await self.state.load(session)
        self.show(chat)
        for chat_turn in chat.turns:
            if chat_turn.running:
                self.run_flow(self.state.follow(chat, chat_turn))

    def show(self, chat: ChatSession | None) -> None:
        """Show a session; None is one that has no question yet."""
        composer = self.frame.composer
        if self.chat is not None:
            self.chat.draft = composer.field.value
        self.chat = chat
        if chat is not None:
            chat.unread = False
        composer.fill("" if chat is None else chat.draft)
        self.frame.list_sessions(False)
        self.frame.conversation.show([] if chat is None else chat.turns)
        self.sessions_changed()
        self._show_approval()
        self.show_composer()

    # Acts of the person

    async def ask(self) -> None:
        """Ask what is in the message box. If the gateway refuses it, the text stays there."""
        prompt = self.frame.composer.field.value
        shown = self.chat
        if self._asking or not prompt.strip():
            return
        self._asking = True
        try:
            chat, chat_turn = await self.state.ask_in(shown, prompt, [])
        finally:
            self._asking = False
        self.run_flow(self.state.follow(chat, chat_turn))
        chat.draft = ""
        if self.chat is not shown:  # the person has gone to another session meanwhile
            return
        self.frame.composer.fill("")
        if shown is None:
            self.show(chat)
        self.frame.conversation.follow = True
        self.frame.conversation.draw()
        self.show_composer()

    def apply_display(self, display: FlutterDisplay) -> None:
        """Draw in another way."""
        self.display = display
        self.frame.conversation.apply_display(display)
        self.frame.font_line.use_words(display.words)
        self.sessions_changed()
        self._show_approval()
        self.show_composer()

    def use_theme(self, name: str) -> None:
        """Use light or dark colours, or those of the device."""
        self.theme = name
        self.page.theme_mode = ft.ThemeMode(name)
        self.page.update()

    def _act(self, name: str) -> None:
        self.run_flow(page_flows.PAGE_FLOWS[name](self))

    def _act_on_session(self, name: str, session: str) -> None:
        match name:
            case "open":
                self.run_flow(self.open_session(session))
            case "new":
                self.show(None)
            case "more":
                self.run_flow(self.state.load_more_sessions())
            case "back":
                self.frame.list_sessions(False)
            case _:
                page_flows.SESSION_FLOWS[name](self, session)

    def _answer_call(self, turn: str, block: int, granted: bool) -> None:
        self.run_flow(self.state.backend.approve(turn, block, granted))

    def _copy(self, chat_turn: ChatTurn) -> None:
        self.run_flow(page_flows.copy(self, chat_turn))

    # Parts

    def show_composer(self) -> None:
        """Show who answers, and whether a turn runs."""
        answerer = self.state.answerer
        words = self.display.words
        who = self.display.answerer_name(self.chat, answerer)
        effort = words.text(f"effort.{answerer.thinking}") if answerer.thinking in EFFORTS else ""
        running = self.chat is not None and self.chat.running_turn is not None
        name = " · ".join(filter(None, (who, effort)))
        self.frame.composer.show(words, name, running=running)

    def _show_approval(self) -> None:
        self.frame.approval.show(self.chat.waiting_calls if self.chat else [], self.display.words)
        self.frame.conversation.follow_end()


async def open_chat(
    page: ft.Page, backend: Backend, settings: ChatSettings, fonts: SystemFonts | None = None
) -> ChatPage:
    """Open the chat in a browser page: read the preferences, then show and return it."""
    problem: Exception | None = None
    display = FlutterDisplay(Policy(), settings.language or "en-US")
    try:
        preferences = await backend.preferences()
        display = FlutterDisplay.from_preferences(preferences, settings.language)
    except (Refused, BackendUnreachable) as error:
        problem = error
    display.default_model = display.default_model or settings.default_model
    chat_page = ChatPage(page, backend, display, settings.answerer)
    chat_page.use_theme(settings.theme or "system")
    chat_page.start(settings.session)
    if fonts is not None:
        chat_page.watch_fonts(fonts)
    if problem is not None:
        chat_page.show_notice(display.error_text(problem))
    return chat_page
