"""The chat page: files built from `web/`, held in memory and served unchanged.

Every file but the index has a content hash in its name, so browsers cache it forever. A link on another
site may navigate to the page; every other request from another site is refused.
"""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from thinkaloud.core.canon import Wording
from thinkaloud.gateway.server.http.errors import NotFound
from thinkaloud.gateway.server.http.route import Access, ApiRoute, Handler, RouteRequest, RouteResponse

FOLDER = Path(__file__).parents[1] / "static"
INDEX = "index.html"
PREFIX = "/static/"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Media types by file extension. Files with another extension are not served."""

NOT_BUILT = Wording(
    "The chat page is not built. Run `make page` (needs Node.js), or install a released package, "
    "which includes it."
)

_NOT_MODIFIED = 304
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_NAVIGATION_HEADERS = {b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


class StaticFile(msgspec.Struct, frozen=True):
    """One file of the page, plain and compressed."""

    content: bytes
    gzipped: bytes
    etag: str


def page_is_built(folder: Path = FOLDER) -> bool:
    """Return whether the chat page can be served."""
    return (folder / INDEX).is_file()


def static_routes(folder: Path = FOLDER) -> tuple[ApiRoute, ...]:
    """Return a route for the index and one for each other file."""
    routes = [_route("/", _file_handler(folder / INDEX, _REVALIDATE))]
    for path in sorted(folder.glob("*")):
        if path.suffix in MEDIA_TYPES and path.name != INDEX and path.is_file():
            routes.append(_route(f"{PREFIX}{path.name}", _file_handler(path, _IMMUTABLE)))
    return tuple(routes)


def headers_to_check(method: str, path: str, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
    """Return the headers for the Origin check, without Sec-Fetch-Site if a browser navigates to the page.

    A navigation is allowed from any site, because the other site cannot read, frame or script the window that
    opens.
    """
    page_path = path == "/" or path.startswith(PREFIX)
    read_only = method in ("GET", "HEAD") and b"origin" not in headers
    navigation = _NAVIGATION_HEADERS.items() <= headers.items()
    if not (page_path and read_only and navigation):
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
        raise NotFound(wording=NOT_BUILT) from None
    digest = hashlib.sha256(content).hexdigest()[:16]
    return StaticFile(content, gzip.compress(content, 9, mtime=0), f'"{digest}"')
