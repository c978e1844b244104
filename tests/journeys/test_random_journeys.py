"""Random short journeys: no request breaks a simulator's rule."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journeys.journey import (
    CLAUDE,
    CLAUDE_BOUND,
    OTHER_PROVIDERS,
    STALL_S,
    Journey,
    ModelChoice,
    complete,
    run,
    start_journey,
)

from thinkaloud.core.context import AnsweredTurn, ContextMode
from thinkaloud.simulators import Fault

ANSWERS = (
    ("think", "call"),
    ("think_twice", "say", "call_both"),
    ("call",),
    ("think", "say"),
    ("say",),
    ("think",),
    ("think", "say", "length"),
    ("think", "refusal"),
)
faults = st.one_of(
    st.none(),
    st.none(),
    st.builds(Fault, st.just("cut"), after_events=st.integers(1, 20), inside_bytes=st.integers(0, 60)),
    st.builds(Fault, st.just("overload"), after_events=st.integers(1, 20)),
    st.builds(Fault, st.just("stall"), after_events=st.integers(1, 20), seconds=st.just(STALL_S)),
)


class Move(NamedTuple):
    """What happens before a request, the model, and what comes back."""

    change: str
    choice: int
    actions: tuple[str, ...]
    fault: Fault | None
    stream: bool


moves = st.builds(
    Move,
    st.sampled_from(("", "", "", "steer", "compact", "system", "tools")),
    st.integers(0, len(OTHER_PROVIDERS)),
    st.sampled_from(ANSWERS),
    faults,
    st.booleans(),
)


def apply_change(journey: Journey, change: str) -> None:
    """Apply a change between two requests."""
    if change == "steer":
        journey.add_user_message("Wait, one more thing.")
    elif change == "compact":
        journey.compact(4, "They spoke about Lima.")
    elif change == "system":
        journey.system += " Be kind."
    elif change == "tools":
        journey.tools = journey.tools[::-1]


def can_ask(journey: Journey) -> bool:
    """Return whether a model can answer the last step, or the last step is an answer to retry."""
    last = journey.steps[-1]
    return not isinstance(last, AnsweredTurn) or not complete(last.turn)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(moves, min_size=1, max_size=10),
    st.sampled_from((CLAUDE, CLAUDE_BOUND)),
    st.sampled_from(ContextMode),
)
def test_no_request_is_ever_refused(moves: list[Move], home: ModelChoice, mode: ContextMode) -> None:
    async def scenario() -> None:
        async with start_journey(mode=mode) as journey:
            for move in moves:
                apply_change(journey, move.change)
                if not journey.steps or not can_ask(journey):
                    journey.add_user_message()
                choice = (home, *OTHER_PROVIDERS)[move.choice]
                journey.stream = move.stream
                cancel = move.fault is not None and move.fault.kind == "stall"
                journey.run_tools(await journey.ask(choice, *move.actions, fault=move.fault, cancel=cancel))

    run(scenario())
