"""The import contracts, the coverage and the order of the tests name what they should, and what exists."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CORE_FOLDERS, LONG_FILES, TESTS

ROOT = Path(__file__).parents[1]
PURE = ("canon", "wire", "catalog", "dialects", "transcript", "context", "view", "export")
CLOSED_TO_SURFACES = ("dialects", "catalog", "client", "context", "store")

TOOLS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
CONTRACTS: dict[str, Any] = {contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]}


def existing(names: tuple[str, ...]) -> set[str]:
    """The modules and packages among these names that exist."""
    source = ROOT / "src" / "thinkaloud"
    paths = (*source.glob("*.py"), *(package.parent for package in source.glob("*/__init__.py")))
    return {f"thinkaloud.{path.stem}" for path in paths if path.stem in names}


def test_imports_keep_their_direction() -> None:
    """R029: vocabulary, wire, tag splitter, handlers and surfaces are separate, and imports point one way."""
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    completed = subprocess.run(linter, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        pytest.param(CONTRACTS["pure"]["source_modules"], PURE, id="pure-contract"),
        pytest.param(CONTRACTS["surfaces"]["forbidden_modules"], CLOSED_TO_SURFACES, id="surfaces-contract"),
        pytest.param(TOOLS["coverage"]["run"]["source_pkgs"], PURE, id="coverage"),
    ],
)
def test_every_existing_package_is_listed(listed: list[str], names: tuple[str, ...]) -> None:
    missing = sorted(existing(names) - set(listed))
    assert not missing, f"add to pyproject.toml: {', '.join(missing)}"


def test_folders_and_files_named_in_conftest_exist() -> None:
    assert [name for name in (*CORE_FOLDERS, *LONG_FILES) if not (TESTS / name).exists()] == []


def test_make_check_runs_the_tests_of_the_pure_packages() -> None:
    [line] = [
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if line.startswith("CORE :=")
    ]
    assert line == f"CORE := $(addprefix tests/,{' '.join(CORE_FOLDERS)})"


def test_an_existing_package_is_not_an_optional_layer() -> None:
    layers = " | ".join(CONTRACTS["layers"]["layers"]).split(" | ")
    planned = tuple(name.strip("()") for name in layers if name.startswith("("))
    assert not existing(planned), "remove the parentheses of a layer that exists from pyproject.toml"
