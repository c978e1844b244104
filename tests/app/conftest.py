"""Every test of the command has a home of its own and no key but what it is given."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.app.serving import Home, simulated

from thinkaloud.simulators import Simulator

THOUGHT = "17 times 3 is 51, and 51 minus 9 is 42."
ANSWER = "It is 42."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


@pytest.fixture
def deepseek(home: Home) -> Iterator[Simulator]:
    """A DeepSeek that thinks once and answers, with its row and key in place."""
    with simulated("deepseek", [{"thinking": THOUGHT, "text": ANSWER}]) as server:
        home.points_at(server)
        home.has_key("deepseek")
        yield server
