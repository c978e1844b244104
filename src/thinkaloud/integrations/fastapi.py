"""FastAPI and Starlette: responses with a turn for the `<thinking-block>` element, and with its script.

The turn runs on when the browser leaves, and a browser that comes back goes on where it was.
"""

from collections.abc import Callable
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from thinkaloud.core.transcript import Turn
from thinkaloud.integrations.element import script_path
from thinkaloud.integrations.live_turn import TurnOptions
from thinkaloud.integrations.live_turns import LiveTurns, reply, running_loop, script_reply


class ThinkingResponse(StreamingResponse):
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
        options = TurnOptions(owner, stop_after_s, on_end, running_loop())
        last_event_id, after = request.headers.get("last-event-id", ""), request.query_params.get("after", "")
        answer = reply(turns, source, last_event_id, after, options)
        self._frames = answer.frames_async()
        super().__init__(self._frames, status_code=answer.status, headers=answer.headers)

    async def stream_response(self, send: Send) -> None:
        """Send the stream, and leave the turn as soon as the browser has left."""
        async with aclosing(self._frames):
            await super().stream_response(send)


async def element_script(request: Request) -> Response:
    """Respond with the script of the element: a route of its own, `app.get("/thinking-block.js")(...)`."""
    answer = script_reply(script_path(), request.headers.get("if-none-match", ""))
    return Response(answer.body, answer.status, answer.headers)
