"""The models of the catalog: where each is, whether it can be asked here, and how it thinks.

Of keys only their presence is told. Looking for one may open a file or a keyring, so it is done in a thread.
"""

import asyncio

from thinkaloud.catalog import Capability, Catalog, Listed, listing
from thinkaloud.client.prepare import has_key
from thinkaloud.server.bodies import ModelBody, ModelList, ProviderBody
from thinkaloud.server.routing import Call


async def listed(call: Call) -> ModelList:
    """List every model and every provider of the catalog."""
    return await asyncio.to_thread(_listed, call.gateway.catalog)


def _listed(catalog: Catalog) -> ModelList:
    keyed = {name: has_key(provider) for name, provider in catalog.providers.items()}
    providers = tuple(
        ProviderBody(name=name, has_key=keyed[name], local=provider.local)
        for name, provider in catalog.providers.items()
    )
    return ModelList(tuple(_model(one, catalog, keyed) for one in listing(catalog)), providers)


def _model(one: Listed, catalog: Catalog, keyed: dict[str, bool]) -> ModelBody:
    return ModelBody(
        id=one.id,
        providers=one.providers,
        with_thinking=one.with_thinking,
        has_key=any(keyed[name] for name in one.providers),
        local=bool(one.providers) and all(catalog.providers[name].local for name in one.providers),
        thinking=one.thinking,
        thinking_toggle=one.thinking is not Capability.NONE,
        reason=_reason(one),
        on_by_default=one.on_by_default,
        control=one.control,
        efforts=one.efforts,
        can_be_off=one.can_be_off,
        visible=one.visible,
        as_of=one.as_of,
        source=one.source,
    )


def _reason(one: Listed) -> str:
    match one.thinking:
        case Capability.NONE:
            return f"{one.id} does not think, so there is nothing to switch."
        case Capability.ALWAYS:
            return f"{one.id} always thinks: switched off, it is asked for as little as it can."
        case Capability.OPTIONAL:
            return ""
