"""The requirements on reading, by number, each checked on the recordings that are examples of it."""

import json

import pytest
from tests.dialects.recordings import RECORDINGS, Recording, complete_story, seals_of, turn_as_story

from thinkaloud import Turn
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Kind, SealForm
from thinkaloud.core.transcript import Ending


def examples(number: str) -> list[Recording]:
    recordings = [
        recording for recording in RECORDINGS.values() if number in recording.story.get("proves", ())
    ]
    assert recordings, f"no recording is an example of {number}"
    for recording in recordings:
        assert turn_as_story(recording.turn(), recording.story) == complete_story(recording.story), (
            recording.name
        )
    return recordings


def turn_of(name: str) -> Turn:
    return RECORDINGS[name].turn()


def test_claude() -> None:
    """R006: extended thinking with text and signature, redacted, withheld, and between tool calls."""
    forms = {seal.form for recording in examples("R006") for seal in seals_of(recording.turn())}
    assert forms == {SealForm.SIGNATURE, SealForm.REDACTED}
    kinds = [block.kind for block in turn_of("anthropic_messages/interleaved_tools").blocks]
    assert kinds == [Kind.REASONING, Kind.TOOL_CALL] * 2


def test_openai_reasoning_models() -> None:
    """R007: summaries, encrypted items and bare counts become reasoning blocks and usage."""
    dialects = {recording.dialect for recording in examples("R007")}
    assert dialects == {"openai_responses", "openai_chat"}
    assert turn_of("openai_chat/counts_only").usage.reasoning == 64
    assert turn_of("openai_responses/summary_parts").reasoning.startswith("**Sizing up**")


def test_deepseek() -> None:
    """R008: reasoning_content, streamed and whole, and kept even where it is empty."""
    assert all(recording.dialect == "openai_chat" for recording in examples("R008"))
    assert turn_of("openai_chat/deepseek").reasoning == "Quantos r? Conto: três."


def test_gemini() -> None:
    """R009: reasoning and signatures from all three of Google's endpoints."""
    dialects = {recording.dialect for recording in examples("R009")}
    assert dialects == {"gemini", "gemini_interactions", "openai_chat"}
    assert all(recording.turn().reasoning or seals_of(recording.turn()) for recording in examples("R009"))


def test_self_hosted() -> None:
    """R010: read with and without reasoning."""
    thought = {bool(recording.turn().reasoning) for recording in examples("R010")}
    assert thought == {True, False}


def test_openrouter_details() -> None:
    """R012, R013, R014: text and summary are reasoning, encrypted data is a seal, the rest is ignored."""
    for number in ("R012", "R013", "R014"):
        examples(number)
    thought = turn_of("openai_chat/openrouter_summary_and_encrypted").blocks[0]
    assert (thought.text, thought.seals[0].form) == ("**Weighing** apples", SealForm.ENCRYPTED)
    assert turn_of("openai_chat/unknown_detail").own_blocks(Kind.REASONING) == []


def test_fields_of_a_delta() -> None:
    """R015, R031: any field may be absent or null, and `reasoning` beside `content` is read."""
    for number in ("R015", "R031"):
        assert all(recording.turn().reasoning for recording in examples(number))


def test_details_outrank_tags() -> None:
    """R022, R023: details are always read, and a tag in the text after them is text."""
    for recording in examples("R022"):
        message = recording.turn().message
        if message is None:
            continue  # the turn broke off
        details = json.loads(message.payload)["reasoning_details"]
        # White space between two thoughts does not count.
        assert "".join(details[0]["text"].split()) in "".join(recording.turn().reasoning.split())
    for recording in examples("R023"):
        assert "<think>" in recording.turn().answer


def test_empty_details_create_no_block() -> None:
    """R024: the empty list is kept, because it must be sent back."""
    for recording in examples("R024"):
        assert recording.turn().own_blocks(Kind.REASONING) == []


def test_reasoning_without_answer_is_not_a_failure() -> None:
    """R026: the reasoning is kept, and the outcome names the case."""
    endings = {recording.turn().outcome.ending for recording in examples("R026")}  # type: ignore[union-attr]
    assert endings == {Ending.REASONING_ONLY, Ending.CUT_OFF}


def test_reasoning_block_ends_before_the_next_block() -> None:
    """R030: start, text, end, and only then the next block."""
    for recording in examples("R030"):
        events = [
            event for event in recording.events() if isinstance(event, BlockStarted | BlockGrew | BlockEnded)
        ]
        assert [type(event) for event in events] == [BlockStarted, BlockGrew, BlockEnded] * (len(events) // 3)


def test_claude_streamed_and_whole() -> None:
    """R032: streamed deltas and a whole content list give the same blocks."""
    assert {recording.name for recording in examples("R032")} == {
        "anthropic_messages/thinking_signed",
        "anthropic_messages/whole",
    }


def test_encrypted_reasoning_has_no_text() -> None:
    """R033: a reasoning block with a seal and no text."""
    for recording in examples("R033"):
        (thought,) = recording.turn().own_blocks(Kind.REASONING)
        assert (thought.text, [seal.form for seal in thought.seals]) == ("", [SealForm.ENCRYPTED])


@pytest.mark.parametrize("number", ["R001", "R016", "R017", "R018", "R019", "R020", "R021"])
def test_every_requirement_has_recordings(number: str) -> None:
    assert examples(number)
