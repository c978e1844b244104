"""The server of the Flutter app: what a browser loads, and who gets in."""

import asyncio
import http.client
import socketserver
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from tests.flutter.flet_site import FletScreen, FletSite
from tests.flutter.test_flutter_app import Chat
from tests.patience import PATIENCE_MS, PATIENCE_S

from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.flutter import KoderThinkingBlock, system_fonts, web_server
from thinkaloud.surfaces.flutter.page_tasks import find_session, has_browser
from thinkaloud.surfaces.flutter.system_fonts import SystemFonts, samples_in
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


def font_file(path: Path, first: int, last: int, *, form: int = 12, collection: bool = False) -> Path:
    """Write as much of a font as says which characters it has."""
    if form == 12:
        subtable = struct.pack(">HHIIIIII", 12, 0, 28, 0, 1, first, last, 1)
    else:
        ends, firsts = struct.pack(">HH", last, 0xFFFF), struct.pack(">HH", first, 0xFFFF)
        subtable = struct.pack(">HHHHHHH", 4, 32, 0, 4, 0, 0, 0) + ends + b"\0\0" + firsts + bytes(8)
    start = 16 if collection else 0
    header = struct.pack(">4sIII", b"ttcf", 0x10000, 1, 16) if collection else b""
    header += struct.pack(">IHHHH", 0x10000, 1, 0, 0, 0)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + subtable
    path.write_bytes(header + struct.pack(">4sIII", b"cmap", 0, start + 28, len(cmap)) + cmap)
    return path


def test_characters_of_a_font_are_read_from_its_table(tmp_path: Path) -> None:
    plain = font_file(tmp_path / "a.ttf", 0x600, 0x6FF)
    short = font_file(tmp_path / "b.ttf", 0x600, 0x6FF, form=4)
    collection = font_file(tmp_path / "c.ttc", 0x4E00, 0x9FFF, collection=True)
    damaged = tmp_path / "d.ttf"
    damaged.write_bytes(plain.read_bytes()[:40])
    assert [samples_in(path) for path in (plain, short, damaged)] == [{"ع"}, {"ع"}, set()]
    assert samples_in(collection) == {"中", "灣", "嘅"}
    assert SystemFonts([str(plain)]).find("notosansarabic") == plain
    with pytest.raises(Refused, match="is not a font"):
        SystemFonts([str(tmp_path / "none.ttf")])


def test_fonts_come_from_this_machine_and_a_missing_one_is_named(
    browser: Browser, flet_site: FletSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A font is sent once to a page; a sentence says for which script there is none."""
    font = font_file(tmp_path / "arabic.ttf", 0x600, 0x6FF)
    monkeypatch.setattr(system_fonts, "_system_files", lambda: iter([font]))
    monkeypatch.setattr(flet_site.fonts, "_found", {})
    monkeypatch.setattr(flet_site.fonts, "missing", [])
    context = browser.new_context(viewport={"width": 360, "height": 740}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    statuses: list[tuple[str, int]] = []
    page.on("response", lambda response: statuses.append((urlsplit(response.url).path, response.status)))
    chat = Chat(FletScreen(flet_site, page))
    flet_site.call(lambda: chat.chat_page.watch_fonts(flet_site.fonts))
    chat.ask("مرحبا 你好 नमस्ते")
    for text in ("No font of this machine has", "Chinese characters", "Devanagari letters"):
        chat.wait_for(text)
    chat.screen.wait_until(lambda: any("notosansarabic" in path for path, _ in statuses))
    fonts = [(path, status) for path, status in statuses if "/noto" in path]
    assert sum(status == 200 for path, status in fonts if "notosansarabic" in path) == 1
    assert len({path.split("/")[2] for path, _ in fonts}) == 1, "the name of the page"
    assert {status for path, status in fonts if "notosanssc" in path} <= {404}
    context.close()


def test_each_page_is_sent_a_font_once(
    flet_site: FletSite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another page is no reason to send it again, or not at all; nor is a file that could not be read."""
    font = font_file(tmp_path / "arabic.ttf", 0x600, 0x6FF)
    monkeypatch.setattr(system_fonts, "_system_files", lambda: iter([font]))
    monkeypatch.setattr(flet_site.fonts, "_found", {})
    cookie = request(flet_site, f"/?{urlsplit(flet_site.url).query}")[1].partition(";")[0]

    def status_of(page: str, part: int) -> int:
        return request(flet_site, f"/page-fonts/{page}/notosansarabic/v18/{part}.woff2", cookie=cookie)[0]

    assert [status_of("a", 1), status_of("a", 2), status_of("b", 1)] == [200, 404, 200]
    assert request(flet_site, "/", cookie=cookie)[0] == 200
    assert [status_of("a", 3), status_of("b", 2)] == [404, 404]
    data = font.read_bytes()
    font.unlink()
    assert status_of("c", 1) == 500
    font.write_bytes(data)
    assert status_of("c", 2) == 200


def test_files_of_fonts_are_read_once_and_every_page_is_told_of_a_missing_script(
    flet_site: FletSite,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = [font_file(tmp_path / f"{n}.ttf", 0x600 + n, 0x6FF) for n in range(3)]
    read: list[Path] = []
    told: list[str] = []

    def read_samples(path: Path) -> frozenset[str]:
        read.append(path)
        return samples_in(path)

    def fail() -> None:
        raise RuntimeError("this page has gone")

    async def ask() -> None:
        families = ["notosanssc", "notosansthai", "notosansjp"] * 2
        found = await asyncio.gather(*(asyncio.to_thread(fonts.find, family) for family in families))
        assert not any(found)
        fonts.on_missing += [fail, lambda: told.append("second page")]
        fonts.note_missing("notosansthai")

    monkeypatch.setattr(system_fonts, "_system_files", lambda: iter(files))
    monkeypatch.setattr(system_fonts, "samples_in", read_samples)
    fonts = SystemFonts()
    flet_site.run(ask())
    flet_site.call(lambda: None)  # the pages are told before this
    assert sorted(read) == files
    assert told == ["second page"]
    assert "this page has gone" in caplog.text


def test_icon_of_the_app_is_its_own(flet_site: FletSite, browser: Browser) -> None:
    """Not that of the framework: the same as on the page."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(flet_site.url)
    for name in ("favicon.png", "icons/icon-192.png", "icons/loading-animation.png"):
        body = page.request.get(f"{page.url}{name}").body()
        assert body == (web_server.ASSETS / name).read_bytes()
    context.close()
