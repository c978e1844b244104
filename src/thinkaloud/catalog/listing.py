"""What `thinkaloud models` lists: one line of facts per model."""

import msgspec

from thinkaloud.catalog.book import Catalog
from thinkaloud.catalog.rows import Capability, Control, Model, Visibility


class Listed(msgspec.Struct, frozen=True):
    """A model in a list, with where it is and how it thinks."""

    id: str
    providers: tuple[str, ...]
    with_thinking: tuple[str, ...]
    thinking: Capability
    on_by_default: bool
    control: tuple[Control, ...]
    efforts: tuple[str, ...]
    can_be_off: bool
    visible: Visibility
    as_of: str
    source: str


def listing(catalog: Catalog, *, thinking: bool = False) -> list[Listed]:
    """Every model of the catalog in its order; with `thinking`, those that can."""
    return [
        _listed(model)
        for model in catalog.models.values()
        if not thinking or model.thinking is not Capability.NONE
    ]


def _listed(model: Model) -> Listed:
    return Listed(
        id=model.id,
        providers=tuple(model.at),
        with_thinking=model.at_with_thinking or tuple(model.at),
        thinking=model.thinking,
        on_by_default=model.on_by_default,
        control=model.control,
        efforts=model.efforts,
        can_be_off=model.thinking is not Capability.ALWAYS,
        visible=model.visible,
        as_of=model.fact.as_of,
        source=model.fact.source,
    )
