"""Turns rendered as plain text, complete and live."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.view.turns import (
    STOP,
    answer_events,
    assistant_call_events,
    sealed_thought_events,
    thought_events,
    tool_call_events,
    untimed_turn,
)

from thinkaloud.core.canon import (
    ApprovalAsked,
    BlockEnded,
    BlockGrew,
    BlockReclassified,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    ReplyEnded,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
)
from thinkaloud.core.transcript import Turn, apply
from thinkaloud.core.view import Channel, PlainRenderer, plain_lines
from thinkaloud.core.view.plain import INDENT, MAX_INDENT_LEVELS, THINK_PREFIX

TRIP: list[Event] = [
    *thought_events(0, "Ask."),
    *assistant_call_events(1, "Planner", "Plan the\ntrip"),
    *thought_events(2, "Rules first.\nThen dates.", parent=1),
    *tool_call_events(3, "fetch", '{"page": 4}', "Page\nfour", parent=1),
    *answer_events(4, "No pets.", parent=1),
    BlockEnded(1),
    ToolFinished(1, "Go by train"),
    *thought_events(5, "Settled."),
    *answer_events(6, "Go by train."),
    STOP,
]


def live(*events: Event, locale: str = "en-US") -> list[tuple[Channel, str]]:
    """Return the pieces that a renderer gives while the events arrive."""
    turn, teller = Turn(), PlainRenderer(locale)
    pieces = []
    for seq, event in enumerate(events):
        apply(turn, Entry(seq, event))
        pieces += teller.feed(turn, event)
    return pieces


def joined(channel: Channel, pieces: list[tuple[Channel, str]]) -> str:
    """Return the whole text of one channel."""
    return "".join(text for wanted_channel, text in pieces if wanted_channel is channel)


def test_plain_thoughts_are_prefixed_and_the_answer_is_verbatim() -> None:
    """R003, R114: each line of a thought has its prefix; the answer is unchanged."""
    turn = untimed_turn(
        *thought_events(0, "\nOne.\n\nTwo.\r\nThree.\n"), *answer_events(1, "  The *answer*\n\n"), STOP
    )
    assert plain_lines(turn) == [
        (Channel.REASONING, "[think] One."),
        (Channel.REASONING, "[think] "),
        (Channel.REASONING, "[think] Two."),
        (Channel.REASONING, "[think] Three."),
        (Channel.ANSWER, "  The *answer*\n\n"),
    ]


def test_plain_calls_are_lines_and_their_children_are_indented() -> None:
    """R114: an assistant's thoughts and tools follow its call, its result follows them."""
    assert [line for _, line in plain_lines(untimed_turn(*TRIP))] == [
        "[think] Ask.",
        "[think] 🤖 Planner: Plan the trip",
        "[think]   Rules first.",
        "[think]   Then dates.",
        "[think]   🔧 fetch: page: 4",
        "[think]   → Page four",
        "[think]   No pets.",
        "[think] → Go by train",
        "[think] Settled.",
        "Go by train.",
    ]


def test_plain_renderer_and_plain_lines_give_the_same_text() -> None:
    """R003, R114: live rendering and rendering afterwards give the same text."""
    lines = [line for channel, line in plain_lines(untimed_turn(*TRIP)) if channel is Channel.REASONING]
    assert joined(Channel.REASONING, live(*TRIP)) == "".join(f"{line}\n" for line in lines)
    assert joined(Channel.ANSWER, live(*TRIP)) == "Go by train."


def test_results_of_parallel_calls_follow_their_children() -> None:
    turn = untimed_turn(
        *assistant_call_events(0, "A"),
        *assistant_call_events(1, "B"),
        *thought_events(2, "a", parent=0),
        *thought_events(3, "b", parent=1),
        *thought_events(4, "a again", parent=0),
        BlockEnded(0),
        ToolFinished(0, "from A"),
        BlockEnded(1),
        ToolFinished(1, error="B broke"),
    )
    assert [line.removeprefix(THINK_PREFIX) for _, line in plain_lines(turn)] == [
        *("🤖 A", "🤖 B", "  a", "  b", "→ B broke", "  a again", "→ from A")
    ]


def test_interleaved_thoughts_get_lines_of_their_own() -> None:
    pieces = live(
        *assistant_call_events(0, "A"),
        *assistant_call_events(1, "B"),
        BlockStarted(2, Kind.REASONING, parent=0),
        BlockGrew(2, "one "),
        BlockStarted(3, Kind.REASONING, parent=1),
        BlockGrew(3, "two\n"),
        BlockGrew(2, "three"),
    )
    assert joined(Channel.REASONING, pieces).splitlines() == [
        *("[think] 🤖 A", "[think]   one ", "[think] 🤖 B", "[think]   two", "[think]   three")
    ]


STORY = "\n\n First.\r\n\r\n  Second, *indented*.\n \n\nThird. \n\n"


@given(st.lists(st.integers(0, len(STORY)), max_size=20).map(sorted))
def test_plain_text_does_not_depend_on_chunking(cuts: list[int]) -> None:
    """R003, R114: the lines are the same for any chunking of the deltas."""
    deltas = [BlockGrew(0, STORY[a:b]) for a, b in pairwise([0, *cuts, len(STORY)])]
    pieces = live(BlockStarted(0, Kind.REASONING), *deltas, BlockEnded(0), *answer_events(1, "Yes."), STOP)
    assert joined(Channel.REASONING, pieces).rstrip() == "\n".join(
        [
            "[think]  First.",
            "[think] ",
            "[think]   Second, *indented*.",
            "[think]  ",
            "[think] ",
            "[think] Third.",
        ]
    )
    assert joined(Channel.REASONING, pieces).endswith("\n")


def test_thoughts_are_rendered_with_every_delta() -> None:
    """R003: every delta is rendered immediately, not when its line is complete."""
    pieces = live(
        BlockStarted(0, Kind.REASONING), BlockGrew(0, "Let me"), BlockGrew(0, " see"), BlockGrew(0, ".\n")
    )
    assert [text for _, text in pieces] == ["[think] Let me", " see", "."]


def test_hidden_thoughts_get_a_line_and_blank_ones_none() -> None:
    """R025, R033: a hidden thought gets a line, an empty one none."""
    events = [
        *thought_events(0, " \n"),
        *sealed_thought_events(1, SealForm.ENCRYPTED),
        *answer_events(2, ""),
        *answer_events(3, "Oi."),
        STOP,
    ]
    line = "[think] Pensou; o provedor criptografou o texto, que não pode ser exibido."
    assert plain_lines(untimed_turn(*events), "pt-BR") == [(Channel.REASONING, line), (Channel.ANSWER, "Oi.")]
    assert live(*events, locale="pt-BR") == [(Channel.REASONING, f"{line}\n"), (Channel.ANSWER, "Oi.")]


def test_late_and_repeated_seals_render_one_line() -> None:
    """R033: a hidden thought is rendered once."""
    seal = BlockSealed(0, Seal("openai_responses", SealForm.ITEM, "{}"))
    pieces = live(BlockStarted(0, Kind.REASONING), BlockEnded(0), seal, seal)
    assert pieces == [(Channel.REASONING, "[think] Thought; the provider withheld the text.\n")]


def test_sealed_text_is_not_a_thought() -> None:
    seal = BlockSealed(0, Seal("gemini", SealForm.SIGNATURE, "c2VhbA=="))
    assert live(BlockStarted(0, Kind.TEXT), seal, BlockEnded(0), seal) == []


def test_reclassified_text_is_rendered_in_its_new_channel() -> None:
    """R021: the answer is complete, even if its text was first classified as a thought."""
    pieces = live(
        *thought_events(0, "a<think>b</think>Yes."), BlockReclassified(0, Kind.TEXT, tail=4, into=1), STOP
    )
    assert joined(Channel.ANSWER, pieces) == "Yes."
    late = live(
        *answer_events(0, "Hm."), BlockReclassified(0, Kind.REASONING), *answer_events(1, "Yes."), STOP
    )
    assert joined(Channel.REASONING, late) == "[think] Hm.\n"


def test_notice_of_the_ending_comes_last_in_its_channel() -> None:
    """R026, R027: thoughts without an answer end with a notice."""
    said_so = "Model provided reasoning but no response. Try rephrasing your question."
    assert plain_lines(untimed_turn(*thought_events(0, "Hm."), STOP))[-1] == (Channel.NOTICE, said_so)
    assert live(*thought_events(0, "Hm."), STOP)[-1] == (Channel.NOTICE, f"{said_so}\n")


def test_notices_of_providers_are_rendered() -> None:
    late = NoticeGiven("late_error", "Too late.")
    pieces = live(*thought_events(0, "Hm.")[:2], late, BlockEnded(0), *answer_events(1, "Yes."), STOP)
    assert joined(Channel.NOTICE, pieces) == "Too late.\n"
    assert joined(Channel.REASONING, pieces) == "[think] Hm.\n"
    assert (Channel.NOTICE, "late_error") in plain_lines(
        untimed_turn(NoticeGiven("late_error"), *answer_events(0, "Yes."), STOP)
    )


def test_calls_without_name_task_or_result_are_rendered() -> None:
    turn = untimed_turn(*tool_call_events(0, ""), *assistant_call_events(1, ""))
    assert [line for _, line in plain_lines(turn)] == ["[think] 🔧 Tool", "[think] 🤖 Assistant"]


def test_call_is_rendered_before_its_result() -> None:
    events = tool_call_events(0, "find", "{}", "ok")
    assert live(*events[:3], TurnEnded(Finish.TOOL_CALLS)) == [(Channel.REASONING, "[think] 🔧 find\n")]
    assert live(*events[:2], events[3]) == [
        (Channel.REASONING, "[think] 🔧 find\n"),
        (Channel.REASONING, "[think] → ok\n"),
    ]


def test_assistant_result_already_shown_is_not_repeated() -> None:
    """R102: its text appears once; a different result and an error are rendered."""

    def result(result: str, error: str = "") -> list[str]:
        events = [
            *assistant_call_events(0, "Checker", "Check"),
            *thought_events(1, "Hm.", parent=0),
            *answer_events(2, "Right.", parent=0),
        ]
        pieces = live(*events, BlockEnded(0), ToolFinished(0, result, error))
        assert pieces[-1][1].endswith("\n")
        return joined(Channel.REASONING, pieces).splitlines()

    assert result("Right.") == ["[think] 🤖 Checker: Check", "[think]   Hm.", "[think]   Right."]
    assert result("Wrong.")[-1] == "[think] → Wrong."
    assert result("Right.", "It took too long.")[-1] == "[think] → It took too long."


def test_results_of_parallel_tools_name_their_tool() -> None:
    first, second = tool_call_events(0, "add", "{}", "3"), tool_call_events(1, "note", "{}", "noted")
    pieces = live(*first[:3], *second[:3], first[3], second[3])
    assert joined(Channel.REASONING, pieces).splitlines() == [
        *("[think] 🔧 add", "[think] 🔧 note", "[think] → add: 3", "[think] → note: noted")
    ]
    assert joined(Channel.REASONING, live(*first, *second)).splitlines()[1::2] == [
        "[think] → 3",
        "[think] → noted",
    ]


def test_replies_are_separated_by_a_blank_line() -> None:
    """The text of the answer channel is the turn's answer."""
    events = [
        *answer_events(0, "I add"),
        *answer_events(1, " first."),
        *tool_call_events(2, "add", "{}")[:3],
        ReplyEnded(Finish.TOOL_CALLS),
        ToolFinished(2, "3"),
        *thought_events(3, "Good."),
        *answer_events(4, "It is 3."),
        ReplyEnded(Finish.STOP),
        STOP,
    ]
    assert joined(Channel.ANSWER, live(*events)) == "I add first.\n\nIt is 3." == untimed_turn(*events).answer
    assert joined(Channel.ANSWER, plain_lines(untimed_turn(*events))) == "I add first.\n\nIt is 3."


def test_approval_question_starts_on_its_own_line() -> None:
    approval_events = [
        *tool_call_events(0, "note", "{}")[:3],
        BlockStarted(1, Kind.REASONING),
        BlockGrew(1, "Mean"),
        ApprovalAsked(0),
    ]
    assert joined(Channel.REASONING, live(*approval_events)).endswith("[think] Mean\n")


def test_notices_are_localized() -> None:
    noticed = NoticeGiven("repeating", "The model seems to be repeating itself.", 0)
    pieces = live(*thought_events(0, "Hm."), noticed, locale="pt-BR")
    assert joined(Channel.NOTICE, pieces) == "O modelo parece estar se repetindo.\n"


def test_indentation_is_limited() -> None:
    events = [
        event for n in range(50) for event in assistant_call_events(n, f"a{n}", parent=n - 1 if n else None)
    ]
    lines = [line for _, line in plain_lines(untimed_turn(*events))]
    assert lines[-1] == f"{THINK_PREFIX}{INDENT * MAX_INDENT_LEVELS}🤖 a49"
