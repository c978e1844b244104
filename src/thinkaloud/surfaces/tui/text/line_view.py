"""A view of many wrapped rows whose cost per frame does not grow with its text.

Rows are drawn only where they are seen, once, and are kept in a cache; a delta draws only the rows that it
changes. After a change of the width, long text is wrapped again in steps of a few milliseconds. The view is
as high as its rows inside a parent that scrolls. With a `max-height` it scrolls itself: it follows the end
until the person scrolls away from it.
"""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from time import monotonic

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual._styles_cache import StylesCache
from textual.cache import LRUCache
from textual.geometry import NULL_SPACING, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from thinkaloud.surfaces.tui.text.palette import role_styles
from thinkaloud.surfaces.tui.text.sections import Row, Section, Span, clean_line

FRAME_S = 1 / 30
LAYOUT_BUDGET_S = 0.008
"""How long one frame may wrap text again after a change of the width."""
_CACHED_ROWS = 2048


class TallStylesCache(StylesCache):
    """The lines that Textual keeps of a widget, for one that may have many thousands.

    Textual marks each line of a widget when its height changes. Only those that are kept can be out of date.
    """

    def set_dirty(self, *regions: Region) -> None:
        """Mark the lines of these regions, or all, to be drawn again."""
        if not regions:
            self.clear()
        for region in regions:
            self._dirty_lines.update(filter(region.line_range.__contains__, self._cache))


class LineView(ScrollView):
    """A column of sections. Subclasses decide which."""

    DEFAULT_CSS = """
    LineView {
        height: auto;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styles_cache = TallStylesCache()
        self._sections: list[Section] = []
        self._starts: list[int] = [0]  # the first row of each section, and the number of all rows
        self._columns = 0
        self._layouts: deque[Iterator[None]] = deque()  # the sections that are being laid out
        self._layout_timer: Timer | None = None
        self._strips: LRUCache[tuple[int, Row, int], Strip] = LRUCache(_CACHED_ROWS)
        self._styles_by_role: dict[str, Style] = {}
        self._found: re.Pattern[str] | None = None

    @property
    def sections(self) -> Sequence[Section]:
        """The sections in order."""
        return self._sections

    @property
    def row_count(self) -> int:
        """The number of rows of all sections."""
        return self._starts[-1]

    @property
    def laid_out(self) -> bool:
        """Whether all rows have the width of the view. It has none at first, and long text takes frames."""
        return not self._sections or (self._columns > 0 and not self._layouts)

    def replace_sections(self, sections: Iterable[Section], *, first: int = 0) -> None:
        """Replace the sections from the first one given; those that are new are laid out now."""
        known = {id(section) for section in self._sections[first:]}
        self._sections[first:] = sections
        added = [section for section in self._sections[first:] if id(section) not in known]
        changed_from = 0 if self._layouts else first
        if self._columns:
            self._layouts.extend(section.lay_out(self._columns) for section in added)
            self._run_layout()
        self.section_changed(changed_from)

    def section_changed(self, index: int, first_row: int = 0) -> None:
        """Draw a section again from one of its rows on, and what is below it if that moves."""
        height_before = self.row_count
        heights = (section.height for section in self._sections[index:])
        self._starts[index:] = accumulate(heights, initial=self._starts[index])
        if not self._columns:
            return
        first = self._starts[index] + first_row
        moved = self.row_count != height_before
        if moved:
            # Without its watcher, which would mark every row of the view as changed.
            self.set_reactive(Widget.virtual_size, Size(self._columns, self.row_count))
            self.refresh(layout=True, repaint=False)
        end = self._starts[min(index + 1, len(self._starts) - 1)]
        if moved or end <= first:
            end = max(self.row_count, height_before)
        self.refresh_lines(first, end - first)

    def section_at(self, row_index: int) -> tuple[Section, int] | None:
        """Return the section that a row belongs to, and the index of the row in it."""
        if not 0 <= row_index < self.row_count:
            return None
        index = bisect_right(self._starts, row_index) - 1
        return self._sections[index], row_index - self._starts[index]

    def row_at(self, row_index: int) -> Row | None:
        """Return a row; None below the last one."""
        place = self.section_at(row_index)
        return None if place is None else place[0].row(place[1])

    def screen_text(self) -> str:
        """Return all rows as text, as they are drawn."""
        rows = [self.row_at(index) for index in range(self.row_count)]
        return "\n".join(row.text.rstrip() for row in rows if row is not None)

    def mark_found(self, words: re.Pattern[str] | None) -> None:
        """Mark words that were searched for, or none."""
        self._found = words
        self._strips.clear()
        self.refresh()

    def row_of_found(self, key: int | None = None) -> int | None:
        """Return the row with the most of the marked words below the header of a key; None if none has."""
        keys = [section.key for section in self._sections]
        first = self._starts[keys.index(key)] if key in keys else 0
        best: int | None = None
        most = 0
        for index in range(first, self.row_count):
            row = self.row_at(index)
            found = set(self._found.findall(row.text.lower())) if row and self._found else set()
            if len(found) > most:
                best, most = index, len(found)
        return best

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Follow the end from when the view scrolls itself, until the person scrolls."""
        if shown:
            self.anchor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end again when the person has scrolled to it."""
        super().watch_scroll_y(old_value, new_value)
        if old_value < new_value and new_value >= self.max_scroll_y:
            self.anchor()

    # Layout

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows at this width."""
        scrollbar_width = self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0
        self._fit(width - scrollbar_width)
        return self.row_count

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the text to the new width."""
        if self._fit(self.scrollable_content_region.width):
            # The height at this width was remembered from earlier, so nobody has asked for it.
            self.refresh(layout=True)

    def _fit(self, columns: int) -> bool:
        """Lay out for so many columns; return whether that is another number than before."""
        if columns == self._columns or columns < 1:
            return False
        top = self._top_of_view()
        self._columns = columns
        self._strips.clear()
        self._layouts = deque(section.lay_out(columns) for section in self._sections)
        self._run_layout()
        self._starts = [0, *accumulate(section.height for section in self._sections)]
        # Without its watcher, which would ask for another layout in the middle of this one.
        self.set_reactive(Widget.virtual_size, Size(columns, self.row_count))
        self._keep_in_view(top)
        return True

    def _run_layout(self) -> None:
        """Wrap for some milliseconds; the next frame continues."""
        end_s = monotonic() + LAYOUT_BUDGET_S
        while self._layouts:
            for _ in self._layouts[0]:
                if monotonic() > end_s:
                    if self._layout_timer is None:
                        self._layout_timer = self.set_timer(FRAME_S, self._continue_layout)
                    return
            self._layouts.popleft()

    def _continue_layout(self) -> None:
        self._layout_timer = None
        top = self._top_of_view()
        self._run_layout()
        self._redraw_all()
        self._keep_in_view(top)

    def _redraw_all(self) -> None:
        self.section_changed(0)
        self.refresh()  # text may be wrapped at other words and still have the same number of rows

    def _top_of_view(self) -> tuple[Section, float] | None:
        """Return the section at the top of the view and how far into it that is; None at the end."""
        place = self.section_at(self.scroll_offset.y)
        if place is None or self.scroll_offset.y >= self.max_scroll_y:
            return None
        return place[0], place[1] / max(1, place[0].height)

    def _keep_in_view(self, top: tuple[Section, float] | None) -> None:
        if top is None or not self.show_vertical_scrollbar:
            return
        section, share = top
        row_index = self._starts[self._sections.index(section)] + round(share * section.height)
        self.scroll_to(y=row_index, animate=False, immediate=True)

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region. A strip that was drawn before is the same object again."""
        styles = self.styles
        if styles.gutter != NULL_SPACING or styles.tint.a or self.opacity != 1:
            return super().render_lines(crop)
        # Textual draws every line again when the height changes, which is when a row is added. It also
        # remembers what it made of a strip (cropped, divided, as bytes), which helps only if the strip stays.
        top = self.scroll_offset.y
        width = self.size.width
        strips = [self._strip(top + y, width) for y in crop.line_range]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        left, right = crop.column_span
        if (left, right) == (0, width):
            return strips
        return [strip.crop(left, right) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        return self._strip(y + self.scroll_offset.y, self.size.width)

    def _strip(self, row_index: int, width: int) -> Strip:
        row = self.row_at(row_index)
        if row is None:
            return Strip.blank(width, self.rich_style)
        selection = self.text_selection
        span = None if selection is None else selection.get_span(row_index)
        if span is not None:
            return self._draw(_restyle(row, *span, _SELECTED), width).apply_offsets(0, row_index)
        key = (row_index, row, width)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(row, width).apply_offsets(0, row_index)
        return strip

    def _draw(self, row: Row, width: int) -> Strip:
        if self._found is not None:
            for match in self._found.finditer(row.text):
                row = _restyle(row, *match.span(), "found")
        # The last gate before the terminal: whatever a section holds, no control character passes.
        segments = [
            Segment(clean_line(span.text), self._rich_style(span.role, span.href)) for span in row.spans
        ]
        strip = Strip(segments, sum(cell_len(segment.text) for segment in segments))
        return strip.adjust_cell_length(width, self._rich_style(row.fill or "text"))

    def _rich_style(self, role: str, href: str = "") -> RichStyle:
        if not self._styles_by_role:
            _, _, background, foreground = self.colors
            self._styles_by_role = role_styles(self.app.theme_variables, background, foreground)
        if role == _SELECTED:
            return self.rich_style + self.screen.get_component_rich_style("screen--selection")
        style = (self.visual_style + self._styles_by_role[role]).rich_style
        return style + RichStyle.from_meta({"href": href}) if href else style

    def notify_style_update(self) -> None:
        """Forget what was drawn with the old theme."""
        super().notify_style_update()
        self._styles_by_role = {}
        self._strips.clear()

    # Selection

    @property
    def allow_select(self) -> bool:
        """Whether text can be selected: always."""
        return True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text without gutters; wrapped lines are joined again."""
        first = 0 if selection.start is None else max(0, selection.start.y)
        last = self.row_count - 1 if selection.end is None else min(selection.end.y, self.row_count - 1)
        parts: list[str] = []
        for index in range(first, last + 1):
            row = self.row_at(index)
            span = selection.get_span(index)
            if row is None or span is None:
                continue
            start, end = span
            if end == -1:  # to the end of the row
                end = len(row.text)
            parts.append(row.text[max(start, row.gutter) : end])
            if index < last and not row.continues:
                parts.append("\n")
        return "".join(parts), "\n"


_SELECTED = "selected"


def _restyle(row: Row, start: int, end: int, role: str) -> Row:
    """Return a row with the characters from `start` to `end` in a role; -1 is the end of the row."""
    end = len(row.text) if end == -1 else end
    start = max(start, row.gutter)
    spans: list[Span] = []
    position = 0
    for span in row.spans:
        length = len(span.text)
        first = min(max(0, start - position), length)
        last = min(max(0, end - position), length)
        for left, right in pairwise(sorted({0, first, last, length})):
            within = start <= position + left < end
            spans.append(span._replace(text=span.text[left:right], role=role if within else span.role))
        position += length
    return row._replace(spans=tuple(spans))
