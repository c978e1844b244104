"""The page says what Python says: the same view of any turn, to the letter, and the same tables of words."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page
from tests.view.test_random_turns import scripts

from thinkaloud.canon import Entry, Event
from thinkaloud.transcript import Turn, apply
from thinkaloud.view import LOCALES, PRESETS, Words, count_words, preset, preview, tail, view

SLOW = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])

VIEW_SCRIPT = """([entries, policy, locale, now, choices]) => {
  const turn = new twin.Turn();
  for (const entry of entries) twin.apply(turn, entry);
  const seen = twin.view(turn, twin.readPolicy(policy), new twin.Words(twin.findLocale(locale)), now,
    new Map(choices));
  return JSON.parse(JSON.stringify(seen, (key, value) => key === "source" || key === "thought" ?
    undefined : value));
}"""

LINES = """text => {
  const block = new twin.Block(0, "reasoning");
  block.grow(text);
  const turn = new twin.Turn();
  turn.blocks.push(block);
  return [twin.preview(block), twin.peek(block), twin.countWords(text), twin.summaryLine(turn, [block])[0]];
}"""

WRITING = st.text(
    st.sampled_from("ab Zé.,!?*_`#>-+[]()\n\t 漢字かな。！👩‍💻🇧🇷é̈…\u202e\x07 0123 ok so hmm então"),
    max_size=200,
)
SENTENCES = st.lists(
    st.sampled_from(
        [
            "Okay, so ",
            "Hmm. ",
            "Let me think about this. ",
            "Bem, vejamos: ",
            "tá bom, ",
            "**A title**\n",
            "## Heading ##\n",
            "The user wants e.g. a cat. ",
            "It is 3.5 km away! ",
            "- one\n- two\n",
            "[a link](https://x.y) ",
            "```py\ncode\n```\n",
            "2**10 and 2 * 3 ",
            "用户想知道。今天？",
            "1. First\n",
            "\n\n",
        ]
    ),
    max_size=12,
).map("".join)


@SLOW
@given(
    script=scripts(),
    name=st.sampled_from(sorted(PRESETS)),
    locale=st.sampled_from(["en-US", "pt-BR"]),
    choices=st.dictionaries(st.integers(-1, 5), st.booleans(), max_size=3),
    later=st.sampled_from([0, 40, 1200, 75_000]),
)
def test_any_turn_is_seen_alike(
    page: Page, script: list[tuple[int, Event]], name: str, locale: str, choices: dict[int, bool], later: int
) -> None:
    turn = Turn()
    entries = [Entry(seq, event, at_ms) for seq, (at_ms, event) in enumerate(script)]
    for entry in entries:
        apply(turn, entry)
    now = (script[-1][0] if script else 0) + later
    expected = view(turn, preset(name), locale, now_ms=now, choices=choices)
    entry_fields = [msgspec.to_builtins(entry) for entry in entries]
    page_view = page.evaluate(
        VIEW_SCRIPT, [entry_fields, {"preset": name}, locale, now, list(choices.items())]
    )
    assert _assert_same_view(expected, page_view)


@SLOW
@given(text=WRITING | SENTENCES)
def test_any_text_is_shortened_alike(page: Page, text: str) -> None:
    from thinkaloud.canon import BlockGrew, BlockStarted, Kind
    from thinkaloud.transcript import fold
    from thinkaloud.view import summary_line

    turn = fold([BlockStarted(0, Kind.REASONING), BlockGrew(0, text)])
    expected = [preview(text), tail(text), count_words(text), summary_line(turn)[0]]
    page_texts = page.evaluate(LINES, text)
    if not text.strip():
        expected[3] = page_texts[3] = ""  # a blank thought is no thought, and nobody asks for its summary
    assert page_texts == expected


def test_the_words_are_the_same(page: Page) -> None:
    """R126, R127, R128, R129: every word that the page has in common with Python, in both languages."""
    for name, locale in LOCALES.items():
        table = page.evaluate("name => twin.findLocale(name).words", name)
        shared = 0
        for key, text in table.items():
            full = f"ai.{key}" if key.startswith(("notice.", "session.")) else f"ai.thinking.{key}"
            if full in locale.words:
                page_words = locale.words[full]
                assert text == (
                    page_words if isinstance(page_words, str) else f"{page_words.one}|{page_words.other}"
                ), full
                shared += 1
        assert shared >= 37


@pytest.mark.parametrize("locale", ["en-US", "pt-BR"])
def test_numbers_and_times_are_written_alike(page: Page, locale: str) -> None:
    times = [
        None,
        -1,
        0,
        1,
        999,
        1000,
        1049,
        1050,
        4200,
        59_949,
        59_950,
        80_000,
        3_599_499,
        3_599_500,
        3_720_000,
    ]
    counts = [0, 1, 2, 999, 1000, 1_234_567]
    words = Words(locale)
    assert page.evaluate(
        "([name, times, counts]) => { const words = new twin.Words(twin.findLocale(name));"
        " return [times.map(ms => words.duration(ms)), counts.map(n => words.say('words', {n}))]; }",
        [locale, times, counts],
    ) == [[words.duration(ms) for ms in times], [words.text("ai.thinking.words", n=n) for n in counts]]


def _assert_same_view(expected: Any, page_view: Any) -> bool:
    """Compare what Python has; a tree of text is compared to the letter."""
    if expected is None or page_view is None:
        assert (expected is None) == (page_view is None)
        return True
    for field in expected.__struct_fields__:
        expected_value, actual = getattr(expected, field), page_view[field]
        if isinstance(expected_value, tuple):
            assert len(expected_value) == len(actual), field
            assert all(
                _assert_same_view(expected_item, actual_item)
                for expected_item, actual_item in zip(expected_value, actual, strict=True)
            )
        else:
            assert actual == (str(expected_value) if isinstance(expected_value, str) else expected_value), (
                field
            )
    return True
