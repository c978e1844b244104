"""Flask: responses with a turn for the `<thinking-block>` element, and with its script.

The turn runs on in a thread when the browser leaves, and a browser that comes back goes on where it was. An
asynchronous source gets an event loop of its own: that of an asynchronous view ends with the view.
"""

from collections.abc import Callable

from flask import Request, Response
from flask import request as current_request

from thinkaloud.core.transcript import Turn
from thinkaloud.integrations.element import script_path
from thinkaloud.integrations.live_turn import TurnOptions
from thinkaloud.integrations.live_turns import LiveTurns, reply, script_reply


class ThinkingResponse(Response):
    """Sends the turn that the request comes back to, or a new one, as server-sent events.

    `source` is a stream that `thinkaloud.follow` reads, or a function that returns one: it is called only for
    a new turn. Without a source the request must name a turn. The other arguments are those of `TurnOptions`.
    """

    def __init__(
        self,
        request: Request,
        source: object = None,
        *,
        owner: str = "",
        stop_after_s: float | None = None,
        on_end: Callable[[Turn], object] | None = None,
        turns: LiveTurns | None = None,
    ) -> None:
        options = TurnOptions(owner, stop_after_s, on_end)
        last_event_id, after = request.headers.get("Last-Event-ID", ""), request.args.get("after", "")
        answer = reply(turns, source, last_event_id, after, options)
        super().__init__(answer.frames(), status=answer.status, headers=answer.headers)


def element_script() -> Response:
    """Respond with the script of the element: a view of its own, `app.get("/thinking-block.js")(...)`."""
    answer = script_reply(script_path(), current_request.headers.get("If-None-Match", ""))
    return Response(answer.body, answer.status, answer.headers)
