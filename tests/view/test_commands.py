"""Commands of the message box: `/thinking` in all its forms, and lines that only look like commands."""

import pytest

from thinkaloud.core.view import (
    PRESETS,
    Policy,
    preset,
    run_thinking_command,
    show_thinking,
    thinking_shown,
    toggle_thinking,
    unknown_command,
)

TOGGLES = ("/thinking", ":thinking", ":toggle thinking", "/toggle thinking", " /Thinking ")


@pytest.mark.parametrize("name", PRESETS)
def test_r115_thinking_command_toggles_shows_and_hides(name: str) -> None:
    policy = preset(name)
    for command in TOGGLES:
        assert run_thinking_command(command, policy) == toggle_thinking(policy)
    for command in ("/thinking show", ":thinking show"):
        shown = run_thinking_command(command, policy)
        assert shown is not None
        assert thinking_shown(shown)
        assert run_thinking_command(command, shown) == shown
    hidden = run_thinking_command("/thinking hide", policy)
    assert hidden == show_thinking(policy, False)
    assert hidden is not None
    assert not thinking_shown(hidden)
    assert run_thinking_command("/thinking hide", hidden) == hidden


@pytest.mark.parametrize(
    "text", ["thinking", "/thinking loud", "/thinking show it", "what is /thinking", "/thinkin", ""]
)
def test_other_texts_are_no_thinking_command(text: str) -> None:
    assert run_thinking_command(text, Policy()) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/thinkin", "/thinkin"),
        ("/export now please", "/export"),
        (":wq", ":wq"),
        ("  /help", "/help"),
        ("/usr/bin/env is what?", ""),
        (":) hello", ""),
        ("// a comment", ""),
        ("what is /help", ""),
        ("/2 + 2", ""),
        ("", ""),
    ],
)
def test_unknown_command_is_recognized_but_a_path_is_not(text: str, command: str) -> None:
    assert unknown_command(text) == command
