"""Splits streamed text into reasoning and answer at markers such as `<think>`.

The result does not depend on how the text is chunked. Text that may be the start of a marker is held back,
at most the longest marker minus one character, and emitted unchanged if it is no marker. Every character is
scanned once.
"""

from typing import NamedTuple, Protocol

from thinkaloud.core.canon import Kind
from thinkaloud.core.dialects.tags.harmony import HarmonySplitter
from thinkaloud.core.dialects.tags.markers import Markers, Piece, Reclassified, compile_markers
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile


class Splitter(Protocol):
    """Turns text into pieces."""

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that this text completes."""

    def close(self) -> list[Piece]:
        """Return the pieces that the end of the text completes."""

    @property
    def inside(self) -> bool:
        """Whether the text opened a thought and did not close it yet."""

    @property
    def undecided(self) -> bool:
        """Whether text is held back that may be the start of a marker."""

    @property
    def inert(self) -> bool:
        """Whether all further text is answer, whatever it contains."""


def make_splitter(profile: TagProfile) -> Splitter:
    """Create the splitter for a profile."""
    return HarmonySplitter() if profile.channels else ThinkTagSplitter(profile)


class LoneCloseWatch:
    """Looks for a closing marker in an answer that no marker in it opened, however the text is chunked.

    `setting` is the name of the profile that would read it as the end of a thought.
    """

    def __init__(self, profile: TagProfile, setting: str) -> None:
        self.setting = setting
        self.ended = False
        self._markers = tuple(marker for pair in profile.pairs for marker in pair)
        self._closes = tuple(pair[1] for pair in profile.pairs)
        self._longest = max(map(len, self._markers))
        self._first_characters = {marker[0] for marker in self._markers}
        self._tail = ""

    def find(self, text: str) -> str:
        """Return the closing marker if this text completes it; once `ended`, none can be lone any more."""
        window = self._tail + text
        if not any(character in window for character in self._first_characters):
            self._tail = ""
            return ""
        positions = [(window.find(marker), marker) for marker in self._markers if marker in window]
        if not positions:
            self._tail = window[1 - self._longest :]
            return ""
        self.ended = True
        _, first = min(positions)
        return first if first in self._closes else ""


def watch_lone_close(profile: TagProfile) -> LoneCloseWatch | None:
    """Return a watch for a profile in which such a marker is plain text, but ends a thought in a variant."""
    setting = f"{profile.name}_either"
    literal = profile.lone_close == "literal" and not profile.starts_inside
    return LoneCloseWatch(profile, setting) if literal and setting in PROFILES else None


class _State(NamedTuple):
    """The kind of the current text, and the markers that count in it."""

    kind: Kind
    markers: Markers


class ThinkTagSplitter:
    """Splits one text at the markers of a `TagProfile`."""

    def __init__(self, profile: TagProfile) -> None:
        self._profile = profile
        self._pending = ""
        self._depth = 1 if profile.starts_inside else 0
        self._mentions = 0
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
        """Return the pieces that this text completes."""
        # The two loops are fast paths: most chunks contain no character of any marker.
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
            else:  # no marker ends here, but one may start
                complete, self._pending = self._split_unfinished(text)
                return [(self._kind, complete)] if complete else []
        self._pieces = []
        self._read(text)
        self._cache_state()
        return self._pieces

    def close(self) -> list[Piece]:
        """Return the pending text and what the end of the text decides."""
        self._pieces = []
        pending, self._pending = self._pending, ""
        if pending:
            self._finish_pending(pending)
        if self._depth and self._characters_since_inner_close:
            self._pieces.append(Reclassified(Kind.TEXT, self._characters_since_inner_close))
        elif self._profile.answer_from_thought and not self._seen_answer:
            self._pieces.append(Reclassified(Kind.TEXT))
        return self._pieces

    @property
    def inside(self) -> bool:
        """Whether the text opened a thought and did not close it yet."""
        return self._depth > 0 and not self._profile.starts_inside

    @property
    def undecided(self) -> bool:
        """Whether text is held back that may be the start of a marker."""
        return bool(self._pending)

    @property
    def inert(self) -> bool:
        """Whether all further text is answer: no marker counts any more, and nothing is held back."""
        return (
            self._only_markers_matter
            and not self._pending
            and self._kind is Kind.TEXT
            and not self._first_characters
        )

    def _finish_pending(self, pending: str) -> None:
        """Read the pending text; a marker that is a prefix of a longer marker counts now."""
        marker = self._state.markers.match(pending, 0)
        if marker is None:
            self._emit(pending)
        else:
            self._handle_marker(marker.lastgroup, marker.group())
            self._emit(pending[marker.end() :])

    def _cache_state(self) -> None:
        """Cache the parts of the state that `feed` needs for its fast paths."""
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
        """Skip white space and an opening marker; `_at_start` stays set while either may still follow."""
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
            case "mention":
                self._mentions += 1
                self._emit(marker)
            case "close" if self._mentions:
                self._mentions -= 1
                self._emit(marker)
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
        """Handle a closing marker that no marker in the answer opened: the text before it was reasoning."""
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
        pairs = self._profile.pairs
        exact_pairs = tuple(pair for pair in pairs if pair[0] == marker)
        if exact_pairs:
            return exact_pairs
        return tuple(pair for pair in pairs if "*" in pair[0])

    def _reasoning_state(self, pairs: tuple[tuple[str, str], ...]) -> _State:
        nested = () if self._profile.nesting == "first_close" else tuple(pair[0] for pair in pairs)
        closes = tuple(dict.fromkeys(pair[1] for pair in pairs))
        return _State(
            Kind.REASONING, compile_markers(open=nested, close=closes, ends=self._profile.end_markers)
        )

    def _answer_state(self) -> _State:
        profile = self._profile
        opens = tuple(dict.fromkeys(pair[0] for pair in profile.pairs))
        may_be_reasoning = profile.lone_close == "reclassify" and not self._seen_thought
        closes: tuple[str, ...] = ()
        if self._ended_early or may_be_reasoning:
            closes = tuple(dict.fromkeys(pair[1] for pair in profile.pairs))
        return _State(
            Kind.TEXT,
            compile_markers(
                open=opens if profile.anywhere else (),
                mention=opens if may_be_reasoning and not profile.anywhere else (),
                close=closes,
                drop=profile.dropped_markers,
            ),
        )
