"""Commands that a user types into the message box, the same on every chat surface.

`/thinking` toggles, `/thinking show` and `/thinking hide` say which; `:thinking` and `:toggle thinking` are
the same command. A line that looks like a command but is none is not sent to a model without asking: it is
more likely a typing error than a question. A path such as `/usr/bin` does not look like a command.
"""

import re

from thinkaloud.core.view.policy import Policy, show_thinking, toggle_thinking

_THINKING_COMMAND = re.compile(r"[/:](?:toggle\s+)?thinking(?:\s+(?P<shown>show|hide))?", re.IGNORECASE)
_COMMAND = re.compile(r"[/:][A-Za-z][\w-]*(?=\s|$)")


def run_thinking_command(text: str, policy: Policy) -> Policy | None:
    """Return the policy after a `/thinking` command; None if the text is no such command."""
    command = _THINKING_COMMAND.fullmatch(text.strip())
    if command is None:
        return None
    shown = command["shown"]
    return toggle_thinking(policy) if shown is None else show_thinking(policy, shown.lower() == "show")


def unknown_command(text: str) -> str:
    """Return the command that a text begins with, such as `/thinkin`; empty if it begins with none.

    A surface calls it after its own commands did not match, and asks before it sends the text to a model.
    """
    command = _COMMAND.match(text.strip())
    return "" if command is None else command[0]
