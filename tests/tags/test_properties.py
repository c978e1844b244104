"""Properties of every profile and any text: chunking does not matter and nothing is lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, one_by_one, split_at
from tests.tags.text_runs import TextRuns, answer, split_text, thought

from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.core.dialects.tags.splitter import make_splitter

TAG_BITS = ["<", "</", "<th", "<think", "think>", "<think>", "</think>", " ", "\n", "x", "é"]
OTHER_BITS = ["<tool_call>", "[THINK]", "<|channel|>", "<|message|>", "analysis", "final", "to=functions.f"]
HARMONY = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>", "to="]
HARMONY_HEADER = r"\s*(?:<\|start\|>|<\|channel\|>|<\|message\|>|to=).*?(?<=<\|message\|>)"
HARMONY_END = r"<\|(?:end|call|return|eom)\|>"
LONGEST_HEADER = 512
WILD = "any"


def markers_of(profile: TagProfile) -> list[str]:
    pairs = [marker for pair in profile.pairs for marker in pair]
    return HARMONY if profile.channels else [*pairs, *profile.dropped_markers, *profile.end_markers]


def texts(profile: TagProfile) -> st.SearchStrategy[str]:
    """Generate texts that are mostly markers of the profile, parts of them, and markers of other profiles."""
    markers = [marker.replace("*", WILD) for marker in markers_of(profile)]
    bits = [
        *TAG_BITS,
        *OTHER_BITS,
        *markers,
        *markers,
        *(marker[: len(marker) // 2] for marker in markers),
        *(marker[3:] for marker in markers),
    ]
    return st.lists(st.sampled_from(bits), max_size=10).map("".join)


EVERY_PROFILE = pytest.mark.parametrize("name", PROFILES)


@pytest.mark.some_cases(20)
@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_every_profile_is_independent_of_chunking(name: str, data: st.DataObject) -> None:
    """R018: any chunking of any text gives the same result."""
    profile = PROFILES[name]
    text = data.draw(texts(profile))
    expected = split_text(profile, [text])
    assert split_text(profile, one_by_one(text)) == expected
    assert split_text(profile, split_at(text, data.draw(SPLIT_POINTS))) == expected


@pytest.mark.some_cases(20)
@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_output_is_the_input_without_markers(name: str, data: st.DataObject) -> None:
    """R018: no text is lost, added or moved."""
    profile = PROFILES[name]
    source = data.draw(texts(profile))
    split_text_joined = "".join(text for _, text in split_text(profile, one_by_one(source)))
    assert equals_without_markers(source, split_text_joined, profile), split_text_joined


def equals_without_markers(text: str, joined_text: str, profile: TagProfile) -> bool:
    """Return whether the text without some of its markers is the joined output."""
    markers = (
        "|".join(re.escape(marker).replace(r"\*", r"[^<>\s]+") for marker in markers_of(profile)) or "(?!)"
    )
    removable = re.compile(f"{HARMONY_HEADER}|{HARMONY_END}" if profile.channels else markers, re.DOTALL)
    joined_indexes_by_index = {0: {0}}  # by position in the text: the possible positions in the output
    for index in range(len(text)):
        for joined_index in joined_indexes_by_index.pop(index, set()):
            if joined_text[joined_index : joined_index + 1] == text[index]:
                joined_indexes_by_index.setdefault(index + 1, set()).add(joined_index + 1)
            if marker := removable.match(text, index):
                joined_indexes_by_index.setdefault(marker.end(), set()).add(joined_index)
    return len(joined_text) in joined_indexes_by_index.get(len(text), set())


@pytest.mark.some_cases(20)
@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if not profile.channels])
@settings(max_examples=25)
@given(st.data())
def test_only_unfinished_markers_are_held_back(name: str, data: st.DataObject) -> None:
    """R018: never more than the longest marker minus one character."""
    profile = PROFILES[name]
    split = make_splitter(profile)
    for letter in data.draw(texts(profile)):
        split.feed(letter)
        pending = vars(split)["_pending"]
        assert not pending or any(may_become(marker, pending) for marker in markers_of(profile)), pending


def may_become(marker: str, pending: str) -> bool:
    head, wild, _ = marker.partition("*")
    if wild and pending.startswith(head):
        return len(pending) - len(head) <= 24 and ">" not in pending
    return head.startswith(pending) and pending != marker


LONG_BITS = st.sampled_from([*HARMONY, *TAG_BITS, " " * 200, "x" * 200])


@settings(max_examples=25)
@given(st.lists(LONG_BITS, max_size=12).map("".join))
def test_harmony_holds_back_at_most_a_header(text: str) -> None:
    """R018: a header counts as one long marker."""
    split = make_splitter(PROFILES["harmony"])
    for letter in text:
        split.feed(letter)
        pending = (vars(split)["_header"] or "") + vars(split)["_pending"]
        assert len(pending) <= LONGEST_HEADER + len("<|message|>") - 1


def split_by_regex(text: str) -> TextRuns:
    """Split a whole text by the rules for `<think>` with regular expressions."""
    start = re.match(r"\s*(?=<think>)", text)
    if start is None:
        return [answer(text)] if text else []
    depth, last_close = 0, len(text)
    for tag in re.finditer(r"</?think>", text):
        depth += 1 if tag.group() == "<think>" else -1
        if depth == 0:
            return _runs(start.group(), text[start.end() + 7 : tag.start()], text[tag.end() :])
        if tag.group() == "</think>":
            last_close = tag.end()
    return _runs(start.group(), text[start.end() + 7 : last_close], text[last_close:])


def _runs(leading: str, inside: str, after: str) -> TextRuns:
    runs = [answer(leading), thought(inside), answer(after)] if inside else [answer(leading + after)]
    return [run for run in runs if run[1]]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(TAG_BITS), max_size=12).map("".join), SPLIT_POINTS)
def test_splitter_agrees_with_regex_on_whole_text(text: str, split_points: list[int]) -> None:
    """R017, R019, R020, R021: an independent implementation on the whole text gives the same result."""
    assert split_text(PROFILES["think"], split_at(text, split_points)) == split_by_regex(text)
