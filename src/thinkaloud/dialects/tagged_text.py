"""Answer text in which thoughts may be written between tags, told as blocks.

For dialects whose text can carry tags. Which tags is the profile's matter; where there is none, the
model's name decides when the first text comes.
"""

from thinkaloud.canon import Kind, Provenance
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.pieces import Called, Piece, Refiled
from thinkaloud.dialects.profiles import Profile, profile_of
from thinkaloud.dialects.think_tags import Splitter, splitter

REASONING = "reasoning"
TEXT = "text"


class TaggedText:
    """Tells text as reasoning, answer and calls, one open block at a time."""

    def __init__(self, blocks: Blocks, profile: Profile | None, *, raw: bool = False) -> None:
        self._blocks = blocks
        self._profile = profile
        self._raw = raw
        self._splitter: Splitter | None = None
        self._plain = False
        self._calls = 0

    def feed(self, text: str) -> None:
        """More text."""
        if self._plain:
            self._say(Kind.TEXT, text)
            return
        if self._splitter is None:
            self._splitter = splitter(self._profile or profile_of(self._blocks.model, raw=self._raw))
        self._tell(self._splitter.feed(text))

    def off(self) -> None:
        """Thoughts come in fields of their own: from here on tags are only text."""
        if not self._plain:
            self.close()
            self._plain = True

    def close(self) -> None:
        """No more text: tell what was held back."""
        if self._splitter is not None:
            self._tell(self._splitter.close())
            self._splitter = None

    def _tell(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Refiled):
                block = REASONING if piece.kind is Kind.TEXT else TEXT
                self._blocks.refile(block, piece.kind, piece.tail)
                self._blocks.end(block)
            elif isinstance(piece, Called):
                self._call(piece.name)
            elif piece[0] is Kind.TOOL_CALL:
                self._blocks.grow(("call", self._calls), piece[1])
            else:
                self._say(*piece)

    def _say(self, kind: Kind, text: str) -> None:
        key = TEXT if kind is Kind.TEXT else REASONING
        if not self._blocks.is_open(key):
            self._blocks.end_all(but=key)
        self._blocks.say(key, kind, text, Provenance.UNKNOWN if kind is Kind.TEXT else Provenance.RAW)

    def _call(self, name: str) -> None:
        self._blocks.end_all()
        self._calls += 1
        self._blocks.start(("call", self._calls), Kind.TOOL_CALL, name=name)
