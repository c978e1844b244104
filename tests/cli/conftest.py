"""Gives every command test its own home folder, without any API key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.environment import UserHome, running_simulator

from thinkaloud.simulators import Simulator

THOUGHT = "17 times 3 is 51, and 51 minus 9 is 42."
ANSWER = "It is 42."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserHome:
    return UserHome(tmp_path, monkeypatch)


@pytest.fixture
def deepseek(home: UserHome) -> Iterator[Simulator]:
    """A simulated DeepSeek with one scripted answer, its catalog row and its key."""
    with running_simulator("deepseek", [{"thinking": THOUGHT, "text": ANSWER}]) as server:
        home.use_simulators(server)
        home.set_keys("deepseek")
        yield server
