"""Environments of their own for packages of others, each at its newest version."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment_of(folder: str, *packages: str) -> Path:
    """Make an environment with this project and some packages, and return its Python."""
    uv = subprocess.check_output([ROOT / "scripts/uv"], cwd=ROOT, text=True).strip()
    subprocess.check_call([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], cwd=ROOT)
    python = ROOT / folder / "bin/python"
    command = [uv, "pip", "install", "--quiet", "--python", str(python), *packages, "--editable", "."]
    subprocess.check_call(command, cwd=ROOT)
    return python
