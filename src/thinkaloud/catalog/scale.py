"""How levels, words and budgets stand for each other. No vendor says exactly; we keep to these tables.

The strongest word of a model is its `max`, whatever it is called. Between two words that are equally near,
the stronger one is taken, as DeepSeek does with medium.
"""

from collections.abc import Iterable

from thinkaloud.canon.requests import Level

WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every word for an effort or a level, from weak to strong."""

BUDGETS = {Level.LOW: 1024, Level.MEDIUM: 8192, Level.HIGH: 24_576, Level.MAX: 32_768}
"""What a level is in tokens, where a model takes a budget."""

BELOW = ((4096, Level.LOW), (16_384, Level.MEDIUM), (32_768, Level.HIGH))
"""What a budget below so many tokens is as a level, where a model takes none; more is max."""


def rank(word: str) -> int:
    """The place of a word in the scale."""
    return WORDS.index(word)


def word_for(level: Level, words: Iterable[str]) -> str:
    """The word of this model that is nearest to a level."""
    spoken = sorted((word for word in words if word != "none"), key=rank)
    if level is Level.MAX:
        return spoken[-1]
    wanted = rank(level)
    return min(spoken, key=lambda word: (abs(rank(word) - wanted), -rank(word)))


def weakest(words: Iterable[str]) -> str:
    """The word for as little as possible."""
    return min((word for word in words if word != "none"), key=rank)


def level_for(budget_tokens: int) -> Level:
    """The level that stands for a budget."""
    return next((level for limit, level in BELOW if budget_tokens < limit), Level.MAX)
