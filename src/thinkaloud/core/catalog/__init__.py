"""The catalog of providers and models, route selection, and translation of thinking settings. No I/O."""

from thinkaloud.core.catalog.catalog import (
    Catalog,
    ModelListing,
    builtin_catalog,
    builtin_texts,
    find_model,
    list_models,
    parse_catalog,
)
from thinkaloud.core.catalog.refresh import (
    CatalogDifference,
    FieldChange,
    ReportedModel,
    compare_models,
    new_rows,
    read_reported_models,
)
from thinkaloud.core.catalog.routing import has_thinking_suffix, key_missing_error, retirement_note, route
from thinkaloud.core.catalog.rows import (
    AuthScheme,
    InputKind,
    Model,
    Provider,
    ReplayForm,
    ReplayRow,
    ReplayScope,
    Route,
    RowSource,
    ThinkingControl,
    ThinkingSupport,
    ThinkingVisibility,
)
from thinkaloud.core.catalog.thinking import allows_forced_tool, resolve_thinking

__all__ = [
    "AuthScheme",
    "Catalog",
    "CatalogDifference",
    "FieldChange",
    "InputKind",
    "Model",
    "ModelListing",
    "Provider",
    "ReplayForm",
    "ReplayRow",
    "ReplayScope",
    "ReportedModel",
    "Route",
    "RowSource",
    "ThinkingControl",
    "ThinkingSupport",
    "ThinkingVisibility",
    "allows_forced_tool",
    "builtin_catalog",
    "builtin_texts",
    "compare_models",
    "find_model",
    "has_thinking_suffix",
    "key_missing_error",
    "list_models",
    "new_rows",
    "parse_catalog",
    "read_reported_models",
    "resolve_thinking",
    "retirement_note",
    "route",
]
