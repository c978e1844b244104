"""The list of sessions. An icon beside a title says what happens in a session that is not shown."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import flet as ft

from thinkaloud.surfaces.chat.chat_session import ChatSession
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.controls import IconAction, IsolatedControl, NoticeBar, screen_line
from thinkaloud.surfaces.flutter.row_controls import MUTED

SIDEBAR_WIDTH = 290

OnAct = Callable[[str, str], None]
"""Called with an act (`open`, `new`, `rename`, `delete`, `more`, `back`) and the id of a session."""


_MARK_ICONS = {
    "running": (ft.Icons.PENDING_OUTLINED, ft.Colors.PRIMARY),
    "waiting": (ft.Icons.FRONT_HAND_OUTLINED, ft.Colors.TERTIARY),
    "unread": (ft.Icons.CIRCLE, ft.Colors.PRIMARY),
}


class SessionRow(NamedTuple):
    """What the list shows of a session."""

    id: str
    title: str
    mark: str
    """`running`, `waiting` (for approval), `unread`, or empty."""
    shown: bool
    """Whether it is the one on the screen."""


class SessionSidebar(IsolatedControl, ft.Container):
    """The sessions, the most recently used first."""

    def __init__(self, on_act: OnAct) -> None:
        super().__init__(bgcolor=ft.Colors.SURFACE_CONTAINER_LOW, padding=8, width=SIDEBAR_WIDTH)
        self._on_act = on_act
        self._drawn: tuple[list[SessionRow], bool, str] | None = None
        self._tiles: dict[str, SessionTile] = {}
        self._more = ft.TextButton(on_click=lambda _: on_act("more", ""))
        self._title = ft.Text(size=16, weight=ft.FontWeight.W_500, expand=True)
        self._back = IconAction("back", ft.Icons.ARROW_BACK, lambda: on_act("back", ""))
        self._new = IconAction("new", ft.Icons.ADD_COMMENT_OUTLINED, lambda: on_act("new", ""))
        self.notice = NoticeBar(lambda: None)
        self._list = ft.ListView(spacing=2, padding=0, expand=True)
        header = ft.Row([self._back, self._title, self._new], spacing=8)
        self.content = ft.Column([header, self._list, self.notice], spacing=8)

    def fill_screen(self, whole: bool) -> None:
        """Take the whole width, on a phone, or a part of it."""
        if self.expand is not whole:
            self.width = None if whole else SIDEBAR_WIDTH
            self.expand = whole
            self._back.visible = whole
            self.send_changes()

    def show(self, sessions: Iterable[ChatSession], shown: str, words: ScreenWords, *, more: bool) -> None:
        """Show the sessions; `shown` is the one on the screen, `more` whether there are others.

        The tile of a session stays the same control: its menu may be open while another session changes.
        """
        rows = [_row(chat, chat.info.id == shown, words) for chat in sessions]
        title = words.text("sessions")  # it differs between languages
        if (rows, more, title) == self._drawn:
            return
        self._drawn = (rows, more, title)
        self._title.value = title
        self._new.name(words.text("key.new"))
        self._back.name(words.text("close"))
        self._more.content = words.text("sessions.more")
        tiles: dict[str, SessionTile] = {}
        for row in rows:
            tiles[row.id] = self._tiles.get(row.id) or SessionTile(row.id, self._on_act)
            tiles[row.id].show(row, words)
        self._tiles = tiles
        self._list.controls = list(tiles.values())
        if more:
            self._list.controls.append(self._more)
        self.send_changes()


class SessionTile(ft.Row):
    """A session in the list: a button that opens it, and a menu."""

    def __init__(self, id: str, on_act: OnAct) -> None:
        self._icon = ft.Icon(ft.Icons.CHAT_BUBBLE_OUTLINE, size=18)
        self._title = ft.Text(
            size=14,
            max_lines=1,
            overflow=ft.TextOverflow.ELLIPSIS,
            expand=True,
            color=ft.Colors.ON_SURFACE,
        )
        self._button = ft.TextButton(
            content=ft.Row([self._icon, self._title], spacing=10), on_click=lambda _: on_act("open", id)
        )
        self._semantics = ft.Semantics(identifier=f"session-{id}", content=self._button)
        self._rename = ft.PopupMenuItem(on_click=lambda _: on_act("rename", id))
        self._delete = ft.PopupMenuItem(on_click=lambda _: on_act("delete", id))
        self._menu = ft.PopupMenuButton(
            icon=ft.Icons.MORE_VERT, icon_size=18, items=[self._rename, self._delete]
        )
        menu = ft.Semantics(identifier=f"session-menu-{id}", content=self._menu)
        super().__init__(
            [ft.MergeSemantics(content=self._semantics, expand=True), ft.MergeSemantics(content=menu)],
            spacing=0,
        )

    def show(self, row: SessionRow, words: ScreenWords) -> None:
        """Show another state of the session."""
        icon, color = _MARK_ICONS.get(row.mark, (ft.Icons.CHAT_BUBBLE_OUTLINE, MUTED))
        self._icon.icon = icon
        self._icon.color = color
        self._title.value = row.title
        self._button.style = ft.ButtonStyle(
            padding=ft.Padding(left=10, right=4),
            shape=ft.RoundedRectangleBorder(radius=10),
            bgcolor=ft.Colors.SECONDARY_CONTAINER if row.shown else None,
        )
        self._semantics.selected = row.shown
        self._semantics.value = words.text(f"mark.{row.mark}") if row.mark else None
        self._rename.content = words.text("rename")
        self._delete.content = words.text("delete")
        self._menu.tooltip = words.text("more", name=row.title)


def _row(chat: ChatSession, shown: bool, words: ScreenWords) -> SessionRow:
    mark = "unread" if chat.unread else ""
    if chat.running_turn is not None:
        mark = "running"
    if chat.waits_for_approval:
        mark = "waiting"
    return SessionRow(chat.info.id, screen_line(chat.info.title) or words.text("untitled"), mark, shown)
