"""An app of Panel that shows a stream to every visitor."""

import panel as pn
from tests.integrations.screen_stream import open_stream

from thinkaloud.integrations.notebook import ThinkingWidget

pn.extension("ipywidgets")


def show_stream() -> None:
    """Show the next stream in a thread, while the page is drawn."""
    widget.follow(stream.entries)


stream = open_stream()
widget = ThinkingWidget(stream.policy, stream.lang)
pn.Column(pn.pane.IPyWidget(widget, sizing_mode="stretch_width")).servable()
pn.state.onload(show_stream, threaded=True)
