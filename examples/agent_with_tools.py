"""Run an agent with a Python function as a tool and another agent as an assistant; no API key is needed."""

import asyncio
import re

from thinkaloud.agents import Agent, Run, RunContext, from_function
from thinkaloud.builtin import run_solver
from thinkaloud.core.canon import BlockEnded, ToolFinished
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.catalog import builtin_catalog


def checker(task: str) -> str:
    """Check that an answer uses every number of its question once."""
    question_numbers, answer_numbers = (
        re.findall(r"\d+", text) for text in re.split("from|Answer:|=", task)[1:3]
    )
    return (
        "Right."
        if sorted(question_numbers) == sorted(answer_numbers)
        else f"Wrong: {question_numbers} were given, {answer_numbers} were used."
    )


calculator = Agent(name="Calculator", model="builtin/solver", description="Works out a sum.")
puzzler = Agent(
    name="Puzzler", model="builtin/solver", tools=(from_function(checker),), assistants=(calculator,)
)


async def main() -> None:
    async with run_solver(pace=0) as solver:
        context = RunContext(catalog=builtin_catalog().with_base_url("builtin", solver.base_url))
        run = Run(puzzler, (UserMessage("make 24 from 4 7 8 8"),), context=context)
        async for entry in run.entries():
            if isinstance(entry.event, BlockEnded | ToolFinished):
                block = run.turn.blocks[entry.event.block]
                print(block.kind, block.name, block.result or "", sep="\t")
        print(run.turn.answer)


asyncio.run(main())
