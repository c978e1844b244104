"""Decides how the thoughts of each turn are sent back, by the replay rule of the provider.

Thoughts may go back only to the model that issued them: the dialect, the provider (if known) and the model
family must agree. A family is a catalog row; names without a row match if they differ only in a date or a
version label. The first reason against sending is the one reported.
"""

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import assert_never

from thinkaloud.core.canon import SealForm
from thinkaloud.core.canon.requests import ContextMode, RouteSettings
from thinkaloud.core.catalog.catalog import without_vendor
from thinkaloud.core.catalog.rows import Model, ReplayForm, ReplayRow, ReplayScope, Route
from thinkaloud.core.context.context import AnsweredTurn
from thinkaloud.core.context.history import SentTurn


class UnsupportedThoughts(StrEnum):
    """What to do with thoughts that the model cannot accept."""

    STRIP = "strip"
    METADATA = "metadata"
    """Keep them in the conversation and send nothing."""
    NOTE = "note"
    """Add a short note to the next user message."""


class BuildOptions(RouteSettings, frozen=True, kw_only=True):
    """All settings of the next request except the conversation."""

    mode: ContextMode = ContextMode.PROVIDER_DEFAULT
    unsupported: UnsupportedThoughts = UnsupportedThoughts.METADATA
    cache: bool = True


_VERSION_LABEL = re.compile(r"(?:[-@:](?:latest|preview.*|exp.*|v?\d{4,}.*))?")


def issued_by_route(answered: AnsweredTurn, route: Route) -> bool:
    """Return whether this turn was issued by the model of the route."""
    turn = answered.turn
    if turn.dialect != route.provider.dialect:
        return False
    if answered.provider and answered.provider != route.provider.name:
        return False
    return same_family(turn.model, route)


def same_family(name: str, route: Route) -> bool:
    """Return whether a model name belongs to the route's family. An empty name belongs to none."""
    if not name:
        return False
    return (
        name == route.model_id or row_covers(name, route.model) or _same_but_for_version(name, route.model_id)
    )


def row_covers(name: str, model: Model) -> bool:
    """Return whether the row covers this name.

    The pattern `*` does not count, because it matches every family.
    """
    short_name = without_vendor(name).lower()
    spellings = {name.lower(), short_name}
    ids = (model.id, *model.at.values(), *model.thinking_id.values())
    exact = set(map(str.lower, ids))
    if spellings & exact or short_name in map(without_vendor, exact):
        return True
    for pattern in (*model.names, *model.family):
        covered = any(fnmatchcase(spelling, pattern.lower()) for spelling in spellings)
        if covered and pattern.strip("*"):
            return True
    return False


def _same_but_for_version(first: str, second: str) -> bool:
    shorter, longer = sorted((_comparable(first), _comparable(second)), key=len)
    return longer.startswith(shorter) and _VERSION_LABEL.fullmatch(longer[len(shorter) :]) is not None


def _comparable(name: str) -> str:
    return without_vendor(name).lower().replace(".", "-")


_SCOPE_RANK = {ReplayScope.NONE: 0, ReplayScope.OPEN_LOOP: 1, ReplayScope.TOOL_TURNS: 2, ReplayScope.ALL: 3}
"""Each scope includes the one before it."""


def supports_thinking_blocks(route: Route) -> bool:
    """Return whether this route accepts thoughts back in any form."""
    return route.replay.form is not ReplayForm.NONE and route.replay.allowed is not ReplayScope.NONE


def replay_scope(rule: ReplayRow, mode: ContextMode) -> ReplayScope:
    """Return which turns' thoughts are sent back: at least the required ones, at most the allowed ones."""
    preferred = {
        ContextMode.KEEP: rule.allowed,
        ContextMode.STRIP: rule.required,
        ContextMode.PROVIDER_DEFAULT: max(rule.default, rule.required, key=_SCOPE_RANK.__getitem__),
    }[mode]
    return min(preferred, rule.allowed, key=_SCOPE_RANK.__getitem__)


def covers(scope: ReplayScope, sent_turn: SentTurn, loop: frozenset[int]) -> bool:
    """Return whether a scope includes a turn."""
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
    """Decides how the thoughts of each turn go back: `verbatim`, `drop_block`, `field`, or a reason code."""

    def __init__(self, route: Route, options: BuildOptions, loop: frozenset[int]) -> None:
        self._route = route
        self._rule = route.replay
        self._mode = options.mode
        self._thinks = options.thinking.mode != "disabled"
        self._scope = replay_scope(route.replay, options.mode)
        self._loop = loop
        self._prefix_changed = False
        self.drops_blocks = False
        """Whether a thought is sent only to be dropped by the provider."""

    def decide(self, sent_turn: SentTurn, prefix: str) -> str:
        """Return the decision or reason code for the thoughts of this turn, sent after this prefix."""
        refusal = self._refusal(sent_turn)
        if refusal:
            return refusal
        if self._rule.form is ReplayForm.FIELD:
            return self._out_of_scope(sent_turn) or "field"
        if not sent_turn.has_thought:
            return "verbatim"
        return self._out_of_scope(sent_turn) or self._invalid_seal(sent_turn, prefix) or "verbatim"

    def needs_empty_field(self, sent_turn: SentTurn) -> bool:
        """Return whether the reasoning field must be present although it is empty."""
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
        """Return whether the prefix changed.

        An unknown prefix counts as unchanged until an earlier one has changed.
        """
        return sent_turn.answered.prefix != prefix if sent_turn.answered.prefix else self._prefix_changed
