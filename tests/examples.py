"""How many random examples a property gets.

A property without a number gets a hundred, and half as many in `make test`. The profile `thorough` of
tests/conftest.py gives ten times as many. Both hold also for those with a number from here.
"""

from hypothesis import settings

USUAL = 100


def examples(count: int) -> settings:
    """Return settings with this many examples, or more in a thorough run."""
    return settings(max_examples=count * settings().max_examples // USUAL, deadline=None)
