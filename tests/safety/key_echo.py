"""A provider that echoes the API key it received in every kind of failure.

The model name selects the failure: `parrot-chat/401-openai`. The provider writes plain bytes to a socket,
so that it can also break HTTP.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import PATIENCE_S

ECHO_PROVIDERS = {
    "parrot-chat": ("openai_chat", "bearer"),
    "parrot-messages": ("anthropic_messages", "x-api-key"),
    "parrot-gemini": ("gemini", "x-goog-api-key"),
    "parrot-responses": ("openai_responses", "bearer"),
}
"""A provider row for each dialect, with its form of API key."""

ErrorBody = Callable[[str], bytes]


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _escaped(key: str) -> str:
    """Return the key with every character but letters escaped, as some encoders do."""
    return re.sub(r"[^A-Za-z0-9]", lambda sign: f"\\u{ord(sign[0]):04x}", key)


ERROR_BODIES: dict[str, ErrorBody] = {
    "openai": lambda key: _json({"error": {"message": f"Incorrect key: {key}.", "code": key, "type": key}}),
    "anthropic": lambda key: _json({"type": "error", "error": {"type": key, "message": f"invalid {key}"}}),
    "google": lambda key: _json([{"error": {"code": 400, "message": f"bad {key}", "status": key}}]),
    "fastapi": lambda key: _json({"detail": [{"loc": ["header"], "msg": key, "input": key}]}),
    "bare": lambda key: _json({"error": key}),
    "flat": lambda key: _json({"message": f"Unauthorized: {key}", "code": key, "type": key}),
    "unnamed": lambda key: _json({"error": {"headers": {"authorization": f"Bearer {key}"}}}),
    "escaped": lambda key: b'{"error":{"sent":"%b"}}' % _escaped(key).encode(),
    "text": lambda key: f"The key {key} is not known.".encode(),
    "page": lambda key: f"<html><body><h1>Forbidden</h1>{key}</body></html>".encode(),
    "broken": lambda key: f'{{"error": {{"message": "{key}'.encode(),
    "cut": lambda key: b"x" * 475 + key.encode(),
    "cut-json": lambda key: _json({"error": {"message": "x" * 475 + key}}),
    "none": lambda key: b"",
}
"""How errors quote a key. Some quote it so late that a cut at 500 characters splits it."""

STATUSES = (400, 401, 403, 404, 407, 408, 409, 413, 422, 429, 500, 502, 503, 529)
STREAM_ERRORS = {
    "openai_chat": 'data: {"error": {"message": "bad key KEY", "code": "KEY", "type": "KEY"}}\n\n',
    "anthropic_messages": "event: error\n"
    'data: {"type": "error", "error": {"type": "KEY", "message": "bad key KEY"}}\n\n',
    "gemini": 'data: {"error": {"code": 401, "message": "bad key KEY", "status": "KEY"}}\n\n',
    "openai_responses": "event: error\n"
    'data: {"type": "error", "code": "KEY", "message": "bad key KEY", "sequence_number": 0}\n\n',
}
STREAM_STARTS = {
    "openai_chat": 'data: {"model": "m", "choices": [{"index": 0, "delta": {"content": "Hello"}}]}\n\n',
    "anthropic_messages": 'data: {"type": "message_start", "message": {"model": "m", "usage": {}}}\n\n'
    'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "A"}}\n\n',
    "gemini": 'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}]}}]}\n\n',
    "openai_responses": 'data: {"type": "response.created", "response": {"id": "1", "model": "m"}}\n\n',
}
ODD_RESPONSES = {
    "in-stream": "STREAM",
    "after-a-beginning": "BEGINNINGSTREAM",
    "bad-json": 'data: {"error": {"message": "KEY\n\n',
    "no-json": "data: KEY\n\ndata: bad KEY\n\n",
    "no-json-cut": "data: " + "KEY" * 60 + "\n\n",
    "bad-json-cut": 'data: {"x": ' + "KEY" * 60 + "\n\n",
    "comment": ": KEY\n\nevent: KEY\nid: KEY\n\n",
    "whole": '{"error": {"message": "bad key KEY", "code": "KEY"}}',
    "page": "<html>KEY</html>",
}
"""Failures with HTTP 200."""

MEDIA_TYPES = {"page": "text/html", "whole": "application/json", "text": "text/plain", "cut": "text/plain"}

BEHAVIOURS = [
    *(f"{status}-openai" for status in STATUSES),
    *(f"401-{shape}" for shape in ERROR_BODIES),
    *(f"503-{shape}" for shape in ("text", "cut", "cut-json")),
    *(f"200-{oddity}" for oddity in ODD_RESPONSES),
    *("301-redirect", "302-redirect", "encoding", "headers", "reason", "hang-up", "not-http", "half-a-head"),
]
"""All failures."""
DIALECT_BEHAVIOURS = [name for name in BEHAVIOURS if name.startswith("200-") or name == "401-openai"]
"""Failures that each dialect reads itself. HTTP errors are read before any dialect."""


def _answer(name: str, key: str, dialect: str) -> bytes:
    status, _, shape = name.partition("-")
    if status == "200":
        response_text = (
            ODD_RESPONSES[shape]
            .replace("STREAM", STREAM_ERRORS[dialect])
            .replace("BEGINNING", STREAM_STARTS[dialect])
        )
        media_type = (
            "text/html"
            if shape == "page"
            else "application/json"
            if shape == "whole"
            else "text/event-stream"
        )
        return _response(200, "OK", response_text.replace("KEY", key).encode(), f"Content-Type: {media_type}")
    if status.isdigit() and shape in ERROR_BODIES:
        media_type = (
            "text/html"
            if shape == "page"
            else "text/plain"
            if shape in ("text", "cut")
            else "application/json"
        )
        return _response(int(status), "Refused", ERROR_BODIES[shape](key), f"Content-Type: {media_type}")
    return {
        "301-redirect": _response(301, "Moved", b"", f"Location: https://evil.example/{key}?key={key}"),
        "302-redirect": _response(302, "Found", b"", f"Location: https://{key}@evil.example/"),
        "encoding": _response(200, "OK", key.encode(), f"Content-Encoding: {key}"),
        "headers": _response(
            429,
            "Slow",
            b"{}",
            f"X-Request-Id: {key}",
            f"Retry-After: {key}",
            f"Set-Cookie: k={key}",
            f'WWW-Authenticate: Bearer realm="{key}"',
        ),
        "reason": _response(401, f"Bad key {key}", b""),
        "hang-up": b"",
        "not-http": f"{key} is not HTTP\r\n\r\n".encode(),
        "half-a-head": f"HTTP/1.1 401 Unauthorized\r\nX-Key: {key}".encode(),
    }[name]


def _response(status: int, reason: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {reason}", *headers, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class _KeyEchoHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        provider = self.path.split("/")[1]
        model_match = re.search(r"models/([^:]+):", self.path)
        name = model_match[1] if model_match else json.loads(body)["model"]
        credentials = [
            self.headers.get(header_name, "")
            for header_name in ("authorization", "x-api-key", "x-goog-api-key")
        ]
        key = "".join(credentials).removeprefix("Bearer ")
        keys_received.add(key)
        self.wfile.write(_answer(name, key, ECHO_PROVIDERS[provider][0]))
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the log would leak the key."""


keys_received: set[str] = set()
"""Every key that the provider received, to check that there was something to echo."""


@contextmanager
def run_key_echo() -> Iterator[str]:
    """Run the provider and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _KeyEchoHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(PATIENCE_S)


def catalog_rows(url: str, keys: dict[str, str]) -> str:
    """Return catalog rows for this provider. `keys` are key references."""
    return "\n".join(
        f'[providers.{name}]\ndialect = "{dialect}"\nbase_url = "{url}/{name}"\nauth = "{auth}"\n'
        f'key = "{keys[name]}"\nreplay = "none"\nlocal = true\nmax_tokens = 100\n'
        'fact = { as_of = "2026-11-16", source = "a test" }\n'
        for name, (dialect, auth) in ECHO_PROVIDERS.items()
    )
