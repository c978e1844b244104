"""The turns of a session in one scrolling column. Only those near the visible part have widgets.

Two spacers stand for the turns above and below, so that the scroll bar shows the true place. A turn that was
never drawn has an estimated height; when it is drawn, the line that the person reads stays where it is.
"""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from thinkaloud.core.canon import Entry
from thinkaloud.surfaces.chat.backend import FoundText
from thinkaloud.surfaces.chat.chat_session import ChatTurn
from thinkaloud.surfaces.chat.display import Display
from thinkaloud.surfaces.tui.screens.exchange import ExchangeView, QuestionView
from thinkaloud.surfaces.tui.text.line_view import FRAME_S

MARGIN_SCREENS = 1
"""How many screens above and below the visible part are drawn."""
KEEP_SCREENS = 2
"""A widget within so many screens stays, so that scrolling to and fro builds nothing anew."""
_FIXED_LINES = 5
"""Lines of an exchange beside the text: the question, the header of the thinking, blank lines."""


class ConversationView(VerticalScroll):
    """The turns of the session that is shown."""

    DEFAULT_CSS = """
    ConversationView { width: 100%; height: 1fr; padding: 0 1; align-vertical: bottom;
                       scrollbar-size-vertical: 1; }
    ConversationView .spacer { height: 0; }
    ConversationView #empty { height: auto; padding: 1 2; color: $text-muted; display: none; }
    ConversationView #empty.-filled { display: block; }
    """

    def __init__(self, display: Display) -> None:
        super().__init__(id="conversation")
        self._display_settings = display
        self._turns: Sequence[ChatTurn] = ()
        self._mounted: dict[int, ExchangeView] = {}
        """The widgets by the index of their turn; the indexes have no gaps."""
        self._heights: dict[int, int] = {}
        self._update_pending = False
        self._reading: tuple[ExchangeView, int] | None = None
        """The first visible exchange and its offset from the top, as the person scrolled to it."""
        self._restoring = False
        self._sought: int | None = None
        """The turn that is scrolled to and has no widget yet."""
        self._found: FoundText | None = None
        """The place that was searched for. Its words are marked."""

    def compose(self) -> ComposeResult:
        yield Static("", id="empty", markup=False)
        yield Static("", classes="spacer", id="above")
        yield Static("", classes="spacer", id="below")

    def on_mount(self) -> None:
        """Follow the end until the person scrolls."""
        self.anchor()

    def show(self, turns: Sequence[ChatTurn], empty_text: str = "") -> None:
        """Show the turns of another session, from the end."""
        self._turns = turns
        self._found = self._sought = None
        self._heights.clear()
        for exchange in self._mounted.values():
            exchange.remove()
        self._mounted = {}
        empty = self.query_one("#empty", Static)
        empty.update(empty_text)
        empty.set_class(not turns and bool(empty_text), "-filled")
        self._set_spacers()
        self.anchor()
        self._update_soon()

    def changed(self) -> None:
        """Draw turns that were added at the end or removed there."""
        for index in [index for index in self._mounted if index >= len(self._turns)]:
            self._mounted.pop(index).remove()
        for index, exchange in list(self._mounted.items()):
            if exchange.chat_turn is not self._turns[index]:
                self._mounted.pop(index).remove()
                self._heights.pop(index, None)
        if self._sought is not None and self._sought >= len(self._turns):
            self._sought = None
        self._heights = {index: height for index, height in self._heights.items() if index < len(self._turns)}
        self.query_one("#empty").set_class(False, "-filled")
        self._update_soon()

    def follow_end(self) -> None:
        """Scroll to the end and follow it again."""
        self._sought = None
        self.anchor()
        self.scroll_end(animate=False)

    def scroll_pages(self, pages: int) -> None:
        """Scroll by pages. Two lines of the page before stay on the screen."""
        step = pages * max(1, self.size.height - 2)
        self.scroll_relative(y=step, animate=False, immediate=True)

    @property
    def exchanges(self) -> list[ExchangeView]:
        """The exchanges that have a widget now, in order."""
        return [self._mounted[index] for index in sorted(self._mounted)]

    def exchange(self, chat_turn: ChatTurn) -> ExchangeView | None:
        """Return the widget of a turn, if it has one now."""
        for exchange in self._mounted.values():
            if exchange.is_mounted and exchange.chat_turn is chat_turn:
                return exchange
        return None

    def feed(self, chat_turn: ChatTurn, entry: Entry) -> None:
        """Apply an entry to a turn, and draw it if the turn is near the visible part."""
        for exchange in self._mounted.values():
            if exchange.chat_turn is chat_turn:  # it may still be on its way to the screen
                exchange.feed(entry)
                return
        chat_turn.feed(entry)

    def apply_display(self, display: Display) -> None:
        """Draw with another policy or in another language."""
        self._display_settings = display
        for exchange in self._mounted.values():
            if exchange.is_mounted:
                exchange.apply_display(display)
        self._heights.clear()
        self._update_soon()

    def replace_choices(self) -> None:
        """Draw with the choices that the turns have now."""
        for exchange in self._mounted.values():
            if exchange.is_mounted:
                exchange.replace_choices()
        self._heights.clear()
        self._update_soon()

    def scroll_to_turn(self, turn_id: str) -> None:
        """Scroll so that a turn begins at the top."""
        index = next((number for number, chat in enumerate(self._turns) if chat.id == turn_id), None)
        if index is not None:
            self.release_anchor()
            self.scroll_to(y=self._top_of(index), animate=False, immediate=True)
            self._sought = index
            self._update_soon()
            self.call_after_refresh(self._seek)

    def show_found(self, place: FoundText) -> None:
        """Open the block of a place that was found, mark the words, and scroll there."""
        self._found = place
        for chat_turn in self._turns:
            if chat_turn.id == place.turn and place.kind in ("thought", "tool") and place.block is not None:
                chat_turn.open_block(place.block, self._display_settings.policy)
        self.replace_choices()
        for exchange in self._mounted.values():
            exchange.mark_found(place)
        self.scroll_to_turn(place.turn)

    def focus_question(self, turn_id: str) -> None:
        """Give the focus to the question of a turn, as soon as it has a widget."""
        exchanges = (row for row in self.exchanges if row.chat_turn.id == turn_id and row.is_mounted)
        exchange = next(exchanges, None)
        if exchange is not None:
            exchange.query_one(QuestionView).focus()
        elif any(chat_turn.id == turn_id for chat_turn in self._turns):
            self.call_after_refresh(self.focus_question, turn_id)

    def _seek(self) -> None:
        """Correct the place of the turn that is sought, once it has a widget."""
        exchange = None if self._sought is None else self._mounted.get(self._sought)
        if exchange is None or not exchange.size.height:
            return
        if not exchange.laid_out:
            self.set_timer(FRAME_S, self._seek)
            return
        self._sought = None
        self._reading = (exchange, -exchange.row_of_found(self._found))
        self._keep_place()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw what comes near the visible part."""
        super().watch_scroll_y(old_value, new_value)
        if not self._restoring:
            self._reading = self._place()
        self._update_soon()

    def on_exchange_view_height_changed(self, event: ExchangeView.HeightChanged) -> None:
        """Keep the place of the person when something above it becomes higher or lower."""
        event.stop()
        self.call_after_refresh(self._seek)
        self.call_after_refresh(self._keep_place)

    def on_resize(self, event: events.Resize) -> None:
        """Estimate heights for the new width."""
        self._heights.clear()
        self._update_soon()

    def _update_soon(self) -> None:
        if not self._update_pending and self.is_mounted:
            self._update_pending = True
            self.call_after_refresh(self._update_window)

    async def _update_window(self) -> None:
        self._update_pending = False
        if not self._turns or not self.size.height:
            return
        for index, exchange in self._mounted.items():
            if exchange.size.height:
                self._heights[index] = exchange.outer_size.height
        wanted = self._indexes_within(MARGIN_SCREENS)
        kept = self._indexes_within(KEEP_SCREENS)
        leaving = [index for index in self._mounted if index not in kept]
        indexes = range(min(wanted), max(wanted) + 1) if wanted else range(0)
        entering = [index for index in indexes if index not in self._mounted]
        if not leaving and not entering:
            self._set_spacers()
            return
        mounted = self._mounted
        with self.app.batch_update():
            for exchange in [self._mounted.pop(index) for index in leaving]:
                await exchange.remove()
            await self._mount_exchanges(mounted, entering)
            self._set_spacers()
        self.call_after_refresh(self._keep_place)
        self._update_soon()

    async def _mount_exchanges(self, mounted: dict[int, ExchangeView], indexes: list[int]) -> None:
        """Mount exchanges, so that the mounted ones stay without gaps and in order."""
        if mounted and indexes:
            low, high = min(mounted), max(mounted)
            gap = [*range(min(indexes), low), *range(high + 1, max(indexes) + 1)]
            indexes = sorted({*indexes, *gap} - set(mounted))
        for index in indexes:
            if mounted is not self._mounted or index >= len(self._turns):
                return  # while one was mounted, another session was shown, or turns were removed
            later = [other for other in mounted if other > index]
            following = mounted[min(later)] if later else self.query_one("#below")
            exchange = ExchangeView(self._turns[index], self._display_settings)
            exchange.mark_found(self._found)
            mounted[index] = exchange
            await self.mount(exchange, before=following)

    @property
    def _anchor_let_go(self) -> bool:
        return not self.is_anchored or self._anchor_released

    def _place(self) -> tuple[ExchangeView, int] | None:
        """Return the first visible exchange, and how far its top is from the top of the screen."""
        for index in sorted(self._mounted):
            exchange = self._mounted[index]
            offset = exchange.virtual_region.y - round(self.scroll_y)
            if exchange.size.height and offset + exchange.outer_size.height > 0:
                return exchange, offset
        return None

    def _keep_place(self) -> None:
        """Scroll so that the exchange that the person reads is where it was."""
        if self._reading is None or not self._anchor_let_go:
            return
        exchange, offset = self._reading
        if exchange.is_mounted and exchange.size.height:
            moved = exchange.virtual_region.y - round(self.scroll_y) - offset
            if moved:
                self._restoring = True
                self.scroll_to(y=self.scroll_y + moved, animate=False, immediate=True)
                self._restoring = False

    def _indexes_within(self, screens: int) -> list[int]:
        """Return the turns within so many screens of the visible part; always at least one."""
        screen = self.size.height
        if self._sought is not None:
            end = float(self._top_of(self._sought))  # it may not be possible to scroll there yet
        else:
            end = self.max_scroll_y if not self._anchor_let_go else self.scroll_y
        top, bottom = end - screens * screen, end + (1 + screens) * screen
        indexes = []
        y = 0
        for index in range(len(self._turns)):
            height = self._height(index)
            if y + height > top and y < bottom:
                indexes.append(index)
            y += height
        return indexes or [len(self._turns) - 1]

    def _top_of(self, index: int) -> int:
        return sum(self._height(number) for number in range(index))

    def _height(self, index: int) -> int:
        if index not in self._heights:
            self._heights[index] = estimated_height(self._turns[index], max(10, self.size.width - 4))
        return self._heights[index]

    def _set_spacers(self) -> None:
        first = min(self._mounted, default=len(self._turns))
        last = max(self._mounted, default=len(self._turns) - 1)
        above = sum(self._height(index) for index in range(first))
        below = sum(self._height(index) for index in range(last + 1, len(self._turns)))
        self.query_one("#above").styles.height = above
        self.query_one("#below").styles.height = below


def estimated_height(chat_turn: ChatTurn, columns: int) -> int:
    """Return about how many lines an exchange takes, without laying it out."""
    answer = chat_turn.turn.answer
    lines = sum(text.count("\n") + len(text) // columns for text in (chat_turn.prompt[:4_000], answer))
    return _FIXED_LINES + lines
