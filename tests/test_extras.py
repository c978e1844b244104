"""Extras of the package that are not installed, and the command that adds one."""

import json
import shlex
import sys
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest

import thinkaloud
from thinkaloud import extras
from thinkaloud.core.canon import Refused
from thinkaloud.extras import EXTRAS, install_command, installed, refuse_missing_extras

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
SUMS = {"agents": "thinkaloud[mcp,prices]"}
"""Extras that only name others."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def use_origin(origin: dict[str, Any] | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the metadata of the package in a folder, with what an installer records of its origin."""
    metadata = folder / f"thinkaloud-{thinkaloud.__version__}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: thinkaloud\n", "utf-8")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin), "utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    assert PathDistribution(metadata).name == extras.DISTRIBUTION


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    assert project["name"] == extras.DISTRIBUTION
    dependencies = project["optional-dependencies"]
    for name, others in SUMS.items():
        assert dependencies.pop(name) == [others]
    assert set(EXTRAS) == set(dependencies)


def test_missing_package_is_refused_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "tui", ("no_such_package",))
    assert not installed("tui")
    with pytest.raises(Refused) as refusal, refuse_missing_extras():
        raise ModuleNotFoundError(name="no_such_package.parts")
    assert str(refusal.value) == (
        f"The package no_such_package.parts is not installed. It comes with the extra [tui]. "
        f"Run: {install_command('tui')}"
    )


def test_missing_module_of_no_extra_is_not_hidden() -> None:
    assert installed("server")
    with pytest.raises(ModuleNotFoundError), refuse_missing_extras():
        raise ModuleNotFoundError(name="thinkaloud.no_such_module")


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        pytest.param(
            {"url": "file:///a%20b/thinkaloud", "dir_info": {"editable": True}},
            ["--editable", "/a b/thinkaloud[tui]"],
            id="editable",
        ),
        pytest.param(
            {"url": "file:///home/thinkaloud", "dir_info": {}},
            ["thinkaloud[tui] @ file:///home/thinkaloud"],
            id="folder",
        ),
        pytest.param(
            {"url": "file:///x/thinkaloud-1-py3-none-any.whl", "archive_info": {}},
            ["thinkaloud[tui] @ file:///x/thinkaloud-1-py3-none-any.whl"],
            id="wheel",
        ),
        pytest.param(
            {"url": "https://example.org/t.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            [f"thinkaloud[tui] @ git+https://example.org/t.git@{COMMIT}"],
            id="repository",
        ),
        pytest.param(None, [f"thinkaloud-{thinkaloud.__version__}-py3-none-any.whl[tui]"], id="unknown"),
    ],
)
def test_extra_is_installed_from_where_the_package_came_from(
    origin: dict[str, Any] | None, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index is asked for the name of the package, which anybody could take there."""
    use_origin(origin, tmp_path, monkeypatch)
    assert shlex.split(install_command("tui")) == ["pip", "install", *words]
