"""An app of Shiny that shows a stream to every visitor."""

import asyncio
from collections.abc import AsyncIterator

from shiny import App, Inputs, Outputs, Session, ui
from shinywidgets import output_widget, register_widget
from tests.integrations.screen_stream import open_stream

from thinkaloud.core.canon import Entry
from thinkaloud.integrations.notebook import ThinkingWidget


def server(_input: Inputs, _output: Outputs, session: Session) -> None:
    """Show the next stream to this visitor."""
    stream = open_stream()
    widget = ThinkingWidget(stream.policy, stream.lang)
    register_widget("thinking", widget)

    async def entries() -> AsyncIterator[Entry]:
        while (entry := await asyncio.to_thread(next, stream.entries, None)) is not None:
            yield entry

    task = asyncio.create_task(widget.follow_async(entries()))
    session.on_ended(task.cancel)


app = App(ui.page_fluid(output_widget("thinking")), server)
