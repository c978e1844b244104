"""How thinking is shown: one frozen policy, and a preset for each well-known way to do it.

A named preset follows one design to the letter; `default` is our own. A policy holds wishes, never
state: whether one block is open is asked of `opening`.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from thinkaloud.canon import Refused, UnknownPreset


class Open(StrEnum):
    """How much of a block is on the screen; `peek` is the header and the newest line."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    PEEK = "peek"
    EXPANDED = "expanded"


class Rest(StrEnum):
    """How much of a block stays on the screen once it is complete."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    EXPANDED = "expanded"


class Header(StrEnum):
    """What the header line says; `auto` says all of it."""

    LABEL = "label"
    PREVIEW = "preview"
    SUMMARY = "summary"
    AUTO = "auto"


class Remember(StrEnum):
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
    while_streaming: Open = Open.PEEK
    after_complete: Rest = Rest.COLLAPSED
    auto_close: bool = True
    header: Header = Header.AUTO
    show_thinking: bool = True
    remember: Remember = Remember.USER_WORKSPACE
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
            while_streaming=Open.COLLAPSED,
            header=Header.LABEL,
            live_region=LiveRegion.CONTENT,
        ),
        Policy(preset="preview", while_streaming=Open.EXPANDED, header=Header.PREVIEW),
        Policy(
            preset="toggle",
            while_streaming=Open.EXPANDED,
            after_complete=Rest.HIDDEN,
            remember=Remember.USER,
        ),
        Policy(
            preset="agent",
            while_streaming=Open.COLLAPSED,
            header=Header.PREVIEW,
            remember=Remember.NONE,
        ),
        Policy(preset="trace", while_streaming=Open.EXPANDED, header=Header.SUMMARY),
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
    start = preset(str(settings.get("preset", "default")))
    try:
        return msgspec.convert({**msgspec.to_builtins(start), **settings}, Policy)
    except msgspec.ValidationError as error:
        raise Refused(f"thinking.display cannot be read: {error}") from None


def toggled(policy: Policy) -> Policy:
    """What the `/thinking` command makes of a policy: hidden at rest becomes shown, shown becomes hidden."""
    if policy.show_thinking and policy.after_complete is not Rest.HIDDEN:
        return msgspec.structs.replace(policy, show_thinking=False)
    rest = Rest.EXPANDED if policy.after_complete is Rest.HIDDEN else policy.after_complete
    return msgspec.structs.replace(policy, show_thinking=True, after_complete=rest)
