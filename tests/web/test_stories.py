"""Every story is told to the element in a real browser, and ends as it is written."""

from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.web.story_page import FILES, PageStory, load


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story(page: Page, path: Path) -> None:
    """T1, T2, T3, T4, T5, T7: the words and states of a story, on the element."""
    story = load(path)
    telling = PageStory(page, story)
    for n, step in enumerate(story["steps"]):
        assert telling.step(step) == [], f"step {n} of {story['story']!r}"
