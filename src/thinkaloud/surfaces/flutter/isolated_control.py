"""A control that sends its own changes: what contains it can be updated without looking inside."""

import flet as ft


class IsolatedControl(ft.Control):
    """To be listed before the class of the control."""

    _isolated = True
    _mounted = False

    def did_mount(self) -> None:
        """Note that changes are to be sent from now on."""
        self._mounted = True

    def will_unmount(self) -> None:
        """Note that there is no client any more."""
        self._mounted = False

    def send_changes(self) -> None:
        """Send what changed, if the control is on a page."""
        if self._mounted:
            self.update()
