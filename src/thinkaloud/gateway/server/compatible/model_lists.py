"""The models that clients of compatible endpoints ask for, listed or one by one, in the client's format."""

import asyncio
from datetime import UTC, datetime

import msgspec

from thinkaloud import __version__
from thinkaloud.client.prepared_request import has_key, require_key
from thinkaloud.core.canon import KeyMissing, UnknownModel
from thinkaloud.core.catalog import Catalog
from thinkaloud.core.catalog.routing import route as choose_route
from thinkaloud.gateway.server.handlers.models import list_catalog_models
from thinkaloud.gateway.server.http.errors import NotFound
from thinkaloud.gateway.server.http.route import RouteRequest, RouteResponse

_encode = msgspec.json.Encoder().encode
_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Formats that demand a time of creation get this one, because the catalog has none."""


async def list_models(request: RouteRequest) -> RouteResponse:
    """List the models that can be asked, as Anthropic does if the client names its version, or as OpenAI."""
    names = await _ready_models(request)
    models = [_model(name, request) for name in names]
    if _wants_anthropic(request):
        ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return RouteResponse(content=_encode({"data": models, "has_more": False, **ends}))
    return RouteResponse(content=_encode({"object": "list", "data": models}))


async def read_model(request: RouteRequest) -> RouteResponse:
    """Return one model that can be asked, by any of its names, in the format of the list."""
    name = request.path_params["model"]
    try:
        await asyncio.to_thread(_require_model, request.gateway.catalog, name)
    except (UnknownModel, KeyMissing) as error:
        raise NotFound(wording=error.wording) from None
    return RouteResponse(content=_encode(_model(name, request)))


def _require_model(catalog: Catalog, name: str) -> None:
    require_key(choose_route(catalog, name, thinking=False, have_key=has_key))


def _wants_anthropic(request: RouteRequest) -> bool:
    return "anthropic-version" in request.headers


def _model(name: str, request: RouteRequest) -> dict[str, object]:
    if _wants_anthropic(request):
        created = _UNKNOWN_TIME.isoformat().replace("+00:00", "Z")
        return {"type": "model", "id": name, "display_name": name, "created_at": created}
    return {"id": name, "object": "model", "created": 0, "owned_by": "thinkaloud"}


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
    """Return the names of the models whose provider has its key, or runs on this machine, and aliases."""
    listed = await list_catalog_models(request)
    ready = {row.name for row in listed.providers if row.has_key and row.answers is not False}
    names = ((model.id, [name for name in model.providers if name in ready]) for model in listed.models)
    aliases = [alias for alias in request.gateway.catalog.aliases if "*" not in alias]
    return [*aliases, *(f"{providers[0]}/{model}" for model, providers in names if providers)]
