"""Texts for clipboard, title and speech: made from the answer, never from a thought."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.sessions import TEXTS
from tests.linear_time import assert_linear
from tests.view.test_random_turns import scripts
from tests.view.turns import (
    STOP,
    answer_events,
    sealed_thought_events,
    thought_events,
    tool_call_events,
    untimed_turn,
)
from wcwidth import iter_graphemes

from thinkaloud.core.canon import BlockGrew, BlockSealed, BlockStarted, Event, Kind, SealForm, ToolFinished
from thinkaloud.core.transcript import Turn, fold
from thinkaloud.core.view import copy_text, speech_text, title_text
from thinkaloud.core.view.text import fence_text, first_words, text_in_fence

CANARY = "canary"


def answered(*texts: str) -> Turn:
    return untimed_turn(
        *(event for number, text in enumerate(texts) for event in answer_events(number, text)), STOP
    )


def hidden(script: list[tuple[int, Event]]) -> list[Event]:
    """Return the events with a canary in every text except the turn's own answer."""
    events = [event for _, event in script]
    own_text_blocks = {
        event.block
        for event in events
        if isinstance(event, BlockStarted) and event.kind is Kind.TEXT and event.parent is None
    }
    return [_hidden(event, own_text_blocks) for event in events]


def _hidden(event: Event, own_text_blocks: set[int]) -> Event:
    match event:
        case BlockGrew(block) if block not in own_text_blocks:
            return BlockGrew(block, f"{CANARY} in a thought. ")
        case BlockStarted():
            return msgspec.structs.replace(event, name=CANARY)
        case ToolFinished(block):
            return ToolFinished(block, CANARY, CANARY)
        case BlockSealed(block, seal):
            return BlockSealed(block, msgspec.structs.replace(seal, payload=CANARY))
    return event


@given(scripts(), st.sampled_from(["en-US", "pt-BR"]))
def test_answer_texts_contain_only_the_answer(script: list[tuple[int, Event]], locale: str) -> None:
    """R001, R003: they contain no thought, no result and no seal, after any event of any turn."""
    turn = fold(hidden(script))
    assert copy_text(turn) == turn.answer
    for text in (copy_text(turn), title_text(turn.answer), speech_text(turn, locale)):
        assert CANARY not in text


def test_answer_texts_are_empty_without_an_answer() -> None:
    turn = untimed_turn(
        *thought_events(0, "# Plan"),
        *sealed_thought_events(1, SealForm.REDACTED),
        *tool_call_events(2, "find", "{}", "it"),
        STOP,
    )
    assert (copy_text(turn), title_text(turn.answer), speech_text(turn)) == ("", "", "")


def test_copy_text_is_the_answer_verbatim() -> None:
    """R003: markdown marks and line ends stay, and nothing is added between two texts."""
    assert copy_text(answered("**A**\r\n", "`b`\0")) == "**A**\r\n`b`\0"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What is 2+2? And 3+3?", "What is 2+2?"),
        ("# The weather in *Lima*\n\nIt is warm.", "The weather in Lima"),
        ("**Summary**\n\nIt is warm.", "Summary"),
        ("Okay, so it is warm in Lima. And dry.", "So it is warm in Lima"),
        ("Yes! The weather in Lima is mild.", "The weather in Lima is mild"),
        ("Yes.", "Yes"),
        ("Here you go:\n\n```python\nprint(1)\n```", "Here you go"),
        ("```python\nprint(1) # one two three\n```\nThat prints a number.", "That prints a number"),
        ("```\nls -la /tmp\n```", "ls -la /tmp"),
        ("See [the docs](https://example.com) for more of it", "See the docs for more of it"),
        (" \n\n", ""),
        ("\x1b[31m", "[31m"),
        ("word " * 30, "word " * 11 + "word…"),
        ("sentence " * 30, "sentence " * 5 + "sentence…"),
        ("x" * 80, "x" * 59 + "…"),
        ("👩‍💻" * 80, "👩‍💻" * 59 + "…"),
    ],
)
def test_title_text_of_questions_and_answers(text: str, title: str) -> None:
    assert title_text(text) == title


@given(TEXTS, st.integers(0, 30))
def test_title_text_is_one_short_line(text: str, times: int) -> None:
    title = title_text(text * times)
    assert len(list(iter_graphemes(title))) <= 60
    assert len(title.splitlines()) <= 1
    assert title == title.strip()


@given(st.text("ab .é👩‍💻", max_size=40), st.integers(2, 20))
def test_first_words_fit_and_are_a_prefix(line: str, limit: int) -> None:
    words = first_words(line, limit)
    assert len(list(iter_graphemes(words))) <= limit
    assert words == line or line.startswith(words.removesuffix("…"))


SPOKEN = [
    ("Plain.", "Plain."),
    ("# Title\n\nSome **bold**, *soft* and `code`.", "Title\n\nSome bold, soft and code."),
    ("- one\n- two\n\n\n\n> said\n1. first", "one\ntwo\n\nsaid\n1. first"),
    ("Run:\n```sh\nrm -rf *\n```\nDone.", "Run:\nCode left out.\nDone."),
    ("~~~\n```\n~~~~\nafter", "Code left out.\nafter"),
    ("Cut:\n```\nprint(1)", "Cut:\nCode left out."),
    ("See [the docs](https://example.com/a_b).", "See the docs."),
    ("[![logo](a.png)](https://example.com) here", "logo here"),
    ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a, b\n\n1, 2"),
    ("a _soft_ word, ~~gone~~, snake_case, 2 * 3", "a soft word, gone, snake_case, 2 * 3"),
    ("line<br>break <!-- note --><b>x</b> 1 < 2", "linebreak x 1 < 2"),
    ("---\n***", ""),
    ("bell\x07 and \x1b[0m", "bell and [0m"),
]


@pytest.mark.parametrize(("answer", "spoken"), SPOKEN)
def test_speech_text_of_answers(answer: str, spoken: str) -> None:
    assert speech_text(answered(answer)) == spoken


def test_speech_text_omits_code_in_both_languages() -> None:
    """R129: a word replaces it."""
    turn = answered("```\nx\n```")
    assert [speech_text(turn, locale) for locale in ("en", "pt")] == ["Code left out.", "Código omitido."]


@given(TEXTS)
def test_fence_round_trips_any_text(text: str) -> None:
    assert text_in_fence(f"<b>\n{fence_text(text, 'json')}\nafter") == text


@pytest.mark.parametrize("part", ["", "no fence", "```\nopen", "````\nshort\n```", "```\nx\n``` `y"])
def test_incomplete_fence_has_no_text(part: str) -> None:
    assert text_in_fence(part) is None


NASTY = [
    "[",
    "](",
    "`",
    "* ",
    "*",
    "_",
    "<a ",
    "| ",
    "```\n",
    "~~~\n",
    "[![a](",
    "<!-- ",
    "#\n",
    "- " * 4 + "\n",
]


@pytest.mark.parametrize("piece", NASTY)
@pytest.mark.parametrize("make", [speech_text, lambda turn: title_text(turn.answer)])
def test_answer_texts_take_linear_time(make: Callable[[Turn], str], piece: str) -> None:
    def work(size: int) -> Callable[[], object]:
        turn = answered(piece * size)
        return lambda: [make(turn) for _ in range(3)]

    assert_linear(work, 8_000)
