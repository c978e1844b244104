"""Whether the gateway lives, whether it can be used, what it has counted, and the document of its routes."""

from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.metrics import MEDIA_TYPE
from thinkaloud.server.schemas import Health

UNAVAILABLE = 503


async def alive(request: RouteRequest) -> Health:
    """Say that the process answers."""
    return Health("ok")


async def ready(request: RouteRequest) -> RouteResponse:
    """Say whether turns can be begun and kept."""
    gateway = request.gateway
    if gateway.stopping:
        health = Health("stopping", "The gateway is stopping and begins no turn.")
    elif not gateway.ready:
        health = Health("starting", "Turns of an earlier process are still being brought to their end.")
    elif not gateway.log.saved:
        health = Health(
            "not_saved", "The disk takes nothing: turns go on, and are kept in memory until it does."
        )
    else:
        return RouteResponse(content=Health("ok"))
    return RouteResponse(content=health, status=UNAVAILABLE)


async def metrics(request: RouteRequest) -> RouteResponse:
    """What was counted, for Prometheus."""
    return RouteResponse(content=request.gateway.metrics.text(), media_type=MEDIA_TYPE)


async def openapi_document(request: RouteRequest) -> RouteResponse:
    """The OpenAPI document of all routes."""
    from thinkaloud.server import openapi
    from thinkaloud.server.routes import ROUTES  # the table names this function

    return RouteResponse(content=openapi.document(ROUTES))
