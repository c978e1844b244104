"""What holds for every conversation: over all routes, all modes, with interruptions and gaps anywhere."""

import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.talk import ROUTES, Calls, answer, answers, ask, broken, result, speak, talk

from thinkaloud.canon.requests import AssistantMessage, ToolMessage, UserMessage
from thinkaloud.catalog import Replay, ReplayForm, Route, Sent
from thinkaloud.context import Built, ContextMode, Conversation, Fate, Said, Step, Terms, Unsupported, build
from thinkaloud.context.families import native
from thinkaloud.context.replaying import covers
from thinkaloud.context.speech import Speech, listen
from thinkaloud.dialects.bodies import write

RANK = list(Sent)


@st.composite
def exchanges(draw: st.DrawFn, number: int) -> list[Step]:
    """One answer of some model, maybe cut off, maybe without all results; and a user now and then."""
    came_by = draw(st.sampled_from(ROUTES))
    thought = draw(st.sampled_from(("", f"thought-{number}")))
    text = draw(st.sampled_from(("", f"text-{number}")))
    calls = [Calls(f"c{number}x{at}", "Lima") for at in range(draw(st.integers(0, 2)))]
    if draw(st.integers(0, 4)):
        turn = speak(came_by, thought, text, calls)
    else:
        turn = broken(came_by, answer(came_by, thought, text, calls), draw(st.integers(0, 12)))
    results = [result(call.call_id) for call in calls if draw(st.integers(0, 6))]
    users = [ask(f"user-{number}")] if draw(st.booleans()) else []
    return [turn, *draw(st.permutations(results)), *users]


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    count = draw(st.integers(0, 6))
    steps = [step for number in range(count) for step in draw(exchanges(number))]
    return talk(ask("first"), *steps)


terms = st.builds(Terms, mode=st.sampled_from(ContextMode), unsupported=st.sampled_from(Unsupported))
routes = st.sampled_from(ROUTES)


@st.composite
def rules(draw: st.DrawFn) -> Replay:
    """Any rule that does not contradict itself."""
    required, default, allowed = sorted(
        draw(st.lists(st.sampled_from(RANK), min_size=3, max_size=3)), key=RANK.index
    )
    form = draw(st.sampled_from(ReplayForm))
    return Replay(
        "any", form, "reasoning_content", default, required, allowed, echo_empty=draw(st.booleans())
    )


def by_step(conversation: Conversation, built: Built) -> dict[int, AssistantMessage]:
    """What was sent of each turn, found by what the report says of it."""
    sent = sorted({line.step for line in built.report.lines if line.fate is not Fate.WITHHELD})
    noted = {
        step
        for step in sent
        if all(
            line.code == "note"
            for line in built.report.lines
            if line.step == step and line.fate != "withheld"
        )
    }
    return dict(zip([step for step in sent if step not in noted], answers(built), strict=True))


@given(conversations(), routes, terms)
def test_the_same_conversation_gives_the_same_request(
    conversation: Conversation, to: Route, wanted: Terms
) -> None:
    one, other = build(conversation, to, wanted), build(conversation, to, wanted)
    assert one == other
    assert write(to, one.request) == write(to, other.request)


@given(conversations(), routes, terms)
def test_every_block_is_accounted_for_exactly_once(
    conversation: Conversation, to: Route, wanted: Terms
) -> None:
    lines = build(conversation, to, wanted).report.lines
    told = sorted((line.step, line.block) for line in lines if line.block is not None)
    blocks = [
        (number, block.number)
        for number, step in enumerate(conversation.steps)
        if isinstance(step, Said)
        for block in step.turn.blocks
    ]
    assert told == blocks
    silent = {line.step for line in lines if line.kind == "turn"}
    assert silent == {
        number
        for number, step in enumerate(conversation.steps)
        if isinstance(step, Said) and not step.turn.blocks
    }


@given(conversations(), routes, routes)
def test_a_to_b_to_a_gives_the_same_bytes_to_a(conversation: Conversation, a: Route, b: Route) -> None:
    """R059: what A issued goes back to A byte for byte, whoever else answered in between."""
    wanted = Terms(mode=ContextMode.KEEP)
    before = build(conversation, a, wanted)
    away = [*conversation.steps, speak(b, "elsewhere", "Hello."), ask("back")]
    after = build(talk(*away), a, wanted)
    kept = [message.verbatim for message in answers(before) if message.verbatim]
    assert [message.verbatim for message in answers(after) if message.verbatim][: len(kept)] == kept
    if a.replay.form is ReplayForm.VERBATIM:
        issued = [
            speech.turn.message.payload
            for speech in listen(conversation.steps).speeches.values()
            if replayable(speech, a) and speech.turn.message is not None
        ]
        assert kept == issued


def replayable(speech: Speech, to: Route) -> bool:
    """A whole turn of this issuer, with something in it and every call answered."""
    complete = speech.whole and not speech.unanswered and (speech.spoken or speech.called)
    return complete and native(speech.said, to)


@given(conversations(), routes, terms)
def test_the_body_is_json_and_holds_every_verbatim_message(
    conversation: Conversation, to: Route, wanted: Terms
) -> None:
    built = build(conversation, to, wanted)
    body = write(to, built.request).body
    json.loads(body)
    for message in answers(built):
        inner = message.verbatim[1:-1] if message.verbatim[:1] == "[" else message.verbatim
        assert inner.encode() in body


@given(conversations(), routes, st.sampled_from(ContextMode), st.sampled_from(("strip", "metadata")))
def test_no_thought_of_another_model_is_ever_sent(
    conversation: Conversation, to: Route, mode: ContextMode, unsupported: str
) -> None:
    """R061, OQ5: not as text, not as a field, not anywhere in the body."""
    built = build(conversation, to, Terms(mode=mode, unsupported=Unsupported(unsupported)))
    body = write(to, built.request).body.decode()
    for step in conversation.steps:
        if isinstance(step, Said) and not native(step, to) and step.turn.reasoning:
            assert step.turn.reasoning not in body


@given(conversations(), routes, rules())
def test_strip_keeps_what_is_demanded_and_keep_obeys_what_is_forbidden(
    conversation: Conversation, to: Route, rule: Replay
) -> None:
    """R058: for any rule."""
    ruled = msgspec.structs.replace(to, replay=rule)
    heard = listen(conversation.steps)
    speeches, loop = heard.speeches, heard.loop
    stripped = by_step(conversation, build(conversation, ruled, Terms(mode=ContextMode.STRIP)))
    kept = by_step(conversation, build(conversation, ruled, Terms(mode=ContextMode.KEEP)))
    for step, speech in speeches.items():
        if not speech.thoughtful:
            continue
        if replayable(speech, ruled) and covers(rule.required, speech, loop):
            assert thought_sent(stripped[step], speech) or rule.form is ReplayForm.NONE
        if step in kept and not covers(rule.allowed, speech, loop):
            assert not thought_sent(kept[step], speech)


def thought_sent(message: AssistantMessage, speech: Speech) -> bool:
    return bool(message.verbatim) or (message.reasoning or "") == speech.turn.reasoning != ""


@given(conversations(), routes, terms)
def test_calls_and_results_always_come_in_pairs(conversation: Conversation, to: Route, wanted: Terms) -> None:
    waiting: list[str] = []
    for message in build(conversation, to, wanted).request.messages:
        match message:
            case ToolMessage():
                assert waiting.pop(0) == message.call_id
            case UserMessage():
                assert waiting == []
            case AssistantMessage():
                assert waiting == []
                waiting = [call.call_id for call in message.calls] or called_in(message, conversation)
    assert waiting == []


def called_in(message: AssistantMessage, conversation: Conversation) -> list[str]:
    """The calls inside a provider's own message."""
    for step in conversation.steps:
        if isinstance(step, Said) and step.turn.message and step.turn.message.payload == message.verbatim:
            return [block.call_id for block in step.turn.top() if block.call_id]
    return []


@settings(max_examples=50)
@given(conversations(), routes)
def test_a_prefix_grows_and_never_changes(conversation: Conversation, to: Route) -> None:
    """Adding a step never changes the fingerprint of what was sent before, while no loop closes."""
    wanted = Terms(mode=ContextMode.KEEP)
    before = build(conversation, to, wanted)
    after = build(talk(*conversation.steps, speak(to, "", "More."), ask("more")), to, wanted)
    last = conversation.steps[-1]
    if isinstance(last, UserMessage):
        assert after.request.messages[: len(before.request.messages)] == before.request.messages
