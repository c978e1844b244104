"""A pytest plugin that runs only some cases of each parametrized test.

`scripts/pythons.py` uses it: what differs between versions of Python shows in a few cases of a test. Which
ones run depends on the name of the test alone, so all runs and all workers take the same.

tests/conftest.py does the same for the tests with the mark `some_cases(count)`, which try the product of many
recordings, models and cuts. `make test-all` runs all cases of these as well.
"""

import os
import random
from collections import defaultdict
from collections.abc import Callable

import pytest

MOST_CASES = 4


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the other cases."""
    choose_cases(config, items, lambda item: MOST_CASES)


def choose_marked_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect cases of the tests with the mark, unless all cases are asked for."""
    if "ALL_CASES" not in os.environ:
        choose_cases(config, items, _marked_count)


def choose_cases(
    config: pytest.Config, items: list[pytest.Item], count_of: Callable[[pytest.Item], int | None]
) -> None:
    """Keep so many cases of each test; None keeps all of them."""
    cases_by_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases_by_test[item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for name, cases in cases_by_test.items():
        count = count_of(cases[0])
        if count is not None and count < len(cases):
            cases = random.Random(name).sample(cases, count)
        chosen.update(cases)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _marked_count(item: pytest.Item) -> int | None:
    mark = item.get_closest_marker("some_cases")
    return mark.args[0] if mark else None
