"""How thinking is shown: one frozen policy, and a preset for each well-known way to do it.

A named preset follows one design to the letter; `default` is our own. A policy holds wishes, never
state: whether one block is open is asked of `opening`.

The open rule: a person's choice always wins, else the policy decides by whether the block is live.

A choice is made only by a person's act, survives the end of the stream, and can be given back by
removing it. No change of status ever changes what a choice says.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from thinkaloud.canon import Refused, UnknownPreset


class OpenState(StrEnum):
    """How much of a block is on the screen; `peek` is the header and the newest line."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    PEEK = "peek"
    EXPANDED = "expanded"


class AfterComplete(StrEnum):
    """How much of a block stays on the screen once it is complete."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    EXPANDED = "expanded"


class HeaderStyle(StrEnum):
    """What the header line says; `auto` says all of it."""

    LABEL = "label"
    PREVIEW = "preview"
    SUMMARY = "summary"
    AUTO = "auto"


class RememberScope(StrEnum):
    """How far a person's choice of visibility and mode reaches."""

    NONE = "none"
    SESSION = "session"
    USER = "user"
    USER_WORKSPACE = "user_workspace"


class LiveRegion(StrEnum):
    """What a screen reader is told by itself while thoughts stream."""

    STATUS = "status"
    CONTENT = "content"
    OFF = "off"


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The `[thinking.display]` settings; `preset` names the set they started from."""

    preset: str = "default"
    while_streaming: OpenState = OpenState.PEEK
    after_complete: AfterComplete = AfterComplete.COLLAPSED
    auto_close: bool = True
    header: HeaderStyle = HeaderStyle.AUTO
    show_thinking: bool = True
    remember: RememberScope = RememberScope.USER_WORKSPACE
    live_region: LiveRegion = LiveRegion.STATUS

    @property
    def keeps_unfinished_open(self) -> bool:
        """Whether thoughts that led to no answer stay in sight: our own rule, so only in our own preset."""
        return self.preset == "default"


PRESETS: Mapping[str, Policy] = {
    policy.preset: policy
    for policy in (
        Policy(
            preset="koder",
            while_streaming=OpenState.COLLAPSED,
            header=HeaderStyle.LABEL,
            live_region=LiveRegion.CONTENT,
        ),
        Policy(preset="preview", while_streaming=OpenState.EXPANDED, header=HeaderStyle.PREVIEW),
        Policy(
            preset="toggle",
            while_streaming=OpenState.EXPANDED,
            after_complete=AfterComplete.HIDDEN,
            remember=RememberScope.USER,
        ),
        Policy(
            preset="agent",
            while_streaming=OpenState.COLLAPSED,
            header=HeaderStyle.PREVIEW,
            remember=RememberScope.NONE,
        ),
        Policy(preset="trace", while_streaming=OpenState.EXPANDED, header=HeaderStyle.SUMMARY),
        Policy(),
    )
}


def preset(name: str) -> Policy:
    """The policy of that name."""
    if name not in PRESETS:
        raise UnknownPreset(f"There is no display preset {name!r}. Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]


def read_policy(settings: Mapping[str, object]) -> Policy:
    """A policy from plain settings: those of `preset` if it is named, with the others laid over them."""
    base = preset(str(settings.get("preset", "default")))
    try:
        return msgspec.convert({**msgspec.to_builtins(base), **settings}, Policy)
    except msgspec.ValidationError as error:
        raise Refused(f"thinking.display cannot be read: {error}") from None


def toggle_thinking(policy: Policy) -> Policy:
    """What the `/thinking` command makes of a policy: hidden at rest becomes shown, shown becomes hidden."""
    if policy.show_thinking and policy.after_complete is not AfterComplete.HIDDEN:
        return msgspec.structs.replace(policy, show_thinking=False)
    after_complete = (
        AfterComplete.EXPANDED if policy.after_complete is AfterComplete.HIDDEN else policy.after_complete
    )
    return msgspec.structs.replace(policy, show_thinking=True, after_complete=after_complete)


PANEL = -1
"""The key of the whole panel among the choices; blocks have their own numbers."""


def open_state(
    policy: Policy, *, live: bool, choice: bool | None = None, unfinished: bool = False
) -> OpenState:
    """How much of a block is shown. `unfinished`: its turn is over and the thoughts led to no answer."""
    if choice is not None:
        return OpenState.EXPANDED if choice else OpenState.COLLAPSED
    return policy.while_streaming if live else _open_state_when_complete(policy, unfinished)


def block_choice(choices: Mapping[int, bool], number: int) -> bool | None:
    """What a person chose for a block: the choice for the block itself, else the one for the panel."""
    return choices.get(number, choices.get(PANEL))


def panel_choice(choices: Mapping[int, bool], numbers: Iterable[int]) -> bool | None:
    """What a person chose for the panel; a block opened by hand keeps its panel open."""
    if PANEL in choices:
        return choices[PANEL]
    block_choices = [choices.get(number) for number in numbers]
    if any(block_choices):
        return True
    return False if block_choices and None not in block_choices else None


def toggle_all(states: Iterable[OpenState]) -> dict[int, bool]:
    """The choices after "open all", or after "close all" when everything is open; earlier ones are void."""
    return {PANEL: any(state is not OpenState.EXPANDED for state in states)}


def _open_state_when_complete(policy: Policy, unfinished: bool) -> OpenState:
    if not policy.show_thinking:
        return OpenState.HIDDEN
    if not policy.auto_close and policy.while_streaming is OpenState.EXPANDED:
        return OpenState.EXPANDED
    if unfinished and policy.keeps_unfinished_open and policy.after_complete is not AfterComplete.HIDDEN:
        return OpenState.EXPANDED
    return OpenState(policy.after_complete.value)
