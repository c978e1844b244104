"""The controls of the chat page, and where they stand.

On a wide screen the list of sessions stands beside the conversation; on a narrow one they take turns.
"""

from collections.abc import Callable
from typing import NamedTuple

import flet as ft

from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.composer_row import ApprovalCard, ComposerRow
from thinkaloud.surfaces.flutter.controls import IconAction, IsolatedControl, NoticeBar
from thinkaloud.surfaces.flutter.conversation import ConversationList
from thinkaloud.surfaces.flutter.page_tasks import find_page
from thinkaloud.surfaces.flutter.row_controls import MUTED
from thinkaloud.surfaces.flutter.session_sidebar import SessionSidebar
from thinkaloud.surfaces.flutter.system_fonts import SystemFonts
from thinkaloud.surfaces.flutter.words import FlutterDisplay

WIDE = 840
"""Pixels from which the list stands beside the conversation."""
TEXT_WIDTH = 820
SIDE_MARGIN = 8


class StateLine(IsolatedControl, ft.Text):
    """A line that is there only while it has something to say."""

    def __init__(self, color: ft.Colors) -> None:
        super().__init__(size=13, color=color, visible=False)

    def show(self, text: str) -> None:
        """Show a text; an empty one hides the line."""
        self.value = text
        self.visible = bool(text)
        self.send_changes()


class TopBar(IsolatedControl, ft.Row):
    """The title of the session, between the buttons of the page."""

    def __init__(self, on_act: Callable[[str], None], on_menu: Callable[[], None]) -> None:
        self._title = ft.Text(size=16, max_lines=1, overflow=ft.TextOverflow.ELLIPSIS, expand=True)
        self._menu = IconAction("menu", ft.Icons.MENU, on_menu)
        self._blocks = IconAction("blocks", ft.Icons.UNFOLD_MORE, lambda: on_act("blocks"))
        self._settings = IconAction("settings", ft.Icons.SETTINGS_OUTLINED, lambda: on_act("settings"))
        super().__init__([self._menu, self._title, self._blocks, self._settings], spacing=4)

    def show(self, title: str, words: ScreenWords) -> None:
        """Show a title, and name the buttons in the language."""
        self._title.value = title or words.text("untitled")
        self._menu.name(words.text("sessions"))
        self._settings.name(words.text("settings.title"))
        self._blocks.name(words.text("key.blocks"))
        self.send_changes()

    def show_menu(self, shown: bool) -> None:
        """Show the button of the list, where the list is not in sight."""
        self._menu.visible = shown
        self.send_changes()


class FontLine(StateLine):
    """Says for which scripts this machine has no font, as soon as a text needs one."""

    def __init__(self) -> None:
        super().__init__(MUTED)
        self._fonts: SystemFonts | None = None
        self._words: ScreenWords | None = None

    def watch(self, fonts: SystemFonts, words: ScreenWords) -> None:
        """Watch the fonts that texts need."""
        self._fonts = fonts
        self._words = words
        fonts.on_missing.append(self._name_missing)
        if fonts.missing:
            self._name_missing()

    def leave(self) -> None:
        """Watch the fonts no more."""
        if self._fonts is not None:
            self._fonts.on_missing.remove(self._name_missing)
            self._fonts = None

    def use_words(self, words: ScreenWords) -> None:
        """Use the words of another language."""
        self._words = words
        if self.visible:
            self._name_missing()

    def _name_missing(self) -> None:
        if self._fonts is None or self._words is None:
            return
        names = [self._words.text(f"font.{script}") for script in self._fonts.missing]
        self.show(self._words.text("font.missing", name=", ".join(names)))


class FrameActs(NamedTuple):
    """What is called when a person does something on the page."""

    on_page: Callable[[str], None]
    """With the name of a flow of the page: `send`, `stop`, `settings`."""
    on_session: Callable[[str, str], None]
    """With the name of an act in the list, and the id of a session."""
    on_call: Callable[[str, int, bool], None]
    """With a call that waited for approval, and whether it may run."""
    on_copy: Callable[[ChatTurn], None]
    """With the turn whose answer is to be copied."""


class ChatFrame(ft.Row):
    """The controls of the page."""

    def __init__(self, display: FlutterDisplay, acts: FrameActs) -> None:
        self.sidebar = SessionSidebar(acts.on_session)
        self.top_bar = TopBar(acts.on_page, lambda: self.list_sessions(True))
        self.conversation = ConversationList(display, acts.on_copy)
        self.font_line = FontLine()
        self.lost_line = StateLine(ft.Colors.ERROR)
        self.approval = ApprovalCard(acts.on_call)
        self.composer = ComposerRow(acts.on_page)
        self._notice = NoticeBar(self.conversation.follow_end)
        self._main = ft.Container(self._main_column(), expand=True, padding=SIDE_MARGIN)
        self._listed = False
        """Whether the list covers the conversation, on a narrow screen."""
        super().__init__(
            [self.sidebar, self._main],
            spacing=0,
            expand=True,
            vertical_alignment=ft.CrossAxisAlignment.STRETCH,
        )

    def _main_column(self) -> ft.Column:
        parts: list[ft.Control] = [
            self.conversation,
            self.font_line,
            self.lost_line,
            self._notice,
            self.approval,
            self.composer,
        ]
        centred = ft.Row(
            [
                ft.Container(
                    ft.Column(parts, expand=True, spacing=8), expand=True, alignment=ft.Alignment.TOP_CENTER
                )
            ],
            alignment=ft.MainAxisAlignment.CENTER,
            expand=True,
            vertical_alignment=ft.CrossAxisAlignment.STRETCH,
        )
        return ft.Column([self.top_bar, centred], expand=True, spacing=4)

    def show_notice(self, text: str, words: ScreenWords) -> None:
        """Show a short notice above the message box, or below the list that covers it on a phone."""
        shown_bar = self._notice if self._main.visible else self.sidebar.notice
        shown_bar.show(text, words.text("close"))

    def list_sessions(self, listed: bool) -> None:
        """Show the list of sessions in place of the conversation, or the conversation."""
        self._listed = listed
        if page := find_page(self):
            self.fit(page)

    def fit(self, page: ft.Page) -> None:
        """Lay the controls out for the width of the page."""
        width = page.width or 0
        wide = width >= WIDE
        self.sidebar.fill_screen(not wide)
        self.sidebar.visible = wide or self._listed
        self._main.visible = wide or not self._listed
        self.top_bar.show_menu(not wide)
        side: float = SIDE_MARGIN
        if wide:
            side = max(SIDE_MARGIN, (width - (self.sidebar.width or 0) - TEXT_WIDTH) // 2)
        self._main.padding = ft.Padding(left=side, right=side, top=6, bottom=6)
        if page.controls:
            page.update()
