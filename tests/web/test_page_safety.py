"""What the page must never do, and how far its door opens: hostile text, policy, sizes, foreign links."""

import gzip
import json
import re
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import quote, unquote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser
from tests.patience import patient_context
from tests.web.chat_page import GatewayProcess, PageVisit, require_built_page, wait_for_answers

from thinkaloud.gateway.server.http.static_files import FOLDER

MOST_FIRST_LOAD = 40 * 1024
HOSTILE = """# <img src=x onerror="window.__ran=1">

<script>window.__ran = 1</script>
<svg onload="window.__ran=1"><a href="javascript:window.__ran=1">x</a></svg>
<iframe src="https://evil.example/frame"></iframe>

[one](javascript:window.__ran=1) [two](JaVaScRiPt:window.__ran=1)
[three](data:text/html,<script>window.__ran=1</script>)
[four](vbscript:x) [five](&#106;avascript:window.__ran=1) [six]( \x01javascript:window.__ran=1)
[seven](//evil.example/x)
![beacon](https://evil.example/beacon.png) ![data](data:image/svg+xml,<svg/onload=window.__ran=1>)
<https://fine.example/> <javascript:window.__ran=1> ![x](x"onerror="window.__ran=1)

[ref]: javascript:window.__ran=1
[ref] and `code <img src=x onerror=window.__ran=1>` and &lt;img src=x onerror=window.__ran=1&gt;

```html" onmouseover="window.__ran=1
<img src=x onerror="window.__ran=1">
```

| a <img src=x onerror=window.__ran=1> | [b](javascript:window.__ran=1) |
|---|---|
| <b onclick="window.__ran=1">c</b> | \u202etxet neddih\u202c |

$\\href{javascript:window.__ran=1}{x}$ $$\\htmlData{x=y}{z} \\includegraphics{https://evil.example/x.png}$$
$\\style{color:red}{x}$ $\\color{red}{x}$

- [x] <input onfocus="window.__ran=1" autofocus>
"""


def test_hostile_text_runs_nothing_and_asks_nothing_of_anybody(
    visit: PageVisit, gateway: GatewayProcess
) -> None:
    """S1, S2: the whole page."""
    title = '"><img src=x onerror="window.__ran=1"><script>window.__ran=1</script>'
    session = gateway.import_exchanges(title, (HOSTILE, HOSTILE, HOSTILE))
    page = visit.open(session)
    wait_for_answers(page)
    page.evaluate("() => document.querySelector('thinking-block').expandAll()")
    page.wait_for_selector(".answer .code")
    page.wait_for_timeout(1500)
    assert page.inner_text("h1") == title
    assert (
        page.locator(
            "img, iframe, script:not([src]), object, embed, form[action], .answer svg:not(.icon)"
        ).count()
        == 0
    )
    links = page.evaluate("() => [...document.querySelectorAll('.answer a')].map(one => one.href)")
    assert links
    assert [link for link in links if not re.match(r"https?://|mailto:", link)] == []
    attributes = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .flatMap(one => one.getAttributeNames())
          .filter(name => name.startsWith("on"))"""
    )
    assert attributes == []
    assert "U+202E" in (page.text_content(".answer") or "")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("dialog.search")
    page.keyboard.type("beacon")
    page.wait_for_selector(".hit")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    visit.check_errors()


def test_an_answer_that_grows_is_the_answer_that_was_given(visit: PageVisit, gateway: GatewayProcess) -> None:
    """Blocks that are complete are left alone while the rest grows: in any pieces the result is the same."""
    text = HOSTILE + "\n\n1. one\n2. two\n\n   more of two\n\n> quote\n> > deeper\n\nlast *words*"
    session = gateway.import_exchanges("Growing", ("one", "x", text))
    page = visit.open(session)
    wait_for_answers(page)
    page.wait_for_selector(".answer .code")
    chunk = next(path.name for path in FOLDER.glob("rich-text-*.js"))
    same = page.evaluate(
        """async ([chunk, text]) => {
          const { RichText } = await import(`/static/${chunk}`);
          const whole = document.createElement("div");
          new RichText(whole).update(text, false);
          await new Promise(done => setTimeout(done, 500));
          const results = [];
          for (const step of [1, 7, 40]) {
            const grown = document.createElement("div");
            const rich = new RichText(grown);
            for (let at = step; at < text.length; at += step) rich.update(text.slice(0, at), true);
            rich.update(text, false);
            await new Promise(done => setTimeout(done, 500));
            results.push(grown.innerHTML === whole.innerHTML);
          }
          return results;
        }""",
        [chunk, text],
    )
    assert same == [True, True, True]


def test_the_policy_is_strict_and_on_every_file(gateway: GatewayProcess) -> None:
    files = ["/", *(f"/static/{path.name}" for path in FOLDER.iterdir() if path.name != "index.html")]
    for path in files:
        with urlopen(gateway.url + path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "require-trusted-types-for 'script'" in policy
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            cache_rule = "no-cache" if path == "/" else "immutable"
            assert cache_rule in answer.headers["Cache-Control"]
    html = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=|https?://", html)


def test_page_is_compressed_and_cached(gateway: GatewayProcess) -> None:
    with urlopen(Request(gateway.url + "/", headers={"Accept-Encoding": "gzip"})) as answer:
        assert gzip.decompress(answer.read()) == (FOLDER / "index.html").read_bytes()
        tag = answer.headers["ETag"]
    with pytest.raises(HTTPError) as error_info:
        urlopen(Request(gateway.url + "/", headers={"If-None-Match": tag}))
    assert error_info.value.code == 304
    error_info.value.close()
    with pytest.raises(HTTPError) as error_info:
        urlopen(gateway.url + "/static/other.js")
    assert error_info.value.code == 404
    error_info.value.close()


def test_the_first_load_is_small(visit: PageVisit) -> None:
    require_built_page()
    scripts: set[str] = set()
    visit.context.on(
        "request",
        lambda request: (
            scripts.add(request.url.rpartition("/")[2]) if request.resource_type == "script" else None
        ),
    )
    page = visit.open()
    page.wait_for_selector(".puzzle")
    page.wait_for_load_state("networkidle")
    size = sum(len(gzip.compress((FOLDER / name).read_bytes(), 9)) for name in scripts)
    assert scripts
    assert size <= MOST_FIRST_LOAD, f"{size} bytes in {sorted(scripts)}"


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """A page of another site, which links to whatever its address names."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            link = unquote(self.path[1:])
            body = f"<!doctype html><title>Elsewhere</title><a href='{link}'>there</a>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    # Another name of this machine is another site to a browser.
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_link_on_another_site_leads_to_the_page_and_to_nothing_else(
    browser: Browser, gateway: GatewayProcess, elsewhere: str
) -> None:
    session = gateway.import_exchanges("Linked", ("one", "two", "three"))
    with patient_context(browser) as context:
        page = context.new_page()
        for path, status in (
            ("/", 200),
            (f"/#{session}", 200),
            ("/api/sessions", 403),
            ("/healthz", 403),
            (f"/api/sessions/{session}/export", 403),
        ):
            page.goto(f"{elsewhere}/{quote(gateway.url + path)}")
            with page.expect_response(lambda answer: answer.url.startswith(gateway.url)) as answer:
                page.click("a")
            assert (path, answer.value.status) == (path, status)
            assert answer.value.request.headers.get("sec-fetch-site", "cross-site") == "cross-site"
        page.goto(f"{elsewhere}/{quote(f'{gateway.url}/#{session}')}")
        page.click("a")
        wait_for_answers(page)
        assert page.text_content(".answer") == "three"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (
            "/",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            200,
        ),
        (
            "/",
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            200,
        ),
        (
            "/",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
            403,
        ),
        ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403),
        ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403),
        ("/", {"Sec-Fetch-Site": "cross-site"}, 403),
        (
            "/",
            {
                "Origin": "https://evil.example",
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "document",
            },
            403,
        ),
        (
            "/",
            {
                "Host": "evil.example",
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "document",
            },
            421,
        ),
        (
            "/api/sessions",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            403,
        ),
        (
            "/static/../api/sessions",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            404,
        ),
        (
            "//api/sessions",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            403,
        ),
        (
            "/api/openapi.json",
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            403,
        ),
    ],
)
def test_cross_site_requests_are_refused_except_navigation_to_the_page(
    gateway: GatewayProcess, path: str, headers: dict[str, str], status: int
) -> None:
    assert _status(gateway, "GET", path, headers) == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_cross_origin_requests_may_only_read(gateway: GatewayProcess, method: str) -> None:
    window = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert _status(gateway, method, "/", window) == 403


def _status(gateway: GatewayProcess, method: str, path: str, headers: dict[str, str]) -> int:
    """The status for a request as it is written: no client tidies the path up."""
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {headers.get('Host', f'127.0.0.1:{gateway.port}')}",
        "Connection: close",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items() if name != "Host"]
    with socket.create_connection(("127.0.0.1", gateway.port)) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(line.makefile().readline().split()[1])


def test_no_token_and_no_thought_is_left_in_the_browser(visit: PageVisit, gateway: GatewayProcess) -> None:
    session = gateway.import_exchanges("Quiet", ("one", "a very private thought", "an answer"))
    page = visit.open(session)
    wait_for_answers(page)
    page.evaluate("() => document.querySelector('thinking-block').expandAll()")
    stored = json.dumps(page.evaluate("() => [{...localStorage}, {...sessionStorage}]"))
    assert "private" not in stored
    assert "answer" not in stored
