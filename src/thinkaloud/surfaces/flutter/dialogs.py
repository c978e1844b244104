"""The windows of the app: choose one of many, confirm, type a line, and change the settings."""

from collections.abc import Callable, Iterable, Mapping

import flet as ft
import msgspec

from thinkaloud.core.view import LOCALES, PRESETS
from thinkaloud.surfaces.chat.chat_session import EFFORTS
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.controls import screen_line
from thinkaloud.surfaces.flutter.row_controls import MUTED
from thinkaloud.surfaces.flutter.words import FlutterDisplay

WINDOW_WIDTH = 460
FILTER_FROM = 8
"""A list with so many rows has a line to filter it."""
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "preset": tuple(PRESETS),
    "language": tuple(LOCALES),
    "theme": ("system", "light", "dark"),
    "effort": ("", *EFFORTS),
}
"""The values of each setting."""

OnChange = Callable[[str, str], None]
"""Called with the name of a setting and its new value."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list to choose from. `reason` says why it cannot be chosen now, if it cannot."""

    value: str
    title: str
    note: str = ""
    group: str = ""
    reason: str = ""


class ChoiceDialog(ft.AlertDialog):
    """A list of rows, of which the person presses one."""

    def __init__(
        self,
        title: str,
        choices: list[Choice],
        chosen: str,
        words: ScreenWords,
        on_choose: Callable[[str], None],
    ) -> None:
        self._choices = choices
        self._chosen = chosen
        self._on_choose = on_choose
        self._list = ft.ListView(spacing=0, padding=0, expand=True)
        filter_line = ft.TextField(
            hint_text=words.text("picker.filter"),
            prefix_icon=ft.Icons.SEARCH,
            dense=True,
            visible=len(choices) >= FILTER_FROM,
            on_change=lambda event: self._filter(event.control.value),
        )
        super().__init__(
            title=title,
            content=ft.Container(
                ft.Column([filter_line, self._list], tight=True), width=WINDOW_WIDTH, height=420
            ),
            content_padding=ft.Padding(left=16, right=16, top=12, bottom=0),
            inset_padding=16,
            actions=[ft.TextButton(words.text("close"), on_click=lambda _: self.page.pop_dialog())],
        )
        self._fill("")

    def _filter(self, text: str) -> None:
        self._fill(text.lower())
        self._list.update()

    def _fill(self, text: str) -> None:
        rows: list[ft.Control] = []
        group = ""
        for choice in self._choices:
            if text not in f"{choice.title} {choice.value} {choice.note}".lower():
                continue
            if choice.group != group:
                group = choice.group
                rows.append(
                    ft.Container(ft.Text(group, size=12, weight=ft.FontWeight.BOLD, color=MUTED), padding=8)
                )
            rows.append(self._row(choice))
        self._list.controls = rows

    def _row(self, choice: Choice) -> ft.ListTile:
        subtitle = screen_line(choice.reason or choice.note)
        return ft.ListTile(
            title=screen_line(choice.title),
            subtitle=ft.Text(subtitle, size=12, color=MUTED) if subtitle else None,
            selected=choice.value == self._chosen,
            trailing=ft.Icons.CHECK if choice.value == self._chosen else None,
            disabled=bool(choice.reason),
            dense=True,
            on_click=lambda _: self._choose(choice.value),
        )

    def _choose(self, value: str) -> None:
        self.page.pop_dialog()
        self._on_choose(value)


def confirm_dialog(
    question: str, action: str, words: ScreenWords, on_confirm: Callable[[], None]
) -> ft.AlertDialog:
    """Return a window that asks before something is done."""

    def confirmed(event: ft.Event[ft.Button]) -> None:
        event.page.pop_dialog()
        on_confirm()

    return ft.AlertDialog(
        content=ft.Text(screen_line(question)),
        actions=[
            ft.TextButton(words.text("cancel"), on_click=lambda event: event.page.pop_dialog()),
            ft.FilledButton(action, on_click=confirmed),
        ],
    )


def line_dialog(title: str, value: str, words: ScreenWords, on_save: Callable[[str], None]) -> ft.AlertDialog:
    """Return a window with a line to type."""
    line = ft.TextField(value=value, autofocus=True, dense=True)

    def saved(event: ft.Event[ft.Button] | ft.Event[ft.TextField]) -> None:
        event.page.pop_dialog()
        if line.value.strip():
            on_save(line.value.strip())

    line.on_submit = saved
    return ft.AlertDialog(
        title=title,
        content=ft.Container(line, width=WINDOW_WIDTH),
        actions=[
            ft.TextButton(words.text("cancel"), on_click=lambda event: event.page.pop_dialog()),
            ft.FilledButton(words.text("save"), on_click=saved),
        ],
    )


class SettingsDialog(ft.AlertDialog):
    """A row for each setting, which opens a menu of its values. A change holds at once."""

    def __init__(self, on_change: OnChange) -> None:
        self._rows = {name: SettingRow(name, values, on_change) for name, values in SETTINGS.items()}
        self._close = ft.TextButton(on_click=lambda _: self.page.pop_dialog())
        super().__init__(
            title=ft.Text(),
            content=ft.Container(
                ft.Column([*self._rows.values()], spacing=4, tight=True), width=WINDOW_WIDTH
            ),
            inset_padding=16,
            scrollable=True,
            actions=[self._close],
        )

    def show(self, display: FlutterDisplay, theme: str, effort: str) -> None:
        """Show the values that hold now, in the language that holds now."""
        self.title = display.words.text("settings.title")
        self._close.content = display.words.text("close")
        chosen = {
            "preset": display.policy.preset,
            "language": display.locale,
            "theme": theme,
            "effort": effort,
        }
        for name, value in chosen.items():
            self._rows[name].show(display.words, value)


class SettingRow(ft.MergeSemantics):
    """A setting. It stays the same control when it changes: it has the focus, and its menu may be open."""

    def __init__(self, name: str, values: Iterable[str], on_change: OnChange) -> None:
        self._name = name
        self._title, self._value = ft.Text(size=15), ft.Text(size=13, color=MUTED)

        def item(value: str) -> ft.PopupMenuItem:
            return ft.PopupMenuItem(on_click=lambda _: on_change(name, value))

        self._items = {value: item(value) for value in values}
        lines = ft.Column([self._title, self._value], spacing=2, tight=True, expand=True)
        menu = ft.PopupMenuButton(
            content=ft.Container(
                ft.Row([lines, ft.Icon(ft.Icons.ARROW_DROP_DOWN, color=MUTED)]),
                padding=ft.Padding(left=8, right=8, top=8, bottom=8),
            ),
            tooltip="",
            items=[*self._items.values()],
        )
        super().__init__(content=ft.Semantics(identifier=f"setting-{name}", content=menu))

    def show(self, words: ScreenWords, chosen: str) -> None:
        """Show the value that holds."""
        self._title.value = words.text(f"settings.{self._name}")
        for value, item in self._items.items():
            item.content = words.text(f"{self._name}.{value or 'default'}")
            item.checked = value == chosen
            if item.checked:
                self._value.value = item.content
