"""Text of a model cannot control a terminal, for any chunking."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.surfaces.terminal import TerminalCleaner, clean, clean_json

ATTACKS = [
    pytest.param("a\x1b[31mred\x1b[0mb", "aredb", id="colour"),
    pytest.param("a\x1b[2J\x1b[Hb", "ab", id="clear screen"),
    pytest.param("a\x1b]2;title\x07b", "ab", id="title, ended by BEL"),
    pytest.param("a\x1b]52;c;cm0gLXJm\x1b\\b", "ab", id="clipboard, ended by ST"),
    pytest.param("a\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\b", "alinkb", id="hyperlink"),
    pytest.param("a\x9b31mb", "ab", id="8-bit CSI"),
    pytest.param("a\x9d2;title\x9cb", "ab", id="8-bit OSC"),
    pytest.param("a\x1bPq#0\x1b\\b", "ab", id="device control string"),
    pytest.param("a\x1b[6nb", "ab", id="ask for the cursor"),
    pytest.param("a\x1b(Bb", "ab", id="character set"),
    pytest.param("a\x1bcb", "ab", id="reset"),
    pytest.param("a\rb\x08c\x7fd\x00e", "abcde", id="single controls"),
    pytest.param("a\u202eb\u2066c", "abc", id="bidirectional override"),
    pytest.param("a\x1b]0;never ended\nb", "a\nb", id="a sequence ends with its line"),
    pytest.param("a\x1b[12\nb", "a\nb", id="so does a control sequence"),
    pytest.param("a\x1b[é", "aé", id="a broken sequence is text again"),
    pytest.param("a\x1béb", "aéb", id="escape before a letter that is none"),
    pytest.param("a\x1b]x\x1byz\x07b", "ab", id="escape inside a string"),
    pytest.param("tab\tand\nline", "tab\tand\nline", id="tab and newline stay"),
    pytest.param("ação 👩‍👩‍👧 中文", "ação 👩‍👩‍👧 中文", id="text of any language stays"),
]


@pytest.mark.parametrize(("text", "shown"), ATTACKS)
def test_control_characters_are_removed(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(("text", "shown"), ATTACKS)
def test_split_escape_sequences_are_removed(text: str, shown: str) -> None:
    """S4."""
    for size in (1, 2, 3):
        cleaner = TerminalCleaner()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(map(cleaner.feed, pieces)) == shown


@given(st.lists(st.text(alphabet="\x1b[]P\\;0m\x07\x9b\x9dab\n\r\t", max_size=8), max_size=12))
def test_cleaned_text_does_not_depend_on_chunking(pieces: list[str]) -> None:
    cleaner = TerminalCleaner()
    shown = "".join(map(cleaner.feed, pieces))
    assert shown == clean("".join(pieces))
    assert not set(shown) & set("\x1b\x07\x9b\x9d\r")


def test_endless_escape_sequence_ends_after_a_limit() -> None:
    assert clean("\x1b]" + "x" * 10_000).endswith("x" * 5_000)


def test_clean_json_keeps_the_content() -> None:
    value = {"text": "a\x9b31m\u202e\x7f\u2028b"}
    safe = clean_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(safe) == value
    assert safe == clean(safe)
