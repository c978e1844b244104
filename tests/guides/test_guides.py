"""Every guide for contributors works when it is followed to the letter."""

import os
from pathlib import Path

import pytest
from tests.guides.guide import PAGES, ROOT, Block, ScratchProject, blocks

GUIDES = sorted(PAGES.glob("*.md"))


class AllGuides:
    """One copy of the project in which all guides are carried out: to check a copy for each takes long."""

    def __init__(self, folder: Path) -> None:
        self.project = ScratchProject(folder)
        self.followed: list[Path] = []

    def follow(self, page: Path) -> None:
        if page not in self.followed:
            follow(self.project, page)
            self.followed.append(page)


@pytest.fixture(scope="module")
def all_guides(tmp_path_factory: pytest.TempPathFactory) -> AllGuides:
    return AllGuides(tmp_path_factory.mktemp("guides") / "project")


def follow(project: ScratchProject, page: Path) -> None:
    commands = project.follow(page.read_text("utf-8"))
    assert any(command.startswith("python -m pytest ") for command in commands), "the guide checks nothing"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guide_works_when_followed(page: Path, all_guides: AllGuides) -> None:
    all_guides.follow(page)


def test_project_passes_its_check_after_all_guides(all_guides: AllGuides) -> None:
    for page in GUIDES:
        all_guides.follow(page)
    all_guides.project.check()


@pytest.mark.skipif("ALL_CASES" not in os.environ, reason="make test-all follows each guide alone")
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_guide_works_when_followed_alone(page: Path, tmp_path: Path) -> None:
    project = ScratchProject(tmp_path / "project")
    follow(project, page)
    project.check()


def test_contributing_links_every_guide() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert {page.stem for page in GUIDES} == {"provider", "dialect", "surface", "database", "language"}
    assert [page.name for page in GUIDES if f"(docs/contributing/{page.name})" not in text] == []


def test_blocks_are_files_edits_and_commands() -> None:
    page = (
        'Write it:\n\n```python title="src/a.py"\nA = 1\n```\n\n'
        'Insert before the line that starts with `B = `:\n\n```python title="src/b.py"\nA = 1\n```\n\n'
        "```console\n$ python -m pytest -q\n1 passed\n```\n"
    )
    assert list(blocks(page)) == [
        Block("python", "src/a.py", "", "", "A = 1\n"),
        Block("python", "src/b.py", "Insert before", "B = ", "A = 1\n"),
        Block("console", "", "", "", "$ python -m pytest -q\n1 passed\n"),
    ]
    assert [command for block in blocks(page) for command in block.commands] == ["python -m pytest -q"]
