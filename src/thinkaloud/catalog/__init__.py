"""Providers and models as rows, the choice of a route, and how thinking is asked for. Pure."""

from thinkaloud.catalog.book import Catalog, builtin, builtin_texts, parse
from thinkaloud.catalog.control import allows_forced_tool, solve
from thinkaloud.catalog.listing import Listed, listing
from thinkaloud.catalog.refresh import Change, Difference, Offer, difference, offers
from thinkaloud.catalog.routing import key_missing, route, wants_thinking
from thinkaloud.catalog.rows import (
    Auth,
    Capability,
    Control,
    Fact,
    Model,
    Provider,
    Replay,
    ReplayForm,
    Route,
    Sent,
    Visibility,
)

__all__ = [
    "Auth",
    "Capability",
    "Catalog",
    "Change",
    "Control",
    "Difference",
    "Fact",
    "Listed",
    "Model",
    "Offer",
    "Provider",
    "Replay",
    "ReplayForm",
    "Route",
    "Sent",
    "Visibility",
    "allows_forced_tool",
    "builtin",
    "builtin_texts",
    "difference",
    "key_missing",
    "listing",
    "offers",
    "parse",
    "route",
    "solve",
    "wants_thinking",
]
