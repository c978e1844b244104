"""A small site for the tests: one page under a strict policy, the built element, a log of every request."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

WEB = Path(__file__).parents[2] / "web"

# Nothing may load but our own scripts, and no text may become markup or script by any sink.
POLICY = (
    "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

PAGE = """<!doctype html>
<html lang="{lang}" dir="{dir}"><head><meta charset="utf-8"><title>Thinking</title>
<meta name="viewport" content="width=device-width"><script type="module" src="/page.js"></script></head>
<body><main id="stage"></main></body></html>"""

STATIC_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Plain</title>
{script}</head><body>
<thinking-block id="block" duration-ms="4200">I need the **docs** first.</thinking-block></body></html>"""
SCRIPT_TAGS = {
    "/plain": '<script type="module" src="/dist/thinking-block.js"></script>',
    "/without": "<!-- the script comes later -->",
    "/one-file": '<script src="/dist/thinking-block.global.js" defer></script>',
}

PAGE_SCRIPT = """
import "/dist/thinking-block.js";
document.getElementById("stage").style.cssText = "max-width:44rem;margin:1rem auto;padding:0 1rem";
document.documentElement.style.colorScheme = "light dark";
document.documentElement.style.background = "Canvas";
window.put = (attributes = {}, tag = "thinking-block") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  document.getElementById("stage").append(node);
  return node;
};
// From here on nothing that a block needs to be drawn has to be waited for.
const first = put({live: "open"});
first.text = "-";
first.refresh();
await first.ready;
first.remove();
window.ready = true;
"""


class Site:
    """Serves until it is closed; `requests` holds every path that was asked for."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.closed = Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.requests.append(self.path)
                if self.path.startswith("/stream"):
                    self._stream()
                    return
                body, kind = site.body(self.path)
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Security-Policy", POLICY)
                self.end_headers()
                self.wfile.write(body)

            def _stream(self) -> None:
                """Begin an answer that does not end before the site does."""
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript")
                self.end_headers()
                self.wfile.flush()
                site.closed.wait()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def body(self, path: str) -> tuple[bytes, str]:
        name, _, query = path.partition("?")
        query_values = dict(pair.split("=") for pair in query.split("&") if pair)
        if name == "/":
            return PAGE.format(
                lang=query_values.get("lang", "en"), dir=query_values.get("dir", "ltr")
            ).encode(), "text/html"
        if tag := SCRIPT_TAGS.get(name):
            return STATIC_PAGE.format(script=tag).encode(), "text/html"
        if name == "/page.js":
            return PAGE_SCRIPT.encode(), "text/javascript"
        file = WEB / name.lstrip("/")
        if file.suffix == ".js" and file.is_file():
            return file.read_bytes(), "text/javascript; charset=utf-8"
        return b"", ""

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
