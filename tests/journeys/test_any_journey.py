"""Any short journey: whoever is asked, whatever came before, no request breaks a simulator's rule."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journeys.journey import (
    ABROAD,
    CLAUDE,
    CLAUDE_BOUND,
    STALL_S,
    Journey,
    Stop,
    run,
    travelling,
    whole,
)

from thinkaloud.context import ContextMode, Said
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
    """What happens before a request, where it goes, and what comes back."""

    before: str
    stop: int
    told: tuple[str, ...]
    fault: Fault | None
    stream: bool


moves = st.builds(
    Move,
    st.sampled_from(("", "", "", "steer", "compact", "system", "tools")),
    st.integers(0, len(ABROAD)),
    st.sampled_from(ANSWERS),
    faults,
    st.booleans(),
)


def prepare(journey: Journey, before: str) -> None:
    """Something happens between two requests."""
    if before == "steer":
        journey.say("Wait, one more thing.")
    elif before == "compact":
        journey.compact(4, "They spoke about Lima.")
    elif before == "system":
        journey.system += " Be kind."
    elif before == "tools":
        journey.tools = journey.tools[::-1]


def waits(journey: Journey) -> bool:
    """Whether the last step is something that a model can answer, or an answer to be asked for again."""
    last = journey.steps[-1]
    return not isinstance(last, Said) or not whole(last.turn)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(moves, min_size=1, max_size=10),
    st.sampled_from((CLAUDE, CLAUDE_BOUND)),
    st.sampled_from(ContextMode),
)
def test_no_request_is_ever_refused(told: list[Move], home: Stop, mode: ContextMode) -> None:
    async def story() -> None:
        async with travelling(mode=mode) as journey:
            for move in told:
                prepare(journey, move.before)
                if not journey.steps or not waits(journey):
                    journey.say()
                stop = (home, *ABROAD)[move.stop]
                journey.stream = move.stream
                cancel = move.fault is not None and move.fault.kind == "stall"
                journey.run_tools(await journey.ask(stop, *move.told, fault=move.fault, cancel=cancel))

    run(story())
