"""Every recording of the project matches its story, however its bytes are chunked."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chunks import SPLIT_POINTS, split_at
from tests.dialects.recordings import RECORDINGS, complete_story, seals_of, turn_as_story
from tests.recordings.make_eventstreams import streams

from thinkaloud.core.dialects import AUTO, DIALECTS


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_matches_its_story(name: str) -> None:
    """R002, R011: whole and in small chunks, with the dialect named and detected."""
    recording = RECORDINGS[name]
    story = complete_story(recording.story)
    for dialect in (AUTO, recording.dialect):
        for size in (len(recording.body), 1, 3, 7, 64):
            assert turn_as_story(recording.turn(recording.in_chunks(size), dialect), recording.story) == story


@pytest.mark.some_cases(60)
@pytest.mark.parametrize("name", RECORDINGS)
@settings(max_examples=8, deadline=None)
@given(split_points=SPLIT_POINTS, dialect=st.booleans())
def test_recording_does_not_depend_on_chunking(name: str, split_points: list[int], dialect: bool) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn(split_at(recording.body, split_points), recording.dialect if dialect else AUTO)
    assert turn_as_story(turn, recording.story) == complete_story(recording.story)


@pytest.mark.parametrize(
    "name", [name for name, recording in RECORDINGS.items() if "message" in recording.story]
)
def test_recording_keeps_the_message_to_send_back(name: str) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn()
    assert turn.message is not None
    assert json.loads(turn.message.payload) == recording.story["message"]
    assert (turn.message.dialect, turn.message.model) == (turn.dialect, turn.model)


@pytest.mark.parametrize("name", RECORDINGS)
def test_seal_names_its_issuer_and_keeps_bytes(name: str) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn()
    for seal in seals_of(turn):
        assert (seal.dialect, seal.model) == (recording.dialect, turn.model)
        if seal.payload.startswith("{"):
            assert seal.payload.encode() in recording.body


def test_every_dialect_has_recordings() -> None:
    assert {recording.dialect for recording in RECORDINGS.values()} == set(DIALECTS)
    assert all(name.startswith(f"{own_recording.dialect}/") for name, own_recording in RECORDINGS.items())


def test_story_files_have_only_known_fields() -> None:
    fields = {
        "says",
        "proves",
        "dialect",
        "model",
        "options",
        "blocks",
        "outcome",
        "usage",
        "notices",
        "message",
    }
    for name, recording in RECORDINGS.items():
        assert recording.story["says"].endswith("."), name
        assert not set(recording.story) - fields, name


@pytest.mark.parametrize(
    ("path", "expected"), [pytest.param(path, body, id=path.parent.name) for path, body in streams()]
)
def test_eventstream_files_are_up_to_date(path: Path, expected: bytes) -> None:
    assert path.read_bytes() == expected, "run `python -m tests.recordings.make_eventstreams`"
