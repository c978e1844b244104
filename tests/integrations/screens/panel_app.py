"""An app of Panel that shows a stream to every visitor."""

import panel as pn
from tests.integrations.screen_stream import entries_async, open_stream

from thinkaloud.integrations.notebook import ThinkingWidget

pn.extension("ipywidgets")


async def show_stream() -> None:
    """Show the next stream once the page is drawn."""
    await widget.follow_async(entries_async(stream))


stream = open_stream()
widget = ThinkingWidget(stream.policy, stream.lang)
pn.Column(pn.pane.IPyWidget(widget, sizing_mode="stretch_width")).servable()
pn.state.onload(show_stream)
