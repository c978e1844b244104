"""A field of another type loses no text, and damaged bytes never raise; `make fuzz` checks all recordings."""

import random

import pytest
from tests.dialects.damage import (
    damaged_bytes,
    json_recordings,
    lost_text,
    mutations,
    problem_of,
    problem_of_bytes,
    read,
    text_of_turn,
)
from tests.dialects.recordings import RECORDINGS

FIELDS = 12
"""The number of fields that are damaged in each recording."""
STREAMS = 3
DROPPED_WHEN_BROKEN = "openai_chat/details_shorter_than_the_tag"
"""Its details are the beginning of the thought in the tag. A turn that breaks off would have repeated more,
so they are not shown again there."""
OWN_RECORDINGS = [
    recording.name
    for recording in json_recordings()
    if recording.name in RECORDINGS and recording.name != DROPPED_WHEN_BROKEN
]


@pytest.mark.parametrize("name", OWN_RECORDINGS)
def test_field_of_another_type_loses_no_text(name: str) -> None:
    recording = RECORDINGS[name]
    original = text_of_turn(read(recording, recording.body))
    every = list(mutations(recording))
    sample = random.Random(name).sample(every, min(FIELDS, len(every)))
    problems = {mutation.label: problem_of(mutation, original) for mutation in sample}
    assert {label: problem for label, problem in problems.items() if problem} == {}


@pytest.mark.parametrize("name", OWN_RECORDINGS)
def test_damaged_bytes_give_a_turn_that_does_not_depend_on_chunking(name: str) -> None:
    choose = random.Random(name)
    for _ in range(STREAMS):
        body = damaged_bytes(RECORDINGS[name], choose)
        assert problem_of_bytes(RECORDINGS[name], body, choose.randint(1, 40)) == ""


def test_lost_text_is_found() -> None:
    assert lost_text("thought answer", "thought answer") == ""
    assert lost_text("thought answer", "thought 7 answer") == ""
    assert lost_text("thought answer", "thought ") == "answer"
    assert lost_text("ab", "ba") == "b"
