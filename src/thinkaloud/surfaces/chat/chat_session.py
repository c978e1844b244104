"""The sessions that are open in the chat, and their turns. Nothing here knows a widget."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from thinkaloud.core.canon import Entry, Wording
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.transcript import Approval, Block, Ending, Turn, apply, fold_entries
from thinkaloud.core.view import PANEL, OpenState, Policy, UserChoices, toggle_all, view
from thinkaloud.surfaces.chat.backend import PastTurn, Reconnecting, SessionInfo, TurnCost
from thinkaloud.surfaces.chat.live_turn import TurnClock

if TYPE_CHECKING:
    from thinkaloud.surfaces.chat.question_queue import WaitingQuestion


EFFORTS = ("off", "low", "medium", "high", "max")
"""How much a model thinks, in words. The gateway takes a number of tokens as well."""


class Answerer(msgspec.Struct, frozen=True):
    """Who answers the next question: a model or an agent, and how much it thinks. Empty is the default."""

    model: str = ""
    agent: str = ""
    thinking: str = ""


class ChatTurn:
    """A question and the turn that answers it. `id` is empty until the gateway has accepted the question."""

    def __init__(self, prompt: str, images: tuple[Image, ...] = (), id: str = "") -> None:
        self.id = id
        self.prompt = prompt
        self.images = images
        self.versions: tuple[str, ...] = ()
        """The turns that replace each other here, this one too, the oldest first; empty if it is alone."""
        self.turn = Turn()
        self.running = True
        self.choices = UserChoices()
        """What the person opened and closed by hand."""
        self.reconnecting: Reconnecting | None = None
        self.saved = True
        """Whether the entries reach the disk of the gateway."""
        self.error: Wording | None = None
        """Why the question could not be asked, or its stream not be read."""
        self.cost: TurnCost | None = None
        """What the turn used; None if that was not read yet."""
        self._clock = TurnClock()

    @classmethod
    def from_past(cls, past: PastTurn) -> "ChatTurn":
        """Return a turn that is stored in the gateway."""
        chat_turn = cls(past.prompt, past.images, past.id)
        chat_turn.versions = past.versions
        chat_turn.turn = fold_entries(past.entries)
        chat_turn.running = past.state == "running"
        if past.entries:
            chat_turn.arrived(past.entries[-1])
        return chat_turn

    def feed(self, entry: Entry) -> None:
        """Apply an entry of the stream."""
        apply(self.turn, entry)
        self.arrived(entry)

    def arrived(self, entry: Entry) -> None:
        """Note when an entry arrived."""
        self.reconnecting = None
        self._clock.set(entry.at_ms)

    def now_ms(self) -> int | None:
        """Return the time on the clock of the turn: that of the last entry, and what has passed since."""
        return self._clock.now_ms() if self.running else None

    def open_block(self, number: int, policy: Policy) -> None:
        """Open a block and everything around it, as if the person had."""
        choices = self.choices.current(policy)
        choices[PANEL] = True
        block: int | None = number
        while block is not None and block < len(self.turn.blocks):
            choices[block] = True
            block = self.turn.blocks[block].parent

    def restart(self) -> None:
        """Forget the entries: the stream begins again at the first one."""
        self.turn = Turn()

    @property
    def ended_normally(self) -> bool:
        """Whether the turn has ended and neither failed nor was cancelled."""
        outcome = self.turn.outcome
        if self.running or self.error or outcome is None:
            return False
        failed = outcome.ending in (Ending.FAILED, Ending.CANCELLED)
        # An answer that reached its limit is cut off as well, with the provider's own word as the cause.
        return not failed and outcome.cause != Ending.CUT_OFF

    @property
    def version_text(self) -> str:
        """Which version of several this is, as in `2/3`; empty if it is the only one."""
        if self.id not in self.versions:
            return ""
        return f"{self.versions.index(self.id) + 1}/{len(self.versions)}"

    @property
    def waiting_calls(self) -> list[Block]:
        """The calls that wait for approval."""
        if not self.running or not self.turn.live:
            return []
        return [block for block in self.turn.blocks if block.approval is Approval.ASKED]


class ChatSession:
    """A session: its row in the list, and its turns once they were loaded."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.turns: list[ChatTurn] = []
        self.loaded = False
        self.unread = False
        """Whether a turn ended while another session was on the screen."""
        self.draft = ""
        """What was typed and not sent."""
        self.waiting: list[WaitingQuestion] = []
        """The questions that are sent after the turn that runs."""
        self.older_branch = False
        """Whether the turns are not those of the newest branch: an earlier version of a question is shown."""
        self._known: dict[str, ChatTurn] = {}

    def load(self, turns: Iterable[PastTurn]) -> None:
        """Take over the turns that the gateway has. A turn that is followed already keeps its state."""
        self._known |= {chat_turn.id: chat_turn for chat_turn in self.turns if chat_turn.id}
        loaded = []
        for past in turns:
            chat_turn = self._known.get(past.id) or ChatTurn.from_past(past)
            chat_turn.versions = past.versions
            loaded.append(chat_turn)
        self.turns[:] = loaded  # the conversation draws this list
        self.loaded = True

    @property
    def running_turn(self) -> ChatTurn | None:
        """The turn that runs, if one does."""
        return next((chat_turn for chat_turn in reversed(self.turns) if chat_turn.running), None)

    def toggle_blocks(self, policy: Policy) -> None:
        """Open every block of the session, or close them all if all are open."""
        states: list[OpenState] = []
        for chat_turn in self.turns:
            thinking = view(chat_turn.turn, policy, choices=chat_turn.choices.current(policy))
            if thinking is not None:
                states += thinking.open_states
        for chat_turn in self.turns:
            choices = chat_turn.choices.current(policy)
            choices.clear()
            choices.update(toggle_all(states, range(len(chat_turn.turn.blocks))))

    @property
    def waiting_calls(self) -> list[tuple[ChatTurn, Block]]:
        """The calls that wait for approval, with their turns."""
        calls: list[tuple[ChatTurn, Block]] = []
        for chat_turn in self.turns:
            calls += [(chat_turn, block) for block in chat_turn.waiting_calls]
        return calls

    @property
    def waits_for_approval(self) -> bool:
        """Whether a call of this session waits for approval."""
        return bool(self.waiting_calls)
