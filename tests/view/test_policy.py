"""The display policy and its presets."""

import msgspec
import pytest

from thinkaloud.core.canon import Refused, UnknownPreset
from thinkaloud.core.view import (
    PRESETS,
    AfterComplete,
    HeaderStyle,
    LiveRegion,
    OpenState,
    Policy,
    RememberScope,
    preset,
    read_policy,
    toggle_thinking,
)

FIELDS = [
    "preset",
    "while_streaming",
    "after_complete",
    "auto_close",
    "header",
    "show_thinking",
    "remember",
    "live_region",
]

# preset   while_streaming  after_complete  auto_close  header   show_thinking  remember        live_region
PRESET_TABLE = """
koder      collapsed        collapsed       yes         label    yes            user_workspace  content
preview    expanded         collapsed       yes         preview  yes            user_workspace  status
toggle     expanded         hidden          yes         auto     yes            user            status
agent      collapsed        collapsed       yes         preview  yes            none            status
trace      expanded         collapsed       yes         summary  yes            user_workspace  status
default    peek             collapsed       yes         auto     yes            user_workspace  status
"""


def test_policy_has_exactly_the_display_settings() -> None:
    """R068, R073: collapsed and closed automatically by default."""
    assert list(Policy.__struct_fields__) == FIELDS
    assert Policy() == preset("default")


def test_presets_match_their_designs() -> None:
    """R068, R069, R070, R071, R072: live and completed state, K1, K2, K4, K6 and K7 as a table."""
    written = [line.split() for line in PRESET_TABLE.strip().splitlines()]
    assert [row[0] for row in written] == list(PRESETS)
    for row in written:
        values = msgspec.to_builtins(preset(row[0]))
        cells = [{True: "yes", False: "no"}.get(values[name], values[name]) for name in FIELDS]
        assert cells == row


def test_unknown_preset_error_lists_the_known_presets() -> None:
    with pytest.raises(UnknownPreset, match=r"'koda'.*koder, preview, toggle, agent, trace, default"):
        preset("koda")


def test_read_policy_applies_settings_to_the_preset() -> None:
    policy = read_policy({"preset": "trace", "auto_close": False, "remember": "none"})
    assert policy == msgspec.structs.replace(preset("trace"), auto_close=False, remember=RememberScope.NONE)
    assert read_policy({"header": "label"}) == Policy(header=HeaderStyle.LABEL)


@pytest.mark.parametrize(
    "settings",
    [{"after_complete": "peek"}, {"colour": "red"}, {"auto_close": "yes"}, {"live_region": "loud"}],
)
def test_read_policy_refuses_invalid_settings(settings: dict[str, object]) -> None:
    with pytest.raises(Refused, match=r"thinking\.display"):
        read_policy(settings)


@pytest.mark.parametrize("name", PRESETS)
def test_toggle_thinking_hides_and_shows_completed_thoughts(name: str) -> None:
    """R117: `/thinking` hides what is shown and shows what is hidden, under every preset."""
    start = preset(name)
    once, twice = toggle_thinking(start), toggle_thinking(toggle_thinking(start))
    assert _visible_when_complete(once) != _visible_when_complete(start)
    assert _visible_when_complete(twice) == _visible_when_complete(start)
    assert once.preset == name


def test_toggle_thinking_expands_hidden_thoughts() -> None:
    """R072: the command expands what the toggle preset hides."""
    assert toggle_thinking(preset("toggle")).after_complete is AfterComplete.EXPANDED


def test_policy_values_match_the_configuration_words() -> None:
    assert [state.value for state in OpenState] == ["hidden", "collapsed", "peek", "expanded"]
    assert [state.value for state in AfterComplete] == ["hidden", "collapsed", "expanded"]
    assert [region.value for region in LiveRegion] == ["status", "content", "off"]


def _visible_when_complete(policy: Policy) -> bool:
    return policy.show_thinking and policy.after_complete is not AfterComplete.HIDDEN
