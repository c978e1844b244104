"""Shows the stream of the test on a page of NiceGUI."""

import asyncio
import os
import sys

from nicegui import ui
from tests.integrations.screen_stream import entries_async, open_stream

from thinkaloud.integrations.nicegui import show


@ui.page("/")
async def page() -> None:
    """Open the stream as soon as the page is there, and place its answer."""
    await ui.context.client.connected()
    stream = await asyncio.to_thread(open_stream)
    await show(entries_async(stream), policy=stream.policy, lang=stream.lang)


# Where this is set, NiceGUI expects a test of its own kind.
os.environ.pop("PYTEST_CURRENT_TEST", None)
ui.run(port=int(sys.argv[1]), reload=False, show=False)
