"""What each provider gets back, for conversations with realistic responses."""

import json

import msgspec
import pytest
from tests.context.conversations import (
    BOUND,
    CHAT,
    CLAUDE,
    COHERE,
    DEEPSEEK,
    GEMINI,
    GPT,
    KIMI,
    MINIMAX,
    MISTRAL,
    OLLAMA,
    OPENROUTER,
    R1,
    ROUTES,
    VLLM,
    CityCall,
    answer_from,
    answered_turn,
    assistant_messages,
    conversation_of,
    interrupted_turn,
    prefix_of,
    report_codes,
    response_body,
    route,
    signature_for,
    tool_result,
    user_message,
)

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Kind,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from thinkaloud.core.canon.requests import AssistantMessage, ThinkingParameters, ToolMessage, UserMessage
from thinkaloud.core.catalog import ReplayForm, ReplayRow, ReplayScope, Route
from thinkaloud.core.context import (
    AnsweredTurn,
    BuildOptions,
    BuiltRequest,
    Context,
    ContextMode,
    SendStatus,
    Step,
    UnsupportedThoughts,
    build,
    supports_thinking_blocks,
)
from thinkaloud.core.context.build import without_blank_text
from thinkaloud.core.context.replay_rules import replay_scope
from thinkaloud.core.transcript import fold

KEEP = BuildOptions(mode=ContextMode.KEEP)
STRIP = BuildOptions(mode=ContextMode.STRIP)
NOTE = BuildOptions(unsupported=UnsupportedThoughts.NOTE)
LIMA = CityCall("c1", "Lima")
CUSCO = CityCall("c2", "Cusco")


def payload(step: AnsweredTurn) -> str:
    assert step.turn.message is not None
    return step.turn.message.payload


def test_claude_gets_its_tool_loop_back_byte_for_byte() -> None:
    """S14, R058, R059, K12: signed blocks go back in order and unmodified, then the result."""
    turn = answer_from(CLAUDE, "Need the weather.", "Checking.", [LIMA])
    built = build(conversation_of(user_message(), turn, tool_result()), CLAUDE)
    assert built.request.messages == (
        user_message(),
        AssistantMessage(verbatim=payload(turn)),
        ToolMessage("c1", "18 C", "get_weather"),
    )
    assert report_codes(built) == [
        (1, 0, "sent", "verbatim"),
        (1, 1, "sent", "verbatim"),
        (1, 2, "sent", "verbatim"),
    ]


def test_strip_drops_thoughts_of_closed_loops_and_keeps_the_open_one() -> None:
    """R057, R058: required thoughts are never dropped, and others are not kept."""
    old = answer_from(CLAUDE, "Old thought.", "Checking.", [LIMA])
    new = answer_from(CLAUDE, "New thought.", "", [CUSCO])
    steps = conversation_of(
        user_message(),
        old,
        tool_result(),
        answer_from(CLAUDE, "So.", "Warm."),
        user_message(),
        new,
        tool_result("c2"),
    )
    first, second, third = assistant_messages(build(steps, CLAUDE, STRIP))
    assert (first.text, first.calls[0].name, first.verbatim) == ("Checking.", "get_weather", "")
    assert (second.text, second.verbatim) == ("Warm.", "")
    assert third.verbatim == payload(new)
    assert [answer.verbatim for answer in assistant_messages(build(steps, CLAUDE, KEEP))] == [
        payload(step) for step in steps.steps if isinstance(step, AnsweredTurn)
    ]


def test_deepseek_v4_gets_reasoning_content_on_every_tool_turn_even_empty() -> None:
    """R059: the field is required on tool turns, with or without a thought; a plain turn has none."""
    steps = conversation_of(
        user_message(),
        answer_from(DEEPSEEK, "Look it up.", "", [LIMA]),
        tool_result(),
        answer_from(DEEPSEEK, "", "", [CUSCO]),
        tool_result("c2"),
        answer_from(DEEPSEEK, "Compare.", "Cusco is colder."),
        user_message(),
    )
    thought, empty, plain = assistant_messages(build(steps, DEEPSEEK, STRIP))
    assert (thought.reasoning, thought.reasoning_field) == ("Look it up.", "reasoning_content")
    assert (empty.reasoning, empty.reasoning_field) == ("", "reasoning_content")
    assert plain.reasoning is None
    assert assistant_messages(build(steps, DEEPSEEK, KEEP))[2].reasoning == "Compare."


def test_a_foreign_tool_turn_at_deepseek_has_an_empty_reasoning_field() -> None:
    built = build(
        conversation_of(
            user_message(), answer_from(CLAUDE, "Claude's own.", "", [LIMA]), tool_result(), user_message()
        ),
        DEEPSEEK,
    )
    assert assistant_messages(built)[0].reasoning == ""
    assert report_codes(built)[0] == (1, 0, "withheld", "foreign")


def test_deepseek_r1_never_gets_reasoning_content() -> None:
    """R008, R059: the first reasoning models refuse it."""
    built = build(conversation_of(user_message(), answer_from(R1, "Hm.", "Four."), user_message()), R1, KEEP)
    assert assistant_messages(built) == [AssistantMessage(text="Four.")]
    assert report_codes(built) == [(1, 0, "withheld", "no_form"), (1, 1, "sent", "plain")]
    assert not supports_thinking_blocks(R1)


def test_kimi_gets_its_thought_with_its_calls() -> None:
    turn = answer_from(KIMI, "Call it.", "", [CityCall("functions.get_weather:0", "Lima")])
    built = build(conversation_of(user_message(), turn, tool_result("functions.get_weather:0")), KIMI)
    assert assistant_messages(built)[0].reasoning == "Call it."
    assert assistant_messages(built)[0].calls[0].call_id == "functions.get_weather:0"


def test_gemini_gets_parallel_calls_with_the_first_one_signed() -> None:
    """R009, R059: parts go back as received, and results in the order of the calls."""
    turn = answer_from(GEMINI, "Two at once.", "", [LIMA, CUSCO])
    built = build(
        conversation_of(user_message(), turn, tool_result("c2", "9 C"), tool_result("c1")), GEMINI, STRIP
    )
    _, model, first, second = built.request.messages
    assert model == AssistantMessage(verbatim=payload(turn))
    assert json.loads(payload(turn))["parts"][1]["thoughtSignature"] == signature_for("Two at once.")
    assert (first, second) == (
        ToolMessage("c1", "18 C", "get_weather"),
        ToolMessage("c2", "9 C", "get_weather"),
    )


def test_calls_without_ids_are_matched_by_name_in_order() -> None:
    turn = answer_from(GEMINI, "Two.", "", [CityCall("", "Lima"), CityCall("", "Cusco")])
    steps = conversation_of(
        user_message(),
        turn,
        ToolMessage("", "18 C", "get_weather"),
        ToolMessage("x", "9 C"),
        ToolMessage("", "?"),
    )
    native = build(steps, GEMINI)
    assert native.request.messages[2:] == (
        ToolMessage("", "18 C", "get_weather"),
        ToolMessage("", "9 C", "get_weather"),
    )
    assert report_codes(native)[-1] == (4, None, "withheld", "orphan")
    abroad = build(steps, CLAUDE)
    assert [call.call_id for call in assistant_messages(abroad)[0].calls] == ["call_1_1", "call_1_2"]
    assert [m.call_id for m in abroad.request.messages if isinstance(m, ToolMessage)] == [
        "call_1_1",
        "call_1_2",
    ]
    assert report_codes(abroad)[1] == (1, 1, "transformed", "renamed")


def test_responses_get_reasoning_items_in_pairs_or_by_content() -> None:
    """R007, R059, K11: reasoning items with what they led to, or the message alone; never as text."""
    turn = answer_from(GPT, "Plan.", "", [LIMA])
    steps = conversation_of(
        user_message(), turn, tool_result(), answer_from(GPT, "Done.", "Warm."), user_message()
    )
    assert assistant_messages(build(steps, GPT))[0].verbatim == payload(turn)
    stripped = build(steps, GPT, STRIP)
    assert [answer.verbatim for answer in assistant_messages(stripped)] == ["", ""]
    assert "Plan." not in msgspec.json.encode(stripped.request).decode()


def test_a_reasoning_item_without_its_payload_is_not_sent() -> None:
    """An id refers to nothing if the provider stored nothing."""
    body = b"""{"object":"response","model":"gpt-5","status":"completed","output":[
        {"type":"reasoning","id":"rs_9","summary":[]},
        {"type":"message","id":"msg_9","content":[{"type":"output_text","text":"Hi."}]}]}"""
    built = build(conversation_of(user_message(), answered_turn(GPT, body), user_message()), GPT, KEEP)
    assert assistant_messages(built) == [AssistantMessage(text="Hi.")]
    assert report_codes(built)[0] == (1, 0, "withheld", "no_payload")
    local = msgspec.structs.replace(GPT, provider=msgspec.structs.replace(GPT.provider, local=True))
    assert assistant_messages(
        build(conversation_of(user_message(), answered_turn(GPT, body), user_message()), local, KEEP)
    )[0].verbatim


def test_openrouter_gets_reasoning_details_unmodified_even_if_empty() -> None:
    """R012, R059."""
    thought = answer_from(OPENROUTER, "First.", "", [LIMA])
    empty = answer_from(OPENROUTER, "", "", [CUSCO])
    built = build(
        conversation_of(user_message(), thought, tool_result(), empty, tool_result("c2")), OPENROUTER, STRIP
    )
    assert [answer.verbatim for answer in assistant_messages(built)] == [payload(thought), payload(empty)]
    assert json.loads(payload(empty))["reasoning_details"] == []


@pytest.mark.parametrize(("to", "field"), [(VLLM, "reasoning"), (OLLAMA, "thinking")])
def test_local_servers_get_thoughts_of_the_open_loop_only(to: Route, field: str) -> None:
    """R010, R059, K10."""
    loop: list[Step] = [answer_from(to, "Call.", "", [LIMA]), tool_result()]
    open_loop = assistant_messages(build(conversation_of(user_message(), *loop), to))[0]
    assert (open_loop.reasoning, open_loop.reasoning_field) == ("Call.", field)
    closed = build(
        conversation_of(user_message(), *loop, answer_from(to, "So.", "Warm."), user_message()), to
    )
    assert [answer.reasoning for answer in assistant_messages(closed)] == [None, None]
    assert report_codes(closed)[0] == (1, 0, "withheld", "not_due")


@pytest.mark.parametrize("to", [MISTRAL, MINIMAX, COHERE], ids=lambda to: str(to.provider.name))
def test_whole_messages_go_back_whole(to: Route) -> None:
    turn = answer_from(to, "Tagged or chunked.", "Hm.", [LIMA])
    built = build(conversation_of(user_message(), turn, tool_result()), to)
    assert assistant_messages(built) == [AssistantMessage(verbatim=payload(turn))]


def test_keep_sends_no_thought_that_a_rule_forbids() -> None:
    """R058: even when everything is to be kept."""
    strict = msgspec.structs.replace(
        VLLM, replay=msgspec.structs.replace(VLLM.replay, allowed=ReplayScope.OPEN_LOOP)
    )
    built = build(
        conversation_of(user_message(), answer_from(VLLM, "Hm.", "Hi."), user_message()), strict, KEEP
    )
    assert report_codes(built)[0] == (1, 0, "withheld", "forbidden")


def test_chat_completions_get_no_thought() -> None:
    """K11: metadata only."""
    built = build(
        conversation_of(user_message(), answer_from(CHAT, "Hidden.", "Hi."), user_message()), CHAT, KEEP
    )
    assert assistant_messages(built) == [AssistantMessage(text="Hi.")]


@pytest.mark.parametrize("unsupported", [UnsupportedThoughts.METADATA, UnsupportedThoughts.STRIP])
def test_foreign_thoughts_are_not_sent(unsupported: UnsupportedThoughts) -> None:
    """R061, OQ5: another model's thoughts are kept as metadata or stripped."""
    steps = conversation_of(
        user_message(), answer_from(DEEPSEEK, "Deep thought.", "42."), user_message("Why?")
    )
    built = build(steps, CLAUDE, BuildOptions(unsupported=unsupported))
    assert built.request.messages == (user_message(), AssistantMessage(text="42."), user_message("Why?"))
    code = "foreign" if unsupported is UnsupportedThoughts.METADATA else "stripped"
    assert report_codes(built)[0] == (1, 0, "withheld", code)


def test_a_note_summarizes_the_thought_of_another_model() -> None:
    """OQ5: in the user message, once, and short; never in the assistant's words."""
    steps = conversation_of(
        user_message(),
        answer_from(DEEPSEEK, "It is 42. " * 100, "", [LIMA]),
        tool_result(),
        answer_from(DEEPSEEK, "Sure.", "42."),
        user_message("Why?"),
    )
    built = build(steps, CLAUDE, NOTE)
    last_message = built.request.messages[-1]
    assert isinstance(last_message, UserMessage)
    assert last_message.text.startswith("(For context: ")
    assert "It is 42." in last_message.text
    assert last_message.text.endswith("…)\n\nWhy?")
    assert len(last_message.text) < 400
    assert "It is 42." not in "".join(answer.text for answer in assistant_messages(built))
    assert [line.code for line in built.report.lines if line.kind == "reasoning"] == ["note", "note"]
    waiting = build(conversation_of(*steps.steps[:3]), CLAUDE, NOTE)
    assert waiting.request.messages[-1] == ToolMessage("c1", "18 C", "get_weather")
    assert report_codes(waiting)[0] == (1, 0, "withheld", "foreign")
    picture = UserMessage("")
    assert build(conversation_of(*steps.steps[:4], picture), CLAUDE, NOTE).request.messages[-1] != picture


def growing_conversation(target: Route, system: str = "Be brief.") -> Context:
    """Build a conversation of three turns, each with the fingerprint of the request it answered."""
    steps: list[Step] = []
    for number in range(3):
        steps.append(user_message(f"Question {number}?"))
        prefix = prefix_of(conversation_of(*steps, system=system), target)
        steps.append(answer_from(target, f"Thought {number}.", f"Answer {number}.", prefix=prefix))
    return conversation_of(*steps, user_message("And?"), system=system)


def test_prefix_bound_thoughts_go_back_while_the_prefix_is_unchanged() -> None:
    built = build(growing_conversation(BOUND), BOUND)
    assert all(answer.verbatim for answer in assistant_messages(built))


def test_a_changed_system_prompt_invalidates_every_thought() -> None:
    steps = growing_conversation(BOUND)
    built = build(msgspec.structs.replace(steps, system="Be long."), BOUND)
    assert [answer.text for answer in assistant_messages(built)] == ["Answer 0.", "Answer 1.", "Answer 2."]
    assert {line.code for line in built.report.lines if line.kind == "reasoning"} == {"prefix"}
    tools = build(msgspec.structs.replace(steps, tools=()), BOUND)
    assert not any(answer.verbatim for answer in assistant_messages(tools))


def test_compaction_invalidates_earlier_thoughts_only() -> None:
    """Earlier messages are gone; the next answer is bound to the new prefix and goes back again."""
    steps = growing_conversation(BOUND)
    compacted = conversation_of(*steps.steps[2:])
    built = build(compacted, BOUND)
    assert not any(answer.verbatim for answer in assistant_messages(built))
    turn = answer_from(BOUND, "Fresh.", "Yes.", prefix=built.prefix)
    later = build(conversation_of(*compacted.steps, turn, user_message()), BOUND)
    assert [bool(answer.verbatim) for answer in assistant_messages(later)] == [False, False, True]


def test_an_edit_in_the_middle_invalidates_later_thoughts() -> None:
    """S14."""
    steps = list(growing_conversation(BOUND).steps)
    steps[2] = user_message("Another question?")
    built = build(conversation_of(*steps), BOUND)
    assert [bool(answer.verbatim) for answer in assistant_messages(built)] == [True, False, False]


def test_a_change_inside_an_open_loop_sends_the_thought_to_be_dropped() -> None:
    """The loop cannot continue without its thought, and the provider has a parameter to drop invalid ones."""
    prefix = prefix_of(conversation_of(user_message()), BOUND)
    steps = conversation_of(
        user_message(), answer_from(BOUND, "Hm.", "", [LIMA], prefix=prefix), tool_result(), system="Other."
    )
    built = build(steps, BOUND)
    assert assistant_messages(built)[0].verbatim
    assert report_codes(built) == [(1, 0, "sent", "drop_block"), (1, 1, "sent", "verbatim")]
    assert built.request.thinking == ThinkingParameters(
        mode="adaptive", template=(("block_binding", "drop_block"),)
    )
    assert str(built.report.notes[0]).startswith("The provider is asked to drop thoughts")
    off = build(steps, BOUND, BuildOptions(thinking=ThinkingParameters(mode="disabled")))
    assert (assistant_messages(off)[0].verbatim, off.request.thinking) == (
        "",
        ThinkingParameters(mode="disabled"),
    )


def test_an_unknown_prefix_counts_as_unchanged_until_an_earlier_one_changed() -> None:
    steps = list(growing_conversation(BOUND).steps)
    last = steps[5]
    assert isinstance(last, AnsweredTurn)
    steps[5] = msgspec.structs.replace(last, prefix="")
    assert all(answer.verbatim for answer in assistant_messages(build(conversation_of(*steps), BOUND)))
    changed = build(conversation_of(*steps, system="Other."), BOUND)
    assert not any(answer.verbatim for answer in assistant_messages(changed))


@pytest.mark.parametrize("after", range(1, 11))
def test_an_interrupted_thought_is_never_sent(after: int) -> None:
    """The text is sent; the call without a result and the incomplete thought are not."""
    body = response_body(CLAUDE, "Half a thought.", "Some text.", [LIMA])
    cut = interrupted_turn(CLAUDE, body, after)
    built = build(conversation_of(user_message(), cut, user_message("Go on.")), CLAUDE, KEEP)
    sent_answers = assistant_messages(built)
    assert all(not answer.verbatim and not answer.calls for answer in sent_answers)
    spoken = cut.turn.answer
    assert [answer.text for answer in sent_answers] == ([spoken] if spoken else [])
    assert len([line for line in built.report.lines if line.block is not None]) == len(cut.turn.blocks)


def test_an_interrupted_turn_that_was_retried_is_left_out() -> None:
    body = response_body(CLAUDE, "Half.", "Some text.")
    cut = interrupted_turn(CLAUDE, body, 7)
    again = build(
        conversation_of(user_message(), cut, answer_from(CLAUDE, "All.", "All of it."), user_message()),
        CLAUDE,
    )
    assert [bool(answer.verbatim) for answer in assistant_messages(again)] == [True]
    assert (1, 1, "withheld", "retried") in report_codes(again)
    assert build(conversation_of(user_message(), cut), CLAUDE).request.messages == (user_message(),)


def test_an_interrupted_call_with_a_result_is_sent_with_it() -> None:
    body = response_body(DEEPSEEK, "Hm.", "", [LIMA])
    cut = interrupted_turn(DEEPSEEK, body, 99)
    built = build(conversation_of(user_message(), cut, tool_result()), DEEPSEEK)
    assert assistant_messages(built)[0].reasoning == ""
    assert assistant_messages(built)[0].calls[0].call_id == "c1"
    assert report_codes(built)[0] == (1, 0, "withheld", "interrupted")


def test_calls_are_sent_with_their_results_or_not_at_all() -> None:
    turn = answer_from(CLAUDE, "Both.", "Looking.", [LIMA, CUSCO])
    built = build(
        conversation_of(user_message(), turn, tool_result("c1"), user_message("Never mind.")), CLAUDE
    )
    assert built.request.messages == (
        user_message(),
        AssistantMessage(text="Looking."),
        user_message("Never mind."),
    )
    assert [code for *_, code in report_codes(built)] == [
        "unanswered",
        "plain",
        "unanswered",
        "unanswered",
        "unanswered",
    ]
    silent = build(
        conversation_of(
            user_message(), answer_from(CLAUDE, "Both.", "", [LIMA]), user_message("Never mind.")
        ),
        CLAUDE,
    )
    assert assistant_messages(silent) == []


def test_a_result_without_its_call_is_dropped() -> None:
    built = build(
        conversation_of(
            user_message(),
            tool_result("c9"),
            answer_from(CLAUDE, "", "Hi."),
            tool_result("c8"),
            user_message(),
        ),
        CLAUDE,
    )
    assert [type(message) for message in built.request.messages] == [
        UserMessage,
        AssistantMessage,
        UserMessage,
    ]
    assert [code for *_, code in report_codes(built)] == ["orphan", "verbatim", "orphan"]


def test_a_turn_without_an_answer_is_left_out() -> None:
    """R026: it has no message to send."""
    built = build(
        conversation_of(
            user_message(),
            answer_from(CLAUDE, "Hm."),
            user_message(),
            answer_from(CLAUDE),
            user_message(),
            answer_from(CLAUDE, "", " "),
        ),
        CLAUDE,
    )
    assert assistant_messages(built) == []
    assert report_codes(built) == [
        (1, 0, "withheld", "reasoning_only"),
        (3, None, "withheld", "empty"),
        (5, 0, "withheld", "empty"),
    ]


SEARCHED = b"""{"type":"message","model":"claude-opus-4-5","stop_reason":"%s","content":[
    {"type":"thinking","thinking":"Search.","signature":"s"},
    {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}}%s]}"""
FOUND = b""",{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]},
    {"type":"text","text":"Found."}"""


def test_server_tools_only_go_back_verbatim() -> None:
    turn = answered_turn(CLAUDE, SEARCHED % (b"end_turn", FOUND))
    assert assistant_messages(build(conversation_of(user_message(), turn, user_message()), CLAUDE))[
        0
    ].verbatim == payload(turn)
    abroad = build(conversation_of(user_message(), turn, user_message()), DEEPSEEK)
    assert (assistant_messages(abroad)[0].text, assistant_messages(abroad)[0].calls) == ("Found.", ())
    assert (1, 1, "withheld", "server_tool") in report_codes(abroad)


def test_a_paused_turn_goes_back_to_its_provider_to_be_continued() -> None:
    turn = answered_turn(CLAUDE, SEARCHED % (b"pause_turn", b""))
    assert assistant_messages(build(conversation_of(user_message(), turn), CLAUDE))[0].verbatim == payload(
        turn
    )
    assert assistant_messages(build(conversation_of(user_message(), turn), DEEPSEEK)) == []


def test_nested_blocks_of_an_assistant_are_not_sent() -> None:
    turn = fold(
        [
            TurnStarted("anthropic_messages", "claude-opus-4-5"),
            BlockStarted(0, Kind.ASSISTANT_CALL, "Researcher", "c1"),
            BlockStarted(1, Kind.REASONING, parent=0),
            BlockGrew(1, "Inner."),
            BlockEnded(1),
            BlockEnded(0),
            ToolFinished(0, "18 C"),
            TurnEnded(),
        ]
    )
    built = build(conversation_of(user_message(), AnsweredTurn(turn, "", "anthropic"), tool_result()), CLAUDE)
    assert assistant_messages(built)[0].calls[0].arguments == "{}"
    assert report_codes(built) == [(1, 0, "sent", "plain"), (1, 1, "withheld", "nested")]
    noted = build(
        conversation_of(
            user_message(), AnsweredTurn(turn, "", "anthropic"), tool_result(), user_message("Why?")
        ),
        DEEPSEEK,
        NOTE,
    )
    assert noted.request.messages[-1] == user_message("Why?")
    turn.message = Seal("anthropic_messages", SealForm.MESSAGE, '{"role":"assistant","content":[]}')
    whole = build(conversation_of(user_message(), AnsweredTurn(turn, "", "anthropic"), tool_result()), CLAUDE)
    assert report_codes(whole) == [(1, 0, "sent", "verbatim"), (1, 1, "withheld", "nested")]
    built_for_deepseek = build(
        conversation_of(user_message(), AnsweredTurn(turn, "", "anthropic"), user_message()), DEEPSEEK
    )
    assert report_codes(built_for_deepseek) == [
        (1, 0, "withheld", "server_tool"),
        (1, 1, "withheld", "nested"),
    ]


def test_arguments_that_are_not_an_object_are_wrapped() -> None:
    body = response_body(DEEPSEEK, "", "", [LIMA]).replace(b'{\\"city\\": \\"Lima\\"}', b"Lima")
    built = build(conversation_of(user_message(), answered_turn(DEEPSEEK, body), tool_result()), CLAUDE)
    assert assistant_messages(built)[0].calls[0].arguments == '{"input":"Lima"}'
    assert report_codes(built) == [(1, 0, "transformed", "wrapped")]


def test_a_duplicate_call_id_is_renamed_with_its_result() -> None:
    steps = conversation_of(
        user_message(),
        answer_from(KIMI, "", "", [LIMA]),
        tool_result(),
        answer_from(KIMI, "", "", [LIMA]),
        tool_result(text="9 C"),
    )
    built = build(steps, CLAUDE)
    ids = [answer.calls[0].call_id for answer in assistant_messages(built)]
    assert ids == ["c1", "c1_3_0"]
    assert built.request.messages[-1] == ToolMessage("c1_3_0", "9 C", "get_weather")


def test_without_the_providers_message_signatures_are_sent_on_the_calls() -> None:
    turn = answer_from(GEMINI, "Hm.", "", [LIMA])
    turn.turn.message = None
    built = build(conversation_of(user_message(), turn, tool_result()), GEMINI)
    assert assistant_messages(built)[0].calls[0].signature == signature_for("Hm.")
    assert report_codes(built)[0] == (1, 0, "withheld", "no_message")


def test_no_thinking_budget_in_a_loop_that_another_model_began() -> None:
    """With a budget, a loop must begin with a thought, and a foreign thought cannot be sent."""
    budget = BuildOptions(
        thinking=ThinkingParameters(mode="enabled", budget_tokens=2048, display="summarized")
    )
    steps = conversation_of(user_message(), answer_from(DEEPSEEK, "Hm.", "", [LIMA]), tool_result())
    built = build(steps, CLAUDE, budget)
    assert built.request.thinking == ThinkingParameters(mode="disabled")
    assert str(built.report.notes[0]).startswith("Thinking is off for this request")
    native = build(
        conversation_of(user_message(), answer_from(CLAUDE, "Hm.", "", [LIMA]), tool_result()), CLAUDE, budget
    )
    assert (native.request.thinking, native.report.notes) == (budget.thinking, ())
    assert build(conversation_of(user_message()), CLAUDE, budget).request.thinking == budget.thinking


def test_an_empty_model_name_belongs_to_no_family() -> None:
    steps = conversation_of(
        user_message(), AnsweredTurn(answer_from(CLAUDE, "Hm.", "Hi.").turn, "", ""), user_message()
    )
    assert assistant_messages(build(steps, CLAUDE))[0].verbatim
    nameless = answer_from(CLAUDE, "Hm.", "Hi.")
    nameless.turn.model = ""
    assert not assistant_messages(build(conversation_of(user_message(), nameless, user_message()), CLAUDE))[
        0
    ].verbatim


def test_the_same_model_at_another_provider_is_another_issuer() -> None:
    turn = answer_from(CLAUDE, "Hm.", "Hi.")
    moved = msgspec.structs.replace(turn, provider="vertex")
    assert not assistant_messages(build(conversation_of(user_message(), moved, user_message()), CLAUDE))[
        0
    ].verbatim


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("claude-opus-4-5-20251101", True),
        ("claude-opus-4-5", True),
        ("anthropic/claude-opus-4.5", True),
        ("claude-opus-4-20250514", False),
        ("claude-sonnet-4-5", False),
    ],
)
def test_a_family_is_a_row_of_the_catalog(model: str, same: bool) -> None:
    turn = answer_from(CLAUDE, "Hm.", "Hi.")
    turn.turn.model = model
    assert (
        bool(
            assistant_messages(build(conversation_of(user_message(), turn, user_message()), CLAUDE))[
                0
            ].verbatim
        )
        is same
    )


@pytest.mark.parametrize(("model", "same"), [("my-model-2026-01-01", True), ("my-model-large", False)])
def test_models_without_a_row_are_compared_by_name(model: str, same: bool) -> None:
    mine = route("openrouter/me/my-model")
    turn = answer_from(mine, "Hm.", "Hi.")
    turn.turn.model = model
    assert (
        bool(
            assistant_messages(build(conversation_of(user_message(), turn, user_message()), mine))[0].verbatim
        )
        is same
    )


def test_reasoning_tokens_are_reported_for_a_single_thought() -> None:
    built = build(
        conversation_of(
            user_message(),
            answer_from(CLAUDE, "Hm.", "Hi."),
            user_message(),
            answer_from(GPT, "Ho.", "Hi."),
            user_message(),
        ),
        CLAUDE,
    )
    assert [line.tokens for line in built.report.lines] == [30, None, None, None]
    assert built.report.total(SendStatus.SENT).tokens == 30
    assert built.report.total(SendStatus.WITHHELD).blocks == 1
    assert built.report.total(SendStatus.WITHHELD).tokens is None
    assert built.report.lines[0].reason.template.endswith(".")


def test_build_options_reach_the_request() -> None:
    build_options = BuildOptions(
        thinking=ThinkingParameters(effort="high"), max_tokens=99, tool_choice="required", stream=False
    )
    request = build(conversation_of(user_message()), CLAUDE, build_options).request
    assert (request.thinking.effort, request.max_tokens, request.tool_choice, request.stream) == (
        "high",
        99,
        "required",
        False,
    )
    assert (request.model, request.system, request.tools[0].name) == (
        CLAUDE.model_id,
        "Be brief.",
        "get_weather",
    )


@pytest.mark.parametrize("to", ROUTES, ids=lambda to: f"{to.provider.name}-{to.provider.dialect}")
def test_supports_thinking_blocks_for_every_route(to: Route) -> None:
    """R060."""
    takes = to.replay.form is not ReplayForm.NONE and to.replay.allowed is not ReplayScope.NONE
    assert supports_thinking_blocks(to) is takes
    turn = answer_from(to, "Own thought.", "", [LIMA])
    sent_answer = assistant_messages(build(conversation_of(user_message(), turn, tool_result()), to, KEEP))[0]
    assert bool(sent_answer.verbatim or sent_answer.reasoning) is takes


@pytest.mark.parametrize(
    ("mode", "rule", "scope"),
    [
        (
            ContextMode.KEEP,
            (ReplayScope.NONE, ReplayScope.NONE, ReplayScope.TOOL_TURNS),
            ReplayScope.TOOL_TURNS,
        ),
        (ContextMode.STRIP, (ReplayScope.ALL, ReplayScope.OPEN_LOOP, ReplayScope.ALL), ReplayScope.OPEN_LOOP),
        (
            ContextMode.PROVIDER_DEFAULT,
            (ReplayScope.OPEN_LOOP, ReplayScope.NONE, ReplayScope.ALL),
            ReplayScope.OPEN_LOOP,
        ),
        (
            ContextMode.PROVIDER_DEFAULT,
            (ReplayScope.NONE, ReplayScope.TOOL_TURNS, ReplayScope.ALL),
            ReplayScope.TOOL_TURNS,
        ),
        (
            ContextMode.PROVIDER_DEFAULT,
            (ReplayScope.ALL, ReplayScope.NONE, ReplayScope.OPEN_LOOP),
            ReplayScope.OPEN_LOOP,
        ),
    ],
)
def test_context_mode_stays_between_required_and_allowed(
    mode: ContextMode, rule: tuple[ReplayScope, ReplayScope, ReplayScope], scope: ReplayScope
) -> None:
    """R058: default, required, allowed."""
    assert replay_scope(ReplayRow("any", ReplayForm.FIELD, "reasoning", *rule), mode) is scope


def test_build_does_not_change_the_conversation() -> None:
    """R062: building and showing leave the stored conversation unchanged."""
    turn = answer_from(CLAUDE, "Hm.", "Hi.", [LIMA])
    snapshot = msgspec.json.encode(turn.turn)
    for target in ROUTES:
        built: BuiltRequest = build(
            conversation_of(user_message(), turn, tool_result(), user_message()), target, STRIP
        )
        assert built.request.messages
    assert msgspec.json.encode(turn.turn) == snapshot


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            '{"role":"assistant","content":[{"type":"text","text":" \\n"},{"type":"thinking","x":1.0}]}',
            '{"role":"assistant","content":[{"type":"thinking","x":1.0}]}',
        ),
        ('{"content":[{"type":"text","text":"Hm."}]}', '{"content":[{"type":"text","text":"Hm."}]}'),
        ('{"content":" "}', '{"content":" "}'),
    ],
)
def test_blank_text_is_removed_and_all_other_bytes_stay(message: str, kept: str) -> None:
    assert without_blank_text(message) == kept
