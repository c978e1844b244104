"""What a row of the catalog says: a provider, a model, and how thoughts go back to it.

Rows are data with the date and the source of what they say; a user's own file adds rows and overrides these.
"""

from enum import StrEnum
from typing import Annotated

import msgspec


class AuthScheme(StrEnum):
    """How a key is shown to a provider."""

    NONE = "none"
    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"


class ThinkingSupport(StrEnum):
    """Whether a model thinks."""

    NONE = "none"
    OPTIONAL = "optional"
    ALWAYS = "always"


class ThinkingControl(StrEnum):
    """What a model takes to say how hard to think."""

    NONE = "none"
    EFFORT = "effort"
    BUDGET = "budget"
    LEVEL = "level"
    TOGGLE = "toggle"
    ADAPTIVE = "adaptive"


class ThinkingVisibility(StrEnum):
    """What one gets to see of the thinking."""

    FULL = "full"
    SUMMARY = "summary"
    ENCRYPTED = "encrypted"


class ReplayScope(StrEnum):
    """Which assistant turns' thoughts go back (or must)."""

    NONE = "none"
    OPEN_LOOP = "open_loop"
    """Those of the tool loop that is still open."""
    TOOL_TURNS = "tool_turns"
    """Those of every turn that called tools."""
    ALL = "all"


class ReplayForm(StrEnum):
    """In what form a provider takes thoughts back."""

    NONE = "none"
    VERBATIM = "verbatim"
    """The assistant's message as it was sent: signed blocks, items, details, parts."""
    FIELD = "field"
    """The text in a field of the message."""


class RowSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When and from where something is known."""

    as_of: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    source: Annotated[str, msgspec.Meta(min_length=1)]


class ReplayRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How thoughts go back: the form, which turns by default, which turns at the least, which at the most."""

    name: str
    form: ReplayForm
    field: str = ""
    default: ReplayScope = ReplayScope.NONE
    required: ReplayScope = ReplayScope.NONE
    allowed: ReplayScope = ReplayScope.ALL
    prefix_bound: bool = False
    """A changed system prompt, tool or earlier message voids every thought from there on."""
    echo_empty: bool = False
    """The field must be there even when there is nothing in it."""
    fact: RowSource | None = None


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who answers: a dialect at an address."""

    name: str
    dialect: str
    base_url: str
    key: str = ""
    """A reference: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`; empty where none is needed."""
    auth: AuthScheme = AuthScheme.BEARER
    models_path: str = ""
    replay: str = ""
    local: bool = False
    places: dict[str, str] = msgspec.field(default_factory=dict)
    """Where the body takes each field of an `Ask`, by dotted path; a field without a place is not taken."""
    shows_thinking: bool = True
    """Whether what was thought can come back from here at all."""
    joins_messages: bool = True
    """Whether messages of the user in a row go out as one: not everybody takes two."""
    display: str = ""
    """The word that asks for text which would be withheld."""
    off: str = ""
    """How "off" is said here for every model that can be off; empty where the model's own way is used."""
    control: tuple[ThinkingControl, ...] = ()
    """What to try with a model that the catalog does not know."""
    efforts: tuple[str, ...] = ()
    """The words to try with a model that has none of its own in the catalog."""
    max_tokens: int | None = None
    """Sent when the caller names none, where the API demands one."""
    fact: RowSource


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of models that think alike."""

    id: str
    names: tuple[str, ...] = ()
    """Patterns for other spellings: `claude-opus-4-5*`, `anthropic/claude-opus-4.5`."""
    at: dict[str, str] = msgspec.field(default_factory=dict)
    """What each provider calls it, `*` for the name as it was given; the order is the order of preference."""
    at_with_thinking: tuple[str, ...] = ()
    """The providers to go to when thinking is on; empty where any of them shows it."""
    thinking_id: dict[str, str] = msgspec.field(default_factory=dict)
    """What a provider calls it when thinking is on, where that is another name."""
    thinking: ThinkingSupport = ThinkingSupport.NONE
    on_by_default: bool = False
    control: tuple[ThinkingControl, ...] = ()
    efforts: tuple[str, ...] = ()
    off: str = ""
    """How "off" is said: `disabled`, `between_tools`, `none`, `budget_0`, `toggle`, `template`; or not."""
    budget_min: int | None = None
    budget_max: int | None = None
    max_output_tokens: int | None = None
    visible: ThinkingVisibility = ThinkingVisibility.FULL
    omitted_by_default: bool = False
    replay: dict[str, str] = msgspec.field(default_factory=dict)
    """Replay rules by provider, where the model differs from the provider's own."""
    template: dict[str, bool | str] = msgspec.field(default_factory=dict)
    tags: str = ""
    forced_tools: bool = True
    """Whether a forced tool choice is allowed while thinking."""
    tools_or_thinking_at: tuple[str, ...] = ()
    """Providers that refuse tools and thinking in one request."""
    fact: RowSource


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Provider and model for one request, how thoughts go back, and why this one."""

    provider: Provider
    model: Model
    model_id: str
    replay: ReplayRow
    why: tuple[str, ...] = ()
