"""What `thinkaloud models` lists: one line of facts per model."""

import msgspec

from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.rows import Model, ThinkingControl, ThinkingSupport, ThinkingVisibility


class ModelListing(msgspec.Struct, frozen=True):
    """A model in a list, with where it is and how it thinks."""

    id: str
    providers: tuple[str, ...]
    with_thinking: tuple[str, ...]
    thinking: ThinkingSupport
    on_by_default: bool
    control: tuple[ThinkingControl, ...]
    efforts: tuple[str, ...]
    can_be_off: bool
    visible: ThinkingVisibility
    as_of: str
    source: str


def list_models(catalog: Catalog, *, thinking: bool = False) -> list[ModelListing]:
    """Every model of the catalog in its order; with `thinking`, those that can."""
    return [
        _model_listing(model)
        for model in catalog.models.values()
        if not thinking or model.thinking is not ThinkingSupport.NONE
    ]


def _model_listing(model: Model) -> ModelListing:
    return ModelListing(
        id=model.id,
        providers=tuple(model.at),
        with_thinking=model.at_with_thinking or tuple(model.at),
        thinking=model.thinking,
        on_by_default=model.on_by_default,
        control=model.control,
        efforts=model.efforts,
        can_be_off=model.thinking is not ThinkingSupport.ALWAYS,
        visible=model.visible,
        as_of=model.fact.as_of,
        source=model.fact.source,
    )
