"""Whether the gateway lives, whether it can be used, what it has counted, and the document of its routes."""

from thinkaloud.server.bodies import Health
from thinkaloud.server.metrics import MEDIA_TYPE
from thinkaloud.server.routing import Call, Reply

UNAVAILABLE = 503


async def alive(call: Call) -> Health:
    """Say that the process answers."""
    return Health("ok")


async def ready(call: Call) -> Reply:
    """Say whether turns can be begun and kept."""
    gateway = call.gateway
    if gateway.stopping:
        health = Health("stopping", "The gateway is stopping and begins no turn.")
    elif not gateway.ready:
        health = Health("starting", "Turns of an earlier process are still being brought to their end.")
    elif not gateway.log.saved:
        health = Health(
            "not_saved", "The disk takes nothing: turns go on, and are kept in memory until it does."
        )
    else:
        return Reply(content=Health("ok"))
    return Reply(content=health, status=UNAVAILABLE)


async def metrics(call: Call) -> Reply:
    """What was counted, for Prometheus."""
    return Reply(content=call.gateway.metrics.text(), media_type=MEDIA_TYPE)


async def document(call: Call) -> Reply:
    """The OpenAPI document of all routes."""
    from thinkaloud.server import openapi
    from thinkaloud.server.routes import ROUTES  # the table names this function

    return Reply(content=openapi.document(ROUTES))
