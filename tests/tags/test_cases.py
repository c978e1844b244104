"""Every profile splits its example texts as expected, in chunks of any size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, all_splits, split_at
from tests.tags.cases import CASES, Case
from tests.tags.text_runs import TextRuns, split_text

from thinkaloud.core.dialects.tags.profiles import PROFILES

IDS = [f"{profile}: {text[:40]}" for profile, text, _ in CASES]


def test_every_profile_has_a_case() -> None:
    assert {profile for profile, _, _ in CASES} == set(PROFILES)


@pytest.mark.parametrize(("profile", "text", "expected"), CASES, ids=IDS)
def test_tags_do_not_depend_on_chunking(profile: str, text: str, expected: TextRuns) -> None:
    """R016, R017, R018: markers are recognised wherever the text is split."""
    for parts in all_splits(text):
        assert split_text(PROFILES[profile], parts) == expected, parts


@settings(max_examples=300)
@given(st.sampled_from(CASES), SPLIT_POINTS)
def test_tags_with_random_chunks(case: Case, split_points: list[int]) -> None:
    """R018: any chunking of the text gives the same reasoning and answer."""
    profile, text, expected = case
    assert split_text(PROFILES[profile], split_at(text, split_points)) == expected
