"""The tag profile of a model is chosen by its name, never guessed from its text."""

import pytest

from thinkaloud.core.canon import Refused, UnknownProfile
from thinkaloud.core.dialects.tags.harmony import HarmonySplitter
from thinkaloud.core.dialects.tags.profiles import (
    PROFILES,
    find_profile,
    may_become_marker,
    starts_with_marker,
)
from thinkaloud.core.dialects.tags.splitter import ThinkTagSplitter, make_splitter
from thinkaloud.core.dialects.tags.tagged_text import profile_for_model

# A model, the profile for text from a server, and the profile for the model's raw text.
MODELS = [
    ("openai/gpt-oss-120b", "harmony", "harmony"),
    ("deepseek-ai/DeepSeek-R1-0528", "deepseek_either", "deepseek_inside"),
    ("deepseek-ai/DeepSeek-V3.2", "deepseek_either", "deepseek_either"),
    ("Qwen/Qwen3.5-27B", "think_or_call_either", "think_or_call_inside"),
    ("Qwen/Qwen3-8B", "think_or_call", "think_or_call"),
    ("zai-org/GLM-4.6", "think_or_call", "think_or_call"),
    ("moonshotai/Kimi-K2-Thinking", "kimi_k2", "kimi_k2_inside"),
    ("mistralai/Magistral-Small-2509", "mistral", "mistral"),
    ("CohereLabs/command-a-reasoning-08-2025", "cohere", "cohere_inside"),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie_either", "ernie"),
    ("some-model-of-tomorrow", "think", "think"),
    ("", "think", "think"),
]


@pytest.mark.parametrize(("model", "served", "raw"), MODELS, ids=[model for model, _, _ in MODELS])
def test_profile_is_chosen_by_model_name(model: str, served: str, raw: str) -> None:
    """R008, R010: text from a server never starts inside reasoning; raw text may."""
    assert profile_for_model(model, raw=False).name == served
    assert profile_for_model(model, raw=True).name == raw
    assert not profile_for_model(model, raw=False).starts_inside


def test_find_profile_by_name() -> None:
    assert all(find_profile(name).name == name for name in PROFILES)


def test_unknown_profile_error_lists_the_profiles() -> None:
    with pytest.raises(
        UnknownProfile, match=r"Unknown tag profile 'thnik'\. Use one of: apertus, .* think, "
    ):
        find_profile("thnik")
    assert issubclass(UnknownProfile, Refused)


def test_harmony_profile_uses_the_harmony_splitter() -> None:
    assert isinstance(make_splitter(PROFILES["harmony"]), HarmonySplitter)
    assert isinstance(make_splitter(PROFILES["think"]), ThinkTagSplitter)


OPENINGS = sorted({pair[0].replace("*", "any") for known in PROFILES.values() for pair in known.pairs})


@pytest.mark.parametrize("marker", [*OPENINGS, "<|channel|>analysis", "<|start|>assistant"])
def test_starts_with_marker_accepts_opening_markers(marker: str) -> None:
    assert starts_with_marker(f"{marker}a")
    assert starts_with_marker(f" \n{marker}a")
    assert not starts_with_marker(f"a{marker}")


@pytest.mark.parametrize("text", ["", "Hello", "a<think>", "< think>", "<b>", "[1]", "data: {}", "to=self"])
def test_starts_with_marker_rejects_other_text(text: str) -> None:
    assert not starts_with_marker(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        (" \n", True),
        ("<", True),
        (" <thin", True),
        ("[THI", True),
        ("Here is", True),
        ("<think>", False),
        ("<think>a", False),
        ("<thing", False),
        ("Hello", False),
    ],
)
def test_may_become_marker(text: str, expected: bool) -> None:
    assert may_become_marker(text) is expected
