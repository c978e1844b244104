"""Handler for full-text search. Thoughts are searched only if the scope names them."""

from thinkaloud.gateway.server.http.errors import Forbidden
from thinkaloud.gateway.server.http.route import RouteRequest
from thinkaloud.gateway.server.schemas.sessions import SEARCH_SCOPES, HitPage, SearchQuery
from thinkaloud.gateway.store.rows import SearchKind
from thinkaloud.gateway.store.search.find import find_hits


async def find(request: RouteRequest) -> HitPage:
    """Search the user's sessions, the newest hits first."""
    query: SearchQuery = request.query
    kinds = frozenset(SEARCH_SCOPES[word] for word in query.scope.split(","))
    if SearchKind.THOUGHT in kinds and request.grant.hides_thinking:
        # Also if only the thoughts of some agents are hidden: the number of hits would tell their words.
        raise Forbidden(
            "The operator of this gateway does not show you all thinking, so you cannot search thoughts. "
            "Leave `thoughts` out of the scope."
        )
    page = await request.gateway.database.read(
        lambda conn: find_hits(
            conn, request.owner, query.q, kinds=kinds, limit=query.limit, after=query.after
        )
    )
    return HitPage(page.items, page.next)
