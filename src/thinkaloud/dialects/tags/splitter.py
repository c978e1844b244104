"""Thoughts that are written into the text between marks, told apart while the text still comes.

Any cut of the text gives the same pieces. What may be the beginning of a mark is held back, never more
than the longest mark less one character, and comes out unchanged if it is none. Every character is
looked at once.
"""

from typing import NamedTuple, Protocol

from thinkaloud.canon import Kind
from thinkaloud.dialects.tags.harmony import HarmonySplitter
from thinkaloud.dialects.tags.markers import Markers, Piece, Reclassified, compile_markers
from thinkaloud.dialects.tags.profiles import TagProfile


class Splitter(Protocol):
    """Text in, pieces out."""

    def feed(self, text: str) -> list[Piece]:
        """More text."""

    def close(self) -> list[Piece]:
        """No more text."""


def make_splitter(profile: TagProfile) -> Splitter:
    """What tells thoughts from answer in text of this profile."""
    return HarmonySplitter() if profile.channels else ThinkTagSplitter(profile)


class _State(NamedTuple):
    """Where in the text we are: what it is, and the marks that mean something here."""

    kind: Kind
    markers: Markers


class ThinkTagSplitter:
    """Splits one text; see `Profile` for what counts as a mark."""

    def __init__(self, profile: TagProfile) -> None:
        self._profile = profile
        self._pending = ""
        self._depth = 1 if profile.starts_inside else 0
        self._at_start = bool(profile.pairs)
        self._seen_thought = profile.starts_inside
        self._ended_early = False
        self._seen_answer = False
        self._characters_since_inner_close: int | None = None
        self._pieces: list[Piece] = []
        self._state = self._reasoning_state(profile.pairs) if profile.starts_inside else self._answer_state()
        self._only_markers_matter = False
        self._cache_state()

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this text completes."""
        if self._pending:
            text = self._pending + text
        elif self._only_markers_matter:
            for character in self._first_characters:
                if character in text:
                    break
            else:
                return [(self._kind, text)] if text else []
        if self._only_markers_matter:
            for character in self._last_characters:
                if character in text:
                    break
            else:  # no mark ends here, but one may have begun
                complete, self._pending = self._split_unfinished(text)
                return [(self._kind, complete)] if complete else []
        self._pieces = []
        self._read(text)
        self._cache_state()
        return self._pieces

    def close(self) -> list[Piece]:
        """What was held back, and what the end makes clear."""
        self._pieces = []
        pending, self._pending = self._pending, ""
        if pending:
            self._finish_pending(pending)
        if self._depth and self._characters_since_inner_close:
            self._pieces.append(Reclassified(Kind.TEXT, self._characters_since_inner_close))
        elif self._profile.answer_from_thought and not self._seen_answer:
            self._pieces.append(Reclassified(Kind.TEXT))
        return self._pieces

    def _finish_pending(self, pending: str) -> None:
        """A mark that begins like a longer one counts now that the longer one cannot come."""
        marker = self._state.markers.match(pending, 0)
        if marker is None:
            self._emit(pending)
        else:
            self._handle_marker(marker.lastgroup, marker.group())
            self._emit(pending[marker.end() :])

    def _cache_state(self) -> None:
        """Keep at hand what `feed` asks of the place; quiet is where only marks change anything."""
        self._kind, markers = self._state
        self._first_characters, self._last_characters = markers.first_characters, markers.last_characters
        self._split_unfinished = markers.split_unfinished
        self._only_markers_matter = not (
            self._at_start
            or self._characters_since_inner_close is not None
            or self._profile.answer_from_thought
        )

    def _read(self, text: str) -> None:
        position = self._skip_opening(text) if self._at_start else 0
        self._pending = text[position:] if self._at_start else ""
        if self._at_start:
            return
        while (marker := self._state.markers.find(text, position)) is not None:
            if self._state.markers.unfinished_at(text, marker.start()):
                break
            self._emit(text[position : marker.start()])
            position = marker.end()
            self._handle_marker(marker.lastgroup, marker.group())
        complete_end = self._state.markers.unfinished_start(text, position)
        self._emit(text[position:complete_end])
        self._pending = text[complete_end:]

    def _skip_opening(self, text: str) -> int:
        """Step over white space and an opening mark; at_start stays on while neither can be ruled out."""
        position = len(text) - len(text.lstrip())
        self._emit(text[:position])
        opening_markers = self._opening_markers()
        if position == len(text) or opening_markers.unfinished_at(text, position):
            return position
        self._at_start = False
        marker = opening_markers.match(text, position)
        if marker is None:
            return position
        self._handle_marker("again" if self._profile.starts_inside else "open", marker.group())
        return marker.end()

    def _handle_marker(self, role: str | None, marker: str) -> None:
        match role:
            case "open" if self._depth:
                self._depth += 1
                self._emit(marker)
            case "open":
                self._depth = 1
                self._seen_thought = True
                self._state = self._reasoning_state(self._pairs_for(marker))
            case "close" if self._depth:
                self._close_thought(marker)
            case "close":
                self._handle_lone_close()
            case "ends":
                self._depth = 0
                self._ended_early = True
                self._state = self._answer_state()
                self._emit(marker)

    def _close_thought(self, marker: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._characters_since_inner_close = None
            self._state = self._answer_state()
        else:
            self._emit(marker)
            self._characters_since_inner_close = 0

    def _handle_lone_close(self) -> None:
        """A close in the answer: the thought went on after what looked like its end, or had no beginning."""
        if self._ended_early or not self._seen_thought:
            self._pieces.append(Reclassified(Kind.REASONING))
        self._ended_early = False
        self._seen_thought = True
        self._state = self._answer_state()

    def _emit(self, text: str) -> None:
        if not text:
            return
        if self._characters_since_inner_close is not None:
            self._characters_since_inner_close += len(text)
        if self._state.kind is Kind.TEXT and not self._seen_answer:
            self._seen_answer = not text.isspace()
        self._pieces.append((self._state.kind, text))

    def _opening_markers(self) -> Markers:
        return compile_markers(open=tuple(pair[0] for pair in self._profile.pairs))

    def _pairs_for(self, marker: str) -> tuple[tuple[str, str], ...]:
        exact_pairs = tuple(pair for pair in self._profile.pairs if pair[0] == marker)
        return exact_pairs or tuple(pair for pair in self._profile.pairs if "*" in pair[0])

    def _reasoning_state(self, pairs: tuple[tuple[str, str], ...]) -> _State:
        nested = () if self._profile.nesting == "first_close" else tuple(pair[0] for pair in pairs)
        closes = tuple(dict.fromkeys(pair[1] for pair in pairs))
        return _State(
            Kind.REASONING, compile_markers(open=nested, close=closes, ends=self._profile.end_markers)
        )

    def _answer_state(self) -> _State:
        profile = self._profile
        opens = tuple(pair[0] for pair in profile.pairs) if profile.anywhere else ()
        closes: tuple[str, ...] = ()
        if self._ended_early or profile.lone_close == "reclassify":
            closes = tuple(dict.fromkeys(pair[1] for pair in profile.pairs))
        return _State(Kind.TEXT, compile_markers(open=opens, close=closes, drop=profile.dropped_markers))
