"""Every story is told to the Flutter block in a real browser, and ends as it is written."""

from pathlib import Path

import pytest
from tests.flutter.flet_site import FletScreen
from tests.flutter.story_screen import FlutterStory
from tests.view.stories import FOLDER, load

FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "schema.json")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_story_on_the_flutter_block(screen: FletScreen, path: Path) -> None:
    """T1, T2, T3, T4, T5, T7, R111: the words and states of a story, on the Flutter block."""
    story = load(path)
    telling = FlutterStory(screen, story)
    for n, step in enumerate(story.steps):
        assert telling.step(step) == [], f"step {n} of {story.story!r}"
