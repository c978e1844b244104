"""The display policy of thinking, its presets, and the rule that decides whether a block is open.

A policy holds settings and no state; `open_state` decides for one block. The user's choice always wins;
without one the policy decides, by whether the block is live. Only the user makes a choice: it survives the
end of the stream and every change of status, and is undone by removing it. Hiding all thinking is a choice
too, and a later one: it sets the earlier choices aside until thinking is shown again (`UserChoices`).
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from thinkaloud.core.canon import Refused, UnknownPreset, reason_of
from thinkaloud.core.canon.events import build_types

_THINKING_COMMAND = re.compile(r"[/:](?:toggle\s+)?thinking(?:\s+(?P<shown>show|hide))?", re.IGNORECASE)
_COMMAND = re.compile(r"[/:][A-Za-z][\w-]*(?=\s|$)")


class OpenState(StrEnum):
    """How much of a block is shown; `peek` is the header and the newest line."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    PEEK = "peek"
    EXPANDED = "expanded"


class AfterComplete(StrEnum):
    """How much of a block is shown once it is complete."""

    HIDDEN = "hidden"
    COLLAPSED = "collapsed"
    EXPANDED = "expanded"


class HeaderStyle(StrEnum):
    """What the header line contains; `auto` contains all of it."""

    LABEL = "label"
    PREVIEW = "preview"
    SUMMARY = "summary"
    AUTO = "auto"


class RememberScope(StrEnum):
    """The scope in which the user's choice of visibility and mode is remembered."""

    NONE = "none"
    SESSION = "session"
    USER = "user"
    USER_WORKSPACE = "user_workspace"


class LiveRegion(StrEnum):
    """What a screen reader announces without being asked while thoughts stream."""

    STATUS = "status"
    CONTENT = "content"
    OFF = "off"


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The `[thinking.display]` settings; `preset` names the preset that they are based on."""

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
        """Whether thoughts without an answer stay open.

        Only the `default` preset does this. The others reproduce existing designs, which do not.
        """
        return self.preset == "default"

    @property
    def opens_one_step(self) -> bool:
        """Whether a panel that a person opens shows the step at work or the last one, and the others closed.

        Only the `default` preset does this, for the same reason.
        """
        return self.preset == "default"


build_types(Policy)


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
    """Return the preset of that name."""
    if name not in PRESETS:
        raise UnknownPreset(
            "Unknown display preset: {name}. Use one of: {presets}.",
            name=repr(name),
            presets=", ".join(PRESETS),
        )
    return PRESETS[name]


def read_policy(settings: Mapping[str, object]) -> Policy:
    """Return a policy from plain settings: the named `preset`, overridden by the other settings."""
    base = preset(str(settings.get("preset", "default")))
    try:
        return msgspec.convert({**msgspec.to_builtins(base), **settings}, Policy)
    except msgspec.ValidationError as error:
        raise Refused(
            "Invalid setting in thinking.display: {reason}. Correct it, or remove it to use the preset's.",
            reason=reason_of(error),
        ) from None


def thinking_shown(policy: Policy) -> bool:
    """Return whether completed thoughts are shown, open or closed."""
    return policy.show_thinking and policy.after_complete is not AfterComplete.HIDDEN


def show_thinking(policy: Policy, shown: bool) -> Policy:
    """Return the policy after `/thinking show` or `/thinking hide`."""
    if not shown:
        return msgspec.structs.replace(policy, show_thinking=False)
    after_complete = (
        AfterComplete.EXPANDED if policy.after_complete is AfterComplete.HIDDEN else policy.after_complete
    )
    return msgspec.structs.replace(policy, show_thinking=True, after_complete=after_complete)


def toggle_thinking(policy: Policy) -> Policy:
    """Return the policy after the `/thinking` command: completed thoughts are hidden, or shown again."""
    return show_thinking(policy, not thinking_shown(policy))


PANEL = -1
"""The key of the whole panel in a mapping of choices; a block's key is its number."""


class UserChoices:
    """What the user opened (true) and closed (false), by block number or `PANEL`.

    An explicit hide reaches every block, also those opened by hand: choices made while thinking was shown
    are set aside while it is hidden, and hold again when it is shown. Choices made while it is hidden last
    until it is shown.
    """

    def __init__(self, remembered: Mapping[int, bool] | None = None) -> None:
        self._while_shown = dict(remembered or {})
        self._while_hidden: dict[int, bool] = {}

    def current(self, policy: Policy) -> dict[int, bool]:
        """Return the choices that hold under the policy; new choices are put there too."""
        if not policy.show_thinking:
            return self._while_hidden
        self._while_hidden.clear()
        return self._while_shown


def open_state(
    policy: Policy, *, live: bool, choice: bool | None = None, unfinished: bool = False
) -> OpenState:
    """Return how much of a block is shown. `unfinished`: the turn ended without an answer."""
    if choice is not None:
        return OpenState.EXPANDED if choice else OpenState.COLLAPSED
    return policy.while_streaming if live else _open_state_when_complete(policy, unfinished)


def block_choice(policy: Policy, choices: Mapping[int, bool], number: int, *, in_front: bool) -> bool | None:
    """Return the user's choice for a block: the one for the block itself, else the one for the panel.

    `in_front`: it is the step at work, or the last one beside its siblings.
    """
    panel = choices.get(PANEL)
    if panel and policy.opens_one_step:
        panel = in_front
    return choices.get(number, panel)


def panel_choice(choices: Mapping[int, bool], numbers: Iterable[int]) -> bool | None:
    """Return the user's choice for the panel; a block opened by hand keeps its panel open."""
    if PANEL in choices:
        return choices[PANEL]
    block_choices = [choices.get(number) for number in numbers]
    if any(block_choices):
        return True
    return False if block_choices and None not in block_choices else None


def toggle_all(states: Iterable[OpenState], numbers: Iterable[int]) -> dict[int, bool]:
    """Return the choices after "open all", or "close all" if all are open; they replace earlier ones.

    `numbers` are all blocks of the turn, so that each has a choice of its own.
    """
    opens = any(state is not OpenState.EXPANDED for state in states)
    return dict.fromkeys([PANEL, *numbers], opens)


def _open_state_when_complete(policy: Policy, unfinished: bool) -> OpenState:
    if not policy.show_thinking:
        return OpenState.HIDDEN
    if not policy.auto_close and policy.while_streaming is OpenState.EXPANDED:
        return OpenState.EXPANDED
    if unfinished and policy.keeps_unfinished_open and policy.after_complete is not AfterComplete.HIDDEN:
        return OpenState.EXPANDED
    return OpenState(policy.after_complete.value)


def run_thinking_command(text: str, policy: Policy) -> Policy | None:
    """Return the policy after a `/thinking` command; None if the text is no such command.

    `/thinking` toggles, `/thinking show` and `/thinking hide` say which; `:thinking` and `:toggle thinking`
    are the same command.
    """
    command = _THINKING_COMMAND.fullmatch(text.strip())
    if command is None:
        return None
    shown = command["shown"]
    return toggle_thinking(policy) if shown is None else show_thinking(policy, shown.lower() == "show")


def unknown_command(text: str) -> str:
    """Return the command that a text begins with, such as `/thinkin`; empty if it begins with none.

    A surface calls it after its own commands did not match, and asks before it sends the text to a model: it
    is more likely a typing error than a question. A path such as `/usr/bin` does not look like a command.
    """
    command = _COMMAND.match(text.strip())
    return "" if command is None else command[0]
