"""Splitting takes linear time on text that a hostile model would write."""

from collections.abc import Callable

import pytest
from tests.chunks import one_by_one
from tests.linear_time import assert_linear

from thinkaloud.core.dialects.tags.profiles import PROFILES
from thinkaloud.core.dialects.tags.splitter import make_splitter


def single_chunk(text: str) -> list[str]:
    return [text]


def chunks_of_four(text: str) -> list[str]:
    return [text[index : index + 4] for index in range(0, len(text), 4)]


MESSAGE = "<|channel|>analysis<|message|>a<|end|>"
ENDLESS_HEADER = "<|start|>" + "x" * 600

# The profile, how the text is chunked, the repeated unit, the number of units, and the prefix.
ATTACKS: dict[str, tuple[str, Callable[[str], list[str]], str, int, str]] = {
    "tag starts of one character": ("think", one_by_one, "<", 8_000, "<think>"),
    "tag starts of five characters": ("think", one_by_one, "<thin", 2_000, "<think>"),
    "tag starts in one chunk": ("think", single_chunk, "<thin", 100_000, "<think>"),
    "white space before a tag": ("think", one_by_one, " ", 10_000, ""),
    "nested opening tags": ("think", single_chunk, "<think>", 8_000, ""),
    "nested opening tags letter by letter": ("think", one_by_one, "<think>", 1_200, ""),
    "inner tags that close": ("think", single_chunk, "<think></think>", 4_000, "<think>"),
    "text after an inner tag": ("think", chunks_of_four, "word", 12_000, "<think><think></think>"),
    "a long thought": ("think", chunks_of_four, "word", 40_000, "<think>"),
    "a long thought in one piece": ("think", single_chunk, "word ", 200_000, "<think>"),
    "thoughts and answers in turn": ("think_anywhere", single_chunk, "<think>a</think>b", 4_000, ""),
    "thoughts and answers letter by letter": ("think_anywhere", one_by_one, "<think></think>", 600, ""),
    "calls in a thought": ("think_or_call", single_chunk, "<tool_call></think>", 4_000, "<think>"),
    "suffixes that never end": ("hunyuan_suffix", single_chunk, "<think:", 20_000, ""),
    "suffixes letter by letter": ("hunyuan_suffix", one_by_one, "<think:x", 1_000, "<think>"),
    "phrases that break off": ("granite", one_by_one, "Here is my respons", 600, "<think>"),
    "markers that are prefixes of longer ones": (
        "gemma",
        single_chunk,
        "<|channel>though<channel|>",
        4_000,
        "",
    ),
    "dropped markers": ("cohere", single_chunk, "<|END_RESPONSE|>", 8_000, ""),
    "answer from thought": ("nemotron_nonempty", one_by_one, "a", 8_000, "<think>"),
    "channels: ends": ("harmony", single_chunk, "<|end|>", 15_000, ""),
    "channels: ends letter by letter": ("harmony", one_by_one, "<|end|>", 1_200, ""),
    "channels: messages": ("harmony", single_chunk, MESSAGE, 8_000, ""),
    "channels: messages letter by letter": ("harmony", one_by_one, MESSAGE, 250, ""),
    "channels: starts": ("harmony", single_chunk, "<|start|>", 30_000, ""),
    "channels: headers without a message": ("harmony", single_chunk, ENDLESS_HEADER, 3_000, ""),
    "channels: headers letter by letter": ("harmony", one_by_one, ENDLESS_HEADER, 15, ""),
    "channels: white space": ("harmony", one_by_one, " ", 8_000, ""),
    "channels: a long message": ("harmony", chunks_of_four, "word", 40_000, MESSAGE[:-8]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_splitting_takes_linear_time(name: str) -> None:
    """S18."""
    profile, parts_of, unit, count, start = ATTACKS[name]

    def work(size: int) -> Callable[[], object]:
        split = make_splitter(PROFILES[profile])
        parts = parts_of(start + unit * size)

        def run() -> None:
            for part in parts:
                split.feed(part)
            split.close()

        return run

    assert_linear(work, count)
