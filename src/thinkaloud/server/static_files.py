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

from thinkaloud.server.endpoint import Access, ApiRoute, Handler, RouteRequest, RouteResponse
from thinkaloud.server.errors import NotFound

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

_NOT_MODIFIED = 304
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_NAVIGATION_HEADERS = {b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


class StaticFile(msgspec.Struct, frozen=True):
    """One file of the page, ready to be sent."""

    content: bytes
    gzipped: bytes
    etag: str


def static_routes(folder: Path = FOLDER) -> tuple[ApiRoute, ...]:
    """A route for the page itself and one for each of its files."""
    paths = sorted(path for path in folder.glob("*") if path.suffix in MEDIA_TYPES and path.is_file())
    files = (path for path in paths if path.name != INDEX)
    return (
        _route("/", _file_handler(folder / INDEX, _REVALIDATE)),
        *(_route(f"{PREFIX}{path.name}", _file_handler(path, _IMMUTABLE)) for path in files),
    )


def headers_to_check(method: str, path: str, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """The headers that decide whether a request is let in.

    Where a browser takes a whole window to the page, by a link, a bookmark or the address bar, it does not
    matter whose link that was: nobody there can read what the window shows, frame it, or act in it.
    """
    page_path = path == "/" or path.startswith(PREFIX)
    read_only = method in ("GET", "HEAD") and b"origin" not in headers
    if not (
        page_path
        and read_only
        and all(headers.get(name) == value for name, value in _NAVIGATION_HEADERS.items())
    ):
        return headers
    return {name: value for name, value in headers.items() if name != b"sec-fetch-site"}


def _route(path: str, handler: Handler) -> ApiRoute:
    return ApiRoute(method="GET", path=path, handler=handler, summary="The chat page.", access=Access.PUBLIC)


def _file_handler(path: Path, cache_control: str) -> Handler:
    async def send_file(request: RouteRequest) -> RouteResponse:
        file = _load_file(path)
        headers = (("Cache-Control", cache_control), ("ETag", file.etag), ("Vary", "Accept-Encoding"))
        if request.headers.get("if-none-match") == file.etag:
            return RouteResponse(status=_NOT_MODIFIED, headers=headers)
        media_type = MEDIA_TYPES[path.suffix]
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return RouteResponse(content=file.content, media_type=media_type, headers=headers)
        return RouteResponse(
            content=file.gzipped, media_type=media_type, headers=(*headers, ("Content-Encoding", "gzip"))
        )

    return send_file


@cache
def _load_file(path: Path) -> StaticFile:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            "The chat page is not in this installation: it was not built. `make page` builds it, with "
            "Node.js; packages of Thinkaloud have it."
        ) from None
    digest = hashlib.sha256(content).hexdigest()[:16]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), f'"{digest}"')
