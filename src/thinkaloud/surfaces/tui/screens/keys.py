"""The keys of the chat, in one table: the bindings, the help and the command palette are made from it."""

from typing import NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget


class Key(NamedTuple):
    """A key, the action of the screen that it starts, and the key of its words."""

    keys: str
    action: str
    words: str
    in_palette: bool = True
    """Whether the command palette offers it. Keys that belong to a place do not make sense there."""


CHAT_KEYS = (
    Key("ctrl+t", "flow('thinking')", "key.thinking"),
    Key("ctrl+l", "flow('blocks')", "key.blocks"),
    Key("escape", "stop", "key.stop"),
    Key("ctrl+c", "interrupt", "key.interrupt", in_palette=False),
    Key("ctrl+z", "app.suspend_process", "key.suspend", in_palette=False),
    Key("ctrl+g", "flow('answer_now')", "key.now"),
    Key("ctrl+n", "flow('new')", "key.new"),
    Key("ctrl+b", "toggle_sessions", "key.sessions"),
    Key("ctrl+pagedown", "step_session(1)", "key.next_session"),
    Key("ctrl+pageup", "step_session(-1)", "key.previous_session"),
    Key("ctrl+o", "flow('model')", "key.model"),
    Key("f7", "flow('agent')", "key.agent"),
    Key("ctrl+s", "flow('search')", "key.search"),
    Key("f4", "turn_flow('edit')", "key.edit"),
    Key("f6", "turn_flow('copy')", "key.copy"),
    Key("ctrl+r", "turn_flow('replay')", "key.replay"),
    Key("f2", "session_flow('rename')", "key.rename"),
    Key("f8", "session_flow('export')", "key.export"),
    Key("f9", "flow('settings')", "key.settings"),
    Key("f1", "flow('help')", "key.help"),
    Key("ctrl+end", "follow_end", "key.end"),
    Key("ctrl+home", "scroll_start", "key.start"),
    Key("pageup", "scroll_conversation(-1)", "key.page_up", in_palette=False),
    Key("pagedown", "scroll_conversation(1)", "key.page_down", in_palette=False),
)
"""Keys that work everywhere in the chat."""

PLACE_KEYS = (
    ("enter", "key.send"),
    ("ctrl+j", "key.newline"),
    ("up", "key.recall"),
    ("tab", "key.tab"),
    ("e, c, r", "key.on_question"),
    ("left, right", "key.on_version"),
    ("e, d", "key.on_waiting"),
    ("n, r, d, x", "key.on_session"),
    ("ctrl+underscore", "key.undo"),
    ("ctrl+d", "key.leave"),
    ("ctrl+p", "key.palette"),
    ("ctrl+q", "key.quit"),
)
"""Keys that work where the focus is, and those of the application."""


_IN_ORDER = ("escape", "ctrl+c")
"""Keys that are not taken before those that were typed into the prompt."""


def bindings() -> list[BindingType]:
    """Return the bindings of the screen. They come before the keys of the prompt."""
    keys = [
        Binding(key.keys, key.action, show=False, priority=key.keys not in _IN_ORDER) for key in CHAT_KEYS
    ]
    return [*keys, Binding("ctrl+d", "leave", show=False)]


def shown_keys(keys: str) -> str:
    """Return keys as people write them: `Ctrl+T`."""
    return ", ".join(_shown_key(key.strip()) for key in keys.split(","))


def _shown_key(key: str) -> str:
    if len(key) == 1:
        return key
    return "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


_NAMES = {"pageup": "PageUp", "pagedown": "PageDown", "up": "↑", "left": "←", "right": "→", "underscore": "_"}


async def run_own_binding(widget: Widget, event: events.Key) -> bool:
    """Run the action that a field of text binds to a key at once; return whether there is one.

    Left to the application, the action would run after characters that were typed later.
    """
    bound = widget._bindings.key_to_bindings.get(event.key)
    if not bound or not await widget.app.run_action(bound[0].action, widget):
        return False  # the widget may also leave the key to the application
    event.stop()
    event.prevent_default()
    return True
