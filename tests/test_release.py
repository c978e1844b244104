"""`make release` runs to its end, and reports what is cheap to find before it builds anything."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest
from tests.guides.guide import copy_project
from tests.patience import PATIENCE_S

import thinkaloud

ROOT = Path(__file__).parents[1]
VERSION = thinkaloud.__version__
BUILT = (
    "web/dist",
    "web/custom-elements.json",
    "src/thinkaloud/gateway/server/static",
    "src/thinkaloud/integrations/static",
)
STAMPS = (".venv/.dev", "web/node_modules/.page", "web/node_modules/.all", "web/dist/.built")
"""What tells `make` that all is installed and built, in this order."""
NOT_AGAIN = "not every_command"
"""Those tests of the packages run many commands, and run beside this one."""


def run(folder: Path, *command: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("COV", "GIT_", "PYTEST_"))
    }
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | identity | environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def commit(folder: Path) -> None:
    """Make the folder a repository in which everything is committed."""
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "All"]):
        done = run(folder, "git", *words)
        assert done.returncode == 0, done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project in which nothing needs to be installed or built, and which shares no folder.

    An installation in a folder that it shared would change the environment of these tests.
    """
    copy_project(tmp_path)
    for name in BUILT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tmp_path / name)
    borrow_python_packages(tmp_path)
    (tmp_path / "web/node_modules").mkdir()
    for path in (ROOT / "web/node_modules").iterdir():
        if path.is_dir():
            (tmp_path / "web/node_modules" / path.name).symlink_to(path)
    for name in (*STAMPS, "src/thinkaloud/gateway/server/static/index.html"):
        (tmp_path / name).touch()
    return tmp_path


def borrow_python_packages(project: Path) -> None:
    """Make an environment for a copy of the project that reads the packages of this one."""
    done = run(project, sys.executable, "-m", "venv", "--without-pip", ".venv")
    assert done.returncode == 0, done.stdout
    [site_packages] = (project / ".venv").glob("lib/python*/site-packages")
    paths = (project / "src", sysconfig.get_path("purelib"))
    (site_packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in paths), "utf-8")


def write_heading(project: Path) -> None:
    changelog = project / "CHANGELOG.md"
    unreleased = "## [Unreleased]\n"
    text = changelog.read_text("utf-8")
    changelog.write_text(text.replace(unreleased, f"{unreleased}\n## [{VERSION}] - 2030-01-02\n", 1), "utf-8")


def test_release_builds_and_checks_both_packages(project: Path) -> None:
    write_heading(project)
    commit(project)
    done = run(project, "make", "release", PYTEST_ADDOPTS=f"-p no:cacheprovider -k '{NOT_AGAIN}'")
    assert done.returncode == 0, done.stdout
    assert f"Checked version {VERSION}:" in done.stdout
    assert {path.name for path in (project / "dist").iterdir()} == {
        f"thinkaloud-{VERSION}-py3-none-any.whl",
        f"thinkaloud-{VERSION}.tar.gz",
        f"thinkaloud-{VERSION}.cdx.json",
        f"thinking-block-{VERSION}.tgz",
    }
    with tarfile.open(project / f"dist/thinking-block-{VERSION}.tgz") as package:
        assert "package/dist/lib/core.d.ts" in package.getnames()


def test_release_reports_a_missing_heading_before_it_builds(tmp_path: Path) -> None:
    """There is nothing here to build with, and nothing to build."""
    for name in ("Makefile", "scripts/release", "CHANGELOG.md", "src/thinkaloud/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    commit(tmp_path)
    done = run(tmp_path, "make", "release")
    assert done.returncode != 0
    assert f"CHANGELOG.md has no heading for {VERSION}." in done.stdout
