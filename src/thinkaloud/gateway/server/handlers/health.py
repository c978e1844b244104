"""Handlers for health checks, metrics and the OpenAPI document."""

from thinkaloud.gateway.server.http.errors import Forbidden
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse
from thinkaloud.gateway.server.metrics import MEDIA_TYPE
from thinkaloud.gateway.server.node import Phase
from thinkaloud.gateway.server.schemas.sessions import Health

UNAVAILABLE = 503


async def alive(request: RouteRequest) -> Health:
    """Report that the process is alive."""
    return Health("ok")


async def ready(request: RouteRequest) -> RouteResponse:
    """Report whether turns can be started and saved."""
    gateway = request.gateway
    storage = "disk" if gateway.database.exclusive else "database"
    if gateway.phase is Phase.STOPPING:
        health = Health("stopping", "The gateway is stopping and starts no new turns.")
    elif gateway.phase is Phase.STARTING:
        health = Health("starting", "The gateway is still ending the unfinished turns of an earlier process.")
    elif not gateway.node.lease_renewed:
        health = Health(
            "not_saved",
            "The database does not respond, so the lease of this gateway is not renewed. Running turns "
            f"continue in memory; in {max(0.0, gateway.node.lease_left_s):.0f} s others may take them over.",
        )
    elif gateway.storage_waiting_s > gateway.settings.max_waiting_s:
        health = Health(
            "not_saved",
            f"The {storage} does not respond: something has waited {gateway.storage_waiting_s:.0f} s for it. "
            "Turns continue in memory and are saved when it does.",
        )
    elif not gateway.log.saved:
        health = Health(
            "not_saved",
            f"The {storage} accepts no writes. Turns continue in memory and are saved when it does.",
        )
    else:
        return RouteResponse(content=Health("ok"))
    return RouteResponse(content=health, status=UNAVAILABLE)


async def metrics(request: RouteRequest) -> RouteResponse:
    """Return metrics for Prometheus. They count the use of everybody, so only the operator may read them."""
    user = request.grant.user
    if user is None or user.key != request.gateway.local_owner.user:
        raise Forbidden(
            "Metrics are for the operator. Send the token printed at start-up, or one of the user `local`: "
            "`thinkaloud tokens create local`."
        )
    return RouteResponse(content=request.gateway.metrics.text(), media_type=MEDIA_TYPE)


async def openapi_document(request: RouteRequest) -> RouteResponse:
    """Return the OpenAPI document of all routes."""
    from thinkaloud.gateway.server.http import openapi
    from thinkaloud.gateway.server.http.routes import (
        ROUTES,  # imported here because the table imports this module
    )

    return RouteResponse(content=openapi.document(ROUTES))
