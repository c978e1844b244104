"""The rows of model families: each splits its own raw text, and names are matched as people write them."""

import re

import pytest
from tests.chunks import all_splits
from tests.tags.family_table import PAGE, page_with_table
from tests.tags.family_texts import (
    CLOSED_ONLY,
    NAMES,
    OPENED,
    TEXTS,
    WITHOUT_THOUGHT,
    WRITTEN_WITH_THE_CLOSING_TAG,
)
from tests.tags.text_runs import TextRuns, answer, split_text, thought

from thinkaloud import read
from thinkaloud.core.dialects.tags.profiles import PROFILES
from thinkaloud.core.dialects.tags.tagged_text import (
    find_family,
    model_families,
    normal_name,
    profile_for_model,
)

FAMILIES = model_families()


def stripped(runs: TextRuns) -> tuple[str, str]:
    """Return the thought and the answer of a text without surrounding white space."""
    texts = {kind: "".join(text for label, text in runs if label == kind) for kind in ("thought", "answer")}
    return texts["thought"].strip(), texts["answer"].strip()


def test_every_family_has_a_raw_text() -> None:
    assert {*TEXTS, *WITHOUT_THOUGHT} == set(FAMILIES)


@pytest.mark.parametrize("key", TEXTS)
def test_raw_text_of_a_family_is_split_at_every_cut(key: str) -> None:
    """R010, R016, R018: the model's name is all that is needed to split its raw text."""
    profile = profile_for_model(FAMILIES[key].example, raw=True)
    for parts in all_splits(TEXTS[key]):
        assert stripped(split_text(profile, parts)) == ("plan", "Done."), parts


@pytest.mark.parametrize("key", TEXTS)
def test_raw_text_is_read_by_model_name(key: str) -> None:
    turn = read(TEXTS[key].encode(), "text", model=FAMILIES[key].example)
    assert (turn.reasoning.strip(), turn.answer.strip()) == ("plan", "Done.")


@pytest.mark.parametrize("key", FAMILIES)
def test_answer_from_a_server_is_never_taken_for_a_thought(key: str) -> None:
    """R005: a server that separates thoughts sends an answer without markers."""
    assert split_text(PROFILES[FAMILIES[key].served], ["Done."]) == [answer("Done.")]
    assert not PROFILES[FAMILIES[key].served].starts_inside


@pytest.mark.parametrize("key", WRITTEN_WITH_THE_CLOSING_TAG)
def test_server_that_does_not_separate_thoughts(key: str) -> None:
    """R020: where the template opens the thought, a closing tag alone ends it."""
    profile = PROFILES[FAMILIES[key].served]
    for text in (CLOSED_ONLY, OPENED):
        for parts in all_splits(text):
            assert stripped(split_text(profile, parts)) == ("plan", "Done."), parts


def test_first_matching_row_has_the_example() -> None:
    assert {key: find_family(family.example) for key, family in FAMILIES.items()} == FAMILIES


@pytest.mark.parametrize(("name", "key"), NAMES.items())
def test_names_are_matched_as_people_write_them(name: str, key: str | None) -> None:
    assert find_family(name) == (FAMILIES[key] if key else None)


def test_normal_name() -> None:
    assert normal_name("hf.co/unsloth/Qwen3_8B GGUF:Q4_K_M") == "hf.co-unsloth-qwen3-8b-gguf-q4-k-m"
    assert normal_name("glm-4p7") == "glm-4.7"


@pytest.mark.parametrize("key", FAMILIES)
def test_row_names_its_profiles_and_source(key: str) -> None:
    family = FAMILIES[key]
    assert {family.served, family.raw} <= set(PROFILES)
    assert re.search(r"\S[./ ]\S", family.source)


def test_mentioned_tags_do_not_end_a_thought_that_was_never_opened() -> None:
    """R020: an answer may speak of tags, as long as it closes those that it opens."""
    profile = PROFILES["think_either"]
    said = "Write <think> and </think> around it."
    assert split_text(profile, [said]) == [answer(said)]
    assert split_text(profile, ["say <think></think>?</think>ok"]) == [
        thought("say <think></think>?"),
        answer("ok"),
    ]


def test_kimi_k2_opens_several_thoughts_in_one_text() -> None:
    """R017: which models' tags count anywhere is a row of the families."""
    body = (
        b'{"model":"moonshotai/kimi-k2-thinking","object":"chat.completion","choices":[{"index":0,'
        b'"message":{"role":"assistant","content":"<think>a</think>b<think>c</think>d"},'
        b'"finish_reason":"stop"}]}'
    )
    turn = read(body)
    assert (turn.reasoning, turn.answer) == ("ac", "bd")
    other = read(body.replace(b"moonshotai/kimi-k2-thinking", b"qwen/qwen3-8b"))
    assert (other.reasoning, other.answer) == ("a", "b<think>c</think>d")


def test_vllm_without_a_reasoning_parser() -> None:
    """R020: the whole thought arrives as content, with the closing tag only."""
    body = (
        b'{"model":"Qwen/Qwen3.5-27B","object":"chat.completion","choices":[{"index":0,'
        b'"message":{"role":"assistant","content":"plan</think>Done."},"finish_reason":"stop"}]}'
    )
    turn = read(body)
    assert (turn.reasoning, turn.answer) == ("plan", "Done.")


def test_reference_lists_every_family() -> None:
    text = PAGE.read_text("utf-8")
    assert text == page_with_table(text), "run: python -m tests.tags.family_table --write"
