#!/usr/bin/env python3
"""Builds the documentation site from docs/ and from the pages beside the code.

The pages are written for a reader of the repository: a link may lead to any of its files. The site has only
some of them. So each page is copied, and each of its links is made to lead to a page of the site, or to the
file on the forge. A link to a file that does not exist is an error; `zensical build --strict` finds the dead
links and anchors among the pages.

    python scripts/docs.py [FOLDER]      the site goes to FOLDER/site, by default build/site
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "zensical.toml"
FORGE = "https://github.com/thinkaloud/thinkaloud"
BESIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "web/README.md": "element.md",
}
"""Pages outside docs/, and where the site has them."""
COPIED = {".png", ".svg", ".webp"}
SECTIONS: dict[str, tuple[str, ...]] = {
    "How to": ("how-to/",),
    "Frameworks": ("integrations/",),
    "Reference": ("reference/",),
    "The element": ("element.md",),
    "Background": ("stories.md", "behaviour.md", "performance.md", "reliability.md"),
    "Decisions": ("decisions/",),
    "The project": ("",),
}
"""The menu: each page is in the first section that names it or its folder; the last takes the rest."""

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_ELSEWHERE = ("https://", "http://", "mailto:", "#")


class DeadLinks(Exception):
    """Links to files that do not exist."""


def pages() -> dict[str, str]:
    """Each file of the site by its path in the repository."""
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*") if path.is_file()}
    kept = {path for path in own if PurePosixPath(path).suffix in COPIED | {".md"}}
    return {path: path.removeprefix("docs/") for path in sorted(kept)} | BESIDE


def staged(folder: Path) -> None:
    """Copies all files of the site to a folder, with links that hold there."""
    places, dead = pages(), []
    for source, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.endswith(".md"):
            shutil.copyfile(ROOT / source, target)
            continue
        text, missing = with_links((ROOT / source).read_text("utf-8"), source, places)
        dead += [f"{source}: {link}" for link in missing]
        target.write_text(text, "utf-8")
    if dead:
        raise DeadLinks("\n".join(dead))


def with_links(text: str, source: str, places: dict[str, str]) -> tuple[str, list[str]]:
    """A page's text with links that hold on the site, and the links that lead nowhere."""
    missing = []

    def changed(link: re.Match[str]) -> str:
        path, hash_, anchor = link[2].partition("#")
        if link[2].startswith(_ELSEWHERE):
            return link[0]
        file = normpath(f"{PurePosixPath(source).parent}/{path}")
        if not (ROOT / file).exists():
            missing.append(link[2])
        if file in places:
            file = relpath(places[file], PurePosixPath(places[source]).parent)
        else:
            file = f"{FORGE}/{'tree' if (ROOT / file).is_dir() else 'blob'}/main/{file}"
        return f"{link[1]}{file}{hash_}{anchor}{link[3]}"

    parts = _CODE.split(text)  # every second part is code, where nothing is a link
    parts[::2] = [_LINK.sub(changed, part) for part in parts[::2]]
    return "".join(parts), missing


def menu() -> str:
    """The menu of the site, as a line of its configuration."""
    left = [place for place in pages().values() if place.endswith(".md") and place != "index.md"]
    sections: list[object] = ["index.md"]
    for title, names in SECTIONS.items():
        found = [place for place in left if place.startswith(names)]
        left = [place for place in left if place not in found]
        sections.append({title: found})
    entries = json.dumps(sections).replace('": [', '" = [')  # TOML, but for the sign between key and value
    return f"nav = {entries}\n"


def build(folder: Path) -> int:
    """Builds the site from the pages of a folder; the exit code."""
    first, table, rest = (ROOT / CONFIG).read_text("utf-8").partition("[project]\n")
    (folder / CONFIG).write_text(first + table + menu() + rest, "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", CONFIG]
    return subprocess.run(command, cwd=folder, check=False).returncode


def main(folder: Path = ROOT / "build") -> int:
    """Copies the pages and builds the site; zero if all links hold."""
    shutil.rmtree(folder / "pages", ignore_errors=True)
    try:
        staged(folder / "pages")
    except DeadLinks as error:
        print(f"These links lead to files that do not exist:\n{error}", file=sys.stderr)
        return 1
    return build(folder)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
