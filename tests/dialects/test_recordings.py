"""Every recording of the project's own reads as its story, however its bytes are cut."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cutting import PLACES, cut
from tests.dialects.recorded import RECORDINGS, in_full, seals_of, told
from tests.recordings.make_eventstreams import streams

from thinkaloud.dialects import AUTO, DIALECTS


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_reads_as_its_story(name: str) -> None:
    """R002, R011: whole and in small pieces, with the dialect named and with nobody saying which it is."""
    recording = RECORDINGS[name]
    story = in_full(recording.story)
    for dialect in (AUTO, recording.dialect):
        for size in (len(recording.body), 1, 3, 7, 64):
            assert told(recording.turn(recording.of_size(size), dialect), recording.story) == story


@pytest.mark.parametrize("name", RECORDINGS)
@settings(max_examples=8, deadline=None)
@given(places=PLACES, dialect=st.booleans())
def test_any_cut_tells_the_same_story(name: str, places: list[int], dialect: bool) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn(cut(recording.body, places), recording.dialect if dialect else AUTO)
    assert told(turn, recording.story) == in_full(recording.story)


@pytest.mark.parametrize("name", [name for name, made in RECORDINGS.items() if "message" in made.story])
def test_the_message_that_goes_back_is_kept(name: str) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn()
    assert turn.message is not None
    assert json.loads(turn.message.payload) == recording.story["message"]
    assert (turn.message.dialect, turn.message.model) == (turn.dialect, turn.model)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_seal_names_who_issued_it_and_keeps_an_item_byte_for_byte(name: str) -> None:
    recording = RECORDINGS[name]
    turn = recording.turn()
    for seal in seals_of(turn):
        assert (seal.dialect, seal.model) == (recording.dialect, turn.model)
        if seal.payload.startswith("{"):
            assert seal.payload.encode() in recording.body


def test_every_dialect_has_recordings() -> None:
    assert {recording.dialect for recording in RECORDINGS.values()} == set(DIALECTS)
    assert all(name.startswith(f"{made.dialect}/") for name, made in RECORDINGS.items())


def test_a_story_says_what_it_is_and_nothing_unheard_of() -> None:
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
    ("body", "made"), [pytest.param(*made, id=made[0].parent.name) for made in streams()]
)
def test_an_event_stream_is_made_from_its_events(body: Path, made: bytes) -> None:
    assert body.read_bytes() == made, "run `python -m tests.recordings.make_eventstreams`"
