"""On what terms a request is made: how much thought goes back, and how the model is asked.

Whether a turn comes from the model that is about to be asked, so that its thoughts may go back to it.

Three things must agree: the wire format, the provider where it is known, and the family of the model. A
family is a row of the catalog; for names that no row knows, one name must be the other with a date or a
version label.

Whether a turn's thoughts go back, by the rule of its provider; the first reason against it is told.
"""

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import assert_never

import msgspec

from thinkaloud.canon import SealForm
from thinkaloud.canon.requests import ThinkingParameters
from thinkaloud.catalog.rows import Model, ReplayForm, ReplayRow, ReplayScope, Route
from thinkaloud.context.conversation import AnsweredTurn
from thinkaloud.context.history import SentTurn


class ContextMode(StrEnum):
    """How much thought goes back."""

    KEEP = "keep"
    """As much as the provider accepts."""
    STRIP = "strip"
    """Only what the provider demands."""
    PROVIDER_DEFAULT = "provider_default"
    """What the provider recommends."""


class UnsupportedThoughts(StrEnum):
    """What becomes of thoughts that the model cannot take."""

    STRIP = "strip"
    METADATA = "metadata"
    """They are kept with the conversation, and nothing is sent."""
    NOTE = "note"
    """A short note goes with the next user message."""


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about the next request that is not the conversation."""

    mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    unsupported: UnsupportedThoughts = UnsupportedThoughts.METADATA
    thinking: ThinkingParameters = ThinkingParameters()
    max_tokens: int | None = None
    tool_choice: str = ""
    stream: bool = True


_VERSION_LABEL = re.compile(r"(?:[-@:](?:latest|preview.*|exp.*|v?\d{4,}.*))?")


def issued_by_route(answered: AnsweredTurn, route: Route) -> bool:
    """Whether this turn was issued by what the route leads to."""
    turn = answered.turn
    if turn.dialect != route.provider.dialect:
        return False
    if answered.provider and answered.provider != route.provider.name:
        return False
    return same_family(turn.model, route)


def same_family(name: str, route: Route) -> bool:
    """Whether a model's name belongs to the route's family; a name that nobody gave belongs to none."""
    if not name:
        return False
    return (
        name == route.model_id or row_covers(name, route.model) or _same_but_for_version(name, route.model_id)
    )


def row_covers(name: str, model: Model) -> bool:
    """Whether the row speaks of this name. A row for any name at all says nothing about families."""
    spellings = {name.lower(), _without_vendor(name)}
    exact = {word.lower() for word in (model.id, *model.at.values(), *model.thinking_id.values())}
    if spellings & exact or _without_vendor(name) in {_without_vendor(word) for word in exact}:
        return True
    patterns = [pattern.lower() for pattern in model.names if pattern.strip("*")]
    return any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in patterns)


def _same_but_for_version(first: str, second: str) -> bool:
    shorter, longer = sorted((_comparable(first), _comparable(second)), key=len)
    return longer.startswith(shorter) and _VERSION_LABEL.fullmatch(longer[len(shorter) :]) is not None


def _comparable(name: str) -> str:
    return _without_vendor(name).replace(".", "-")


def _without_vendor(name: str) -> str:
    """A name without the vendor before it, in small letters."""
    return name.rpartition("/")[2].lower()


_SCOPE_RANK = {ReplayScope.NONE: 0, ReplayScope.OPEN_LOOP: 1, ReplayScope.TOOL_TURNS: 2, ReplayScope.ALL: 3}
"""Each is a part of the next."""


def supports_thinking_blocks(route: Route) -> bool:
    """Whether what this route leads to takes thoughts back in any form."""
    return route.replay.form is not ReplayForm.NONE and route.replay.allowed is not ReplayScope.NONE


def replay_scope(rule: ReplayRow, mode: ContextMode) -> ReplayScope:
    """Which turns' thoughts go back: never less than the rule demands, never more than it allows."""
    preferred = {
        ContextMode.KEEP: rule.allowed,
        ContextMode.STRIP: rule.required,
        ContextMode.PROVIDER_DEFAULT: max(rule.default, rule.required, key=_SCOPE_RANK.__getitem__),
    }[mode]
    return min(preferred, rule.allowed, key=_SCOPE_RANK.__getitem__)


def covers(scope: ReplayScope, sent_turn: SentTurn, loop: frozenset[int]) -> bool:
    """Whether a turn is among those that a scope names."""
    match scope:
        case ReplayScope.NONE:
            return False
        case ReplayScope.OPEN_LOOP:
            return sent_turn.step in loop
        case ReplayScope.TOOL_TURNS:
            return sent_turn.has_calls
        case ReplayScope.ALL:
            return True
        case _:
            assert_never(scope)


class ReplayRules:
    """Says of each turn in order how its thoughts go back (`verbatim`, `drop_block`, `field`), or why not."""

    def __init__(self, route: Route, options: BuildOptions, loop: frozenset[int]) -> None:
        self._route = route
        self._rule = route.replay
        self._mode = options.mode
        self._thinks = options.thinking.mode != "disabled"
        self._scope = replay_scope(route.replay, options.mode)
        self._loop = loop
        self._prefix_changed = False
        self.drops_blocks = False
        """Whether something goes back only to be dropped."""

    def decide(self, sent_turn: SentTurn, prefix: str) -> str:
        """The code of what happens to the thoughts of this turn, which is sent after this prefix."""
        refusal = self._refusal(sent_turn)
        if refusal:
            return refusal
        if self._rule.form is ReplayForm.FIELD:
            return self._out_of_scope(sent_turn) or "field"
        if not sent_turn.has_thought:
            return "verbatim"
        return self._out_of_scope(sent_turn) or self._invalid_seal(sent_turn, prefix) or "verbatim"

    def needs_empty_field(self, sent_turn: SentTurn) -> bool:
        """Whether the field must be there even though nothing is sent in it."""
        due = covers(self._scope, sent_turn, self._loop) or covers(self._rule.required, sent_turn, self._loop)
        return self._rule.form is ReplayForm.FIELD and self._rule.echo_empty and due

    def _refusal(self, sent_turn: SentTurn) -> str:
        if not issued_by_route(sent_turn.answered, self._route):
            return "stripped" if self._mode is ContextMode.STRIP else "foreign"
        if not sent_turn.complete:
            return "interrupted"
        if sent_turn.unanswered:
            return "unanswered"
        if self._rule.form is ReplayForm.NONE:
            return "no_form"
        if self._rule.form is ReplayForm.VERBATIM and sent_turn.turn.message is None:
            return "no_message"
        return ""

    def _out_of_scope(self, sent_turn: SentTurn) -> str:
        if covers(self._scope, sent_turn, self._loop):
            return ""
        if not covers(self._rule.allowed, sent_turn, self._loop):
            return "forbidden"
        return "stripped" if self._mode is ContextMode.STRIP else "not_due"

    def _invalid_seal(self, sent_turn: SentTurn, prefix: str) -> str:
        forms = {seal.form for block in sent_turn.turn.own_blocks() for seal in block.seals}
        if SealForm.ITEM in forms and not self._route.provider.local:
            return "no_payload"
        if not (self._rule.prefix_bound and self._has_other_prefix(sent_turn, prefix)):
            return ""
        self._prefix_changed = True
        if self._thinks and covers(self._rule.required, sent_turn, self._loop):
            self.drops_blocks = True
            return "drop_block"
        return "prefix"

    def _has_other_prefix(self, sent_turn: SentTurn, prefix: str) -> bool:
        """A turn that nobody knows the prefix of is believed until an earlier one proves changed."""
        return sent_turn.answered.prefix != prefix if sent_turn.answered.prefix else self._prefix_changed
