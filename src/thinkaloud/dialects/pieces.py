"""What a splitter of text gives: runs of one kind, calls, and second thoughts about what was said."""

from typing import NamedTuple

from thinkaloud.canon import Kind


class CallStarted(NamedTuple):
    """A tool call begins; its arguments follow as pieces of that kind."""

    name: str


class Reclassified(NamedTuple):
    """The block just told (or its last `tail` characters) is of another kind."""

    kind: Kind
    tail: int | None = None


Piece = tuple[Kind, str] | CallStarted | Reclassified
