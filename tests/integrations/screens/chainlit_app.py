"""Shows the stream of the test in a chat of Chainlit."""

import asyncio
import os
import runpy
from pathlib import Path

import chainlit as cl

from thinkaloud.integrations.chainlit import show

# What Chainlit depends on brings a package of the name `tests`, so this module is run by its path.
STREAM = runpy.run_path(str(Path(os.environ["PYTHONPATH"]) / "tests/integrations/screen_stream.py"))


@cl.on_chat_start
async def answer() -> None:
    """Open the stream, and send its answer."""
    stream = await asyncio.to_thread(STREAM["open_stream"])
    entries = STREAM["entries_async"](stream)
    await show(entries, policy=stream.policy, lang=stream.lang)
