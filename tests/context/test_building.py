"""Stories of conversations: what each provider gets back, told with answers as they really come."""

import json

import msgspec
import pytest
from tests.context.talk import (
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
    Calls,
    answer,
    answers,
    ask,
    broken,
    codes,
    prefix_of,
    result,
    route,
    said,
    sealed,
    speak,
    talk,
)

from thinkaloud.canon import (
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
from thinkaloud.canon.requests import Ask, AssistantMessage, ToolMessage, UserMessage
from thinkaloud.catalog import Replay, ReplayForm, Route, Sent
from thinkaloud.context import (
    Built,
    ContextMode,
    Conversation,
    Fate,
    Said,
    Step,
    Terms,
    Unsupported,
    build,
    supports_thinking_blocks,
)
from thinkaloud.context.replaying import scope_of
from thinkaloud.transcript import fold

KEEP = Terms(mode=ContextMode.KEEP)
STRIP = Terms(mode=ContextMode.STRIP)
NOTE = Terms(unsupported=Unsupported.NOTE)
LIMA = Calls("c1", "Lima")
CUSCO = Calls("c2", "Cusco")


def payload(step: Said) -> str:
    assert step.turn.message is not None
    return step.turn.message.payload


def test_claude_gets_its_tool_loop_back_byte_for_byte() -> None:
    """R058, R059, K12: signed blocks go back in order and unmodified, then the result."""
    turn = speak(CLAUDE, "Need the weather.", "Checking.", [LIMA])
    built = build(talk(ask(), turn, result()), CLAUDE)
    assert built.request.messages == (
        ask(),
        AssistantMessage(verbatim=payload(turn)),
        ToolMessage("c1", "18 C", "get_weather"),
    )
    assert codes(built) == [
        (1, 0, "sent", "verbatim"),
        (1, 1, "sent", "verbatim"),
        (1, 2, "sent", "verbatim"),
    ]


def test_strip_leaves_closed_loops_and_keeps_the_open_one() -> None:
    """R057, R058: nothing that is demanded is dropped, and nothing that is not is kept."""
    old = speak(CLAUDE, "Old thought.", "Checking.", [LIMA])
    new = speak(CLAUDE, "New thought.", "", [CUSCO])
    steps = talk(ask(), old, result(), speak(CLAUDE, "So.", "Warm."), ask(), new, result("c2"))
    first, second, third = answers(build(steps, CLAUDE, STRIP))
    assert (first.text, first.calls[0].name, first.verbatim) == ("Checking.", "get_weather", "")
    assert (second.text, second.verbatim) == ("Warm.", "")
    assert third.verbatim == payload(new)
    assert [answer.verbatim for answer in answers(build(steps, CLAUDE, KEEP))] == [
        payload(step) for step in steps.steps if isinstance(step, Said)
    ]


def test_deepseek_v4_gets_reasoning_content_on_every_tool_turn_even_empty() -> None:
    """R059: the key must be there on tool turns, with or without a thought; a plain turn goes without."""
    steps = talk(
        ask(),
        speak(DEEPSEEK, "Look it up.", "", [LIMA]),
        result(),
        speak(DEEPSEEK, "", "", [CUSCO]),
        result("c2"),
        speak(DEEPSEEK, "Compare.", "Cusco is colder."),
        ask(),
    )
    thought, empty, plain = answers(build(steps, DEEPSEEK, STRIP))
    assert (thought.reasoning, thought.reasoning_field) == ("Look it up.", "reasoning_content")
    assert (empty.reasoning, empty.reasoning_field) == ("", "reasoning_content")
    assert plain.reasoning is None
    assert answers(build(steps, DEEPSEEK, KEEP))[2].reasoning == "Compare."


def test_a_foreign_tool_turn_at_deepseek_has_the_field_and_not_the_thought() -> None:
    built = build(talk(ask(), speak(CLAUDE, "Claude's own.", "", [LIMA]), result(), ask()), DEEPSEEK)
    assert answers(built)[0].reasoning == ""
    assert codes(built)[0] == (1, 0, "withheld", "foreign")


def test_deepseek_r1_never_gets_reasoning_content() -> None:
    """R008, R059: the first reasoners refuse it."""
    built = build(talk(ask(), speak(R1, "Hm.", "Four."), ask()), R1, KEEP)
    assert answers(built) == [AssistantMessage(text="Four.")]
    assert codes(built) == [(1, 0, "withheld", "no_form"), (1, 1, "sent", "plain")]
    assert not supports_thinking_blocks(R1)


def test_kimi_gets_its_thought_with_its_calls() -> None:
    turn = speak(KIMI, "Call it.", "", [Calls("functions.get_weather:0", "Lima")])
    built = build(talk(ask(), turn, result("functions.get_weather:0")), KIMI)
    assert answers(built)[0].reasoning == "Call it."
    assert answers(built)[0].calls[0].call_id == "functions.get_weather:0"


def test_gemini_gets_parallel_calls_with_the_first_one_signed() -> None:
    """R009, R059: parts go back as they came, and results in the order of the calls."""
    turn = speak(GEMINI, "Two at once.", "", [LIMA, CUSCO])
    built = build(talk(ask(), turn, result("c2", "9 C"), result("c1")), GEMINI, STRIP)
    _, model, first, second = built.request.messages
    assert model == AssistantMessage(verbatim=payload(turn))
    assert json.loads(payload(turn))["parts"][1]["thoughtSignature"] == sealed("Two at once.")
    assert (first, second) == (
        ToolMessage("c1", "18 C", "get_weather"),
        ToolMessage("c2", "9 C", "get_weather"),
    )


def test_calls_without_ids_are_answered_in_order_of_their_name() -> None:
    turn = speak(GEMINI, "Two.", "", [Calls("", "Lima"), Calls("", "Cusco")])
    steps = talk(
        ask(), turn, ToolMessage("", "18 C", "get_weather"), ToolMessage("x", "9 C"), ToolMessage("", "?")
    )
    native = build(steps, GEMINI)
    assert native.request.messages[2:] == (
        ToolMessage("", "18 C", "get_weather"),
        ToolMessage("", "9 C", "get_weather"),
    )
    assert codes(native)[-1] == (4, None, "withheld", "orphan")
    abroad = build(steps, CLAUDE)
    assert [call.call_id for call in answers(abroad)[0].calls] == ["call_1_1", "call_1_2"]
    assert [m.call_id for m in abroad.request.messages if isinstance(m, ToolMessage)] == [
        "call_1_1",
        "call_1_2",
    ]
    assert codes(abroad)[1] == (1, 1, "transformed", "renamed")


def test_responses_get_items_in_pairs_or_by_content() -> None:
    """R007, R059, K11: reasoning items with what they led to, or the message alone; never as text."""
    turn = speak(GPT, "Plan.", "", [LIMA])
    steps = talk(ask(), turn, result(), speak(GPT, "Done.", "Warm."), ask())
    assert answers(build(steps, GPT))[0].verbatim == payload(turn)
    stripped = build(steps, GPT, STRIP)
    assert [answer.verbatim for answer in answers(stripped)] == ["", ""]
    assert "Plan." not in msgspec.json.encode(stripped.request).decode()


def test_a_reasoning_item_without_its_payload_stays_here() -> None:
    """An id names nothing where nothing is stored."""
    body = b"""{"object":"response","model":"gpt-5","status":"completed","output":[
        {"type":"reasoning","id":"rs_9","summary":[]},
        {"type":"message","id":"msg_9","content":[{"type":"output_text","text":"Hi."}]}]}"""
    built = build(talk(ask(), said(GPT, body), ask()), GPT, KEEP)
    assert answers(built) == [AssistantMessage(text="Hi.")]
    assert codes(built)[0] == (1, 0, "withheld", "no_payload")
    local = msgspec.structs.replace(GPT, provider=msgspec.structs.replace(GPT.provider, local=True))
    assert answers(build(talk(ask(), said(GPT, body), ask()), local, KEEP))[0].verbatim


def test_openrouter_gets_details_unmodified_and_an_empty_list_as_such() -> None:
    """R012, R059."""
    thought = speak(OPENROUTER, "First.", "", [LIMA])
    empty = speak(OPENROUTER, "", "", [CUSCO])
    built = build(talk(ask(), thought, result(), empty, result("c2")), OPENROUTER, STRIP)
    assert [answer.verbatim for answer in answers(built)] == [payload(thought), payload(empty)]
    assert json.loads(payload(empty))["reasoning_details"] == []


@pytest.mark.parametrize(("to", "field"), [(VLLM, "reasoning"), (OLLAMA, "thinking")])
def test_local_servers_get_thoughts_within_the_open_loop_only(to: Route, field: str) -> None:
    """R010, R059, K10."""
    loop: list[Step] = [speak(to, "Call.", "", [LIMA]), result()]
    open_loop = answers(build(talk(ask(), *loop), to))[0]
    assert (open_loop.reasoning, open_loop.reasoning_field) == ("Call.", field)
    closed = build(talk(ask(), *loop, speak(to, "So.", "Warm."), ask()), to)
    assert [answer.reasoning for answer in answers(closed)] == [None, None]
    assert codes(closed)[0] == (1, 0, "withheld", "not_due")


@pytest.mark.parametrize("to", [MISTRAL, MINIMAX, COHERE], ids=lambda to: str(to.provider.name))
def test_whole_messages_go_back_whole(to: Route) -> None:
    turn = speak(to, "Tagged or chunked.", "Hm.", [LIMA])
    built = build(talk(ask(), turn, result()), to)
    assert answers(built) == [AssistantMessage(verbatim=payload(turn))]


def test_keep_sends_no_thought_that_a_rule_forbids() -> None:
    """R058: not even when everything is to be kept."""
    strict = msgspec.structs.replace(
        VLLM, replay=msgspec.structs.replace(VLLM.replay, allowed=Sent.OPEN_LOOP)
    )
    built = build(talk(ask(), speak(VLLM, "Hm.", "Hi."), ask()), strict, KEEP)
    assert codes(built)[0] == (1, 0, "withheld", "forbidden")


def test_chat_completions_get_no_thought() -> None:
    """K11: metadata only."""
    built = build(talk(ask(), speak(CHAT, "Hidden.", "Hi."), ask()), CHAT, KEEP)
    assert answers(built) == [AssistantMessage(text="Hi.")]


@pytest.mark.parametrize("unsupported", [Unsupported.METADATA, Unsupported.STRIP])
def test_foreign_thoughts_are_not_sent(unsupported: Unsupported) -> None:
    """R061, OQ5: another model's thoughts stay here, as metadata or stripped."""
    steps = talk(ask(), speak(DEEPSEEK, "Deep thought.", "42."), ask("Why?"))
    built = build(steps, CLAUDE, Terms(unsupported=unsupported))
    assert built.request.messages == (ask(), AssistantMessage(text="42."), ask("Why?"))
    code = "foreign" if unsupported is Unsupported.METADATA else "stripped"
    assert codes(built)[0] == (1, 0, "withheld", code)


def test_a_note_tells_in_short_what_another_model_thought() -> None:
    """OQ5: on the user's side, once, and short; never in the assistant's words."""
    steps = talk(
        ask(),
        speak(DEEPSEEK, "It is 42. " * 100, "", [LIMA]),
        result(),
        speak(DEEPSEEK, "Sure.", "42."),
        ask("Why?"),
    )
    built = build(steps, CLAUDE, NOTE)
    told = built.request.messages[-1]
    assert isinstance(told, UserMessage)
    assert told.text.startswith("(For context: ")
    assert "It is 42." in told.text
    assert told.text.endswith("…)\n\nWhy?")
    assert len(told.text) < 400
    assert "It is 42." not in "".join(answer.text for answer in answers(built))
    assert [line.code for line in built.report.lines if line.kind == "reasoning"] == ["note", "note"]
    waiting = build(talk(*steps.steps[:3]), CLAUDE, NOTE)
    assert waiting.request.messages[-1] == ToolMessage("c1", "18 C", "get_weather")
    assert codes(waiting)[0] == (1, 0, "withheld", "foreign")
    picture = UserMessage("")
    assert build(talk(*steps.steps[:4], picture), CLAUDE, NOTE).request.messages[-1] != picture


def growing(to: Route, system: str = "Be brief.") -> Conversation:
    """Three turns, each with the fingerprint of what it answered."""
    steps: list[Step] = []
    for number in range(3):
        steps.append(ask(f"Question {number}?"))
        prefix = prefix_of(talk(*steps, system=system), to)
        steps.append(speak(to, f"Thought {number}.", f"Answer {number}.", prefix=prefix))
    return talk(*steps, ask("And?"), system=system)


def test_thoughts_bound_to_their_prefix_go_back_while_it_stands() -> None:
    built = build(growing(BOUND), BOUND)
    assert all(answer.verbatim for answer in answers(built))


def test_a_changed_system_prompt_voids_every_thought() -> None:
    steps = growing(BOUND)
    built = build(msgspec.structs.replace(steps, system="Be long."), BOUND)
    assert [answer.text for answer in answers(built)] == ["Answer 0.", "Answer 1.", "Answer 2."]
    assert {line.code for line in built.report.lines if line.kind == "reasoning"} == {"prefix"}
    tools = build(msgspec.structs.replace(steps, tools=()), BOUND)
    assert not any(answer.verbatim for answer in answers(tools))


def test_compaction_voids_what_came_after_it_and_nothing_that_comes_later() -> None:
    """Earlier messages are gone; the next answer is bound to what is left, and goes back again."""
    steps = growing(BOUND)
    left = talk(*steps.steps[2:])
    built = build(left, BOUND)
    assert not any(answer.verbatim for answer in answers(built))
    turn = speak(BOUND, "Fresh.", "Yes.", prefix=built.prefix)
    later = build(talk(*left.steps, turn, ask()), BOUND)
    assert [bool(answer.verbatim) for answer in answers(later)] == [False, False, True]


def test_an_edit_in_the_middle_voids_from_there_on() -> None:
    steps = list(growing(BOUND).steps)
    steps[2] = ask("Another question?")
    built = build(talk(*steps), BOUND)
    assert [bool(answer.verbatim) for answer in answers(built)] == [True, False, False]


def test_a_change_inside_an_open_loop_sends_the_thought_to_be_dropped() -> None:
    """The loop cannot go on without its thought, and the provider has a word for one that no longer fits."""
    prefix = prefix_of(talk(ask()), BOUND)
    steps = talk(ask(), speak(BOUND, "Hm.", "", [LIMA], prefix=prefix), result(), system="Other.")
    built = build(steps, BOUND)
    assert answers(built)[0].verbatim
    assert codes(built) == [(1, 0, "sent", "drop_block"), (1, 1, "sent", "verbatim")]
    assert built.request.ask == Ask(mode="adaptive", template=(("block_binding", "drop_block"),))
    assert built.report.notes[0].startswith("The provider is told to drop thoughts")
    off = build(steps, BOUND, Terms(ask=Ask(mode="disabled")))
    assert (answers(off)[0].verbatim, off.request.ask) == ("", Ask(mode="disabled"))


def test_a_turn_of_unknown_prefix_is_believed_until_an_earlier_one_proves_changed() -> None:
    steps = list(growing(BOUND).steps)
    last = steps[5]
    assert isinstance(last, Said)
    steps[5] = msgspec.structs.replace(last, prefix="")
    assert all(answer.verbatim for answer in answers(build(talk(*steps), BOUND)))
    changed = build(talk(*steps, system="Other."), BOUND)
    assert not any(answer.verbatim for answer in answers(changed))


@pytest.mark.parametrize("after", range(1, 11))
def test_an_interruption_never_sends_half_a_thought(after: int) -> None:
    """The text stays, the call without its result goes, and the thought is not replayed as a whole one."""
    body = answer(CLAUDE, "Half a thought.", "Some text.", [LIMA])
    cut = broken(CLAUDE, body, after)
    built = build(talk(ask(), cut, ask("Go on.")), CLAUDE, KEEP)
    told = answers(built)
    assert all(not answer.verbatim and not answer.calls for answer in told)
    spoken = cut.turn.answer
    assert [answer.text for answer in told] == ([spoken] if spoken else [])
    assert len([line for line in built.report.lines if line.block is not None]) == len(cut.turn.blocks)


def test_an_interrupted_turn_that_was_asked_again_is_left_out() -> None:
    body = answer(CLAUDE, "Half.", "Some text.")
    cut = broken(CLAUDE, body, 7)
    again = build(talk(ask(), cut, speak(CLAUDE, "All.", "All of it."), ask()), CLAUDE)
    assert [bool(answer.verbatim) for answer in answers(again)] == [True]
    assert (1, 1, "withheld", "retried") in codes(again)
    assert build(talk(ask(), cut), CLAUDE).request.messages == (ask(),)


def test_an_interrupted_call_that_was_answered_stays_with_its_result() -> None:
    body = answer(DEEPSEEK, "Hm.", "", [LIMA])
    cut = broken(DEEPSEEK, body, 99)
    built = build(talk(ask(), cut, result()), DEEPSEEK)
    assert answers(built)[0].reasoning == ""
    assert answers(built)[0].calls[0].call_id == "c1"
    assert codes(built)[0] == (1, 0, "withheld", "interrupted")


def test_calls_go_together_with_their_results_or_not_at_all() -> None:
    turn = speak(CLAUDE, "Both.", "Looking.", [LIMA, CUSCO])
    built = build(talk(ask(), turn, result("c1"), ask("Never mind.")), CLAUDE)
    assert built.request.messages == (ask(), AssistantMessage(text="Looking."), ask("Never mind."))
    assert [code for *_, code in codes(built)] == [
        "unanswered",
        "plain",
        "unanswered",
        "unanswered",
        "unanswered",
    ]
    silent = build(talk(ask(), speak(CLAUDE, "Both.", "", [LIMA]), ask("Never mind.")), CLAUDE)
    assert answers(silent) == []


def test_a_result_without_its_call_is_dropped() -> None:
    built = build(talk(ask(), result("c9"), speak(CLAUDE, "", "Hi."), result("c8"), ask()), CLAUDE)
    assert [type(message) for message in built.request.messages] == [
        UserMessage,
        AssistantMessage,
        UserMessage,
    ]
    assert [code for *_, code in codes(built)] == ["orphan", "verbatim", "orphan"]


def test_a_turn_that_only_thought_or_said_nothing_is_left_out() -> None:
    """R026: there is no message in it to send."""
    built = build(
        talk(ask(), speak(CLAUDE, "Hm."), ask(), speak(CLAUDE), ask(), speak(CLAUDE, "", " ")), CLAUDE
    )
    assert answers(built) == []
    assert codes(built) == [
        (1, 0, "withheld", "reasoning_only"),
        (3, None, "withheld", "empty"),
        (5, 0, "withheld", "empty"),
    ]


SEARCHED = b"""{"type":"message","model":"claude-opus-4-5","stop_reason":"%s","content":[
    {"type":"thinking","thinking":"Search.","signature":"s"},
    {"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"x"}}%s]}"""
FOUND = b""",{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]},
    {"type":"text","text":"Found."}"""


def test_tools_that_the_provider_ran_only_go_back_verbatim() -> None:
    turn = said(CLAUDE, SEARCHED % (b"end_turn", FOUND))
    assert answers(build(talk(ask(), turn, ask()), CLAUDE))[0].verbatim == payload(turn)
    abroad = build(talk(ask(), turn, ask()), DEEPSEEK)
    assert (answers(abroad)[0].text, answers(abroad)[0].calls) == ("Found.", ())
    assert (1, 1, "withheld", "server_tool") in codes(abroad)


def test_a_paused_turn_goes_back_to_its_provider_to_be_continued() -> None:
    turn = said(CLAUDE, SEARCHED % (b"pause_turn", b""))
    assert answers(build(talk(ask(), turn), CLAUDE))[0].verbatim == payload(turn)
    assert answers(build(talk(ask(), turn), DEEPSEEK)) == []


def test_what_an_assistant_did_stays_inside_its_call() -> None:
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
    built = build(talk(ask(), Said(turn, "", "anthropic"), result()), CLAUDE)
    assert answers(built)[0].calls[0].arguments == "{}"
    assert codes(built) == [(1, 0, "sent", "plain"), (1, 1, "withheld", "nested")]
    noted = build(talk(ask(), Said(turn, "", "anthropic"), result(), ask("Why?")), DEEPSEEK, NOTE)
    assert noted.request.messages[-1] == ask("Why?")
    turn.message = Seal("anthropic_messages", SealForm.MESSAGE, '{"role":"assistant","content":[]}')
    whole = build(talk(ask(), Said(turn, "", "anthropic"), result()), CLAUDE)
    assert codes(whole) == [(1, 0, "sent", "verbatim"), (1, 1, "withheld", "nested")]
    left = build(talk(ask(), Said(turn, "", "anthropic"), ask()), DEEPSEEK)
    assert codes(left) == [(1, 0, "withheld", "server_tool"), (1, 1, "withheld", "nested")]


def test_arguments_that_are_no_object_are_put_into_one() -> None:
    body = answer(DEEPSEEK, "", "", [LIMA]).replace(b'{\\"city\\": \\"Lima\\"}', b"Lima")
    built = build(talk(ask(), said(DEEPSEEK, body), result()), CLAUDE)
    assert answers(built)[0].calls[0].arguments == '{"input":"Lima"}'
    assert codes(built) == [(1, 0, "transformed", "wrapped")]


def test_an_id_that_was_used_before_is_renamed_with_its_result() -> None:
    steps = talk(
        ask(), speak(KIMI, "", "", [LIMA]), result(), speak(KIMI, "", "", [LIMA]), result(text="9 C")
    )
    built = build(steps, CLAUDE)
    ids = [answer.calls[0].call_id for answer in answers(built)]
    assert ids == ["c1", "c1_3_0"]
    assert built.request.messages[-1] == ToolMessage("c1_3_0", "9 C", "get_weather")


def test_without_the_providers_message_signatures_travel_on_the_calls() -> None:
    turn = speak(GEMINI, "Hm.", "", [LIMA])
    turn.turn.message = None
    built = build(talk(ask(), turn, result()), GEMINI)
    assert answers(built)[0].calls[0].signature == sealed("Hm.")
    assert codes(built)[0] == (1, 0, "withheld", "no_message")


def test_a_budget_is_not_asked_for_in_a_loop_that_another_model_began() -> None:
    """With a budget the first message of a loop must begin with a thought, and a foreign one cannot."""
    budget = Terms(ask=Ask(mode="enabled", budget_tokens=2048, display="summarized"))
    steps = talk(ask(), speak(DEEPSEEK, "Hm.", "", [LIMA]), result())
    built = build(steps, CLAUDE, budget)
    assert built.request.ask == Ask(mode="disabled")
    assert built.report.notes[0].startswith("Thinking is off for this request")
    native = build(talk(ask(), speak(CLAUDE, "Hm.", "", [LIMA]), result()), CLAUDE, budget)
    assert (native.request.ask, native.report.notes) == (budget.ask, ())
    assert build(talk(ask()), CLAUDE, budget).request.ask == budget.ask


def test_a_name_nobody_gave_is_nobodys() -> None:
    steps = talk(ask(), Said(speak(CLAUDE, "Hm.", "Hi.").turn, "", ""), ask())
    assert answers(build(steps, CLAUDE))[0].verbatim
    nameless = speak(CLAUDE, "Hm.", "Hi.")
    nameless.turn.model = ""
    assert not answers(build(talk(ask(), nameless, ask()), CLAUDE))[0].verbatim


def test_the_same_model_elsewhere_is_another_issuer() -> None:
    turn = speak(CLAUDE, "Hm.", "Hi.")
    moved = msgspec.structs.replace(turn, provider="vertex")
    assert not answers(build(talk(ask(), moved, ask()), CLAUDE))[0].verbatim


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
    turn = speak(CLAUDE, "Hm.", "Hi.")
    turn.turn.model = model
    assert bool(answers(build(talk(ask(), turn, ask()), CLAUDE))[0].verbatim) is same


@pytest.mark.parametrize(("model", "same"), [("my-model-2026-01-01", True), ("my-model-large", False)])
def test_a_model_that_no_row_knows_is_known_by_its_name(model: str, same: bool) -> None:
    mine = route("openrouter/me/my-model")
    turn = speak(mine, "Hm.", "Hi.")
    turn.turn.model = model
    assert bool(answers(build(talk(ask(), turn, ask()), mine))[0].verbatim) is same


def test_tokens_are_told_where_a_turn_has_one_thought() -> None:
    built = build(talk(ask(), speak(CLAUDE, "Hm.", "Hi."), ask(), speak(GPT, "Ho.", "Hi."), ask()), CLAUDE)
    assert [line.tokens for line in built.report.lines] == [30, None, None, None]
    assert built.report.total(Fate.SENT).tokens == 30
    assert built.report.total(Fate.WITHHELD).blocks == 1
    assert built.report.total(Fate.WITHHELD).tokens is None
    assert built.report.lines[0].why.endswith(".")


def test_terms_reach_the_request() -> None:
    terms = Terms(ask=Ask(effort="high"), max_tokens=99, tool_choice="required", stream=False)
    request = build(talk(ask()), CLAUDE, terms).request
    assert (request.ask.effort, request.max_tokens, request.tool_choice, request.stream) == (
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
def test_every_route_says_whether_it_takes_thoughts(to: Route) -> None:
    """R060."""
    takes = to.replay.form is not ReplayForm.NONE and to.replay.allowed is not Sent.NONE
    assert supports_thinking_blocks(to) is takes
    turn = speak(to, "Own thought.", "", [LIMA])
    told = answers(build(talk(ask(), turn, result()), to, KEEP))[0]
    assert bool(told.verbatim or told.reasoning) is takes


@pytest.mark.parametrize(
    ("mode", "rule", "scope"),
    [
        (ContextMode.KEEP, (Sent.NONE, Sent.NONE, Sent.TOOL_TURNS), Sent.TOOL_TURNS),
        (ContextMode.STRIP, (Sent.ALL, Sent.OPEN_LOOP, Sent.ALL), Sent.OPEN_LOOP),
        (ContextMode.PROVIDER_DEFAULT, (Sent.OPEN_LOOP, Sent.NONE, Sent.ALL), Sent.OPEN_LOOP),
        (ContextMode.PROVIDER_DEFAULT, (Sent.NONE, Sent.TOOL_TURNS, Sent.ALL), Sent.TOOL_TURNS),
        (ContextMode.PROVIDER_DEFAULT, (Sent.ALL, Sent.NONE, Sent.OPEN_LOOP), Sent.OPEN_LOOP),
    ],
)
def test_a_mode_stays_between_what_is_demanded_and_what_is_allowed(
    mode: ContextMode, rule: tuple[Sent, Sent, Sent], scope: Sent
) -> None:
    """R058: default, required, allowed."""
    assert scope_of(Replay("any", ReplayForm.FIELD, "reasoning", *rule), mode) is scope


def test_building_changes_nothing_that_is_kept() -> None:
    """R062: what is sent, and what is shown, leaves what is stored as it was."""
    turn = speak(CLAUDE, "Hm.", "Hi.", [LIMA])
    before = msgspec.json.encode(turn.turn)
    for to in ROUTES:
        built: Built = build(talk(ask(), turn, result(), ask()), to, STRIP)
        assert built.request.messages
    assert msgspec.json.encode(turn.turn) == before
