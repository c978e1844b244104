"""Every window of a browser waits as long as all other waits: its own limit is for quick machines."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
OPENED = re.compile(r"browser\.new_(?:context|page)\(.*\n(?! *context\.set_default_timeout\(PATIENCE_MS\))")


def test_no_test_opens_a_window_without_patience() -> None:
    files = [*TESTS.glob("web/*.py"), *TESTS.glob("flutter/*.py")]
    tests = [path for path in files if not path.stem.endswith("_screenshots")]
    assert [path.name for path in tests if OPENED.search(path.read_text("utf-8"))] == []
