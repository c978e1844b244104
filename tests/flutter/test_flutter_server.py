"""The server of the Flutter app: what a browser loads, and who gets in."""

import asyncio
import http.client
import socketserver
import threading
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from tests.flutter.flet_site import FletScreen, FletSite
from tests.patience import PATIENCE_MS, PATIENCE_S

from thinkaloud.canon import Refused
from thinkaloud.surfaces.flutter import KoderThinkingBlock, web_server
from thinkaloud.surfaces.flutter.page_tasks import find_session, has_browser
from thinkaloud.surfaces.flutter.web_server import AppServer


class Proxy(NamedTuple):
    """A proxy that writes down what it is asked for, and opens nothing."""

    url: str
    asked: list[str]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode("latin-1").strip())
            self.wfile.write(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Proxy(f"http://127.0.0.1:{server.server_address[1]}", asked)
        server.shutdown()


def visit(browser: Browser, site: FletSite, proxy: Proxy) -> tuple[FletScreen, list[str]]:
    """Open the app with text in scripts that the package has no font for, and list all requests."""
    context = browser.new_context(proxy={"server": proxy.url, "bypass": "127.0.0.1"})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on("websocket", lambda socket: urls.append(socket.url))
    screen = FletScreen(site, page)
    screen.mount(KoderThinkingBlock("日本語 العربية 💭 ![x](https://pictures.example/x.png)", 4.2))
    screen.press("thinking-panel")
    return screen, urls


def test_nothing_is_loaded_from_another_host_and_a_closed_page_leaves_nothing(
    browser: Browser, flet_site: FletSite, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything comes from this machine. Without the policy, the proxy sees a library being fetched.

    A block goes on streaming after its page was closed and after Flet has deleted its session. Its clock ends
    when the page cannot come back.
    """
    monkeypatch.setenv("FLET_SESSION_TIMEOUT", "1")
    screen, urls = visit(browser, flet_site, proxy)
    screen.wait_until(lambda: any("rive" in url for url in urls))  # the last thing that the client loads
    blocked = {url for url in urls if urlsplit(url).hostname not in ("127.0.0.1", None)}
    assert all("rive" in url for url in blocked)  # announced by the browser, and stopped before it is sent
    assert any(url.startswith("ws://127.0.0.1") for url in urls)
    assert proxy.asked == []

    block = KoderThinkingBlock()
    screen.mount(block)
    flet_site.call(lambda: block.append("Let me see."))
    screen.page.context.close()
    monkeypatch.setattr(web_server, "CONTENT_SECURITY_POLICY", "base-uri 'self'")
    other, _ = visit(browser, flet_site, proxy)
    other.wait_until(lambda: any("cdn.jsdelivr.net" in line for line in proxy.asked))
    other.wait_until(lambda: not has_browser(screen.flet_page))
    flet_site.call(lambda: block.append(" More of it."))
    flet_site.call(block.redraw)
    other.wait_until(lambda: "_run_clock" not in flet_site.call(lambda: repr(asyncio.all_tasks())))
    other.wait_until(lambda: find_session(screen.flet_page) is None)
    flet_site.call(lambda: block.append(" The end."))
    flet_site.call(block.redraw)
    assert block.view is not None
    assert block.view.steps[0].text == "Let me see. More of it. The end."
    other.page.context.close()


def request(site: FletSite, path: str, **headers: str) -> tuple[int, str]:
    address = urlsplit(site.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=PATIENCE_S)
    connection.request(
        "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    response = connection.getresponse()
    body = response.read().decode("utf-8", "replace")
    cookie = response.headers.get("set-cookie", "")
    connection.close()
    return response.status, cookie or body


def test_only_the_printed_address_lets_a_browser_in(flet_site: FletSite) -> None:
    """Other people of this machine and pages of other sites get nothing, not even the page."""
    address = urlsplit(flet_site.url)
    status, text = request(flet_site, "/")
    assert status == 403
    assert "thinkaloud flutter" in text
    assert request(flet_site, "/?token=wrong")[0] == 403
    assert request(flet_site, f"/?{address.query}", host="evil.example")[0] == 403
    status, cookie = request(flet_site, f"/?{address.query}")
    assert status == 303
    assert "HttpOnly; SameSite=Strict" in cookie
    cookie = cookie.partition(";")[0]
    assert request(flet_site, "/", cookie=cookie)[0] == 200
    assert request(flet_site, "/", cookie=cookie, host="evil.example")[0] == 403
    assert request(flet_site, "/", cookie=cookie, origin="http://evil.example")[0] == 403
    assert request(flet_site, "/docs", cookie=cookie)[0] == 403
    assert request(flet_site, "/", cookie='thinkaloud=;;=,"x')[0] == 403
    socket_headers = {"connection": "Upgrade", "upgrade": "websocket", "sec_websocket_version": "13"}
    key = {"sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==", "cookie": cookie}
    assert request(flet_site, "/ws", **socket_headers, **key)[0] == 403
    assert request(flet_site, "/ws", **socket_headers, **key, origin="http://evil.example")[0] == 403


def test_port_in_use_is_refused_with_a_remedy(flet_site: FletSite) -> None:
    async def main(_: object) -> None:
        return None

    for port in (urlsplit(flet_site.url).port or 0, 70_000):
        with pytest.raises(Refused, match=f"Port {port} .*Choose another with --port"):
            AppServer(main, title="second", port=port)
