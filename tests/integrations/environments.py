"""Environments of their own for packages of others, each at its newest version."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment_of(folder: str, *packages: str) -> Path:
    """Make an environment with this project and some packages, or bring it up to date; return its Python."""
    uv = subprocess.check_output([ROOT / "scripts/uv"], cwd=ROOT, text=True).strip()
    make = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, folder]
    subprocess.check_call(make, cwd=ROOT)
    python = ROOT / folder / "bin/python"
    install = [uv, "pip", "install", "--quiet", "--upgrade", "--python", str(python)]
    subprocess.check_call([*install, *packages, "--editable", "."], cwd=ROOT)
    return python
