"""Where the person writes: the prompt, what is attached to it, and the questions that wait above it."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from thinkaloud.surfaces.chat.attachments import Attachment, image_path
from thinkaloud.surfaces.chat.chat_session import ChatSession, ChatTurn
from thinkaloud.surfaces.chat.question_queue import WaitingQuestion
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.screens.commands import COMMANDS, completions
from thinkaloud.surfaces.tui.screens.keys import run_own_binding

_LONGEST_LINE = 500
"""Characters of a waiting question that are given to the list, which shows one line of them."""


class PromptArea(TextArea):
    """The text of the question. Enter sends it; keys that scroll go to the conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", show=False),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", show=False),
        Binding("ctrl+underscore", "undo", show=False),
        Binding("ctrl+c", "screen.interrupt", show=False),
    ]

    class Sent(Message):
        """The person pressed Enter."""

    class HelpAsked(Message):
        """The person typed `?` into an empty prompt."""

    class ImagePasted(Message):
        """The person pasted the path of an image."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class Recalled(Message):
        """The person asked for an earlier or a later question."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def action_send(self) -> None:
        """Send the text."""
        self.post_message(self.Sent())

    def action_delete_right(self) -> None:
        """Delete the next character. In an empty prompt the key is for the chat, which Ctrl+D leaves."""
        if not self.text:
            raise SkipAction
        super().action_delete_right()

    def action_newline(self) -> None:
        """Start a new line."""
        self.insert("\n")

    async def _on_key(self, event: events.Key) -> None:
        if event.character == "?" and not self.text:
            event.prevent_default()
            event.stop()
            self.post_message(self.HelpAsked())
        elif event.key == "tab" and (names := completions(self.text)):
            event.prevent_default()
            event.stop()
            self.text = f"{names[0]} "
            self.move_cursor(self.document.end)
        elif not await run_own_binding(self, event):
            await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        """Attach an image whose path was pasted. Textual inserts any other text after this handler."""
        event.stop()
        event.text = pasted_text(event.text)
        if path := image_path(event.text):
            event.prevent_default()
            self.post_message(self.ImagePasted(path))

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; in the first line, recall the question before."""
        if self.cursor_at_first_line and not select:
            self.post_message(self.Recalled(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down; in the last line, recall the question after."""
        if self.cursor_at_last_line and not select:
            self.post_message(self.Recalled(1))
        else:
            super().action_cursor_down(select)


def pasted_text(text: str) -> str:
    """Return a text as it is inserted: lines end with a newline, and escape sequences are removed.

    Terminals send a carriage return for each line break of a paste.
    """
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


class Composer(Vertical):
    """The prompt with a line above it for attachments, the question that is edited, and commands."""

    DEFAULT_CSS = """
    Composer { height: auto; max-height: 60%; padding: 0 1; }
    Composer #composer-line { height: auto; color: $text-muted; display: none; }
    Composer #composer-line.-filled { display: block; }
    Composer PromptArea { height: auto; max-height: 8; min-height: 3; border: round $primary; padding: 0 1; }
    Composer PromptArea:focus { border: round $accent; }
    Composer PromptArea .text-area--placeholder { color: $text-muted; }
    """

    class WaitingRecalled(Message):
        """The person wants to edit the last question that waits."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Submitted(Message):
        """The person sent a text, or pressed Enter in an empty prompt."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, words: ScreenWords) -> None:
        super().__init__(id="composer")
        self._words = words
        self.attachments: list[Attachment] = []
        self.edited: ChatTurn | None = None
        """The turn whose question is being edited."""
        self.edited_waiting: WaitingQuestion | None = None
        """The waiting question that is being edited."""
        self.waiting: Sequence[WaitingQuestion] = ()
        """The questions that wait. ↑ in an empty prompt edits the last one."""
        self._history: list[str] = []
        self._recalled = 0

    def compose(self) -> ComposeResult:
        yield Static("", id="composer-line", markup=False)
        yield PromptArea(id="prompt", soft_wrap=True, show_line_numbers=False, tab_behavior="focus")

    def on_mount(self) -> None:
        """Write the words of the language."""
        self.use_words(self._words)

    @property
    def area(self) -> PromptArea:
        """The text area."""
        return self.query_one(PromptArea)

    @property
    def edits(self) -> bool:
        """Whether the text is that of an earlier or a waiting question."""
        return self.edited is not None or self.edited_waiting is not None

    def use_words(self, words: ScreenWords) -> None:
        """Use the words of another language."""
        self._words = words
        self.area.placeholder = words.text("prompt")
        self.show_line()

    def type(self, character: str) -> None:
        """Take a character that was typed elsewhere."""
        self.screen.set_focus(self.area)  # at once, for the next key may be there already
        if character == "?" and not self.area.text:
            self.area.post_message(PromptArea.HelpAsked())
        else:
            self.area.insert(character)

    def fill(self, text: str) -> None:
        """Replace the text of the prompt."""
        self.area.text = text
        self.area.move_cursor(self.area.document.end)

    def take(self) -> str:
        """Return the text of the prompt, and empty it."""
        text = self.area.text
        self.area.text = ""
        if text.strip():
            self._history = [*[old for old in self._history if old != text], text]
        self._recalled = 0
        return text

    def edit(self, chat_turn: ChatTurn) -> None:
        """Edit the question of a turn."""
        self.edited = chat_turn
        self.fill(chat_turn.prompt)
        self.show_line()
        self.area.focus()

    def edit_waiting(self, question: WaitingQuestion) -> None:
        """Edit a question that waits."""
        self.edited_waiting = question
        self.fill(question.prompt)
        self.show_line()
        self.area.focus()

    def leave_edit(self) -> None:
        """Stop editing, and empty the prompt."""
        self.edited = self.edited_waiting = None
        self.area.text = ""
        self.show_line()

    def attach(self, attachment: Attachment) -> None:
        """Add an image to the next question."""
        self.attachments = [*self.attachments, attachment]
        self.show_line()

    def take_attachments(self) -> list[Attachment]:
        """Return what is attached, and detach it."""
        attachments, self.attachments = self.attachments, []
        self.show_line()
        return attachments

    def show_line(self) -> None:
        """Show what belongs to the next question beside its text."""
        parts = [f"📎 {clean(attachment.name)}" for attachment in self.attachments]
        if self.edited is not None:
            parts.insert(0, self._words.text("editing"))
        if self.edited_waiting is not None:
            parts.insert(0, self._words.text("waiting.editing"))
        if names := completions(self.area.text):
            parts = [f"{name} {self._words.arguments(COMMANDS[name[1:]])}".strip() for name in names[:6]]
        line = self.query_one("#composer-line", Static)
        line.update(Content("  ".join(parts)))
        line.set_class(bool(parts), "-filled")

    @on(TextArea.Changed)
    def _text_changed(self) -> None:
        self.show_line()

    @on(PromptArea.Sent)
    def _sent(self) -> None:
        self.post_message(self.Submitted(self.area.text))

    @on(PromptArea.Recalled)
    def _recall(self, event: PromptArea.Recalled) -> None:
        if event.step < 0 and self.waiting and not self._recalled and not self.area.text:
            self.post_message(self.WaitingRecalled(self.waiting[-1].key))
            return
        place = self._recalled + event.step
        untouched = self._recalled or not self.area.text  # what the person typed is not replaced
        if untouched and -len(self._history) <= place <= 0:
            self._recalled = place
            self.fill(self._history[place] if place else "")


class WaitingList(OptionList):
    """One line for each question that waits, the next one first. Enter edits a question, `d` removes it."""

    DEFAULT_CSS = """
    WaitingList, WaitingList:focus { height: auto; max-height: 6; margin: 0 1; padding: 0; border: none;
        border-top: solid $panel; border-title-color: $text-muted; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis; display: none; }
    WaitingList.-filled { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "act('edit')", show=False),
        Binding("d,delete", "act('remove')", show=False),
    ]

    class Acted(Message):
        """The person pressed a key on a question: `edit` or `remove`."""

        def __init__(self, act: str, key: str) -> None:
            super().__init__()
            self.act = act
            self.key = key

    def show(self, chat: ChatSession | None, words: ScreenWords) -> None:
        """Show the questions that wait, and why."""
        questions = [] if chat is None else chat.waiting
        self.set_class(bool(questions), "-filled")
        if chat is not None and questions:
            stays = chat.running_turn is None
            self.border_title = words.text("waiting.stays" if stays else "waiting.next")
        lines = [(question.key, _waiting_line(question)) for question in questions]
        if lines == [(option.id, option.prompt) for option in self.options]:
            return
        highlighted = self.highlighted or 0
        self.clear_options()
        self.add_options([Option(line, id=key) for key, line in lines])
        self.highlighted = min(highlighted, len(lines) - 1) if lines else None

    def action_act(self, act: str) -> None:
        """Tell the screen what to do with the highlighted question."""
        if self.highlighted is not None:
            self.post_message(self.Acted(act, self.get_option_at_index(self.highlighted).id or ""))

    def action_select(self) -> None:
        """Edit the highlighted question."""
        self.action_act("edit")


def _waiting_line(question: WaitingQuestion) -> Content:
    text = clean(question.prompt[:_LONGEST_LINE]).replace("\n", " ")
    attached = "".join(f" 📎 {clean(attachment.name)}" for attachment in question.attachments)
    return Content.assemble(("… ", "$text-accent"), text + attached)
