"""Properties of every conversation: over all routes and modes, with interruptions and gaps anywhere."""

import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.conversations import (
    ROUTES,
    CityCall,
    answer_from,
    assistant_messages,
    conversation_of,
    interrupted_turn,
    response_body,
    tool_result,
    user_message,
)

from thinkaloud.core.canon.requests import AssistantMessage, ToolMessage, UserMessage
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
)
from thinkaloud.core.context.history import SentTurn, analyse
from thinkaloud.core.context.replay_rules import covers, issued_by_route
from thinkaloud.core.dialects import build_request

RANK = list(ReplayScope)


@st.composite
def exchanges(draw: st.DrawFn, number: int) -> list[Step]:
    """One response of some model, possibly cut off or without all results, and sometimes a user message."""
    issuer = draw(st.sampled_from(ROUTES))
    thought = draw(st.sampled_from(("", f"thought-{number}")))
    text = draw(st.sampled_from(("", f"text-{number}")))
    calls = [CityCall(f"c{number}x{at}", "Lima") for at in range(draw(st.integers(0, 2)))]
    if draw(st.integers(0, 4)):
        turn = answer_from(issuer, thought, text, calls)
    else:
        turn = interrupted_turn(issuer, response_body(issuer, thought, text, calls), draw(st.integers(0, 12)))
    results = [tool_result(call.call_id) for call in calls if draw(st.integers(0, 6))]
    users = [user_message(f"user-{number}")] if draw(st.booleans()) else []
    return [turn, *draw(st.permutations(results)), *users]


@st.composite
def conversations(draw: st.DrawFn) -> Context:
    count = draw(st.integers(0, 6))
    steps = [step for number in range(count) for step in draw(exchanges(number))]
    return conversation_of(user_message("first"), *steps)


terms = st.builds(
    BuildOptions, mode=st.sampled_from(ContextMode), unsupported=st.sampled_from(UnsupportedThoughts)
)
routes = st.sampled_from(ROUTES)


@st.composite
def rules(draw: st.DrawFn) -> ReplayRow:
    """Any consistent replay rule."""
    required, default, allowed = sorted(
        draw(st.lists(st.sampled_from(RANK), min_size=3, max_size=3)), key=RANK.index
    )
    form = draw(st.sampled_from(ReplayForm))
    return ReplayRow(
        "any", form, "reasoning_content", default, required, allowed, echo_empty=draw(st.booleans())
    )


def by_step(conversation: Context, built: BuiltRequest) -> dict[int, AssistantMessage]:
    """Return what was sent of each turn, according to the report."""
    sent = sorted({line.step for line in built.report.lines if line.status is not SendStatus.WITHHELD})
    noted = {
        step
        for step in sent
        if all(
            line.code == "note"
            for line in built.report.lines
            if line.step == step and line.status != "withheld"
        )
    }
    return dict(zip([step for step in sent if step not in noted], assistant_messages(built), strict=True))


@given(conversations(), routes, terms)
def test_build_is_deterministic(conversation: Context, target: Route, options: BuildOptions) -> None:
    first, second = build(conversation, target, options), build(conversation, target, options)
    assert first == second
    assert build_request(target, first.request) == build_request(target, second.request)


@given(conversations(), routes, terms)
def test_every_block_is_reported_exactly_once(
    conversation: Context, target: Route, options: BuildOptions
) -> None:
    lines = build(conversation, target, options).report.lines
    reported = sorted((line.step, line.block) for line in lines if line.block is not None)
    blocks = [
        (number, block.number)
        for number, step in enumerate(conversation.steps)
        if isinstance(step, AnsweredTurn)
        for block in step.turn.blocks
    ]
    assert reported == blocks
    silent = {line.step for line in lines if line.kind == "turn"}
    assert silent == {
        number
        for number, step in enumerate(conversation.steps)
        if isinstance(step, AnsweredTurn) and not step.turn.blocks
    }


@given(conversations(), routes, routes)
def test_a_to_b_to_a_gives_the_same_bytes_to_a(conversation: Context, a: Route, b: Route) -> None:
    """S14, R059: what A issued goes back to A byte for byte, whichever model answered in between."""
    build_options = BuildOptions(mode=ContextMode.KEEP)
    before = build(conversation, a, build_options)
    away = [*conversation.steps, answer_from(b, "elsewhere", "Hello."), user_message("back")]
    after = build(conversation_of(*away), a, build_options)
    kept = [message.verbatim for message in assistant_messages(before) if message.verbatim]
    assert [message.verbatim for message in assistant_messages(after) if message.verbatim][
        : len(kept)
    ] == kept
    if a.replay.form is ReplayForm.VERBATIM:
        issued = [
            sent_turn.turn.message.payload
            for sent_turn in analyse(conversation.steps).turns.values()
            if replayable(sent_turn, a) and sent_turn.turn.message is not None
        ]
        assert kept == issued


def replayable(sent_turn: SentTurn, target: Route) -> bool:
    """Return whether it is a complete turn of this issuer with content, and every call answered."""
    complete = (
        sent_turn.complete and not sent_turn.unanswered and (sent_turn.has_answer or sent_turn.has_calls)
    )
    return complete and issued_by_route(sent_turn.answered, target)


@given(conversations(), routes, terms)
def test_the_body_is_json_and_holds_every_verbatim_message(
    conversation: Context, target: Route, options: BuildOptions
) -> None:
    built = build(conversation, target, options)
    body = build_request(target, built.request).body
    json.loads(body)
    for message in assistant_messages(built):
        inner = message.verbatim[1:-1] if message.verbatim[:1] == "[" else message.verbatim
        assert inner.encode() in body


@given(conversations(), routes, st.sampled_from(ContextMode), st.sampled_from(("strip", "metadata")))
def test_no_thought_of_another_model_is_ever_sent(
    conversation: Context, target: Route, mode: ContextMode, unsupported: str
) -> None:
    """R061, OQ5: not as text, not as a field, not anywhere in the body."""
    built = build(conversation, target, BuildOptions(mode=mode, unsupported=UnsupportedThoughts(unsupported)))
    body = build_request(target, built.request).body.decode()
    for step in conversation.steps:
        if isinstance(step, AnsweredTurn) and not issued_by_route(step, target) and step.turn.reasoning:
            assert step.turn.reasoning not in body


@given(conversations(), routes, rules())
def test_strip_keeps_required_thoughts_and_keep_drops_forbidden_ones(
    conversation: Context, target: Route, rule: ReplayRow
) -> None:
    """R058: for any rule."""
    limited_route = msgspec.structs.replace(target, replay=rule)
    history = analyse(conversation.steps)
    turns, loop = history.turns, history.open_loop
    stripped = by_step(conversation, build(conversation, limited_route, BuildOptions(mode=ContextMode.STRIP)))
    kept = by_step(conversation, build(conversation, limited_route, BuildOptions(mode=ContextMode.KEEP)))
    for step, sent_turn in turns.items():
        if not sent_turn.has_thought:
            continue
        if replayable(sent_turn, limited_route) and covers(rule.required, sent_turn, loop):
            assert thought_sent(stripped[step], sent_turn) or rule.form is ReplayForm.NONE
        if step in kept and not covers(rule.allowed, sent_turn, loop):
            assert not thought_sent(kept[step], sent_turn)


def thought_sent(message: AssistantMessage, sent_turn: SentTurn) -> bool:
    return bool(message.verbatim) or (message.reasoning or "") == sent_turn.turn.reasoning != ""


@given(conversations(), routes, terms)
def test_calls_and_results_are_always_paired(
    conversation: Context, target: Route, options: BuildOptions
) -> None:
    waiting: list[str] = []
    for message in build(conversation, target, options).request.messages:
        match message:
            case ToolMessage():
                assert waiting.pop(0) == message.call_id
            case UserMessage():
                assert waiting == []
            case AssistantMessage():
                assert waiting == []
                waiting = [call.call_id for call in message.calls] or called_in(message, conversation)
    assert waiting == []


def called_in(message: AssistantMessage, conversation: Context) -> list[str]:
    """Return the calls inside a provider's own message."""
    for step in conversation.steps:
        if (
            isinstance(step, AnsweredTurn)
            and step.turn.message
            and step.turn.message.payload == message.verbatim
        ):
            return [block.call_id for block in step.turn.own_blocks() if block.call_id]
    return []


@settings(max_examples=50)
@given(conversations(), routes)
def test_a_prefix_grows_and_never_changes(conversation: Context, target: Route) -> None:
    """Adding a step never changes the fingerprint of what was sent before, while no loop closes."""
    options = BuildOptions(mode=ContextMode.KEEP)
    before = build(conversation, target, options)
    after = build(
        conversation_of(*conversation.steps, answer_from(target, "", "More."), user_message("more")),
        target,
        options,
    )
    last = conversation.steps[-1]
    if isinstance(last, UserMessage):
        assert after.request.messages[: len(before.request.messages)] == before.request.messages
