"""Buttons with an icon and a name: a screen reader reads the name and the button as one."""

from collections.abc import Callable

import flet as ft


class IconAction(ft.MergeSemantics):
    """An icon that does something when it is pressed."""

    def __init__(self, identifier: str, icon: ft.IconData, on_press: Callable[[], None]) -> None:
        self.button = ft.IconButton(icon, on_click=lambda _: on_press())
        super().__init__(content=ft.Semantics(identifier=identifier, content=self.button))

    def name(self, text: str) -> None:
        """Give the button a name, which is shown while the pointer rests on it."""
        self.button.tooltip = text


def text_action(identifier: str, button: ft.TextButton) -> ft.MergeSemantics:
    """Return a button with text as one node with an identifier."""
    return ft.MergeSemantics(content=ft.Semantics(identifier=identifier, content=button))
