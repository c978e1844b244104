"""A server of each web framework whose sources a test chooses.

It runs in the environment of the framework, and needs nothing else but Thinkaloud:
python -m tests.integrations.served_sources NAME PORT
"""

import asyncio
import importlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from thinkaloud.core.transcript import Turn
from thinkaloud.integrations.live_turn import LiveLimits
from thinkaloud.integrations.live_turns import LiveTurns

WORDS = ["Let ", "me ", "see.\n", "Õ", "k."]
LIMITS = LiveLimits(heartbeat_s=0.3, kept_s=60, turn_s=20)
TURNS = LiveTurns(LIMITS)
EVENTS: list[str] = []
"""What happened to sources and turns, in order."""


def thought(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}}]}


def answer() -> Iterator[dict[str, Any]]:
    yield {"choices": [{"index": 0, "delta": {"content": "42."}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def slow(pause_s: float = 0.02) -> Iterator[object]:
    EVENTS.append("asked")
    for word in WORDS * 4:
        time.sleep(pause_s)
        yield thought(word)
    yield from answer()


async def slow_async() -> AsyncIterator[object]:
    EVENTS.append("asked")
    for word in WORDS * 4:
        await asyncio.sleep(0.02)
        yield thought(word)
    for chunk in answer():
        yield chunk


def endless() -> Iterator[object]:
    try:
        while True:
            time.sleep(0.02)
            yield thought("on ")
    finally:
        EVENTS.append("closed")


def silent() -> Iterator[object]:
    yield thought("Hm.")
    time.sleep(1.2)
    yield from answer()


def failing() -> Iterator[object]:
    yield thought("Hm.")
    raise ConnectionError("sk-secret")


def large() -> Iterator[object]:
    """A million characters: one piece of half of them, and many small ones."""
    yield thought("x" * 500_000)
    for _ in range(5_000):
        yield thought("y" * 100)
    yield from answer()


SOURCES: dict[str, Callable[[], object]] = {
    "slow": slow,
    "slow_async": slow_async,
    "endless": endless,
    "silent": silent,
    "failing": failing,
    "large": large,
    "wrong": lambda: 5,
}


def response_of(name: str, request: Any, query: Any) -> Any:
    """Return the response of a framework to `/ask`; without a source it only goes on with a turn."""
    response: Any = importlib.import_module(f"thinkaloud.integrations.{name}").ThinkingResponse
    stop_after_s = float(query["stop"]) if "stop" in query else None
    return response(
        request,
        SOURCES[query["source"]] if "source" in query else None,
        owner=query.get("owner", ""),
        stop_after_s=stop_after_s,
        on_end=_note_end,
        turns=TURNS,
    )


def _note_end(turn: Turn) -> None:
    assert turn.outcome is not None
    EVENTS.append(f"ended {turn.outcome.ending}")


def serve_fastapi(port: int) -> None:
    import uvicorn
    from fastapi import FastAPI, Request

    from thinkaloud.integrations.fastapi import ThinkingResponse, element_script

    app = FastAPI()

    @app.get("/ask")
    async def ask(request: Request) -> ThinkingResponse:
        response: ThinkingResponse = response_of("fastapi", request, request.query_params)
        return response

    @app.get("/ask-in-a-thread")
    def ask_in_a_thread(request: Request) -> ThinkingResponse:
        response: ThinkingResponse = response_of("fastapi", request, request.query_params)
        return response

    app.get("/events")(lambda: EVENTS)
    app.get("/thinking-block.js")(element_script)
    uvicorn.run(app, port=port, log_level="error")


def django_views() -> list[Any]:
    from django.conf import settings
    from django.http import HttpRequest, HttpResponse, JsonResponse
    from django.urls import path

    from thinkaloud.integrations.django import element_script

    middleware = ["django.middleware.gzip.GZipMiddleware"]
    settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="any", MIDDLEWARE=middleware)

    def ask(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = response_of("django", request, request.GET)
        return response

    async def ask_async(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = response_of("django", request, request.GET)
        return response

    return [
        path("ask", ask),
        path("ask-async", ask_async),
        path("events", lambda request: JsonResponse(EVENTS, safe=False)),
        path("thinking-block.js", element_script),
    ]


urlpatterns: list[Any] = []
"""Where Django looks for the views."""


def serve_django(port: int) -> None:
    import django

    urlpatterns.extend(django_views())
    django.setup()
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    server = ThreadedWSGIServer(("127.0.0.1", port), WSGIRequestHandler)
    server.set_app(get_wsgi_application())
    server.serve_forever()


def serve_django_asgi(port: int) -> None:
    import uvicorn

    urlpatterns.extend(django_views())
    from django.core.asgi import get_asgi_application

    uvicorn.run(get_asgi_application(), port=port, log_level="error", lifespan="off")


def serve_flask(port: int) -> None:
    from flask import Flask, jsonify, request

    from thinkaloud.integrations.flask import element_script

    app = Flask(__name__)
    app.get("/ask")(lambda: response_of("flask", request, request.args))
    app.get("/events", endpoint="events")(lambda: jsonify(EVENTS))
    app.get("/thinking-block.js")(element_script)
    app.run(port=port, threaded=True)


if __name__ == "__main__":
    globals()[f"serve_{sys.argv[1]}"](int(sys.argv[2]))
