"""Search in what one has asked and been told; in thoughts only when they are named."""

from thinkaloud.server.endpoint import RouteRequest
from thinkaloud.server.schemas import SEARCH_SCOPES, HitPage, SearchQuery
from thinkaloud.store import search


async def find(request: RouteRequest) -> HitPage:
    """Find words in one's sessions, the newest first."""
    query: SearchQuery = request.query
    kinds = frozenset(SEARCH_SCOPES[word] for word in query.scope.split(","))
    page = await request.gateway.database.read(
        lambda conn: search.find(
            conn, request.owner, query.q, kinds=kinds, limit=query.limit, after=query.after
        )
    )
    return HitPage(page.items, page.next)
