"""The settings of the app: how thinking is shown, language, colours, and how much the model thinks."""

from collections.abc import Callable, Iterable, Mapping

import flet as ft

from thinkaloud.core.view import LOCALES, PRESETS
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.flutter.dialogs import WINDOW_WIDTH
from thinkaloud.surfaces.flutter.row_controls import MUTED
from thinkaloud.surfaces.flutter.words import FlutterDisplay

EFFORTS = ("", "off", "low", "medium", "high", "max")
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "preset": tuple(PRESETS),
    "language": tuple(LOCALES),
    "theme": ("system", "light", "dark"),
    "effort": EFFORTS,
}
"""The values of each setting."""

OnChange = Callable[[str, str], None]
"""Called with the name of a setting and its new value."""


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
            item.content, item.checked = words.text(f"{self._name}.{value or 'default'}"), value == chosen
            if item.checked:
                self._value.value = item.content
