"""Every profile splits its texts as written down, whole and in any pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.tags.cases import CASES, Case
from tests.tags.text_runs import TextRuns, split_text

from thinkaloud.dialects.tags.profiles import PROFILES

IDS = [f"{profile}: {text[:40]}" for profile, text, _ in CASES]


def test_every_profile_has_a_case() -> None:
    assert {profile for profile, _, _ in CASES} == set(PROFILES)


@pytest.mark.parametrize(("profile", "text", "expected"), CASES, ids=IDS)
def test_a_text_tells_its_story_however_it_is_cut(profile: str, text: str, expected: TextRuns) -> None:
    """R016, R017, R018: the marks of this family are told from the text in every cut."""
    for parts in all_splits(text):
        assert split_text(PROFILES[profile], parts) == expected, parts


@settings(max_examples=300)
@given(st.sampled_from(CASES), SPLIT_POINTS)
def test_any_cut_tells_the_story(case: Case, split_points: list[int]) -> None:
    """R018: any chunking of the text gives the same thought and answer."""
    profile, text, expected = case
    assert split_text(PROFILES[profile], split_at(text, split_points)) == expected
