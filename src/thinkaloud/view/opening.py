"""The open rule: a person's choice always wins, else the policy decides by whether the block is live.

A choice is made only by a person's act, survives the end of the stream, and can be given back by
removing it. No change of status ever changes what a choice says.
"""

from collections.abc import Iterable, Mapping

from thinkaloud.view.policy import Open, Policy, Rest

PANEL = -1
"""The key of the whole panel among the choices; blocks have their own numbers."""


def open_state(policy: Policy, *, live: bool, user: bool | None = None, unfinished: bool = False) -> Open:
    """How much of a block is shown. `unfinished`: its turn is over and the thoughts led to no answer."""
    if user is not None:
        return Open.EXPANDED if user else Open.COLLAPSED
    return policy.while_streaming if live else _at_rest(policy, unfinished)


def chosen(choices: Mapping[int, bool], number: int) -> bool | None:
    """What a person chose for a block: the choice for the block itself, else the one for the panel."""
    return choices.get(number, choices.get(PANEL))


def chosen_panel(choices: Mapping[int, bool], numbers: Iterable[int]) -> bool | None:
    """What a person chose for the panel; a block opened by hand keeps its panel open."""
    if PANEL in choices:
        return choices[PANEL]
    said = [choices.get(number) for number in numbers]
    if any(said):
        return True
    return False if said and None not in said else None


def toggle_all(states: Iterable[Open]) -> dict[int, bool]:
    """The choices after "open all", or after "close all" when everything is open; earlier ones are void."""
    return {PANEL: any(state is not Open.EXPANDED for state in states)}


def _at_rest(policy: Policy, unfinished: bool) -> Open:
    if not policy.show_thinking:
        return Open.HIDDEN
    if not policy.auto_close and policy.while_streaming is Open.EXPANDED:
        return Open.EXPANDED
    if unfinished and policy.keeps_unfinished_open and policy.after_complete is not Rest.HIDDEN:
        return Open.EXPANDED
    return Open(policy.after_complete.value)
