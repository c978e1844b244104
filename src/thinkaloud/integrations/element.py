"""The `<thinking-block>` element for programs in Python: its script and what feeds it.

A page loads the script once; `web/README.md` describes the element. The entries of a followed stream are
lines of JSON: all of them for `consume`, or each for `feed`. They hold no seal, only that there was one. All
text of a model is safe inside HTML, also inside a script.
"""

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import aclosing, closing
from pathlib import Path

import msgspec

from thinkaloud.client.follow import Following, follow
from thinkaloud.core.canon import BlockGrew, Entry, Refused
from thinkaloud.core.dialects import AUTO
from thinkaloud.core.export.displays import turn_html as folded_html
from thinkaloud.core.export.record import entry_without_seals
from thinkaloud.core.transcript import Turn
from thinkaloud.core.transcript.unfold import unfold
from thinkaloud.core.view import notice, view

SCRIPTS = Path(__file__).parent / "static"
MEDIA_TYPE = "application/x-ndjson"
"""The media type of a response that is made of these lines."""
BATCH_S = 0.05
"""How long text may wait for more. The element draws some fifteen times a second."""
BATCH_SIZE = 65_536
_ATTRIBUTE = re.compile(r"[a-z][a-z-]*")
_ANSWER_STYLE = "white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.75em 0"
_SHOW_TURN = """(() => {
  const [data, host] = [document.currentScript.previousElementSibling, document.createElement("div")];
  const { attributes, entries, answerStyle } = JSON.parse(data.textContent);
  const [block, answer] = [document.createElement("thinking-block"), document.createElement("div")];
  for (const [name, value] of Object.entries(attributes)) block.setAttribute(name, value);
  for (const entry of entries) block.feed(entry);
  host.append(block, answer);
  data.previousElementSibling.replaceWith(host);
  answer.textContent = block.toMarkdown();
  answer.style.cssText = answerStyle;
})()"""


def script_path(name: str = "thinking-block.js") -> Path:
    """Return the file of the element's script, for a program that serves it: a plain script in one file."""
    path = SCRIPTS / name
    if not path.is_file():
        raise Refused(
            "The script of <thinking-block> is not built: there is no {path}. In a checkout, run "
            "`make element`, which needs Node.js. A wheel has it.",
            path=path,
        )
    return path


def script() -> str:
    """Return the element's script, for a program that puts it into a page."""
    return script_path().read_text("utf-8")


def entry_lines(entries: Iterable[Entry]) -> str:
    """Return entries as lines of JSON; each line ends with a line break."""
    return "".join(f"{_safe_json(entry_without_seals(entry))}\n" for entry in entries)


class EntryLines:
    """A followed stream as lines of JSON, for `for` and `async for`: what each piece of the stream adds.

    Where the stream fails, the lines that end the turn come before the error is raised.
    """

    def __init__(self, source: object, dialect: str = AUTO, *, model: str = "", tags: str = "") -> None:
        self.following = followed(source, dialect, model=model, tags=tags)

    @property
    def turn(self) -> Turn:
        """The turn so far."""
        return self.following.turn

    def __iter__(self) -> Generator[str, None, None]:
        with closing(self.following.entries()) as batches:
            for entries in batches:
                if entries:
                    yield entry_lines(entries)

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        async with aclosing(self.following.entries_async()) as batches:
            async for entries in batches:
                if entries:
                    yield entry_lines(entries)


class EntryBatches:
    """Collects entries into texts of lines, so that a fast model costs a page no message for each word.

    Text may wait for `BATCH_S`: where `waiting` says so, call `flush` by then, for the stream may pause.
    Whatever else happened does not wait, and text before it neither. Text
    of one block that waited becomes one entry.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent_at = -math.inf
        self._entries: list[Entry] = []
        self._texts: list[str] = []
        self._block = -1
        self._newest: Entry
        self._size = 0

    def add(self, entries: Iterable[Entry]) -> str:
        """Add entries, and return what is to be sent now; empty if that can wait."""
        only_text = True
        for entry in entries:
            only_text &= isinstance(entry.event, BlockGrew)
            self._append(entry)
        due = self._clock() - self._sent_at >= BATCH_S
        return "" if only_text and not due and self._size < BATCH_SIZE else self.flush()

    @property
    def waiting(self) -> bool:
        """Whether text waits for more."""
        return bool(self._entries or self._texts)

    def flush(self) -> str:
        """Return what waits to be sent."""
        self._end_text()
        lines = entry_lines(self._entries)
        self._entries.clear()
        self._size = 0
        self._sent_at = self._clock()
        return lines

    def _append(self, entry: Entry) -> None:
        event = entry.event
        if not isinstance(event, BlockGrew):
            self._end_text()
            self._entries.append(entry)
            return
        if event.block != self._block:
            self._end_text()
        self._block, self._newest = event.block, entry
        self._texts.append(event.text)
        self._size += len(event.text)

    def _end_text(self) -> None:
        """Make one entry of the pieces of text that wait; it has the number and time of the last one."""
        if self._texts:
            grown = BlockGrew(self._block, "".join(self._texts))
            self._entries.append(Entry(self._newest.seq, grown, self._newest.at_ms))
            self._texts.clear()


async def batches_async(following: Following) -> AsyncGenerator[str, None]:
    """Yield what `EntryBatches` returns for a stream, and what waits when the model pauses.

    The lines that end the turn come also when the program is cancelled while it waits for them; if it leaves
    the loop before, their entries are in `unread`.
    """
    waiting = EntryBatches()
    async with aclosing(following.entries_async()) as batches:
        piece = asyncio.ensure_future(anext(batches))
        try:
            while True:
                done, _ = await asyncio.wait([piece], timeout=BATCH_S if waiting.waiting else None)
                lines = waiting.add(piece.result()) if done else waiting.flush()
                if done:
                    piece = asyncio.ensure_future(anext(batches))
                if lines:
                    yield lines
        except StopAsyncIteration:
            return
        except asyncio.CancelledError:
            piece.cancel()
            yield waiting.add(await piece)
            raise
        finally:
            if not piece.done():
                piece.cancel()
                following.unread = await piece


def followed(source: object, dialect: str = AUTO, *, model: str = "", tags: str = "") -> Following:
    """Return a stream as it is followed; one that is followed already is returned as it is."""
    if isinstance(source, Following):
        return source
    return follow(source, dialect, model=model, tags=tags)


def unshown_notice(turn: Turn, lang: str = "") -> str:
    """Return how a turn ended, where the element does not say it, because there is no thinking to show."""
    locale = "pt-BR" if lang.lower().startswith("pt") else "en-US"
    return notice(turn, locale) if view(turn) is None else ""


def turn_html(turn: Turn, attributes: Mapping[str, str] | None = None, *, with_script: bool = True) -> str:
    """Return HTML that shows a turn by itself: block and answer, and without JavaScript both folded.

    `attributes` are those of the element. Of several turns on one page, only the first needs the script.
    """
    attributes = dict(attributes or {})
    if unknown := [name for name in attributes if not _ATTRIBUTE.fullmatch(name)]:
        raise Refused(
            "{name} is no attribute of <thinking-block>; web/README.md lists them.", name=repr(unknown[0])
        )
    entries = [entry_without_seals(entry) for entry in unfold(turn)]
    data = {"attributes": attributes, "entries": entries, "answerStyle": _ANSWER_STYLE}
    element = f"<script>{script()}</script>" if with_script else ""
    return (
        f"{element}{folded_html(turn)}"
        f'<script type="application/json">{_safe_json(data)}</script>'
        f"<script>{_SHOW_TURN}</script>"
    )


def _safe_json(value: object) -> str:
    # In JSON this sign stands in strings only. Without it, no text ends a script or begins a comment in it.
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")
