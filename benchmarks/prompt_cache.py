"""Input tokens that a tool loop is billed for, with and without cache marks.

The simulator of Anthropic bills as its documentation says: reading from the cache costs a tenth of a token,
storing in it a quarter more. Nothing is timed, so every run gives the same figures.
"""

import asyncio
import os
from unittest.mock import patch

from benchmarks.report import Goal, Section, WrongAnswer, table
from thinkaloud import Conversation, Options
from thinkaloud.core.canon import Usage
from thinkaloud.core.catalog import builtin_catalog
from thinkaloud.simulators import Script, ScriptedAnswer, ScriptedToolCall, run_simulator

TITLE = "Prompt caching in a tool loop"
READ_PRICE = 0.1
WRITE_PRICE = 1.25
MAX_SHARE = 0.4
SYSTEM = "You know the weather of every city. " * 200


def measure(*, steps: int) -> Section:
    """Run a loop of this many replies twice."""
    without, with_marks = (asyncio.run(billed_loop(steps, cache=cache)) for cache in (False, True))
    if without.input != with_marks.input:
        raise WrongAnswer("the two loops did not send the same")
    share = paid_tokens(with_marks) / paid_tokens(without)
    rows = [_row("without marks", without), _row("with marks", with_marks)]
    head = (f"{steps} replies", "input tokens", "read from cache", "stored", "paid, in tokens")
    goal = Goal(
        f"a loop of {steps} replies pays at most {MAX_SHARE:.0%} of its input",
        f"{share:.0%}",
        share <= MAX_SHARE,
    )
    return Section(TITLE, table(head, rows), (goal,))


async def billed_loop(steps: int, *, cache: bool) -> Usage:
    """Return the usage of a turn in which Claude calls a tool until its last reply."""
    call = ScriptedAnswer(thinking="I look.", tool_calls=[ScriptedToolCall("weather", {"city": "Lima"})])
    answers = [*[call] * (steps - 1), ScriptedAnswer(thinking="Done.", text="18 C.")]
    async with run_simulator("anthropic", script=Script(answers)) as server:
        options = Options(
            catalog=builtin_catalog().with_base_url("anthropic", f"{server.url}/v1"), cache=cache
        )
        conversation = Conversation(
            "claude-opus-4.5", thinking="high", system=SYSTEM, tools=[weather], options=options
        )
        with patch.dict(os.environ, {"ANTHROPIC_API_KEY": "sk-for-a-simulator"}):
            turn = await conversation.ask_async("How warm is it in Lima?")
        if len(turn.replies) != steps or server.refusals:
            raise WrongAnswer("the loop did not run to its end")
    return turn.usage


def paid_tokens(usage: Usage) -> float:
    """Return the input of a turn, in tokens at full price."""
    read, written = usage.cache_read or 0, usage.cache_write or 0
    return (usage.input or 0) - read - written + READ_PRICE * read + WRITE_PRICE * written


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"18 C in {city}. " + "Humid, with some clouds over the sea. " * 20


def _row(name: str, usage: Usage) -> tuple[str, ...]:
    counts = (usage.input, usage.cache_read, usage.cache_write, round(paid_tokens(usage)))
    return (name, *(f"{count:,}" for count in counts))
