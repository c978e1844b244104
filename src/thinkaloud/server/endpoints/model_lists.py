"""The lists of models that clients of compatible endpoints ask for, each in the client's format."""

from datetime import UTC, datetime

import msgspec

from thinkaloud import __version__
from thinkaloud.server.endpoint import RouteRequest, RouteResponse
from thinkaloud.server.handlers.models import list_catalog_models

_encode = msgspec.json.Encoder().encode
_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Formats that demand a time of creation get this one, because the catalog has none."""


async def list_models(request: RouteRequest) -> RouteResponse:
    """List the models that can be asked, as Anthropic does if the client names its version, or as OpenAI."""
    names = await _ready_models(request)
    if "anthropic-version" in request.headers:
        created = _UNKNOWN_TIME.isoformat().replace("+00:00", "Z")
        items = [{"type": "model", "id": name, "display_name": name, "created_at": created} for name in names]
        ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return RouteResponse(content=_encode({"data": items, "has_more": False, **ends}))
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": "thinkaloud"} for name in names]
    return RouteResponse(content=_encode({"object": "list", "data": rows}))


async def list_ollama_models(request: RouteRequest) -> RouteResponse:
    """List the models that can be asked, in Ollama's format."""
    modified = _UNKNOWN_TIME.isoformat()
    items = [
        {"name": name, "model": name, "modified_at": modified, "size": 0, "digest": "", "details": {}}
        for name in await _ready_models(request)
    ]
    return RouteResponse(content=_encode({"models": items}))


async def ollama_version(request: RouteRequest) -> RouteResponse:
    """Return the version, which Ollama clients ask for first."""
    return RouteResponse(content=_encode({"version": __version__}))


async def _ready_models(request: RouteRequest) -> list[str]:
    """Return the names of the models whose provider has its key, or runs on this machine."""
    listed = await list_catalog_models(request)
    ready = {row.name for row in listed.providers if row.has_key and row.answers is not False}
    names = ((model.id, [name for name in model.providers if name in ready]) for model in listed.models)
    return [f"{providers[0]}/{model}" for model, providers in names if providers]
