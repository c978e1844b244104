"""An agent with a Python function as a tool and another agent to help it; the built-in model needs no key."""

import asyncio
import re

from thinkaloud.agents import Agent, Run, Surroundings, from_function
from thinkaloud.builtin import running
from thinkaloud.canon import BlockEnded, ToolFinished
from thinkaloud.canon.requests import UserMessage
from thinkaloud.catalog import builtin


def checker(task: str) -> str:
    """Check that an answer uses every number of its question once."""
    given, used = (re.findall(r"\d+", text) for text in re.split("from|Answer:|=", task)[1:3])
    return "Right." if sorted(given) == sorted(used) else f"Wrong: {given} were given, {used} were used."


calculator = Agent(name="Calculator", model="builtin/solver", description="Works out a sum.")
puzzler = Agent(
    name="Puzzler", model="builtin/solver", tools=(from_function(checker),), assistants=(calculator,)
)


async def main() -> None:
    async with running(pace=0) as solver:
        around = Surroundings(catalog=builtin().with_address("builtin", solver.base_url))
        run = Run(puzzler, (UserMessage("make 24 from 4 7 8 8"),), around=around)
        async for entry in run.entries():
            if isinstance(entry.event, BlockEnded | ToolFinished):
                block = run.turn.blocks[entry.event.block]
                print(block.kind, block.name, block.result or "", sep="\t")
        print(run.turn.answer)


asyncio.run(main())
