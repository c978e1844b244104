"""The published packages: one version, consistent locks, a wheel that serves the page without Node.js."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from tests.patience import PATIENCE_S

import thinkaloud

ROOT = Path(__file__).parents[1]
PAGE = "thinkaloud/server/static/index.html"
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


class Installed(NamedTuple):
    """The wheel, installed in a virtual environment of its own."""

    command: Path
    package: Path


class Gateway(NamedTuple):
    """A gateway that was started from the wheel."""

    url: str
    run: "subprocess.Popen[str]"


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / f"requirements/{lock}.lock").read_text("utf-8")))


def no_node() -> dict[str, str]:
    """The environment of a machine without Node.js, and without this checkout's packages."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THINKALOUD"))
    }
    return kept | {"PATH": os.defpath}


def run(*command: str | Path) -> None:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=no_node()
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sdist, and of the wheel that was built from it. Nothing is fetched."""
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a new environment, which borrows all other packages from the environment of the tests."""
    home = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    wheel = next(packages.glob("*.whl"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    [site_packages] = home.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return Installed(home / "bin" / "thinkaloud", site_packages / "thinkaloud")


@contextmanager
def serving(installed: Installed, folder: Path) -> Iterator[Gateway]:
    with subprocess.Popen(
        [installed.command, "serve", "--port", "0"],
        cwd=folder,
        env=no_node() | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield Gateway(process.stdout.readline().strip(), process)
        finally:
            process.terminate()


def fetched(url: str) -> str:
    with urlopen(url, timeout=PATIENCE_S) as response:
        content: bytes = response.read()
        return content.decode("utf-8")


def test_the_wheel_and_the_sdist_have_the_page(packages: Path) -> None:
    """S21: no file of the wheel runs when Python starts."""
    with ZipFile(next(packages.glob("*.whl"))) as wheel:
        assert PAGE in wheel.namelist()
        assert not [name for name in wheel.namelist() if name.endswith((".pth", "sitecustomize.py"))]
    with tarfile.open(next(packages.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert f"src/{PAGE}" in names
    assert not [
        name for name in names if "node_modules" in name or name.startswith((".venv", ".ci", ".github"))
    ]


def test_the_readme_of_the_package_has_no_link_into_the_checkout(packages: Path) -> None:
    with ZipFile(next(packages.glob("*.whl"))) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        text = wheel.read(name).decode("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_an_installed_wheel_serves_the_page_without_node(installed: Installed, tmp_path: Path) -> None:
    with serving(installed, tmp_path) as gateway:
        page = fetched(gateway.url)
        files = re.findall(r'"(/static/[^"]+)"', page)
        assert "<html" in page
        assert files
        assert all(fetched(gateway.url + file) for file in files)
        gateway.run.terminate()
        _, messages = gateway.run.communicate(timeout=PATIENCE_S)
    assert "not built" not in messages


def test_a_gateway_without_the_page_says_so_at_start(installed: Installed, tmp_path: Path) -> None:
    static = installed.package / "server" / "static"
    static.rename(tmp_path / "static")
    try:
        with serving(installed, tmp_path) as gateway:
            with pytest.raises(HTTPError, match="404"):
                fetched(gateway.url)
            assert '"status"' in fetched(f"{gateway.url}/healthz")
            gateway.run.terminate()
            _, messages = gateway.run.communicate(timeout=PATIENCE_S)
    finally:
        (tmp_path / "static").rename(static)
    assert [line for line in messages.splitlines() if "is not built" in line and "`make page`" in line]


def test_there_is_one_version() -> None:
    web = json.loads((ROOT / "web/package.json").read_bytes())
    lock = json.loads((ROOT / "web/package-lock.json").read_bytes())
    versions = {web["version"], lock["version"], lock["packages"][""]["version"]}
    assert versions == {thinkaloud.__version__}, "scripts/version sets it everywhere"


def test_the_npm_package_has_the_licence_too() -> None:
    assert (ROOT / "web/LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


def test_a_package_of_the_lock_for_running_has_the_same_version_in_the_others() -> None:
    running = pins("run")
    assert running
    for lock in ("dev", "bench"):
        other = pins(lock)
        assert {name: other.get(name) for name in running} == running, lock
