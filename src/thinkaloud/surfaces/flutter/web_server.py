"""Serves a Flet app to browsers of this machine, with nothing that comes from another host.

The engine and its font come from the installed package, other fonts from this machine. One library of the
client would be fetched from elsewhere; a content security policy stops the request. Without the token in the
address nobody gets in: other people can reach a port of this machine, and so can pages of other sites.
"""

import asyncio
import hmac
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import flet as ft
import flet_web.fastapi
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.surfaces.flutter.system_fonts import SystemFonts

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' ws://{host} blob: data:; worker-src 'self' blob:; manifest-src 'self'; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load. Flutter's start script is written into the page, hence 'unsafe-inline'."""
SESSION_TIMEOUT_S = 120
"""How long the page of a browser that has gone is kept, for it to come back."""
FONT_PATH = "/page-fonts/"
"""How the addresses of fonts begin that the engine asks for; the name of the page and the font follow."""
SCRIPT_PATH = "/python.js"
"""A script that a page loads before the engine. Flet's own is for Python in the browser: not needed here."""
_PAGE_SCRIPT = f'flet.fontFallbackBaseUrl = "{FONT_PATH}" + crypto.randomUUID() + "/";\n'
"""Gives the page a name, since tabs share their cookies: a font is sent once to each page."""
ASSETS = Path(__file__).parent / "assets"
"""The icons of the app, in place of Flet's."""
_CLOSED_PATHS = ("/docs", "/redoc", "/openapi.json", "/oauth_callback")
"""What Flet's server offers and this app does not use."""
_REFUSAL = b"Open the address that `thinkaloud flutter` printed: it has a token, and this one has none.\n"

Main = Callable[[ft.Page], Awaitable[None]]


class AppServer:
    """Serves a Flet app on a port of this machine; port 0 is any free one. `url` has the token."""

    def __init__(self, main: Main, *, title: str, port: int = 0, fonts: SystemFonts | None = None) -> None:
        self._socket = _bound_socket(port)
        host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        token = secrets.token_urlsafe(24)
        self.url = f"http://{host}/?{urlencode({'token': token})}"
        config = uvicorn.Config(
            TokenGate(FontServer(web_app(main, title), fonts or SystemFonts()), host, token),
            log_level="warning",
            ws="websockets-sansio",
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)

    async def run(self) -> None:
        """Serve until `stop`."""
        with self._socket:
            await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Stop serving. That connections of browsers are cut by it is no error to report."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """A server that leaves signals to the command that runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


def _bound_socket(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen()  # a browser that comes before the server runs waits
    except (OSError, OverflowError) as error:
        sock.close()
        raise Refused(
            "Port {port} of this machine cannot be used: {reason}. Choose another with --port, or "
            "leave it out for a free one.",
            port=port,
            reason=reason_of(error),
        ) from None
    return sock


def web_app(main: Main, title: str) -> ASGIApp:
    """Return the server of a Flet app with engine and fonts of the installed package."""
    app: ASGIApp = flet_web.fastapi.app(
        main,
        app_name=title,
        app_short_name=title,
        assets_dir=str(ASSETS),
        no_cdn=True,
        session_timeout_seconds=SESSION_TIMEOUT_S,
    )
    return app


class FontServer:
    """Answers the engine's requests for fonts from this machine, and passes on all others."""

    def __init__(self, app: ASGIApp, fonts: SystemFonts) -> None:
        self._app = app
        self._fonts = fonts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope.get("path", "")
        if path == SCRIPT_PATH:
            await _respond(send, 200, _PAGE_SCRIPT.encode(), [(b"content-type", b"text/javascript")])
        elif path.startswith(FONT_PATH):
            page, _, font = path.removeprefix(FONT_PATH).partition("/")
            await self._send_font(send, page, family=font.partition("/")[0])
        else:
            await self._app(scope, receive, send)

    async def _send_font(self, send: Send, page: str, family: str) -> None:
        file = await asyncio.to_thread(self._fonts.find, family)
        if file is None:
            self._fonts.note_missing(family)
        if file is None or not self._fonts.take(page, file):
            await _respond(send, 404, b"", [])
            return
        try:
            body = await asyncio.to_thread(file.read_bytes)
        except OSError:
            self._fonts.give_back(page, file)
            raise
        await _respond(send, 200, body, [(b"content-type", b"font/sfnt"), (b"cache-control", b"no-store")])


class TokenGate:
    """Lets a browser in that opened the address with the token, and tells it what the page may load."""

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self._app = app
        self._host = host
        self._token = token
        self._cookie = f"thinkaloud-{host.rpartition(':')[2]}"  # cookies are the same for all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and self._named_in_address(scope):
            await _respond(send, 303, b"", [(b"location", b"/"), (b"set-cookie", self._set_cookie())])
        elif not self._allowed(scope):
            await _refuse(scope, send)
        else:
            await self._app(scope, receive, self._with_policy(send))

    def _named_in_address(self, scope: Scope) -> bool:
        values = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return self._header(scope, b"host") == self._host and self._matches(values[0])

    def _allowed(self, scope: Scope) -> bool:
        origin = self._header(scope, b"origin")
        if self._header(scope, b"host") != self._host or origin not in ("", f"http://{self._host}"):
            return False
        if scope["path"] in _CLOSED_PATHS or (scope["type"] == "websocket" and not origin):
            return False
        try:
            cookies = SimpleCookie(self._header(scope, b"cookie"))
        except CookieError:
            return False
        return self._cookie in cookies and self._matches(cookies[self._cookie].value)

    def _matches(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self._token.encode())

    def _set_cookie(self) -> bytes:
        return f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict".encode()

    def _with_policy(self, send: Send) -> Send:
        policy = CONTENT_SECURITY_POLICY.format(host=self._host).encode()

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                dropped = (b"access-control-allow-origin",)
                headers = [(name, value) for name, value in message["headers"] if name not in dropped]
                added = [(b"content-security-policy", policy), (b"referrer-policy", b"no-referrer")]
                message = {**message, "headers": [*headers, *added, (b"x-content-type-options", b"nosniff")]}
            await send(message)

        return send_with_policy

    def _header(self, scope: Scope, name: bytes) -> str:
        return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _respond(send, 403, _REFUSAL, [(b"content-type", b"text/plain; charset=utf-8")])


async def _respond(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
