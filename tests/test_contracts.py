"""The import contracts, the coverage and the order of the tests name what they should, and what exists."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.conftest import CORE_FOLDERS, LONG_FILES, TESTS

ROOT = Path(__file__).parents[1]
TOOLS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
CONTRACTS: dict[str, Any] = {contract["id"]: contract for contract in TOOLS["importlinter"]["contracts"]}


def test_imports_keep_their_direction() -> None:
    """R029: vocabulary, wire, tag splitter, handlers and surfaces are separate, and imports point one way."""
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    completed = subprocess.run(linter, cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_contracts_and_coverage_name_modules_that_exist() -> None:
    named = [
        *CONTRACTS["pure"]["source_modules"],
        *CONTRACTS["surfaces"]["forbidden_modules"],
        *TOOLS["coverage"]["run"]["source_pkgs"],
    ]
    folders = [ROOT / "src" / name.replace(".", "/") for name in named]
    assert [str(folder) for folder in folders if not folder.is_dir()] == []


def test_folders_and_files_named_in_conftest_exist() -> None:
    assert [name for name in (*CORE_FOLDERS, *LONG_FILES) if not (TESTS / name).exists()] == []


def test_make_check_runs_the_tests_of_the_pure_packages() -> None:
    [line] = [
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if line.startswith("CORE :=")
    ]
    assert line == f"CORE := $(addprefix tests/,{' '.join(CORE_FOLDERS)})"
