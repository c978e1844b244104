"""Extras of the package that are not installed."""

import tomllib
from pathlib import Path

import pytest

from thinkaloud.canon import Refused
from thinkaloud.cli.extras import EXTRAS, installed, require_extra

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
WITHOUT_A_COMMAND = {"telemetry"}


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - WITHOUT_A_COMMAND


def test_missing_package_is_refused_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "tui", ("no_such_package",))
    assert not installed("tui")
    message = r"no_such_package\.parts .* pip install 'thinkaloud\[tui\]'$"
    with pytest.raises(Refused, match=message), require_extra("tui"):
        raise ModuleNotFoundError(name="no_such_package.parts")


def test_missing_module_of_no_extra_is_not_hidden() -> None:
    assert installed("server")
    with pytest.raises(ModuleNotFoundError), require_extra("server"):
        raise ModuleNotFoundError(name="thinkaloud.no_such_module")
