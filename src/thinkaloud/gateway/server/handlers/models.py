"""Handler for the list of models: providers, available keys and thinking support of each.

Only the presence of an API key is reported. Looking up a key may open a file or a keyring, so it runs in a
thread. Local servers are asked whether they are there, all at once.
"""

import asyncio
from datetime import UTC, datetime

from thinkaloud.client.connections import connect_all, local_providers
from thinkaloud.client.prepared_request import has_key
from thinkaloud.core.catalog import Catalog, ModelListing, ThinkingSupport, list_models
from thinkaloud.gateway.server.http.route import RouteRequest
from thinkaloud.gateway.server.schemas import body_of
from thinkaloud.gateway.server.schemas.models import ModelBody, ModelList, ProviderBody


async def list_catalog_models(request: RouteRequest) -> ModelList:
    """List the models that can be asked by their ids, and every provider of the catalog."""
    catalog = request.gateway.catalog
    servers = local_providers(catalog)
    answers = dict(zip((server.name for server in servers), await connect_all(servers), strict=True))
    today = datetime.fromtimestamp(request.gateway.now_ms() / 1000, UTC).date().isoformat()
    return await asyncio.to_thread(_build_list, catalog, answers, today)


def _build_list(catalog: Catalog, answers: dict[str, bool], today: str) -> ModelList:
    keys_present = {name: has_key(provider) for name, provider in catalog.providers.items()}
    providers = tuple(
        ProviderBody(name=name, has_key=keys_present[name], local=provider.local, answers=answers.get(name))
        for name, provider in catalog.providers.items()
    )
    models: list[ModelBody] = []
    for listed_model in list_models(catalog, today=today):
        if not listed_model.family:
            models.append(_model_body(listed_model, catalog, keys_present))
    return ModelList(tuple(models), providers)


def _model_body(listed_model: ModelListing, catalog: Catalog, keys_present: dict[str, bool]) -> ModelBody:
    return body_of(
        ModelBody,
        listed_model,
        has_key=any(keys_present[name] for name in listed_model.providers),
        local=bool(listed_model.providers)
        and all(catalog.providers[name].local for name in listed_model.providers),
        thinking_toggle=listed_model.thinking is not ThinkingSupport.NONE,
        reason=_reason(listed_model),
    )


def _reason(listed_model: ModelListing) -> str:
    match listed_model.thinking:
        case ThinkingSupport.NONE:
            return f"{listed_model.id} does not support thinking."
        case ThinkingSupport.ALWAYS:
            return f"{listed_model.id} always thinks. With thinking off, it thinks as little as it can."
        case ThinkingSupport.OPTIONAL:
            return ""
