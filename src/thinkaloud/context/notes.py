"""The note that tells one model, on the user's side, what another one thought."""

from collections.abc import Sequence

from thinkaloud.transcript import Block

MAX_NOTE_CHARACTERS = 280
"""A note is a hint: longer ones cost more than the thought is worth to a model that did not think it."""

_NOTE_TEMPLATE = "(For context: before the answer above, another model thought, in short: {thought})"


def thought_note(thoughts: Sequence[Block]) -> str:
    """One short note for some thoughts."""
    return _NOTE_TEMPLATE.format(thought=_shorten(" ".join(block.text for block in thoughts)))


def _shorten(text: str) -> str:
    flat_text = " ".join(text.split())
    return (
        flat_text
        if len(flat_text) <= MAX_NOTE_CHARACTERS
        else flat_text[: MAX_NOTE_CHARACTERS - 1].rstrip() + "…"
    )
