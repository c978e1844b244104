"""A pytest plugin that runs only some cases of each parametrized test.

`scripts/pythons.py` uses it: what differs between versions of Python shows in a few cases of a test. Which
ones run depends on the name of the test alone, so all runs and all workers take the same.
"""

import random
from collections import defaultdict

import pytest

MOST_CASES = 4


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the other cases."""
    cases_by_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases_by_test[item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for name, cases in cases_by_test.items():
        chosen.update(random.Random(name).sample(cases, min(MOST_CASES, len(cases))))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
