"""The software bill of materials has every package of the lock, with its hashes."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_sbom_lists_every_locked_package_with_its_hashes() -> None:
    """S21."""
    run = subprocess.run(
        [sys.executable, "scripts/sbom.py", "1.2.3"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    bill = json.loads(run.stdout)
    lock = (ROOT / "requirements" / "run.lock").read_text("utf-8")
    locked = set(re.findall(r"^(\S+)==([^\s;\\]+)", lock, re.MULTILINE))
    assert {(part["name"], part["version"]) for part in bill["components"]} == locked
    assert "uvicorn" in {name for name, _ in locked}
    assert sum(len(part["hashes"]) for part in bill["components"]) == lock.count("--hash=sha256:")
    assert all(part["hashes"] and part["purl"].startswith("pkg:pypi/") for part in bill["components"])
    assert bill["metadata"]["component"]["version"] == "1.2.3"


def test_release_writes_the_sbom() -> None:
    assert "scripts/sbom.py" in (ROOT / "scripts" / "release").read_text("utf-8")
