"""The one-line summary of the thinking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.view.turns import STOP, sealed_thought_events, thought_events, untimed_turn

from thinkaloud.core.canon import SealForm, SummaryWritten
from thinkaloud.core.view import SummaryBy, columns_of, summary_line
from thinkaloud.core.view.summary import READ_AHEAD, SUMMARY_COLUMNS


def test_summary_prefers_the_line_of_an_event() -> None:
    """R094, R095: a summary from an event wins."""
    turn = untimed_turn(
        *thought_events(0, "**A title**\n\nbody"), SummaryWritten("Weighed  three\nplans", "model")
    )
    assert summary_line(turn) == ("Weighed three plans", SummaryBy.MODEL)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["**Reading the question**\n\nThe user wants…"], "Reading the question"),
        (["**First**\n\nx", "**Second**\n\ny"], "Second"),
        (["**First**\n\nx", "no title here, just words"], "First"),
        (["# A heading\ntext"], "A heading"),
        (["\n\n### `Code` and *more*\n"], "Code and more"),
        (["**Only a title**"], "Only a title"),
    ],
)
def test_summary_then_uses_the_newest_provider_title(texts: list[str], line: str) -> None:
    """R094: the bold or heading line at the start of a thought."""
    events = [event for n, text in enumerate(texts) for event in thought_events(n, text)]
    assert summary_line(untimed_turn(*events)) == (line, SummaryBy.PROVIDER)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The user wants a cake. They like chocolate.", "The user wants a cake"),
        ("Okay, so the user wants a cake. Fine.", "So the user wants a cake"),
        ("Hmm. Let me think. Wait... The train leaves at 9.", "The train leaves at 9"),
        ("Let me think about this.\n\nThe train leaves at nine.", "The train leaves at nine"),
        ("Okay the sum is four.", "The sum is four"),
        ("Well known facts come first.", "Well known facts come first"),
        ("Certo, vamos ver. O trem sai às nove.", "O trem sai às nove"),
        ("Deixa eu pensar nisso. A resposta é quatro!", "A resposta é quatro!"),
        ("It costs 4.2 euros, e.g. for one. Next.", "It costs 4.2 euros, e.g. for one"),
        ("**Bold** start of a longer line", "Bold start of a longer line"),
        ("- a first item\n- another", "A first item"),
        ("Yes. No.", "Yes"),
        ("用户想知道天气。然后回答。", "用户想知道天气。"),
        ("Is it so? Perhaps it is.", "Is it so?"),
        ("To be continued...", "To be continued..."),
    ],
)
def test_summary_else_uses_the_first_long_enough_sentence(text: str, line: str) -> None:
    """R094: deterministic, offline, without fillers in either language."""
    summary, by = summary_line(untimed_turn(*thought_events(0, text)))
    assert summary.casefold() == line.casefold()
    assert by is SummaryBy.EXTRACT


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["The user wants a cake. Chocolate fits best."], "Chocolate fits best"),
        (
            ["I look for a train. The one at 9 is the cheapest. Let me write that."],
            "The one at 9 is the cheapest",
        ),
        (["O trem sai às nove. Vou responder agora."], "O trem sai às nove"),
        (["The first thought is here.", "Seven times eight is 56.\nYes."], "Seven times eight is 56"),
        (["I'll answer with the sum."], "I'll answer with the sum"),
        (["No. Yes."], "Yes"),
    ],
)
def test_summary_of_an_ended_turn_says_what_was_accomplished(texts: list[str], line: str) -> None:
    """R094, R095: the last sentence that is a result, once there is one."""
    events = [event for n, text in enumerate(texts) for event in thought_events(n, text)]
    assert summary_line(untimed_turn(*events, STOP)) == (line, SummaryBy.EXTRACT)


@pytest.mark.parametrize("text", ["", "  \n", "Hmm.", "Okay, let me think."])
def test_summary_is_empty_without_text(text: str) -> None:
    assert summary_line(untimed_turn(*thought_events(0, text))) == ("", SummaryBy.NOBODY)


def test_summary_is_empty_for_hidden_thoughts() -> None:
    """R033: no text is invented."""
    assert summary_line(untimed_turn(*sealed_thought_events(0, SealForm.ENCRYPTED), STOP)) == (
        "",
        SummaryBy.NOBODY,
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_summary_is_one_line_that_fits(text: str) -> None:
    summary, _ = summary_line(untimed_turn(*thought_events(0, text)))
    assert columns_of(summary) <= SUMMARY_COLUMNS
    assert len(summary.splitlines()) <= 1


def test_summary_reads_only_the_start_of_a_thought() -> None:
    start = "This is a very long sentence without any end " + "word " * READ_AHEAD
    summary, _ = summary_line(untimed_turn(*thought_events(0, start + "**Late title**")))
    assert summary.startswith("This is a very long sentence")
    assert summary.endswith("word…")
