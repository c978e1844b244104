"""Conversion between thinking levels, effort words and token budgets.

No vendor documents an exact conversion; these tables are ours. The strongest word of a model is its `max`,
whatever it is called. If two words are equally near, the stronger one wins, as DeepSeek does with medium.
"""

from collections.abc import Iterable

from thinkaloud.core.canon.requests import ThinkingLevel

EFFORT_WORDS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every effort or level word, from weak to strong."""

LEVEL_BUDGETS = {
    ThinkingLevel.LOW: 1024,
    ThinkingLevel.MEDIUM: 8192,
    ThinkingLevel.HIGH: 24_576,
    ThinkingLevel.MAX: 32_768,
}
"""The budget to send for a level, for models that take a token budget."""

LEVEL_LIMITS = ((4096, ThinkingLevel.LOW), (16_384, ThinkingLevel.MEDIUM), (32_768, ThinkingLevel.HIGH))
"""The level for a budget below this many tokens, for models without budgets. Larger budgets are max."""


def effort_rank(word: str) -> int:
    """Return the position of a word in the scale."""
    return EFFORT_WORDS.index(word)


def nearest_word(level: ThinkingLevel, words: Iterable[str]) -> str:
    """Return the model's word that is nearest to a level."""
    ranked = sorted((word for word in words if word != "none"), key=effort_rank)
    if level is ThinkingLevel.MAX:
        return ranked[-1]
    target_rank = effort_rank(level)
    return min(ranked, key=lambda word: (abs(effort_rank(word) - target_rank), -effort_rank(word)))


def weakest_word(words: Iterable[str]) -> str:
    """Return the model's weakest word."""
    return min((word for word in words if word != "none"), key=effort_rank)


def level_for(budget_tokens: int) -> ThinkingLevel:
    """Return the level that corresponds to a budget."""
    return next((level for limit, level in LEVEL_LIMITS if budget_tokens < limit), ThinkingLevel.MAX)
