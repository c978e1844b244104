"""Six callbacks for a turn, for programs that run their own loop.

`on_reasoning_end` always precedes the text that follows the reasoning, whatever the order in which the
provider ends its blocks. Only the turn's own blocks are reported; an assistant call is reported like a tool
call.
"""

from typing import Protocol

from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockReclassified, Entry, Event, Kind, ToolFinished
from thinkaloud.core.transcript.reducer import apply
from thinkaloud.core.transcript.turn import Block, Turn


class Handler(Protocol):
    """The callbacks that a program implements."""

    def on_text(self, text: str) -> None:
        """Handle more of the answer text."""

    def on_reasoning(self, reasoning: str) -> None:
        """Handle more reasoning text."""

    def on_reasoning_end(self) -> None:
        """Handle the end of the reasoning."""

    def on_tool_start(self, name: str, arguments: str) -> None:
        """Handle a call of a tool or an assistant, with its complete arguments."""

    def on_tool_end(self, name: str, result: str, error: str) -> None:
        """Handle the result of a call; `error` is empty if it succeeded."""

    def on_complete(self, result: Turn) -> None:
        """Handle the end of the turn, successful or not: see `result.outcome`."""


class Callbacks:
    """Folds the events of one turn and calls a handler for each."""

    def __init__(self, handler: Handler) -> None:
        self.turn = Turn()
        self._handler = handler
        self._in_reasoning = False
        self._leading_blanks: list[str] = []

    def feed(self, event: Event) -> None:
        """Fold one event and call the handler."""
        apply(self.turn, Entry(self.turn.seq + 1, event))
        match event:
            case BlockGrew():
                self._on_block_grew(self.turn.blocks[event.block], event.text)
            case BlockEnded():
                self._on_block_ended(self.turn.blocks[event.block])
            case ToolFinished():
                block = self.turn.blocks[event.block]
                if block.parent is None:
                    self._handler.on_tool_end(block.name, event.result, event.error)
            case BlockReclassified():
                self._on_block_reclassified(
                    self.turn.blocks[event.block if event.into is None else event.into]
                )
        if not self.turn.live:
            self._end_reasoning()
            self._handler.on_complete(self.turn)

    def _on_block_grew(self, block: Block, text: str) -> None:
        if block.parent is not None:
            return
        if block.kind is Kind.TEXT:
            self._end_reasoning()
            self._handler.on_text(text)
        elif block.kind is Kind.REASONING:
            self._send_reasoning(text)

    def _send_reasoning(self, text: str) -> None:
        """Send reasoning text; leading white space waits until visible text follows."""
        if not self._in_reasoning and not text.strip():
            self._leading_blanks.append(text)
            return
        self._handler.on_reasoning("".join((*self._leading_blanks, text)))
        self._in_reasoning = True
        self._leading_blanks.clear()

    def _end_reasoning(self) -> None:
        if self._in_reasoning:
            self._handler.on_reasoning_end()
        self._in_reasoning = False
        self._leading_blanks.clear()

    def _on_block_ended(self, block: Block) -> None:
        if block.parent is not None:
            return
        if block.kind is Kind.REASONING:
            self._end_reasoning()
        elif block.kind is not Kind.TEXT:
            self._end_reasoning()
            self._handler.on_tool_start(block.name, block.text)

    def _on_block_reclassified(self, block: Block) -> None:
        """Send the text again under its new kind; the first call cannot be taken back."""
        self._on_block_grew(block, block.text)
        if block.kind is Kind.REASONING:
            self._end_reasoning()
