"""The row types of the catalog: providers, models, and the rules for sending thoughts back.

Every fact carries its date and source. A user's own file can add rows and override fields.
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from thinkaloud.core.canon.requests import Sampling


class AuthScheme(StrEnum):
    """The header that carries the API key."""

    NONE = "none"
    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    API_KEY = "api-key"
    AWS = "aws"
    """A bearer token, or a signature if the key is the secret of an AWS access key."""


class ThinkingSupport(StrEnum):
    """Whether a model can think."""

    NONE = "none"
    OPTIONAL = "optional"
    ALWAYS = "always"


class ThinkingControl(StrEnum):
    """The parameters with which a model's thinking is controlled."""

    NONE = "none"
    EFFORT = "effort"
    BUDGET = "budget"
    LEVEL = "level"
    TOGGLE = "toggle"
    ADAPTIVE = "adaptive"


class ThinkingVisibility(StrEnum):
    """How much of the thinking the API returns."""

    FULL = "full"
    SUMMARY = "summary"
    ENCRYPTED = "encrypted"
    WITHHELD = "withheld"
    """A placeholder in place of the text."""


class InputKind(StrEnum):
    """What a model takes besides text."""

    IMAGE = "image"
    PDF = "pdf"
    AUDIO = "audio"


class OutputForm(StrEnum):
    """How an answer of a given shape is asked for."""

    PROMPT = "prompt"
    """In words only."""
    JSON = "json"
    """In words, with a parameter that makes the answer some JSON value."""
    SCHEMA = "schema"
    """With a parameter that holds the JSON Schema."""


class CacheForm(StrEnum):
    """What a provider needs to bill the unchanged beginning of a request at a lower price."""

    NONE = ""
    """Nothing: it caches by itself, or not at all."""
    MARKS = "marks"
    """Marks in the content, each at the end of what is stable."""
    AUTOMATIC = "automatic"
    """One field, which lets the provider place the mark."""
    KEY = "key"
    """A key that all requests of a conversation share, so that they reach the same machine."""


SAMPLING_PARAMETERS = tuple(name for name in Sampling.__struct_fields__ if name != "extra")
REFUSED_WHEN_UNBOUNDED = ("temperature", "top_p")
"""Sampling parameters that a model does not take with its `unbounded_effort`."""


class ReplayScope(StrEnum):
    """The assistant turns whose thoughts are sent back."""

    NONE = "none"
    OPEN_LOOP = "open_loop"
    """Turns of the tool loop that is still open."""
    TOOL_TURNS = "tool_turns"
    """Every turn that called tools."""
    ALL = "all"


class ReplayForm(StrEnum):
    """The form in which a provider accepts thoughts back."""

    NONE = "none"
    VERBATIM = "verbatim"
    """The assistant message exactly as received: signed blocks, items, details or parts."""
    FIELD = "field"
    """The text, in a field of the message."""


class ResultImages(StrEnum):
    """Where images of a tool result go."""

    INSIDE = "inside"
    """In the result itself."""
    FOLLOWING = "following"
    """In a user message after the results."""
    NONE = "none"
    """Nowhere: the API takes them neither in a result nor right after it."""


IsoDate = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class RowSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The date and source of a fact."""

    as_of: IsoDate
    source: Annotated[str, msgspec.Meta(min_length=1)]


class ReplayRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How thoughts are sent back: the form, and the default, required and allowed turns."""

    name: str
    form: ReplayForm
    field: str = ""
    default: ReplayScope = ReplayScope.NONE
    required: ReplayScope = ReplayScope.NONE
    allowed: ReplayScope = ReplayScope.ALL
    prefix_bound: bool = False
    """A changed system prompt, tool or earlier message invalidates every later thought."""
    echo_empty: bool = False
    """The field must be present even if it is empty."""
    drops_blank_text: bool = False
    """The provider refuses blank text, also in a message of its own."""
    thought_first: bool = False
    """While the model thinks, an open tool loop must begin and end with a thought of its own."""
    fact: RowSource | None = None


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dialect at an address."""

    name: str
    names: tuple[str, ...] = ()
    """Other names for it, by which programs also name its dialect. Two providers may share one."""
    dialect: str
    base_url: str
    """The address. `{NAME}` is replaced by the variable NAME of the environment when a request is sent."""
    key: str = ""
    """A key reference: `env:NAME`, `file:PATH` or `keyring:SERVICE/USER`; empty if no key is needed."""
    auth: AuthScheme = AuthScheme.BEARER
    models_path: str = ""
    replay: str = ""
    local: bool = False
    places: dict[str, str] = msgspec.field(default_factory=dict)
    """The dotted path in the body for each supported field of `ThinkingParameters`.

    A sampling parameter has its path here only if it differs from the dialect's; an empty path means that the
    provider does not take it.
    """
    temperature_max: float = 2.0
    top_p_range: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest top_p that it takes."""
    stop_max: int = 16
    """How many stop sequences it takes."""
    output: OutputForm = OutputForm.SCHEMA
    """How an answer of a given shape is asked for, unless a model can do less."""
    output_closed: bool = False
    """Whether it refuses a JSON Schema with objects that may have other fields."""
    cache: CacheForm = CacheForm.NONE
    inputs: tuple[InputKind, ...] = tuple(InputKind)
    """What its API has a form for, besides text."""
    result_images: ResultImages = ResultImages.FOLLOWING
    """Where images of tool results go, unless a model says otherwise."""
    shows_thinking: bool = True
    """Whether this provider can return thoughts at all."""
    joins_messages: bool = True
    """Whether consecutive user messages are sent as one. Some APIs refuse two in a row."""
    display: str = ""
    """The value that requests thought text which is omitted by default."""
    off: str = ""
    """How to turn thinking off for every model of this provider; empty to use the model's own `off`."""
    control: tuple[ThinkingControl, ...] = ()
    """Controls to try for a model that is not in the catalog."""
    efforts: tuple[str, ...] = ()
    """Effort words to try for a model that has none in the catalog."""
    display_refusal: str = ""
    """Words of an error that refuses to return thoughts to this account."""
    thinking_refusal: str = ""
    """Words of an error that says that the model cannot think."""
    in_process: bool = False
    """Whether this program serves the provider itself, while it is asked."""
    max_tokens: int | None = None
    """Sent if the caller sets none, for APIs that require a value."""
    max_tokens_min: int = 1
    """The smallest limit that it takes."""
    fact: RowSource


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of models with the same thinking behaviour."""

    id: str
    names: tuple[str, ...] = ()
    """Patterns for other spellings: `claude-opus-4-5*`, `anthropic/claude-opus-4.5`."""
    at: dict[str, str] = msgspec.field(default_factory=dict)
    """The model id at each provider, in order of preference. `*` is replaced by the name the user typed."""
    ids: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Ids to list by provider, where `at` has a `*`. A row with this field is a family."""
    deployment_of: str = ""
    """The row of the model behind a name of the user's own, such as a deployment at Azure."""
    family: tuple[str, ...] = ()
    """The names of that model, which the responses of the deployment have."""
    at_with_thinking: tuple[str, ...] = ()
    """Providers to use when thinking is on; empty if all of them show it."""
    thinking_id: dict[str, str] = msgspec.field(default_factory=dict)
    """The model id at a provider when thinking is on, if it differs."""
    thinking: ThinkingSupport = ThinkingSupport.NONE
    on_by_default: bool = False
    control: tuple[ThinkingControl, ...] = ()
    efforts: tuple[str, ...] = ()
    off: str = ""
    """How to turn it off: `disabled`, `between_tools`, `none`, `budget_0`, `toggle`, `template`, or empty."""
    budget_min: int | None = None
    budget_max: int | None = None
    max_output_tokens: int | None = None
    visible: ThinkingVisibility = ThinkingVisibility.FULL
    omitted_by_default: bool = False
    places: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """The places of its parameters by provider, where they differ from those of the provider's row."""
    unbounded_effort: str = ""
    """The effort with which it takes no output limit and none of `REFUSED_WHEN_UNBOUNDED`."""
    replay: dict[str, str] = msgspec.field(default_factory=dict)
    """Replay rules by provider, where they differ from the provider's own."""
    template: dict[str, bool | str] = msgspec.field(default_factory=dict)
    tags: str = ""
    """The tag profile of its text; empty to let the model's name select one."""
    inputs: tuple[InputKind, ...] | None = None
    """What it takes besides text; None if that is not known."""
    result_images: ResultImages | None = None
    """Where images of tool results go, if it differs from the provider's."""
    retires: dict[str, IsoDate] = msgspec.field(default_factory=dict)
    """The date from which a provider no longer serves it."""
    successor: str = ""
    """The id of the row to use instead."""
    cache: dict[str, CacheForm] = msgspec.field(default_factory=dict)
    """What prompt caching needs by provider, where it differs from the provider's own."""
    refuses: tuple[str, ...] = ()
    """Sampling parameters that it never takes."""
    refuses_while_thinking: tuple[str, ...] = ()
    """Sampling parameters that it does not take while it thinks."""
    temperature_or_top_p: bool = False
    """Whether it takes only one of these two."""
    output: OutputForm = OutputForm.SCHEMA
    """How an answer of a given shape is asked for, if the provider can do as much."""
    output_with_tools: bool = True
    """Whether it takes a shape for the answer and tools in one request."""
    forced_tools: bool = True
    """Whether a forced tool choice is allowed while thinking."""
    tools_or_thinking_at: tuple[str, ...] = ()
    """Providers that refuse tools and thinking in one request."""
    tools_refused_at: tuple[str, ...] = ()
    """Providers that refuse tools for it."""
    fact: RowSource


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The provider and model for one request, the replay rule, and the reasons for this choice."""

    provider: Provider
    model: Model
    model_id: str
    replay: ReplayRow
    why: tuple[str, ...] = ()
    thinking: bool = False
    """Whether thinking was requested."""

    def unbounded(self, effort: str) -> bool:
        """Return whether the model takes no output limit with this effort; empty is no effort."""
        return bool(effort) and effort == self.model.unbounded_effort
