"""Cuts the entries of a turn into chunks, for frameworks that send values whole.

Such a framework may leave out a value that a newer one has replaced, show two in any order, and draw
everything again elsewhere on the page. So only the newest chunk grows, and a delta costs at most one chunk
however long the thought is. Each chunk names the entry before it. In the browser, `CHUNKS_SCRIPT` keeps one
element for each turn, wherever it is drawn: what a person opened stays open.
"""

import msgspec

from thinkaloud.core.transcript import Turn, unfold
from thinkaloud.integrations.element import entry_lines

_FULL_SIZE = 8_000

CHUNKS_SCRIPT = """
globalThis.thinkingTurns ??= (() => {
  const turns = new Map();
  const turnNamed = name => {
    let turn = turns.get(name);
    if (!turn) {
      turn = { block: document.createElement("thinking-block"), seq: -1, over: false, waiting: new Set() };
      turns.set(name, turn);
    }
    return turn;
  };
  const take = (turn, { lines }) => {
    for (const line of lines.split("\\n")) {
      if (!line) continue;
      const entry = JSON.parse(line);
      if (entry.seq <= turn.seq) continue;
      turn.block.feed(entry);
      turn.seq = entry.seq;
      turn.over ||= entry.event.type === "turn.ended" || entry.event.type === "turn.failed";
    }
  };
  return {
    async place(node, { turn: name, lang, policy }) {
      await customElements.whenDefined("thinking-block");
      const { block } = turnNamed(name);
      if (lang) block.lang = lang;
      block.policy = policy;
      if (block.parentNode !== node) node.append(block);
    },
    stop(name) {
      const turn = turns.get(name);
      if (!turn || turn.over) return;
      turn.over = true;
      turn.block.setAttribute("status", "aborted");
    },
    async feed(chunk) {
      await customElements.whenDefined("thinking-block");
      const turn = turnNamed(chunk.turn);
      turn.whole ??= chunk.whole;
      // The entries of a whole turn have other numbers. Once drawn whole, it is never live again.
      if (turn.over || (turn.whole && !chunk.whole)) return;
      if (chunk.whole && !turn.whole) {
        turn.block.reset();
        turn.waiting.clear();
        Object.assign(turn, { seq: -1, whole: true });
      }
      turn.waiting.add(chunk);
      let next = chunk;
      while (next) {
        next = [...turn.waiting].find(waiting => waiting.after <= turn.seq);
        if (next) take(turn, next);
        turn.waiting.delete(next);
      }
    },
  };
})();
"""
"""Defines `thinkingTurns`: `place(node, settings)`, `feed(chunk)`, `stop(turn)`, for the element's script."""

Chunk = dict[str, str | int | bool]


class TurnChunks:
    """The chunks of a turn that streams; `name` is that of the turn on the page."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._after = self._last = -1
        self._lines = ""
        self.number = 0
        """The number of the newest chunk."""

    def add(self, lines: str) -> Chunk:
        """Add lines and return the newest chunk, which replaces the one that had the same number."""
        if len(self._lines) > _FULL_SIZE:
            self.number += 1
            self._after, self._lines = self._last, ""
        self._lines += lines
        self._last = msgspec.json.decode(lines.splitlines()[-1])["seq"]
        return {"turn": self._name, "whole": False, "after": self._after, "lines": self._lines}


def whole_turn(name: str, turn: Turn) -> Chunk:
    """Return all of a turn as one chunk, to draw it again."""
    return {"turn": name, "whole": True, "after": -1, "lines": entry_lines(unfold(turn))}
