"""What was asked of the reading side, by number, each on the recordings that are examples of it."""

import pytest
from tests.dialects.recordings import RECORDINGS, Recording, complete_story, seals_of, turn_as_story

from thinkaloud import Turn
from thinkaloud.canon import BlockEnded, BlockGrew, BlockStarted, Kind, SealForm
from thinkaloud.transcript import Ending


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
    """R007: summaries, encrypted items and bare counts all end up as thoughts and usage."""
    dialects = {recording.dialect for recording in examples("R007")}
    assert dialects == {"openai_responses", "openai_chat"}
    assert turn_of("openai_chat/counts_only").usage.reasoning == 64
    assert turn_of("openai_responses/summary_parts").reasoning.startswith("**Sizing up**")


def test_deepseek() -> None:
    """R008: reasoning_content, streamed and whole, and kept even where it is empty."""
    assert all(recording.dialect == "openai_chat" for recording in examples("R008"))
    assert turn_of("openai_chat/deepseek").reasoning == "Quantos r? Conto: três."


def test_gemini() -> None:
    """R009: thoughts and signatures of all three of Google's endpoints."""
    dialects = {recording.dialect for recording in examples("R009")}
    assert dialects == {"gemini", "gemini_interactions", "openai_chat"}
    assert all(recording.turn().reasoning or seals_of(recording.turn()) for recording in examples("R009"))


def test_self_hosted() -> None:
    """R010: read alike whether the model thinks or not."""
    thought = {bool(recording.turn().reasoning) for recording in examples("R010")}
    assert thought == {True, False}


def test_openrouter_details() -> None:
    """R012, R013, R014: text and summary make the thought, encrypted data seals it, the rest does no harm."""
    for number in ("R012", "R013", "R014"):
        examples(number)
    thought = turn_of("openai_chat/openrouter_summary_and_encrypted").blocks[0]
    assert (thought.text, thought.seals[0].form) == ("**Weighing** apples", SealForm.ENCRYPTED)
    assert turn_of("openai_chat/unknown_detail").own_blocks(Kind.REASONING) == []


def test_fields_of_a_delta() -> None:
    """R015, R031: any field may be absent or null, and `reasoning` beside `content` is still understood."""
    for number in ("R015", "R031"):
        assert all(recording.turn().reasoning for recording in examples(number))


def test_details_outrank_tags() -> None:
    """R022, R023: where details came, a tag in the text is text."""
    for number in ("R022", "R023"):
        for recording in examples(number):
            assert "<think>" in recording.turn().answer


def test_an_empty_list_of_details_makes_no_block() -> None:
    """R024: and is kept, since it has to go back."""
    for recording in examples("R024"):
        assert recording.turn().own_blocks(Kind.REASONING) == []


def test_a_thought_without_an_answer_is_no_failure() -> None:
    """R026: it is kept, and the turn says what it is."""
    endings = {recording.turn().outcome.ending for recording in examples("R026")}  # type: ignore[union-attr]
    assert endings == {Ending.REASONING_ONLY, Ending.CUT_OFF}


def test_a_thought_ends_before_what_follows_it() -> None:
    """R030: start, pieces, end, and only then the text."""
    for recording in examples("R030"):
        events = [
            event for event in recording.events() if isinstance(event, BlockStarted | BlockGrew | BlockEnded)
        ]
        assert [type(event) for event in events] == [BlockStarted, BlockGrew, BlockEnded] * (len(events) // 3)


def test_claude_streamed_and_whole() -> None:
    """R032: deltas and content list give the same kinds of blocks."""
    assert {recording.name for recording in examples("R032")} == {
        "anthropic_messages/thinking_signed",
        "anthropic_messages/whole",
    }


def test_encrypted_thoughts_show_no_text() -> None:
    """R033: a sealed thought without a word in it."""
    for recording in examples("R033"):
        (thought,) = recording.turn().own_blocks(Kind.REASONING)
        assert (thought.text, [seal.form for seal in thought.seals]) == ("", [SealForm.ENCRYPTED])


@pytest.mark.parametrize("number", ["R001", "R016", "R017", "R018", "R019", "R020", "R021"])
def test_every_number_has_its_examples(number: str) -> None:
    assert examples(number)
