"""The open rule: a person's choice always wins, else the policy decides by whether the block is live.

A choice is made only by a person's act, survives the end of the stream, and can be given back by
removing it. No change of status ever changes what a choice says.
"""

from collections.abc import Iterable, Mapping

from thinkaloud.view.policy import AfterComplete, OpenState, Policy

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
