"""HTTP bodies of the list of models. All other bodies are in `server.schemas`."""

import msgspec

from thinkaloud.core.catalog import InputKind, ThinkingControl, ThinkingSupport, ThinkingVisibility


class ProviderBody(msgspec.Struct, frozen=True, kw_only=True):
    """A provider. `has_key` says whether an API key was found or none is needed; the key is never shown."""

    name: str
    has_key: bool
    local: bool
    """A local server. It serves the models it was started with, as `name/model`."""
    answers: bool | None = None
    """Whether a local server accepts connections now; null for other providers."""


class ModelBody(msgspec.Struct, frozen=True, kw_only=True):
    """A model, its providers, and its thinking support."""

    id: str
    providers: tuple[str, ...]
    with_thinking: tuple[str, ...]
    """The providers that are used when thinking is on."""
    has_key: bool
    """Whether an API key was found for any of its providers."""
    local: bool
    thinking: ThinkingSupport
    thinking_toggle: bool
    """Whether a user interface should offer a switch for thinking."""
    reason: str
    """Why there is no switch, or what it cannot do. Empty if thinking can be switched on and off."""
    on_by_default: bool
    control: tuple[ThinkingControl, ...]
    efforts: tuple[str, ...]
    can_be_off: bool
    visible: ThinkingVisibility
    inputs: tuple[InputKind, ...] | None
    """What it takes besides text; null if unknown."""
    as_of: str
    source: str


class ModelList(msgspec.Struct, frozen=True):
    """All models and providers of the catalog."""

    models: tuple[ModelBody, ...]
    providers: tuple[ProviderBody, ...]
