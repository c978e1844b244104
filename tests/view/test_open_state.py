"""The rule for open states: a table, and the guarantee that the user's choice wins."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkaloud.core.view import (
    PANEL,
    PRESETS,
    AfterComplete,
    OpenState,
    Policy,
    UserChoices,
    open_state,
    preset,
    show_thinking,
    toggle_all,
)
from thinkaloud.core.view.policy import block_choice, panel_choice

# `-` is "whatever it is"; `a/b` is "a or b". Every combination is met by exactly one row.
TRUTH = """
user    live  show  auto_close  while_streaming        unfinished  after_complete | state

open    -     -     -           -                      -           -              | expanded
closed  -     -     -           -                      -           -              | collapsed

none    yes   -     -           hidden                 -           -              | hidden
none    yes   -     -           collapsed              -           -              | collapsed
none    yes   -     -           peek                   -           -              | peek
none    yes   -     -           expanded               -           -              | expanded

none    no    no    -           -                      -           -              | hidden

none    no    yes   no          expanded               -           -              | expanded

none    no    yes   no          hidden/collapsed/peek  no          hidden         | hidden
none    no    yes   no          hidden/collapsed/peek  no          collapsed      | collapsed
none    no    yes   no          hidden/collapsed/peek  no          expanded       | expanded
none    no    yes   no          hidden/collapsed/peek  yes         hidden         | hidden
none    no    yes   no          hidden/collapsed/peek  yes         collapsed      | expanded
none    no    yes   no          hidden/collapsed/peek  yes         expanded       | expanded

none    no    yes   yes         -                      no          hidden         | hidden
none    no    yes   yes         -                      no          collapsed      | collapsed
none    no    yes   yes         -                      no          expanded       | expanded
none    no    yes   yes         -                      yes         hidden         | hidden
none    no    yes   yes         -                      yes         collapsed      | expanded
none    no    yes   yes         -                      yes         expanded       | expanded
"""

ROWS = [line.replace("|", " ").split() for line in TRUTH.strip().splitlines()[1:] if line]
YES_NO = {"yes": True, "no": False}
USER = {"open": True, "closed": False, "none": None}
EVERY = list(product(USER, YES_NO, YES_NO, YES_NO, list(OpenState), YES_NO, list(AfterComplete)))


def test_open_state_table_covers_every_combination_once() -> None:
    assert len(EVERY) == 3 * 2 * 2 * 2 * 4 * 2 * 3
    for combination in EVERY:
        assert len([row for row in ROWS if _meets(row, combination)]) == 1, combination


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_open_state_follows_the_table(row: list[str]) -> None:
    """R068, R070, R072, R073, R074, R105, R118, R119, T4: one row of the table, K1, K2, K18."""
    for combination in EVERY:
        if _meets(row, combination):
            user, live, show, auto_close, streaming, unfinished, rest = combination
            policy = Policy(
                while_streaming=streaming,
                after_complete=rest,
                auto_close=YES_NO[auto_close],
                show_thinking=YES_NO[show],
            )
            state = open_state(policy, live=YES_NO[live], choice=USER[user], unfinished=YES_NO[unfinished])
            assert state.value == row[-1], combination


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "default"])
def test_only_the_default_preset_keeps_unfinished_thoughts_open(name: str) -> None:
    """R026: presets that reproduce a design collapse as that design does."""
    assert open_state(preset(name), live=False, unfinished=True) == open_state(preset(name), live=False)


def test_unfinished_thoughts_stay_open_by_default() -> None:
    assert open_state(Policy(), live=False, unfinished=True) is OpenState.EXPANDED


@given(
    st.sampled_from(list(PRESETS)),
    st.booleans(),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2),
)
def test_status_changes_keep_the_users_choice(
    name: str, user: bool, changes: list[tuple[bool, bool]]
) -> None:
    """R074, T4: opened by hand stays open, closed by hand stays closed."""
    states = {
        open_state(preset(name), live=live, choice=user, unfinished=unfinished)
        for live, unfinished in changes
    }
    assert states == {OpenState.EXPANDED if user else OpenState.COLLAPSED}


def test_block_choice_precedes_panel_choice() -> None:
    """R087, R109, T5: the choice for one block does not change the others."""
    for in_front in (True, False):
        assert block_choice(Policy(), {}, 3, in_front=in_front) is None
        assert block_choice(Policy(), {4: True}, 3, in_front=in_front) is None
        assert block_choice(Policy(), {PANEL: False}, 3, in_front=in_front) is False
        assert block_choice(Policy(), {PANEL: True, 3: False}, 3, in_front=in_front) is False
        assert block_choice(Policy(), {PANEL: True, 3: True}, 3, in_front=in_front) is True


def test_opened_panel_shows_the_step_in_front_in_the_default_preset_and_all_in_others() -> None:
    for in_front in (True, False):
        assert block_choice(Policy(), {PANEL: True}, 3, in_front=in_front) is in_front
        for name in PRESETS.keys() - {"default"}:
            assert block_choice(preset(name), {PANEL: True}, 3, in_front=in_front) is True


def test_panel_choice_follows_its_blocks_until_it_is_set() -> None:
    assert panel_choice({}, [0, 1]) is None
    assert panel_choice({}, []) is None
    assert panel_choice({0: False}, [0, 1]) is None
    assert panel_choice({0: False, 1: False}, [0, 1]) is False
    assert panel_choice({0: False, 1: True}, [0, 1]) is True
    assert panel_choice({PANEL: False, 1: True}, [0, 1]) is False


def test_toggle_all_opens_all_then_closes_all() -> None:
    """R092: one key for all blocks, also of past turns."""
    assert toggle_all([OpenState.EXPANDED, OpenState.COLLAPSED], [0, 1]) == {PANEL: True, 0: True, 1: True}
    assert toggle_all([OpenState.HIDDEN], []) == {PANEL: True}
    assert toggle_all([OpenState.EXPANDED, OpenState.EXPANDED], [0]) == {PANEL: False, 0: False}


def test_hide_sets_choices_aside_and_show_brings_them_back() -> None:
    """R055, R118: an explicit hide reaches blocks opened by hand; showing gives each its state back."""
    choices, shown = UserChoices({3: True}), Policy()
    hidden = show_thinking(shown, False)
    choices.current(shown)[4] = False
    assert choices.current(hidden) == {}
    choices.current(hidden)[3] = False
    assert choices.current(hidden) == {3: False}
    assert choices.current(shown) == {3: True, 4: False}
    assert choices.current(hidden) == {}, "choices made while hidden last until thinking is shown"


def _meets(row: list[str], combination: tuple[str, ...]) -> bool:
    return all(
        cell == "-" or value in cell.split("/") for cell, value in zip(row[:-1], combination, strict=True)
    )
