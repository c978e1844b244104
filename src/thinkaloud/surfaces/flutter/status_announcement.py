"""Tells a screen reader that thinking started and that it ended, each once."""

import time

import flet as ft

from thinkaloud.core.view import LiveRegion, Policy, ThinkingState, ThinkingView
from thinkaloud.surfaces.flutter.screen_text import screen_line

READ_EVERY_S = 4.0
"""Where thinking itself is read out, the newest line or the call at work is, no more often than this."""


class StatusAnnouncement(ft.Semantics):
    """A live region that nobody sees. Thinking that had ended before it was drawn is not announced."""

    def __init__(self) -> None:
        super().__init__(
            identifier="thinking-announcement",
            live_region=True,
            label="",
            content=ft.Container(width=1, height=1),
        )
        self._status: ThinkingState | None = None
        self._read_s = 0.0

    def show(self, view: ThinkingView | None, policy: Policy) -> None:
        """Announce what has changed since the last view."""
        before, self._status = self._status, None if view is None else view.status
        if view is None or policy.live_region is LiveRegion.OFF:
            self.label = ""
        elif view.status is not ThinkingState.THINKING:
            if before is ThinkingState.THINKING:
                self._say(". ".join(part for part in (view.label, view.notice) if part))
        elif before is not ThinkingState.THINKING:
            self._say(view.label)
        elif policy.live_region is LiveRegion.CONTENT and time.monotonic() - self._read_s >= READ_EVERY_S:
            # Not the line of the panel: it stays while a call works, and was read when it was new.
            new_lines = [block.peek for block in view.blocks if block.peek]
            self._say(new_lines[-1] if new_lines else view.label)

    def _say(self, text: str) -> None:
        self.label, self._read_s = screen_line(text), time.monotonic()
