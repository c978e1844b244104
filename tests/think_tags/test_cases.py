"""Every profile splits its texts as written down, whole and in any pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cutting import PLACES, cut, every_way
from tests.think_tags.cases import CASES, Case
from tests.think_tags.splitting import Story, told

from thinkaloud.dialects.profiles import PROFILES

IDS = [f"{profile}: {said[:40]}" for profile, said, _ in CASES]


def test_every_profile_has_a_case() -> None:
    assert {profile for profile, _, _ in CASES} == set(PROFILES)


@pytest.mark.parametrize(("profile", "said", "written"), CASES, ids=IDS)
def test_a_text_tells_its_story_however_it_is_cut(profile: str, said: str, written: Story) -> None:
    """R016, R017, R018: the marks of this family are told from the text in every cut."""
    for parts in every_way(said):
        assert told(PROFILES[profile], parts) == written, parts


@settings(max_examples=300)
@given(st.sampled_from(CASES), PLACES)
def test_any_cut_tells_the_story(case: Case, places: list[int]) -> None:
    """R018: any chunking of the text gives the same thought and answer."""
    profile, said, written = case
    assert told(PROFILES[profile], cut(said, places)) == written
