"""The chat in one browser page: the list of sessions, the conversation, the message box, and who answers.

It draws what `ChatState` tells it. Work that waits for the gateway runs beside the page. On a narrow screen
the list and the conversation take turns.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import flet as ft
import msgspec

from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled, Entry, Refused
from thinkaloud.core.view import Policy
from thinkaloud.surfaces.chat.backend import Backend, BackendUnreachable
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.chat_state import ChatState
from thinkaloud.surfaces.chat.display import GATEWAY_CHECK_S
from thinkaloud.surfaces.flutter import page_flows
from thinkaloud.surfaces.flutter.composer_row import ApprovalCard, ComposerRow
from thinkaloud.surfaces.flutter.exchange_column import ExchangeColumn
from thinkaloud.surfaces.flutter.followed_list import FollowedList
from thinkaloud.surfaces.flutter.icon_action import IconAction
from thinkaloud.surfaces.flutter.notice_bar import NoticeBar
from thinkaloud.surfaces.flutter.page_tasks import start_task
from thinkaloud.surfaces.flutter.screen_text import screen_line
from thinkaloud.surfaces.flutter.session_sidebar import SessionSidebar
from thinkaloud.surfaces.flutter.settings_dialog import EFFORTS
from thinkaloud.surfaces.flutter.system_fonts import SystemFonts
from thinkaloud.surfaces.flutter.words import FlutterDisplay

WIDE = 840
"""Pixels from which the list stands beside the conversation."""
TEXT_WIDTH = 820
EXCHANGES_SHOWN = 30


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
        self.page, self.display = page, display
        self.state = ChatState(backend, self, answerer)
        self.chat: ChatSession | None = None
        """The session that is shown; None for one that has no question yet."""
        self.theme = "system"
        self._listed = self._asking = self._closed = False
        self._flows: set[asyncio.Task[Any]] = set()
        self._gateway_lost = ""
        self._first_shown = 0
        self._exchanges: dict[int, ExchangeColumn] = {}
        self.sidebar = SessionSidebar(self._act_on_session)
        self.composer = ComposerRow(self._act)
        self._conversation = FollowedList([], follow=True, spacing=22)
        self._approval = ApprovalCard(self._answer_call)
        self._notice = NoticeBar(self._conversation.follow_end)
        self._title = ft.Text(size=16, max_lines=1, overflow=ft.TextOverflow.ELLIPSIS, expand=True)
        self._menu = IconAction("menu", ft.Icons.MENU, lambda: self._list_sessions(True))
        self._blocks = IconAction("blocks", ft.Icons.UNFOLD_MORE, lambda: self._act("blocks"))
        self._settings = IconAction("settings", ft.Icons.SETTINGS_OUTLINED, lambda: self._act("settings"))
        self._lost = ft.Text(size=13, color=ft.Colors.ERROR, visible=False)
        self._fonts: SystemFonts | None = None
        self._no_font = ft.Text(size=13, color=ft.Colors.ON_SURFACE_VARIANT, visible=False)
        self._main = ft.Container(self._main_column(), expand=True, padding=8)

    def _main_column(self) -> ft.Column:
        top = ft.Row([self._menu, self._title, self._blocks, self._settings], spacing=4)
        column = ft.Column(
            [self._conversation, self._no_font, self._lost, self._notice, self._approval, self.composer],
            expand=True,
            spacing=8,
        )
        self._conversation.expand = True
        centred = ft.Row(
            [ft.Container(column, expand=True, alignment=ft.Alignment.TOP_CENTER)],
            alignment=ft.MainAxisAlignment.CENTER,
            expand=True,
            vertical_alignment=ft.CrossAxisAlignment.STRETCH,
        )
        return ft.Column([top, centred], expand=True, spacing=4)

    # Start

    def start(self, session: str) -> None:
        """Show the page with a session, or an empty one, and watch the gateway."""
        page = self.page
        page.title, page.padding, page.spacing = "Thinkaloud", 0, 0
        page.theme = ft.Theme(color_scheme_seed=ft.Colors.INDIGO)
        page.dark_theme = ft.Theme(color_scheme_seed=ft.Colors.INDIGO)
        page.on_resize, page.on_close = self._resized, self.close
        page.controls = []
        self.show(None)
        columns = ft.Row(
            [self.sidebar, self._main],
            spacing=0,
            expand=True,
            vertical_alignment=ft.CrossAxisAlignment.STRETCH,
        )
        page.controls = [ft.SafeArea(columns, expand=True)]
        page.update()
        self.run_flow(self._open_first(session))
        start_task(page, self._watch_gateway)

    async def _open_first(self, session: str) -> None:
        await self.state.refresh_sessions()
        if session:
            await self.open_session(session)

    def run_flow(self, flow: Coroutine[Any, Any, None]) -> None:
        """Run work beside the page, until the page closes. What the gateway refuses is shown."""
        if self._closed:
            flow.close()
        else:
            start_task(self.page, self._run, flow)

    async def _run(self, flow: Coroutine[Any, Any, None]) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._flows.add(task)
        try:
            await flow
        except (Refused, BackendUnreachable) as error:
            self.show_notice(self.display.error_text(error))
        finally:
            self._flows.discard(task)

    def show_notice(self, text: str) -> None:
        """Show a short notice above the message box, or below the list that covers it on a phone."""
        if not self._closed:
            shown_bar = self._notice if self._main.visible else self.sidebar.notice
            shown_bar.show(text, self.display.words.text("close"))

    def watch_fonts(self, fonts: SystemFonts) -> None:
        """Say for which scripts this machine has no font, as soon as a text needs one."""
        self._fonts = fonts
        fonts.on_missing.append(self._name_missing_fonts)
        if fonts.missing:
            self._name_missing_fonts()

    def _name_missing_fonts(self) -> None:
        if self._fonts is None:
            return
        words = self.display.words
        names = ", ".join(words.text(f"font.{script}") for script in self._fonts.missing)
        self._no_font.value, self._no_font.visible = words.text("font.missing", name=names), True
        self._no_font.update()

    def close(self) -> None:
        """End all work beside the page."""
        self._closed = True
        if self._fonts is not None:
            self._fonts.on_missing.remove(self._name_missing_fonts)
            self._fonts = None
        for flow in self._flows:
            flow.cancel()

    # What `ChatState` tells

    def feed(self, session: ChatSession, chat_turn: ChatTurn, entry: Entry) -> None:
        """Apply an entry to a turn, and draw it if its session is shown."""
        exchange = self._exchange(chat_turn) if session is self.chat else None
        if exchange is None:
            chat_turn.feed(entry)
        else:
            exchange.feed(entry)
            self._conversation.follow_end()
        if isinstance(entry.event, ApprovalAsked | ApprovalSettled):
            self._show_approval()
            self.sessions_changed()

    def turn_changed(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw the state of a turn."""
        if session is not self.chat:
            session.unread = session.unread or not chat_turn.running
        elif exchange := self._exchange(chat_turn):
            exchange.turn_column.flush()
            exchange.show_state()
            self._conversation.follow_end()
        self._show_approval()
        self.show_composer()

    def turn_restarted(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw a turn again from its first entry."""
        if session is self.chat and (exchange := self._exchange(chat_turn)):
            exchange.restart()

    def sessions_changed(self) -> None:
        """Draw the list of sessions, and the title."""
        shown, words = self.chat.info.id if self.chat else "", self.display.words
        more = bool(self.state.more_sessions)
        self.sidebar.show(self.state.sessions.values(), shown, words, more=more)
        title = screen_line(self.chat.info.title) if self.chat else ""
        self._title.value = title or words.text("untitled")
        self._menu.name(words.text("sessions"))
        self._settings.name(words.text("settings.title"))
        self._blocks.name(words.text("key.blocks"))
        self._update(self._main)

    async def _watch_gateway(self) -> None:
        while not self._closed:
            await asyncio.sleep(GATEWAY_CHECK_S)
            try:
                await self.state.refresh_sessions()
                lost = ""
            except (Refused, BackendUnreachable) as error:
                lost = self.display.error_text(error)
            if lost != self._gateway_lost:
                self._gateway_lost = lost
                self._show_lost()
            for chat, chat_turn in [] if lost else self.state.unfollowed():
                self.run_flow(self.state.follow(chat, chat_turn))

    def _show_lost(self) -> None:
        lost, words = self._gateway_lost, self.display.words
        self._lost.value = words.text("gateway.lost", reason=screen_line(lost)) if lost else ""
        self._lost.visible = bool(lost)
        self._update(self._lost)
        self._conversation.follow_end()  # there is less room for it now, or more
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
        if self.chat is not None:
            self.chat.draft = self.composer.field.value
        self.chat = chat
        self._exchanges.clear()
        turns = [] if chat is None else chat.turns
        self._first_shown = max(0, len(turns) - EXCHANGES_SHOWN)
        if chat is not None:
            chat.unread = False
        self.composer.fill("" if chat is None else chat.draft)
        self._conversation.follow = True
        self._list_sessions(False)
        self.draw_conversation()
        self.sessions_changed()
        self._show_approval()
        self.show_composer()

    def draw_conversation(self) -> None:
        """Draw the exchanges of the shown session."""
        turns = [] if self.chat is None else self.chat.turns[self._first_shown :]
        controls: list[ft.Control] = []
        if self._first_shown:
            controls.append(
                ft.TextButton(self.display.words.text("earlier"), on_click=lambda _: self._show_earlier())
            )
        for chat_turn in turns:
            exchange = self._exchange(chat_turn)
            if exchange is None:
                exchange = ExchangeColumn(chat_turn, self.display, self._copy)
                self._exchanges[id(chat_turn)] = exchange
            controls.append(exchange)
        if not controls:
            controls.append(
                ft.Text(self.display.words.text("welcome"), size=15, color=ft.Colors.ON_SURFACE_VARIANT)
            )
        self._conversation.controls = controls
        self._update(self._conversation)
        self._conversation.follow_end()

    def _show_earlier(self) -> None:
        self._first_shown = max(0, self._first_shown - EXCHANGES_SHOWN)
        self._conversation.follow = False
        self.draw_conversation()

    def _exchange(self, chat_turn: ChatTurn) -> ExchangeColumn | None:
        return self._exchanges.get(id(chat_turn))

    # Acts of the person

    async def ask(self) -> None:
        """Ask what is in the message box. If the gateway refuses it, the text stays there."""
        prompt, shown = self.composer.field.value, self.chat
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
        self.composer.fill("")
        if shown is None:
            self.show(chat)
        self._conversation.follow = True
        self.draw_conversation()
        self.show_composer()

    def apply_display(self, display: FlutterDisplay) -> None:
        """Draw in another way."""
        self.display = display
        for exchange in self._exchanges.values():
            exchange.apply_display(display)
        self.draw_conversation()
        self.sessions_changed()
        self._show_approval()
        self.show_composer()

    def replace_choices(self) -> None:
        """Draw with the choices that the turns have now."""
        for exchange in self._exchanges.values():
            exchange.replace_choices()

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
                self._list_sessions(False)
            case _:
                page_flows.SESSION_FLOWS[name](self, session)

    def _answer_call(self, turn: str, block: int, granted: bool) -> None:
        self.run_flow(self.state.backend.approve(turn, block, granted))

    def _copy(self, chat_turn: ChatTurn) -> None:
        self.run_flow(page_flows.copy(self, chat_turn))

    # Parts

    def show_composer(self) -> None:
        """Show who answers, and whether a turn runs."""
        answerer, words = self.state.answerer, self.display.words
        info = self.chat.info if self.chat else None
        who = answerer.agent or answerer.model or (info.agent if info else "")
        who = who or self.display.model(self.chat, answerer)
        effort = words.text(f"effort.{answerer.thinking}") if answerer.thinking in EFFORTS[1:] else ""
        running = self.chat is not None and self.chat.running_turn is not None
        self.composer.show(words, " · ".join(part for part in (who, effort) if part), running=running)

    def _show_approval(self) -> None:
        turns = self.chat.turns if self.chat else []
        waiting = [(chat_turn.id, block) for chat_turn in turns for block in chat_turn.waiting_calls]
        self._approval.show(waiting, self.display.words)
        self._conversation.follow_end()

    def _list_sessions(self, listed: bool) -> None:
        self._listed = listed
        self._lay_out()
        self._update(self.page)

    def _resized(self, _: ft.PageResizeEvent) -> None:
        self._lay_out()
        self._update(self.page)

    def _lay_out(self) -> None:
        wide = (self.page.width or 0) >= WIDE
        self.sidebar.fill_screen(not wide)
        self.sidebar.visible = wide or self._listed
        self._main.visible = wide or not self._listed
        self._menu.visible = not wide
        side = max(8, ((self.page.width or 0) - (self.sidebar.width or 0) - TEXT_WIDTH) // 2) if wide else 8
        self._main.padding = ft.Padding(left=side, right=side, top=6, bottom=6)

    def _update(self, control: ft.Control | ft.Page) -> None:
        if self.page.controls:
            control.update()


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
        chat_page.show_notice(str(problem))
    return chat_page
