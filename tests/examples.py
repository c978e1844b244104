"""How many random examples a property gets.

A property without a number gets a hundred. The profile `thorough` of Hypothesis gives each ten times as many:
`pytest --hypothesis-profile=thorough tests/export`.
"""

from hypothesis import settings

USUAL = 100


def examples(count: int) -> settings:
    """Return settings with this many examples, or more in a thorough run."""
    return settings(max_examples=count * settings().max_examples // USUAL, deadline=None)
