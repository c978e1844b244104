"""Thoughts that are written into the text between marks, told apart while the text still comes.

Any cut of the text gives the same pieces. What may be the beginning of a mark is held back, never more
than the longest mark less one character, and comes out unchanged if it is none. Every character is
looked at once.
"""

from typing import NamedTuple, Protocol

from thinkaloud.canon import Kind
from thinkaloud.dialects.harmony import Harmony
from thinkaloud.dialects.markers import Markers, markers
from thinkaloud.dialects.pieces import Piece, Refiled
from thinkaloud.dialects.profiles import Profile


class Splitter(Protocol):
    """Text in, pieces out."""

    def feed(self, text: str) -> list[Piece]:
        """More text."""

    def close(self) -> list[Piece]:
        """No more text."""


def splitter(profile: Profile) -> Splitter:
    """What tells thoughts from answer in text of this profile."""
    return Harmony() if profile.channels else ThinkTags(profile)


class _Place(NamedTuple):
    """Where in the text we are: what it is, and the marks that mean something here."""

    kind: Kind
    marks: Markers


class ThinkTags:
    """Splits one text; see `Profile` for what counts as a mark."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._held = ""
        self._depth = 1 if profile.starts_inside else 0
        self._at_start = bool(profile.pairs)
        self._thought = profile.starts_inside
        self._ended_early = False
        self._answered = False
        self._since_inner_close: int | None = None
        self._pieces: list[Piece] = []
        self._place = self._thinking(profile.pairs) if profile.starts_inside else self._answering()
        self._quiet = False
        self._settle()

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this text completes."""
        if self._held:
            text = self._held + text
        elif self._quiet:
            for letter in self._first_letters:
                if letter in text:
                    break
            else:
                return [(self._kind, text)] if text else []
        if self._quiet:
            for letter in self._last_letters:
                if letter in text:
                    break
            else:  # no mark ends here, but one may have begun
                said, self._held = self._part(text)
                return [(self._kind, said)] if said else []
        self._pieces = []
        self._read(text)
        self._settle()
        return self._pieces

    def close(self) -> list[Piece]:
        """What was held back, and what the end makes clear."""
        self._pieces = []
        held, self._held = self._held, ""
        if held:
            self._finish_held(held)
        if self._depth and self._since_inner_close:
            self._pieces.append(Refiled(Kind.TEXT, self._since_inner_close))
        elif self._profile.answer_from_thought and not self._answered:
            self._pieces.append(Refiled(Kind.TEXT))
        return self._pieces

    def _finish_held(self, held: str) -> None:
        """A mark that begins like a longer one counts now that the longer one cannot come."""
        mark = self._place.marks.match(held, 0)
        if mark is None:
            self._say(held)
        else:
            self._turn(mark.lastgroup, mark.group())
            self._say(held[mark.end() :])

    def _settle(self) -> None:
        """Keep at hand what `feed` asks of the place; quiet is where only marks change anything."""
        self._kind, marks = self._place
        self._first_letters, self._last_letters = marks.first_letters, marks.last_letters
        self._part = marks.part
        self._quiet = not (
            self._at_start or self._since_inner_close is not None or self._profile.answer_from_thought
        )

    def _read(self, text: str) -> None:
        at = self._begin(text) if self._at_start else 0
        self._held = text[at:] if self._at_start else ""
        if self._at_start:
            return
        while (mark := self._place.marks.find(text, at)) is not None:
            if self._place.marks.unfinished(text, mark.start()):
                break
            self._say(text[at : mark.start()])
            at = mark.end()
            self._turn(mark.lastgroup, mark.group())
        kept = self._place.marks.begun(text, at)
        self._say(text[at:kept])
        self._held = text[kept:]

    def _begin(self, text: str) -> int:
        """Step over white space and an opening mark; at_start stays on while neither can be ruled out."""
        at = len(text) - len(text.lstrip())
        self._say(text[:at])
        opening = self._opening()
        if at == len(text) or opening.unfinished(text, at):
            return at
        self._at_start = False
        mark = opening.match(text, at)
        if mark is None:
            return at
        self._turn("again" if self._profile.starts_inside else "open", mark.group())
        return mark.end()

    def _turn(self, role: str | None, mark: str) -> None:
        match role:
            case "open" if self._depth:
                self._depth += 1
                self._say(mark)
            case "open":
                self._depth = 1
                self._thought = True
                self._place = self._thinking(self._pair_of(mark))
            case "close" if self._depth:
                self._close(mark)
            case "close":
                self._close_alone()
            case "ends":
                self._depth = 0
                self._ended_early = True
                self._place = self._answering()
                self._say(mark)

    def _close(self, mark: str) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._since_inner_close = None
            self._place = self._answering()
        else:
            self._say(mark)
            self._since_inner_close = 0

    def _close_alone(self) -> None:
        """A close in the answer: the thought went on after what looked like its end, or had no beginning."""
        if self._ended_early or not self._thought:
            self._pieces.append(Refiled(Kind.REASONING))
        self._ended_early = False
        self._thought = True
        self._place = self._answering()

    def _say(self, text: str) -> None:
        if not text:
            return
        if self._since_inner_close is not None:
            self._since_inner_close += len(text)
        if self._place.kind is Kind.TEXT and not self._answered:
            self._answered = not text.isspace()
        self._pieces.append((self._place.kind, text))

    def _opening(self) -> Markers:
        return markers(open=tuple(pair[0] for pair in self._profile.pairs))

    def _pair_of(self, mark: str) -> tuple[tuple[str, str], ...]:
        exact = tuple(pair for pair in self._profile.pairs if pair[0] == mark)
        return exact or tuple(pair for pair in self._profile.pairs if "*" in pair[0])

    def _thinking(self, pairs: tuple[tuple[str, str], ...]) -> _Place:
        nested = () if self._profile.nesting == "first_close" else tuple(pair[0] for pair in pairs)
        closes = tuple(dict.fromkeys(pair[1] for pair in pairs))
        return _Place(Kind.REASONING, markers(open=nested, close=closes, ends=self._profile.ended_by))

    def _answering(self) -> _Place:
        profile = self._profile
        opens = tuple(pair[0] for pair in profile.pairs) if profile.anywhere else ()
        closes: tuple[str, ...] = ()
        if self._ended_early or profile.lone_close == "reclassify":
            closes = tuple(dict.fromkeys(pair[1] for pair in profile.pairs))
        return _Place(Kind.TEXT, markers(open=opens, close=closes, drop=profile.dropped))
