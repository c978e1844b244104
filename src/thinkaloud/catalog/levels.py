"""How levels, words and budgets stand for each other. No vendor says exactly; we keep to these tables.

The strongest word of a model is its `max`, whatever it is called. Between two words that are equally near,
the stronger one is taken, as DeepSeek does with medium.
"""

from collections.abc import Iterable

from thinkaloud.canon.requests import ThinkingLevel

EFFORT_WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every word for an effort or a level, from weak to strong."""

LEVEL_BUDGETS = {
    ThinkingLevel.LOW: 1024,
    ThinkingLevel.MEDIUM: 8192,
    ThinkingLevel.HIGH: 24_576,
    ThinkingLevel.MAX: 32_768,
}
"""What a level is in tokens, where a model takes a budget."""

LEVEL_LIMITS = ((4096, ThinkingLevel.LOW), (16_384, ThinkingLevel.MEDIUM), (32_768, ThinkingLevel.HIGH))
"""What a budget below so many tokens is as a level, where a model takes none; more is max."""


def effort_rank(word: str) -> int:
    """The place of a word in the scale."""
    return EFFORT_WORDS.index(word)


def nearest_word(level: ThinkingLevel, words: Iterable[str]) -> str:
    """The word of this model that is nearest to a level."""
    ranked = sorted((word for word in words if word != "none"), key=effort_rank)
    if level is ThinkingLevel.MAX:
        return ranked[-1]
    target_rank = effort_rank(level)
    return min(ranked, key=lambda word: (abs(effort_rank(word) - target_rank), -effort_rank(word)))


def weakest_word(words: Iterable[str]) -> str:
    """The word for as little as possible."""
    return min((word for word in words if word != "none"), key=effort_rank)


def level_for(budget_tokens: int) -> ThinkingLevel:
    """The level that stands for a budget."""
    return next((level for limit, level in LEVEL_LIMITS if budget_tokens < limit), ThinkingLevel.MAX)
