"""What holds for every profile and any text: the cut does not matter, nothing is lost, little is held."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cutting import PLACES, cut, one_by_one
from tests.think_tags.splitting import Story, answer, thought, told

from thinkaloud.dialects.profiles import PROFILES, Profile
from thinkaloud.dialects.think_tags import splitter

TAG_BITS = ["<", "</", "<th", "<think", "think>", "<think>", "</think>", " ", "\n", "x", "é"]
OTHER_BITS = ["<tool_call>", "[THINK]", "<|channel|>", "<|message|>", "analysis", "final", "to=functions.f"]
HARMONY = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>", "to="]
HARMONY_HEADER = r"\s*(?:<\|start\|>|<\|channel\|>|<\|message\|>|to=).*?(?<=<\|message\|>)"
HARMONY_END = r"<\|(?:end|call|return|eom)\|>"
LONGEST_HEADER = 512
WILD = "any"


def marks_of(profile: Profile) -> list[str]:
    pairs = [mark for pair in profile.pairs for mark in pair]
    return HARMONY if profile.channels else [*pairs, *profile.dropped, *profile.ended_by]


def texts(profile: Profile) -> st.SearchStrategy[str]:
    """Texts that are mostly marks of the profile, beginnings and ends of them, and marks of others."""
    marks = [mark.replace("*", WILD) for mark in marks_of(profile)]
    bits = [
        *TAG_BITS,
        *OTHER_BITS,
        *marks,
        *marks,
        *(mark[: len(mark) // 2] for mark in marks),
        *(mark[3:] for mark in marks),
    ]
    return st.lists(st.sampled_from(bits), max_size=10).map("".join)


EVERY_PROFILE = pytest.mark.parametrize("name", PROFILES)


@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_no_cut_changes_the_story(name: str, data: st.DataObject) -> None:
    """R018: any chunking of any text gives the same."""
    profile = PROFILES[name]
    said = data.draw(texts(profile))
    whole = told(profile, [said])
    assert told(profile, one_by_one(said)) == whole
    assert told(profile, cut(said, data.draw(PLACES))) == whole


@EVERY_PROFILE
@settings(max_examples=25)
@given(st.data())
def test_what_is_told_is_what_was_said_less_whole_marks(name: str, data: st.DataObject) -> None:
    """R018: nothing is lost, nothing is added, and nothing changes its place."""
    profile = PROFILES[name]
    said = data.draw(texts(profile))
    told_text = "".join(text for _, text in told(profile, one_by_one(said)))
    assert less_whole_marks(said, told_text, profile), told_text


def less_whole_marks(said: str, told_text: str, profile: Profile) -> bool:
    """Whether some marks taken out of what was said leave what was told."""
    marks = "|".join(re.escape(mark).replace(r"\*", r"[^<>\s]+") for mark in marks_of(profile)) or "(?!)"
    removes = re.compile(f"{HARMONY_HEADER}|{HARMONY_END}" if profile.channels else marks, re.DOTALL)
    reached = {0: {0}}  # how far in what was said: how far in what was told
    for at in range(len(said)):
        for upto in reached.pop(at, set()):
            if told_text[upto : upto + 1] == said[at]:
                reached.setdefault(at + 1, set()).add(upto + 1)
            if mark := removes.match(said, at):
                reached.setdefault(mark.end(), set()).add(upto)
    return len(told_text) in reached.get(len(said), set())


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if not profile.channels])
@settings(max_examples=25)
@given(st.data())
def test_only_what_may_become_a_mark_is_held(name: str, data: st.DataObject) -> None:
    """R018: never more than the longest mark less one character."""
    profile = PROFILES[name]
    split = splitter(profile)
    for letter in data.draw(texts(profile)):
        split.feed(letter)
        held = vars(split)["_held"]
        assert not held or any(may_become(mark, held) for mark in marks_of(profile)), held


def may_become(mark: str, held: str) -> bool:
    head, wild, _ = mark.partition("*")
    if wild and held.startswith(head):
        return len(held) - len(head) <= 24 and ">" not in held
    return head.startswith(held) and held != mark


LONG_BITS = st.sampled_from([*HARMONY, *TAG_BITS, " " * 200, "x" * 200])


@settings(max_examples=25)
@given(st.lists(LONG_BITS, max_size=12).map("".join))
def test_of_channels_no_more_than_a_header_is_held(said: str) -> None:
    """R018: a header is one long mark."""
    split = splitter(PROFILES["harmony"])
    for letter in said:
        split.feed(letter)
        held = (vars(split)["_header"] or "") + vars(split)["_held"]
        assert len(held) <= LONGEST_HEADER + len("<|message|>") - 1


def plainly(said: str) -> Story:
    """The rules for `<think>`, read off the whole text."""
    start = re.match(r"\s*(?=<think>)", said)
    if start is None:
        return [answer(said)] if said else []
    depth, last_close = 0, len(said)
    for tag in re.finditer(r"</?think>", said):
        depth += 1 if tag.group() == "<think>" else -1
        if depth == 0:
            return _parts(start.group(), said[start.end() + 7 : tag.start()], said[tag.end() :])
        if tag.group() == "</think>":
            last_close = tag.end()
    return _parts(start.group(), said[start.end() + 7 : last_close], said[last_close:])


def _parts(before: str, inside: str, after: str) -> Story:
    runs = [answer(before), thought(inside), answer(after)] if inside else [answer(before + after)]
    return [run for run in runs if run[1]]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(TAG_BITS), max_size=12).map("".join), PLACES)
def test_a_stream_is_split_as_its_whole_text_would_be(said: str, places: list[int]) -> None:
    """R017, R019, R020, R021: the rules read off the whole text by other means give the same."""
    assert told(PROFILES["think"], cut(said, places)) == plainly(said)
