"""Line wrapping: independent of chunking, never too wide, and lossless."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.core.view import columns_of
from thinkaloud.surfaces.terminal import MIN_WRAP_COLUMNS, LineWrapper, wrap_text

THOUGHT = (
    "[think] They leave the office at ten to six and want the boat to the island.\n"
    "[think] \n"
    "[think]   8 + 8 = 16 leaves 11 16; nothing more from these reaches 24 (6 tried).\n"
    "[think]   → Yes.\n"
)
WRAPPED = """\
[think] They leave the office at ten to
[think] six and want the boat to the
[think] island.
[think]\u0020
[think]   8 + 8 = 16 leaves 11 16;
[think]   nothing more from these
[think]   reaches 24 (6 tried).
[think]   → Yes.
"""


@given(st.lists(st.integers(0, len(THOUGHT)), max_size=30).map(sorted))
def test_wrapped_lines_do_not_depend_on_chunking(cuts: list[int]) -> None:
    wrapper = LineWrapper(40)
    pieces = [wrapper.feed(THOUGHT[a:b]) for a, b in pairwise([0, *cuts, len(THOUGHT)])]
    assert "".join(pieces) + wrapper.flush() == WRAPPED


@given(st.text("ab é\t中文🔧.", max_size=200), st.integers(MIN_WRAP_COLUMNS + 9, 60))
def test_wrapped_lines_fit_and_keep_every_word(text: str, columns: int) -> None:
    output = wrap_text(f"[think] {text.lstrip()}", columns)
    assert "".join(output.replace("[think]", "").split()) == "".join(text.split())
    for line in output.split("\n"):
        assert columns_of(line.rstrip()) < columns or " " not in line.removeprefix("[think] ").strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no margin is kept where there is none at all", "no margin is kept where there is none\nat all"),
        ("[think] " + "中" * 20, "[think] " + "中" * 15 + "\n[think] " + "中" * 5),
        ("[think] see " + "x" * 50 + " now", "[think] see\n[think] " + "x" * 50 + "\n[think] now"),
        ("[think] " + "  " * 8 + "too little room to break a line well", None),
        ("", ""),
    ],
)
def test_wrapping_of_margins_wide_scripts_and_long_words(text: str, expected: str | None) -> None:
    assert wrap_text(text, 40) == (text if expected is None else expected)
    assert wrap_text(text, None) == text


def test_wrapper_holds_an_incomplete_word_back() -> None:
    wrapper = LineWrapper(40)
    assert [wrapper.feed(piece) for piece in ("[think] Le", "t me", " see", ".")] == [
        "[think]",
        " Let",
        " me",
        "",
    ]
    assert wrapper.flush() == " see."
    assert wrapper.flush() == ""
