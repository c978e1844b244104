"""What holds for every profile and any text: the cut does not matter, nothing is lost, little is held."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, one_by_one, split_at
from tests.tags.text_runs import TextRuns, answer, split_text, thought

from thinkaloud.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.dialects.tags.splitter import make_splitter

TAG_BITS = ["<", "</", "<th", "<think", "think>", "<think>", "</think>", " ", "\n", "x", "é"]
OTHER_BITS = ["<tool_call>", "[THINK]", "<|channel|>", "<|message|>", "analysis", "final", "to=functions.f"]
HARMONY = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>", "to="]
HARMONY_HEADER = r"\s*(?:<\|start\|>|<\|channel\|>|<\|message\|>|to=).*?(?<=<\|message\|>)"
HARMONY_END = r"<\|(?:end|call|return|eom)\|>"
LONGEST_HEADER = 512
WILD = "any"


def marks_of(profile: TagProfile) -> list[str]:
    pairs = [marker for pair in profile.pairs for marker in pair]
    return HARMONY if profile.channels else [*pairs, *profile.dropped_markers, *profile.end_markers]


def texts(profile: TagProfile) -> st.SearchStrategy[str]:
    """Texts that are mostly marks of the profile, beginnings and ends of them, and marks of others."""
    markers = [marker.replace("*", WILD) for marker in marks_of(profile)]
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


@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_no_cut_changes_the_story(name: str, data: st.DataObject) -> None:
    """R018: any chunking of any text gives the same."""
    profile = PROFILES[name]
    text = data.draw(texts(profile))
    expected = split_text(profile, [text])
    assert split_text(profile, one_by_one(text)) == expected
    assert split_text(profile, split_at(text, data.draw(SPLIT_POINTS))) == expected


@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_what_is_told_is_what_was_said_less_whole_marks(name: str, data: st.DataObject) -> None:
    """R018: nothing is lost, nothing is added, and nothing changes its place."""
    profile = PROFILES[name]
    source = data.draw(texts(profile))
    split_text_joined = "".join(text for _, text in split_text(profile, one_by_one(source)))
    assert equals_without_markers(source, split_text_joined, profile), split_text_joined


def equals_without_markers(text: str, joined_text: str, profile: TagProfile) -> bool:
    """Whether some marks taken out of what was said leave what was told."""
    markers = (
        "|".join(re.escape(marker).replace(r"\*", r"[^<>\s]+") for marker in marks_of(profile)) or "(?!)"
    )
    removes = re.compile(f"{HARMONY_HEADER}|{HARMONY_END}" if profile.channels else markers, re.DOTALL)
    reached = {0: {0}}  # how far in what was said: how far in what was told
    for index in range(len(text)):
        for upto in reached.pop(index, set()):
            if joined_text[upto : upto + 1] == text[index]:
                reached.setdefault(index + 1, set()).add(upto + 1)
            if marker := removes.match(text, index):
                reached.setdefault(marker.end(), set()).add(upto)
    return len(joined_text) in reached.get(len(text), set())


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if not profile.channels])
@settings(max_examples=25)
@given(st.data())
def test_only_what_may_become_a_mark_is_held(name: str, data: st.DataObject) -> None:
    """R018: never more than the longest mark less one character."""
    profile = PROFILES[name]
    split = make_splitter(profile)
    for letter in data.draw(texts(profile)):
        split.feed(letter)
        pending = vars(split)["_held"]
        assert not pending or any(may_become(marker, pending) for marker in marks_of(profile)), pending


def may_become(marker: str, pending: str) -> bool:
    head, wild, _ = marker.partition("*")
    if wild and pending.startswith(head):
        return len(pending) - len(head) <= 24 and ">" not in pending
    return head.startswith(pending) and pending != marker


LONG_BITS = st.sampled_from([*HARMONY, *TAG_BITS, " " * 200, "x" * 200])


@settings(max_examples=25)
@given(st.lists(LONG_BITS, max_size=12).map("".join))
def test_of_channels_no_more_than_a_header_is_held(text: str) -> None:
    """R018: a header is one long mark."""
    split = make_splitter(PROFILES["harmony"])
    for letter in text:
        split.feed(letter)
        pending = (vars(split)["_header"] or "") + vars(split)["_held"]
        assert len(pending) <= LONGEST_HEADER + len("<|message|>") - 1


def split_by_regex(text: str) -> TextRuns:
    """The rules for `<think>`, read off the whole text."""
    start = re.match(r"\s*(?=<think>)", text)
    if start is None:
        return [answer(text)] if text else []
    depth, last_close = 0, len(text)
    for tag in re.finditer(r"</?think>", text):
        depth += 1 if tag.group() == "<think>" else -1
        if depth == 0:
            return _parts(start.group(), text[start.end() + 7 : tag.start()], text[tag.end() :])
        if tag.group() == "</think>":
            last_close = tag.end()
    return _parts(start.group(), text[start.end() + 7 : last_close], text[last_close:])


def _parts(leading: str, inside: str, after: str) -> TextRuns:
    runs = [answer(leading), thought(inside), answer(after)] if inside else [answer(leading + after)]
    return [run for run in runs if run[1]]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(TAG_BITS), max_size=12).map("".join), SPLIT_POINTS)
def test_a_stream_is_split_as_its_whole_text_would_be(text: str, split_points: list[int]) -> None:
    """R017, R019, R020, R021: the rules read off the whole text by other means give the same."""
    assert split_text(PROFILES["think"], split_at(text, split_points)) == split_by_regex(text)
