"""What a list says about a model or an agent, in the person's language."""

from thinkaloud.surfaces.chat.backend import Responder
from thinkaloud.surfaces.chat.screen_words import ScreenWords

_THINKING_NOTES = {"none": "model.thinks_none", "always": "model.thinks_always"}


def responder_note(responder: Responder, words: ScreenWords) -> str:
    """Return what is good to know before it is chosen; often nothing."""
    unchecked = words.any_of("model.unchecked", responder.unchecked)
    note = _THINKING_NOTES.get(responder.thinking)
    thinking = words.text(note) if note else ""
    return " ".join(part for part in (unchecked, thinking, responder.description) if part)


def responder_reason(responder: Responder, words: ScreenWords) -> str:
    """Return why it cannot be used now; empty if that is not known."""
    return responder.reason or words.any_of("model.no_key", responder.keyless)
