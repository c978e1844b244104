"""The rows of a thinking panel in each preset, made from the view of a turn: what stands below what.

`preview` shows the first words in quotes. `trace` shows a bar with a summary, a tree of steps, and the status
below them. The others show the header of the view. A thought that is alone is the panel itself; several steps
are a list below the header. A surface turns rows into its own widgets.
"""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from thinkaloud.core.canon import Kind
from thinkaloud.core.transcript import Block
from thinkaloud.core.view import (
    PANEL,
    HeaderStyle,
    OpenState,
    Policy,
    StepView,
    SummaryBy,
    ThinkingState,
    ThinkingView,
    Words,
    preview,
)

SEPARATOR = " · "
BEFORE_FIRST_WORDS = " — "


class HeaderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A header that opens and closes a step, or the whole panel (`PANEL`)."""

    key: int
    open: OpenState
    status: ThinkingState
    kind: Kind | None = None
    """The kind of the step; None for the panel."""
    depth: int = 0
    label: str
    facts: tuple[str, ...] = ()
    text: str = ""
    """The first words or the summary; what a call was given."""
    badge: str = ""
    duration: str = ""
    """How long a call took."""
    hint: str = ""
    quoted: bool = False
    """Whether the label is the first words of a thought, in quotes."""

    @property
    def expanded(self) -> bool:
        """Whether everything below the header is shown."""
        return self.open is OpenState.EXPANDED

    @property
    def line(self) -> str:
        """Label, facts and first words in one line."""
        facts = SEPARATOR.join(filter(None, (self.label, *self.facts)))
        return BEFORE_FIRST_WORDS.join(filter(None, (facts, self.text)))


class ThoughtRow(msgspec.Struct, frozen=True, kw_only=True):
    """The whole text of a thought, or the line that says why it cannot be read."""

    block: int
    text: str
    depth: int = 0


class NewestLineRow(msgspec.Struct, frozen=True, kw_only=True):
    """The newest line that can be read; `block` is None if no thought streams that has one."""

    block: int | None
    text: str
    depth: int = 0


class PassagePart(StrEnum):
    """What a text below the header of a call is."""

    DESCRIPTION = "description"
    INPUT = "input"
    RESULT = "result"


class PassageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a call is for, what it was given, or its result."""

    block: int
    part: PassagePart
    text: str
    depth: int = 0

    @property
    def result(self) -> bool:
        """Whether it is what the call came back with."""
        return self.part is PassagePart.RESULT


class FooterRow(msgspec.Struct, frozen=True, kw_only=True):
    """The facts below an open panel: status, who wrote the text, tokens, and all calls."""

    status: ThinkingState
    status_text: str = ""
    """The status in words; empty where the header says it."""
    facts: tuple[str, ...] = ()


class MarkerRow(msgspec.Struct, frozen=True):
    """The line in place of hidden thinking. It opens the panel."""

    text: str


PanelRow = HeaderRow | ThoughtRow | NewestLineRow | PassageRow | FooterRow | MarkerRow


def panel_rows(view: ThinkingView, policy: Policy, words: Words) -> list[PanelRow]:
    """Return the rows of a panel from top to bottom; none if it is hidden."""
    return list(_PanelRows(view, policy, words).rows())


class _PanelRows:
    def __init__(self, view: ThinkingView, policy: Policy, words: Words) -> None:
        self._view = view
        self._words = words
        self._blocks = {block.block: block for block in view.blocks}
        self._bar = policy.header is HeaderStyle.SUMMARY
        self._first_words = policy.header is HeaderStyle.PREVIEW
        self._quotes = policy.preset == "preview"

    def rows(self) -> Iterator[PanelRow]:
        view = self._view
        if view.open is OpenState.HIDDEN:
            if view.marker:
                yield MarkerRow(view.marker)
        else:
            yield self._header()
            if view.open is OpenState.EXPANDED:
                yield from self._body()
                yield from self._footer()
            elif view.open is OpenState.PEEK:
                yield from self._newest_line()

    def _header(self) -> HeaderRow:
        view = self._view
        _, _, line = view.header.partition(" ")  # without its icon
        label = view.label
        facts: tuple[str, ...] = ()
        text = ""
        if self._bar:
            label = line.removesuffix(f"{SEPARATOR}{view.label}")
            if label != line and view.open is not OpenState.EXPANDED:  # the footer of an open one has it
                facts = (view.label,)
        elif self._quotes and view.status is ThinkingState.DONE and view.preview:
            return self._quoted_header()
        elif self._first_words and view.status is ThinkingState.DONE and view.preview:
            label = line
        else:
            fact_text, _, text = line.partition(BEFORE_FIRST_WORDS)
            label, *others = fact_text.split(SEPARATOR)
            facts = tuple(others)
            written = view.summary_by in (SummaryBy.MODEL, SummaryBy.PROVIDER)
            if view.open is not OpenState.COLLAPSED and not written:
                text = ""  # the text itself is in sight
        return HeaderRow(
            key=PANEL,
            open=view.open,
            status=view.status,
            label=label,
            facts=facts,
            text=text,
            badge=view.badge,
        )

    def _quoted_header(self) -> HeaderRow:
        view = self._view
        expanded = view.open is OpenState.EXPANDED
        return HeaderRow(
            key=PANEL,
            open=view.open,
            status=view.status,
            label=view.preview,
            hint="" if expanded else self._words.text("ai.thinking.expand"),
            quoted=True,
            badge=view.badge,
        )

    def _body(self) -> Iterator[PanelRow]:
        steps = self._view.steps
        if len(steps) == 1 and steps[0].kind is Kind.REASONING:
            yield ThoughtRow(block=steps[0].block, text=steps[0].text)
        else:
            yield from self._steps(1)

    def _newest_line(self) -> Iterator[PanelRow]:
        if not self._view.peek:
            return
        newest = None
        for block in self._view.blocks:
            if block.peek:
                newest = block.block
        yield NewestLineRow(block=newest, text=self._view.peek)

    def _footer(self) -> Iterator[PanelRow]:
        view = self._view
        provenance = view.blocks[0].provenance if len(view.blocks) == 1 else ""
        facts = tuple(filter(None, (provenance, view.tokens_text, view.badge_title)))
        status_text = view.label if self._bar else ""
        if status_text or facts:
            yield FooterRow(status=view.status, status_text=status_text, facts=facts)

    def _steps(self, depth: int) -> Iterator[PanelRow]:
        """Yield the rows of all steps. A turn may be nested deeper than the recursion limit."""
        waiting: list[tuple[StepView, int] | PanelRow] = [
            (step, depth) for step in reversed(self._view.steps)
        ]
        while waiting:
            item = waiting.pop()
            if not isinstance(item, tuple):
                yield item
                continue
            step, depth = item
            if step.open is OpenState.HIDDEN:
                continue
            yield self._step_header(step, depth)
            if step.kind is Kind.REASONING:
                yield from self._thought_body(step, depth)
            elif step.open is OpenState.EXPANDED:
                before, after = _passages(step, depth)
                yield from before
                waiting += after
                waiting += [(child, depth + 1) for child in reversed(step.steps)]

    def _step_header(self, step: StepView, depth: int) -> HeaderRow:
        label = step.label
        facts: tuple[str, ...] = ()
        text = _call_line(step)
        if step.kind is Kind.REASONING:
            block = self._blocks.get(step.block)
            if block is not None:
                label = f"{block.step} {step.label}" if block.step else step.label
                facts = (block.words_text,) if block.words_text else ()
            text = ""
            if step.open is OpenState.COLLAPSED:  # else the text itself is in sight
                text = preview(step.text) if block is None else block.placeholder or block.preview
        return HeaderRow(
            key=step.block,
            open=step.open,
            status=step.status,
            kind=step.kind,
            depth=depth,
            label=label,
            facts=facts,
            text=text,
            duration=step.duration,
        )

    def _thought_body(self, step: StepView, depth: int) -> Iterator[PanelRow]:
        block = self._blocks.get(step.block)
        if step.open is OpenState.EXPANDED:
            yield ThoughtRow(block=step.block, text=step.text, depth=depth)
        elif step.open is OpenState.PEEK and block is not None and block.peek:
            yield NewestLineRow(block=step.block, text=block.peek, depth=depth)


def _call_line(step: StepView) -> str:
    """Return what a call was given; what is said below in full is not said in its header as well."""
    if step.open is not OpenState.EXPANDED:
        return step.text or step.description
    return "" if step.input else step.text


def _passages(step: StepView, depth: int) -> tuple[list[PanelRow], list[PanelRow]]:
    """Return the texts of a call that stand before the steps below it, and those after them."""

    def rows(*parts: tuple[PassagePart, str]) -> list[PanelRow]:
        return [
            PassageRow(block=step.block, part=part, text=text, depth=depth) for part, text in parts if text
        ]

    before = rows((PassagePart.DESCRIPTION, step.description), (PassagePart.INPUT, step.input))
    return before, rows((PassagePart.RESULT, step.result))


def toggled_choices(
    view: ThinkingView | None, rows: list[PanelRow], choices: dict[int, bool], key: int
) -> dict[int, bool]:
    """Return the choices after a person opened or closed what a header belongs to."""
    headers = {row.key: row for row in rows if isinstance(row, HeaderRow)}
    changed = dict(choices)
    if key == PANEL and view is not None and len(view.steps) == 1:
        # The panel of a single step is that step: an older choice for the step must not stand against it.
        changed.pop(view.steps[0].block, None)
    changed[key] = key not in headers or not headers[key].expanded
    return changed


def text_after(block: Block, length: int) -> str:
    """Return the text of a block behind its first characters, without joining all of it."""
    return last_text(block, sum(map(len, block.pieces)) - length)


def last_text(block: Block, size: int) -> str:
    """Return so many characters at the end of a block, without joining all of it."""
    parts: list[str] = []
    for piece in reversed(block.pieces):
        if size <= 0:
            break
        parts.append(piece[-size:])
        size -= len(piece)
    return "".join(reversed(parts))
