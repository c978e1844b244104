"""Runs the tests of the pure packages, and one that asks a model in every way, on the other Pythons here.

    .venv/bin/python scripts/pythons.py tests/wire tests/view

`make test` runs all tests on one Python. What differs between versions shows in a part of them, and in some
cases of each; `make test-all` runs all cases. Each other Python has an environment of its own, such as
.venv-3.12, with the packages of requirements/test.lock. It is found by its name on the PATH, or among those
of pyenv. One that is not there is named, which is no error.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = 11, 30
"""Minor versions to look for; newer ones than we promise are tried too."""
ARGUMENTS = (
    # In one process: to import all tests takes longer than to run some cases of them.
    *("--quiet", "--hypothesis-profile=quick", "-p", "no:xdist", "-p", "no:cacheprovider"),
    *("-k", "not linear_time"),  # they compare times, which takes long and tells nothing of the version
)
SOME_CASES = () if "ALL_CASES" in os.environ else ("-p", "tests.some_cases")
END_TO_END = "tests/test_end_to_end.py"
_VERSION_OF = "import sys; print('%d.%d' % sys.version_info[:2])"
_PROMISE = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def promised_versions() -> set[str]:
    """Return the versions that the package promises to run on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return set(_PROMISE.findall("\n".join(project["classifiers"])))


def find_pythons(environ: dict[str, str]) -> dict[str, Path]:
    """Return an interpreter for each version from 3.11 on that is installed, by version."""
    found: dict[str, Path] = {}
    for path in _candidates(environ):
        version = _version_of(path, environ)
        minor = int(version.partition(".")[2] or 0)
        if version.startswith("3.") and minor >= OLDEST:
            found.setdefault(version, path)
    return found


def _candidates(environ: dict[str, str]) -> Iterator[Path]:
    names = [f"python3.{minor}" for minor in range(OLDEST, NEWEST)]
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        yield from (Path(folder, name) for name in names if os.access(Path(folder, name), os.X_OK))
    pyenv = Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "~")).expanduser() / ".pyenv")
    yield from sorted(pyenv.glob("versions/3.*/bin/python3"), reverse=True)


def _version_of(python: Path, environ: dict[str, str]) -> str:
    """Return the version of an interpreter; "" if it does not run, as a shim of pyenv without its version."""
    try:
        done = subprocess.run(
            [python, "-c", _VERSION_OF], env=environ, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def install(version: str, python: Path) -> Path:
    """Return the folder of an environment with the packages that the tests need."""
    folder = ROOT / f".venv-{version}"
    stamp = folder / ".test"
    newest = max((ROOT / name).stat().st_mtime for name in ("requirements/test.lock", "pyproject.toml"))
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        environ = os.environ | {"PYTHON": str(python)}
        subprocess.run(["scripts/install", folder.name, "test"], cwd=ROOT, env=environ, check=True)
    return folder


def run_tests(version: str, folder: Path, core: list[str]) -> bool:
    """Run the tests in an environment; return whether they passed.

    Other tests print their progress meanwhile, so this prints only how it ended, and all of it if it failed.
    """
    python = str(folder / "bin" / "python")
    command = [python, "-m", "pytest", *ARGUMENTS, *SOME_CASES, END_TO_END, *core]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    passed = done.returncode == 0
    last_line = done.stdout.strip().rpartition("\n")[2]
    print(f"\nPython {version}: {last_line if passed else done.stdout}", flush=True)
    return passed


def main(core: list[str]) -> int:
    """Run the tests on every other Python, and say which ones were not found."""
    own = "{}.{}".format(*sys.version_info)
    pythons = find_pythons(dict(os.environ))
    others = sorted(set(pythons) - {own}, key=lambda version: int(version.partition(".")[2]))
    failed = []
    for version in others:
        if not run_tests(version, install(version, pythons[version]), core):
            failed.append(version)
    missing = sorted(promised_versions() - set(pythons) - {own})
    if missing:
        print(f"Not found, so not tried: Python {', '.join(missing)}", flush=True)
    if failed:
        print(f"Tests failed on Python {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
