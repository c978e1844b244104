"""The import contracts and the coverage goal name every room that exists and should be named."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PURE = ("canon", "wire", "catalog", "dialects", "transcript", "context", "view")
CLOSED_TO_SURFACES = ("dialects", "catalog", "client", "context", "store")

TOOLS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
CONTRACTS: dict[str, Any] = {contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]}


def built(rooms: tuple[str, ...]) -> set[str]:
    house = ROOT / "src" / "thinkaloud"
    standing = (*house.glob("*.py"), *(package.parent for package in house.glob("*/__init__.py")))
    return {f"thinkaloud.{path.stem}" for path in standing if path.stem in rooms}


def test_imports_keep_their_direction() -> None:
    """R029: vocabulary, wire, tag splitter, handlers and surfaces live apart, and imports point one way."""
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    completed = subprocess.run(linter, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


@pytest.mark.parametrize(
    ("listed", "rooms"),
    [
        pytest.param(CONTRACTS["pure"]["source_modules"], PURE, id="pure-contract"),
        pytest.param(CONTRACTS["surfaces"]["forbidden_modules"], CLOSED_TO_SURFACES, id="surfaces-contract"),
        pytest.param(TOOLS["coverage"]["run"]["source_pkgs"], PURE, id="coverage"),
    ],
)
def test_every_room_that_is_built_is_listed(listed: list[str], rooms: tuple[str, ...]) -> None:
    missing = sorted(built(rooms) - set(listed))
    assert not missing, f"add to pyproject.toml: {', '.join(missing)}"


def test_a_room_that_is_built_is_not_optional() -> None:
    layers = " | ".join(CONTRACTS["layers"]["layers"]).split(" | ")
    planned = tuple(name.strip("()") for name in layers if name.startswith("("))
    assert not built(planned), "a layer that is built takes no parentheses in pyproject.toml"
