"""What a list says about a model or an agent, in the person's language."""

from thinkaloud.surfaces.backend import Responder
from thinkaloud.surfaces.screen_words import ScreenWords

_THINKING_NOTES = {"none": "model.thinks_none", "always": "model.thinks_always"}


def responder_note(responder: Responder, words: ScreenWords) -> str:
    """Return what is good to know before it is chosen; often nothing."""
    unchecked = _about(words, "model.unchecked", responder.unchecked)
    thinking = (
        words.text(_THINKING_NOTES[responder.thinking]) if responder.thinking in _THINKING_NOTES else ""
    )
    return " ".join(part for part in (unchecked, thinking, responder.description) if part)


def responder_reason(responder: Responder, words: ScreenWords) -> str:
    """Return why it cannot be used now; empty if that is not known."""
    return responder.reason or _about(words, "model.no_key", responder.keyless)


def _about(words: ScreenWords, key: str, names: tuple[str, ...]) -> str:
    """Return a text about one of these names; empty without any."""
    return words.text(key, name=f" {words.text('or')} ".join(names)) if names else ""
