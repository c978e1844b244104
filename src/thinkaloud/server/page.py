"""The chat page: files that were built from `web/`, kept in memory and served as they are.

All but the first are named by their content, so a browser never has to ask for one twice. A window may be
sent to the page by a link on any other site; nothing else of the gateway opens to such a request.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from thinkaloud.server.refusals import NotFound
from thinkaloud.server.routing import Access, Call, Handler, Reply, Route

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
PREFIX = "/static/"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""What the page is made of; a file of another kind in the folder is not served."""
NOT_BUILT = (
    "The chat page is not in this installation: it was not built. `make page` builds it, with Node.js; "
    "packages of Thinkaloud have it."
)

_NOT_MODIFIED = 304
_FOREVER = "public, max-age=31536000, immutable"
_CHECKED = "no-cache"
_WINDOW = {b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


class File(msgspec.Struct, frozen=True):
    """One file of the page, ready to be sent."""

    content: bytes
    zipped: bytes
    tag: str


def built(folder: Path = FOLDER) -> bool:
    """Whether the page is there to be served."""
    return (folder / INDEX).is_file()


def routes(folder: Path = FOLDER) -> tuple[Route, ...]:
    """A route for the page itself and one for each of its files."""
    found = sorted(path for path in folder.glob("*") if path.suffix in MEDIA_TYPES and path.is_file())
    files = (path for path in found if path.name != INDEX)
    return (
        _route("/", _sends(folder / INDEX, _CHECKED)),
        *(_route(f"{PREFIX}{path.name}", _sends(path, _FOREVER)) for path in files),
    )


def judged_by(method: str, path: str, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """The headers that decide whether a request is let in.

    Where a browser takes a whole window to the page, by a link, a bookmark or the address bar, it does not
    matter whose link that was: nobody there can read what the window shows, frame it, or act in it.
    """
    there = path == "/" or path.startswith(PREFIX)
    reads = method in ("GET", "HEAD") and b"origin" not in headers
    if not (there and reads and all(headers.get(name) == value for name, value in _WINDOW.items())):
        return headers
    return {name: value for name, value in headers.items() if name != b"sec-fetch-site"}


def _route(path: str, handler: Handler) -> Route:
    return Route(method="GET", path=path, handler=handler, summary="The chat page.", access=Access.PUBLIC)


def _sends(path: Path, keep: str) -> Handler:
    async def send(call: Call) -> Reply:
        file = _loaded(path)
        headers = (("Cache-Control", keep), ("ETag", file.tag), ("Vary", "Accept-Encoding"))
        if call.headers.get("if-none-match") == file.tag:
            return Reply(status=_NOT_MODIFIED, headers=headers)
        media_type = MEDIA_TYPES[path.suffix]
        if "gzip" not in call.headers.get("accept-encoding", ""):
            return Reply(content=file.content, media_type=media_type, headers=headers)
        return Reply(
            content=file.zipped, media_type=media_type, headers=(*headers, ("Content-Encoding", "gzip"))
        )

    return send


@cache
def _loaded(path: Path) -> File:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(NOT_BUILT) from None
    tag = hashlib.sha256(content).hexdigest()[:16]
    return File(content, gzip.compress(content, 9, mtime=0), f'"{tag}"')
