"""The note that tells one model, on the user's side, what another one thought."""

from collections.abc import Sequence

from thinkaloud.transcript import Block

MOST_CHARACTERS = 280
"""A note is a hint: longer ones cost more than the thought is worth to a model that did not think it."""

_FRAME = "(For context: before the answer above, another model thought, in short: {thought})"


def note(thoughts: Sequence[Block]) -> str:
    """One short note for some thoughts."""
    return _FRAME.format(thought=_short(" ".join(block.text for block in thoughts)))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MOST_CHARACTERS else words[: MOST_CHARACTERS - 1].rstrip() + "…"
