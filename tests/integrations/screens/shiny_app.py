"""An app of Shiny that shows a stream to every visitor."""

import asyncio

from shiny import App, Inputs, Outputs, Session, reactive, ui
from shinywidgets import output_widget, register_widget
from tests.integrations.screen_stream import entries_async, open_stream

from thinkaloud.integrations.notebook import ThinkingWidget


def server(_input: Inputs, _output: Outputs, session: Session) -> None:
    """Show the next stream to this visitor."""
    stream = open_stream()
    widget = ThinkingWidget(stream.policy, stream.lang)
    register_widget("thinking", widget)
    task = asyncio.create_task(widget.follow_async(entries_async(stream)))
    session.on_ended(task.cancel)

    @reactive.effect
    def send_what_is_new() -> None:
        # Shiny sends what a widget has to say when something reactive was computed.
        if widget.turn.live:
            reactive.invalidate_later(0.05)


app = App(ui.page_fluid(output_widget("thinking")), server)
