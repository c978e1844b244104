"""A turn told to six callbacks, for people who have a loop of their own.

The end of a thought is always told before the text that follows it, whatever order the provider's
blocks ended in. Only the turn's own blocks are told; a call of an assistant is told like a tool.
"""

from typing import Protocol

from thinkaloud.canon import (
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    Entry,
    Event,
    Kind,
    ToolFinished,
)
from thinkaloud.transcript.reducer import apply
from thinkaloud.transcript.turn import Block, Turn


class Handler(Protocol):
    """What a loop wants to hear of a turn."""

    def on_text(self, text: str) -> None:
        """More of the answer."""

    def on_reasoning(self, reasoning: str) -> None:
        """More of a thought."""

    def on_reasoning_end(self) -> None:
        """The thought is over."""

    def on_tool_start(self, name: str, arguments: str) -> None:
        """A tool or an assistant is called, with all of its arguments."""

    def on_tool_end(self, name: str, result: str, error: str) -> None:
        """It came back; `error` is empty when it went well."""

    def on_complete(self, result: Turn) -> None:
        """The turn is over, one way or another: see `result.outcome`."""


class Callbacks:
    """Feeds one turn's events to a handler, and keeps the turn."""

    def __init__(self, handler: Handler) -> None:
        self.turn = Turn()
        self._handler = handler
        self._in_reasoning = False
        self._leading_blanks: list[str] = []

    def feed(self, event: Event) -> None:
        """Tell the handler what this event means to it."""
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
        """White space alone is no thought, so it waits for something to read."""
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
        """What was told cannot be taken back; it is told once more under its right name."""
        self._on_block_grew(block, block.text)
        if block.kind is Kind.REASONING:
            self._end_reasoning()
