"""The rows of a thinking panel in each preset, made from the view of a turn.

`preview` shows each thought as `▶ "first words…" (click to expand)`. `trace` shows a bar with a summary and a
chevron at the right edge, a tree of steps, and the status below them. The others show `▶` and the header of
the view. A thought that is alone is the panel itself; several steps are a list below the header.
"""

from typing import Protocol

from thinkaloud.canon import Kind
from thinkaloud.surfaces.tui.sections import HeaderLine, Section, Span
from thinkaloud.view import (
    PANEL,
    HeaderStyle,
    OpenState,
    Policy,
    StepView,
    ThinkingState,
    ThinkingView,
    Words,
    preview,
)
from thinkaloud.view.labels import ICONS, TOOL_ICON
from thinkaloud.view.plain import ASSISTANT_ICON, INDENT, MAX_INDENT_LEVELS, RESULT_ARROW

CLOSED, OPEN = "▶", "▼"
BAR_CLOSED, BAR_OPEN = "›", "⌄"
GUTTER = "│ "
SEPARATOR = " · "
STATUS_ICONS = {
    ThinkingState.THINKING: ICONS[ThinkingState.THINKING],
    ThinkingState.DONE: "✓",
    ThinkingState.ERROR: ICONS[ThinkingState.ERROR],
    ThinkingState.INTERRUPTED: "■",
}
_KIND_ICONS = {Kind.TOOL_CALL: f"{TOOL_ICON} ", Kind.ASSISTANT_CALL: f"{ASSISTANT_ICON} "}


class TextSource(Protocol):
    """Where the sections with text come from; a section is kept while its text only grows."""

    def thought(self, step: StepView, prefix: str) -> Section:
        """Return the section with the whole text of a thought, or the line for one that cannot be read."""

    def newest_line(self, number: int | None, text: str, prefix: str) -> Section:
        """Return the newest line of a thought that streams, or another line if no thought does."""

    def passage(self, text: str, prefix: str, first_prefix: str) -> Section:
        """Return a section with a text that does not grow."""


def panel_sections(view: ThinkingView, policy: Policy, words: Words, source: TextSource) -> list[Section]:
    """Return the sections of a panel."""
    return _PanelBuilder(view, policy, words, source).sections()


class _PanelBuilder:
    def __init__(self, view: ThinkingView, policy: Policy, words: Words, source: TextSource) -> None:
        self._view, self._policy, self._words, self._source = view, policy, words, source
        self._blocks = {block.block: block for block in view.blocks}
        self._bar = policy.header is HeaderStyle.SUMMARY
        self._quotes = policy.preset == "preview"

    def sections(self) -> list[Section]:
        view = self._view
        if view.open is OpenState.HIDDEN:
            return [HeaderLine(Span(view.marker, "header"), key=PANEL)] if view.marker else []
        if self._quotes and len(view.steps) > 1:
            return self._steps(0)
        header = self._header()
        match view.open:
            case OpenState.EXPANDED:
                return [header, *self._body(), *self._footer()]
            case OpenState.PEEK:
                return [header, *self._newest_line()]
        return [header]

    def _header(self) -> Section:
        view, expanded = self._view, self._view.open is OpenState.EXPANDED
        if self._bar:
            text = view.header.removesuffix(f"{SEPARATOR}{view.label}") if expanded else view.header
            right = BAR_OPEN if expanded else BAR_CLOSED
            return HeaderLine(Span(text, _role(view.status)), badge=view.badge, right=right, key=PANEL)
        chevron = Span(f"{_chevron(view.open)} ", "header")
        if self._quotes and view.status is ThinkingState.DONE and view.preview:
            return self._quoted_header(chevron, view.preview, expanded, PANEL)
        return HeaderLine(chevron, Span(view.header, _role(view.status)), badge=view.badge, key=PANEL)

    def _quoted_header(self, chevron: Span, text: str, expanded: bool, key: int) -> Section:
        hint = "" if expanded else self._words.text("ai.thinking.expand")
        return HeaderLine(chevron, Span(f'"{text}"', "header"), hint=hint, key=key)

    def _body(self) -> list[Section]:
        steps = self._view.steps
        if len(steps) == 1 and steps[0].kind is Kind.REASONING:
            return [self._source.thought(steps[0], GUTTER)]
        return self._steps(1)

    def _newest_line(self) -> list[Section]:
        live = [block.block for block in self._view.blocks if block.peek]
        if not self._view.peek:
            return []
        return [self._source.newest_line(live[-1] if live else None, self._view.peek, GUTTER)]

    def _footer(self) -> list[Section]:
        view = self._view
        status = f"{STATUS_ICONS[view.status]} {view.label}" if self._bar else ""
        provenance = view.blocks[0].provenance if len(view.blocks) == 1 else ""
        facts = [fact for fact in (status, provenance, view.tokens_text, view.badge_title) if fact]
        role = _role(view.status) if self._bar else "header"
        return [HeaderLine(Span(SEPARATOR.join(facts), role))] if facts else []

    def _steps(self, depth: int) -> list[Section]:
        """Return the rows of all steps. A turn may be nested deeper than the recursion limit."""
        sections: list[Section] = []
        waiting: list[tuple[StepView, int] | Section] = [(step, depth) for step in reversed(self._view.steps)]
        while waiting:
            item = waiting.pop()
            if not isinstance(item, tuple):
                sections.append(item)
                continue
            step, depth = item
            if step.open is OpenState.HIDDEN:
                continue
            indent = INDENT * min(depth, MAX_INDENT_LEVELS)
            sections.append(self._step_header(step, indent))
            if step.kind is Kind.REASONING:
                sections += self._thought_body(step, f"{indent}{GUTTER}")
            elif step.open is OpenState.EXPANDED:
                sections += self._passage(step.text, f"{indent}{GUTTER}", "")
                waiting += self._passage(step.result, f"{indent}{GUTTER}", f"{RESULT_ARROW} ")
                waiting += [(child, depth + 1) for child in reversed(step.steps)]
        return sections

    def _step_header(self, step: StepView, indent: str) -> Section:
        chevron = Span(f"{indent}{_chevron(step.open)} ", "header")
        expanded = step.open is OpenState.EXPANDED
        if step.kind is Kind.REASONING:
            return self._thought_header(step, chevron, expanded)
        mark = "" if step.status is ThinkingState.DONE else f"{STATUS_ICONS[step.status]} "
        name = Span(f"{mark}{_KIND_ICONS[step.kind]}{step.label}", _role(step.status))
        brief = Span("" if expanded or not step.text else f"  {step.text}", "quiet")
        return HeaderLine(chevron, name, brief, key=step.block)

    def _thought_header(self, step: StepView, chevron: Span, expanded: bool) -> Section:
        block = self._blocks.get(step.block)
        first_words = preview(step.text) if block is None else block.preview
        if self._quotes and step.status is ThinkingState.DONE and first_words:
            return self._quoted_header(chevron, first_words, expanded, step.block)
        facts = [step.label] if block is None else [step.label, block.words_text]
        number = f"{block.step} " if block is not None and block.step else ""
        text = number + SEPARATOR.join(fact for fact in facts if fact)
        closed_text = f"{text} — {first_words}" if first_words else text
        shown = closed_text if step.open is OpenState.COLLAPSED else text
        return HeaderLine(chevron, Span(shown, _role(step.status)), key=step.block)

    def _thought_body(self, step: StepView, prefix: str) -> list[Section]:
        if step.open is OpenState.EXPANDED:
            return [self._source.thought(step, prefix)]
        block = self._blocks.get(step.block)
        if step.open is OpenState.PEEK and block is not None and block.peek:
            return [self._source.newest_line(step.block, block.peek, prefix)]
        return []

    def _passage(self, text: str, prefix: str, mark: str) -> list[Section]:
        return [self._source.passage(text, prefix, prefix + mark)] if text else []


def _chevron(state: OpenState) -> str:
    return CLOSED if state is OpenState.COLLAPSED else OPEN


def _role(status: ThinkingState) -> str:
    return "error" if status is ThinkingState.ERROR else "header"
