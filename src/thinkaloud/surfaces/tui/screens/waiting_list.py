"""The questions that wait in the shown session, above the prompt."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from thinkaloud.surfaces.chat.chat_session import ChatSession
from thinkaloud.surfaces.chat.question_queue import WaitingQuestion
from thinkaloud.surfaces.chat.screen_words import ScreenWords
from thinkaloud.surfaces.terminal import clean

_LONGEST_LINE = 500
"""Characters of a question that are given to the list, which shows one line of them."""


class WaitingList(OptionList):
    """One line for each question, the next one first. Enter edits a question, `d` removes it."""

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
            self.act, self.key = act, key

    def show(self, chat: ChatSession | None, words: ScreenWords) -> None:
        """Show the questions that wait, and why."""
        questions = [] if chat is None else chat.waiting
        self.set_class(bool(questions), "-filled")
        if chat is None or not questions:
            self.clear_options()
            return
        stays = chat.running_turn is None
        self.border_title = words.text("waiting.stays" if stays else "waiting.next")
        highlighted = self.highlighted or 0
        self.clear_options()
        self.add_options([Option(_line(question), id=question.key) for question in questions])
        self.highlighted = min(highlighted, len(questions) - 1)

    def action_act(self, act: str) -> None:
        """Tell the screen what to do with the highlighted question."""
        if self.highlighted is not None:
            self.post_message(self.Acted(act, self.get_option_at_index(self.highlighted).id or ""))

    def action_select(self) -> None:
        """Edit the highlighted question."""
        self.action_act("edit")


def _line(question: WaitingQuestion) -> Content:
    text = clean(question.prompt[:_LONGEST_LINE]).replace("\n", " ")
    attached = "".join(f" 📎 {clean(attachment.name)}" for attachment in question.attachments)
    return Content.assemble(("… ", "$text-accent"), text + attached)
