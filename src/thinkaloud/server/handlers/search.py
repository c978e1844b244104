"""Handler for full-text search. Thoughts are searched only if the scope names them."""

from thinkaloud.server.endpoint import RouteRequest
from thinkaloud.server.schemas import SEARCH_SCOPES, HitPage, SearchQuery
from thinkaloud.store import search


async def find(request: RouteRequest) -> HitPage:
    """Search the user's sessions, the newest hits first."""
    query: SearchQuery = request.query
    kinds = frozenset(SEARCH_SCOPES[word] for word in query.scope.split(","))
    page = await request.gateway.database.read(
        lambda conn: search.find(
            conn, request.owner, query.q, kinds=kinds, limit=query.limit, after=query.after
        )
    )
    return HitPage(page.items, page.next)
