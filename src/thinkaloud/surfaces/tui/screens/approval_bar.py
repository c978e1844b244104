"""Asks whether a call may run: its name, its arguments, and the keys that answer.

Nothing that was typed for the prompt may approve a call. The bar takes the focus only from an empty prompt,
and what is typed in its first moments goes to the prompt. After that the letter of yes or no in the language
chooses an answer, and Enter gives it. Any other character shows that a word is being typed: all of it goes to
the prompt.
"""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from thinkaloud.core.transcript import Block
from thinkaloud.surfaces.chat.display import TYPE_AHEAD_S, argument_lines
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean


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

    class Answered(Message):
        """The person approved or denied the call."""

        def __init__(self, turn: str, block: int, granted: bool) -> None:
            super().__init__()
            self.turn = turn
            self.block = block
            self.granted = granted

    class Typed(Message):
        """The person typed something that is for the prompt."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, words: ScreenWords) -> None:
        super().__init__(id="approval")
        self.words = words
        self._turn, self._block = "", -1
        self._more = 0
        self._chosen = ""
        """The letter that was typed last, if it is one of the two that answer."""
        self._timer: Timer | None = None
        self.armed = False
        """Whether keys are answered yet."""

    def compose(self) -> ComposeResult:
        yield Static("", id="approval-name", markup=False)
        with VerticalScroll(id="approval-arguments", can_focus=False):
            yield Static("", markup=False)
        yield Static("", id="approval-keys", markup=False)

    def ask(self, turn: str, block: Block, more: int) -> None:
        """Show a call; `more` is how many others wait."""
        self._more = more
        if (turn, block.number) == (self._turn, self._block):
            self._show_keys()
            return
        self._turn, self._block = turn, block.number
        name = self.words.text("approval.title", name=clean(block.name))
        self.query_one("#approval-name", Static).update(Content(name))
        arguments = Content("\n".join(argument_lines(block.text)))
        self.query_one("#approval-arguments Static", Static).update(arguments)
        self.add_class("-asked")
        self._arm_later()

    def clear(self) -> None:
        """Hide the bar: nothing waits."""
        self._turn = ""
        self._block = -1
        self._chosen = ""
        self.armed = False
        self.remove_class("-asked")

    @property
    def asked(self) -> bool:
        """Whether a call is shown."""
        return self.has_class("-asked")

    def _arm_later(self) -> None:
        """Answer keys after a moment without any."""
        self._chosen, self.armed = "", False
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(TYPE_AHEAD_S, self._arm)
        self._show_keys()

    def _arm(self) -> None:
        self.armed = True

    def on_focus(self) -> None:
        """Wait a moment: the person may still be typing."""
        self._arm_later()

    def _show_keys(self) -> None:
        keys = {self.words.yes_key: "approval.run_chosen", self.words.no_key: "approval.deny_chosen"}
        text = self.words.text(keys.get(self._chosen, "approval.keys"))
        if self._more:
            text = f"{text}  {self.words.text('approval.more', n=self._more)}"
        self.query_one("#approval-keys", Static).update(Content(text))

    def on_key(self, event: events.Key) -> None:
        """Choose an answer, give it, or pass what is typed to the prompt."""
        if event.key == "ctrl+y" and self.armed:
            self._answer(True)
        elif event.key == "enter" and self._chosen:
            self._answer(self._chosen == self.words.yes_key)
        elif event.key in ("escape", "backspace") and self._chosen:
            self._choose("")
        elif not (event.character and event.is_printable):
            return
        elif self.armed and not self._chosen and event.character in (self.words.yes_key, self.words.no_key):
            self._choose(event.character)
        else:
            typed = self._chosen + event.character
            self._arm_later()  # keys that are on their way to the bar belong to the same word
            self.post_message(self.Typed(typed))
        event.stop()
        event.prevent_default()

    def _choose(self, letter: str) -> None:
        self._chosen = letter
        self._show_keys()

    def _answer(self, granted: bool) -> None:
        if self.asked:
            self.post_message(self.Answered(self._turn, self._block, granted))
            self._arm_later()
