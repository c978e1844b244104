"""Asks whether a call may run: its name, its arguments, and the keys that answer.

The bar takes the focus only from an empty prompt, and answers no key in its first moments: a letter that was
typed for the prompt must not approve a call.
"""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from thinkaloud.surfaces.call_arguments import argument_lines
from thinkaloud.surfaces.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean
from thinkaloud.transcript import Block

TYPE_AHEAD_S = 0.5


class ApprovalBar(Vertical, can_focus=True):
    """One call that waits for approval."""

    DEFAULT_CSS = """
    ApprovalBar { height: auto; max-height: 50%; border: round $warning; padding: 0 1; margin: 0 1;
                  display: none; }
    ApprovalBar.-asked { display: block; }
    ApprovalBar:focus { border: heavy $warning; }
    ApprovalBar #approval-name { text-style: bold; height: auto; }
    ApprovalBar #approval-arguments { height: auto; max-height: 8; }
    ApprovalBar #approval-arguments Static { height: auto; }
    ApprovalBar #approval-keys { color: $text-muted; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,s", "answer(True)", show=False),
        Binding("n", "answer(False)", show=False),
    ]

    class Answered(Message):
        """The person approved or denied the call."""

        def __init__(self, turn: str, block: int, granted: bool) -> None:
            super().__init__()
            self.turn, self.block, self.granted = turn, block, granted

    def __init__(self, words: ScreenWords) -> None:
        super().__init__(id="approval")
        self.words = words
        self._turn, self._block = "", -1
        self.armed = False
        """Whether keys are answered yet."""

    def compose(self) -> ComposeResult:
        yield Static("", id="approval-name", markup=False)
        with VerticalScroll(id="approval-arguments", can_focus=False):
            yield Static("", markup=False)
        yield Static("", id="approval-keys", markup=False)

    def ask(self, turn: str, block: Block, more: int) -> None:
        """Show a call; `more` is how many others wait."""
        self._show_keys(more)
        if (turn, block.number) == (self._turn, self._block):
            return
        self._turn, self._block = turn, block.number
        name = self.words.text("approval.title", name=clean(block.name))
        self.query_one("#approval-name", Static).update(Content(name))
        arguments = Content("\n".join(argument_lines(block.text)))
        self.query_one("#approval-arguments Static", Static).update(arguments)
        self.add_class("-asked")
        self.armed = False
        self.set_timer(TYPE_AHEAD_S, self._arm)

    def clear(self) -> None:
        """Hide the bar: nothing waits."""
        self._turn, self._block, self.armed = "", -1, False
        self.remove_class("-asked")

    @property
    def asked(self) -> bool:
        """Whether a call is shown."""
        return self.has_class("-asked")

    def _arm(self) -> None:
        self.armed = True

    def _show_keys(self, more: int) -> None:
        text = self.words.text("approval.keys")
        if more:
            text = f"{text}  {self.words.text('approval.more', n=more)}"
        self.query_one("#approval-keys", Static).update(Content(text))

    def action_answer(self, granted: bool) -> None:
        """Approve or deny the call."""
        if self.armed and self.asked:
            self.post_message(self.Answered(self._turn, self._block, granted))
