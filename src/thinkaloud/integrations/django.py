"""Django, under WSGI and ASGI: responses with a turn for the `<thinking-block>` element, and its script.

The turn runs on when the browser leaves, and a browser that comes back goes on where it was.
"""

from collections.abc import Callable

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from thinkaloud.core.transcript import Turn
from thinkaloud.integrations.element import script_path
from thinkaloud.integrations.live_turn import TurnOptions
from thinkaloud.integrations.live_turns import LiveTurns, reply, running_loop, script_reply


class ThinkingResponse(StreamingHttpResponse):
    """Sends the turn that the request comes back to, or a new one, as server-sent events.

    `source` is a stream that `thinkaloud.follow` reads, or a function that returns one: it is called only for
    a new turn. Without a source the request must name a turn. The other arguments are those of `TurnOptions`.
    """

    def __init__(
        self,
        request: HttpRequest,
        source: object = None,
        *,
        owner: str = "",
        stop_after_s: float | None = None,
        on_end: Callable[[Turn], object] | None = None,
        turns: LiveTurns | None = None,
    ) -> None:
        asgi = isinstance(request, ASGIRequest)
        # Under WSGI the loop of an asynchronous view ends with the view.
        options = TurnOptions(owner, stop_after_s, on_end, running_loop() if asgi else None)
        last_event_id, after = request.headers.get("Last-Event-ID", ""), request.GET.get("after", "")
        answer = reply(turns, source, last_event_id, after, options)
        frames = answer.frames_async() if asgi else answer.frames()
        super().__init__(frames, status=answer.status, headers=answer.headers)
        self["Content-Encoding"] = "identity"  # Django's GZipMiddleware would hold events back


def element_script(request: HttpRequest) -> HttpResponse:
    """Respond with the script of the element: a view of its own, `path("thinking-block.js", ...)`."""
    answer = script_reply(script_path(), request.headers.get("If-None-Match", ""))
    return HttpResponse(answer.body, status=answer.status, headers=answer.headers)
