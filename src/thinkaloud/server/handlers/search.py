"""Search in what one has asked and been told; in thoughts only when they are named."""

from thinkaloud.server.bodies import SCOPES, HitPage, SearchQuery
from thinkaloud.server.routing import Call
from thinkaloud.store import search


async def find(call: Call) -> HitPage:
    """Find words in one's sessions, the newest first."""
    query: SearchQuery = call.query
    kinds = frozenset(SCOPES[word] for word in query.scope.split(","))
    page = await call.gateway.database.read(
        lambda conn: search.find(conn, call.owner, query.q, kinds=kinds, limit=query.limit, after=query.after)
    )
    return HitPage(page.items, page.next)
