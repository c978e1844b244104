"""The screen of the chat: the list of sessions, the conversation, the prompt and the line below.

It draws what `ChatState` tells it. Work that waits for the gateway or for a window runs beside the screen, so
that keys are answered meanwhile.
"""

import asyncio
from collections.abc import Coroutine
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.worker import WorkType

from thinkaloud.core.canon import ApprovalAsked, ApprovalSettled, Entry, Refused, Wording
from thinkaloud.surfaces.chat.backend import Backend, BackendUnreachable, SessionBusy
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.chat_state import ChatState
from thinkaloud.surfaces.chat.question_queue import WaitingStore
from thinkaloud.surfaces.tui.screens import flows
from thinkaloud.surfaces.tui.screens.approval_bar import ApprovalBar
from thinkaloud.surfaces.tui.screens.commands import read_command
from thinkaloud.surfaces.tui.screens.composer import Composer, PromptArea, WaitingList
from thinkaloud.surfaces.tui.screens.conversation import ConversationView
from thinkaloud.surfaces.tui.screens.exchange import QuestionView
from thinkaloud.surfaces.tui.screens.flows import run_command
from thinkaloud.surfaces.tui.screens.keys import bindings
from thinkaloud.surfaces.tui.screens.session_list import SessionList
from thinkaloud.surfaces.tui.screens.status_line import StatusLine, status_text
from thinkaloud.surfaces.tui.screens.words import TerminalDisplay
from thinkaloud.surfaces.tui.text.answer import AnswerView

if TYPE_CHECKING:
    from thinkaloud.surfaces.tui.screens.app import ChatApp


QUIT_S = 2.0
"""Within this time, a second Ctrl+C quits."""
_PLACES: dict[type, str] = {
    SessionList: "status.list",
    QuestionView: "status.question",
    WaitingList: "status.waiting",
}


class ChatScreen(Screen[None]):
    """The chat."""

    DEFAULT_CSS = """
    ChatScreen #title { height: 1; padding: 0 1; background: $panel; text-style: bold; text-wrap: nowrap;
                        text-overflow: ellipsis; }
    ChatScreen #sidebar { width: 30; height: 1fr; border-right: solid $panel; display: none; }
    ChatScreen #sidebar-title { height: 1; padding: 0 1; color: $text-muted; }
    ChatScreen.-wide #sidebar, ChatScreen.-listed #sidebar { display: block; }
    ChatScreen.-wide.-unlisted #sidebar { display: none; }
    ChatScreen.-narrow.-listed #sidebar { width: 100%; border: none; }
    ChatScreen.-narrow.-listed #main { display: none; }
    ChatScreen #main { width: 1fr; height: 1fr; }
    ChatScreen #columns { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(
        self,
        backend: Backend,
        display: TerminalDisplay,
        answerer: Answerer,
        waiting_store: WaitingStore | None = None,
    ) -> None:
        super().__init__()
        self.display_settings = display
        self.state = ChatState(backend, self, answerer, waiting_store)
        self.chat: ChatSession | None = None
        """The session that is shown; None for one that has no question yet."""
        self._gateway_lost: Wording | None = None
        self._asking = False
        self._flows_to_start: list[Coroutine[Any, Any, None]] = []
        self._interrupted_s = -QUIT_S
        """When Ctrl+C was pressed last."""

    @property
    def chat_app(self) -> "ChatApp":
        """The application."""
        return cast("ChatApp", self.app)

    def compose(self) -> ComposeResult:
        words = self.display_settings.words
        yield Static("", id="title", markup=False)
        with Horizontal(id="columns"):
            with Vertical(id="sidebar"):
                yield Static(Content(words.text("sessions")), id="sidebar-title", markup=False)
                yield SessionList(id="sessions")
            with Vertical(id="main"):
                yield ConversationView(self.display_settings)
                yield ApprovalBar(words)
                yield WaitingList(id="waiting")
                yield Composer(words)
        yield StatusLine()

    def start(self, session: str, check_s: float) -> None:
        """Show a session, or an empty one, and watch the gateway."""
        self.composer.area.focus()
        self._show(None)
        self.run_flow(self._start(session))
        self.run_worker(self._watch_gateway(check_s))

    async def _start(self, session: str) -> None:
        await self.state.refresh_sessions()
        if session:
            await self.open_session(session)

    @property
    def _composed(self) -> bool:
        """Whether the parts are there. They go when the chat closes, while streams may still run."""
        return self.is_mounted and self.app.is_running

    @property
    def conversation(self) -> ConversationView:
        """The turns of the shown session."""
        return self.query_one(ConversationView)

    @property
    def composer(self) -> Composer:
        """The prompt."""
        return self.query_one(Composer)

    @property
    def status_line(self) -> StatusLine:
        """The line at the bottom."""
        return self.query_one(StatusLine)

    def apply_display(self, display: TerminalDisplay) -> None:
        """Draw in another way."""
        self.display_settings = display
        self.query_one("#sidebar-title", Static).update(Content(display.words.text("sessions")))
        self.query_one(ApprovalBar).words = display.words
        self.composer.use_words(display.words)
        self.conversation.apply_display(display)
        self.sessions_changed()
        self._show_status()

    def run_flow(self, flow: Coroutine[Any, Any, None]) -> None:
        """Run work beside the screen. What the gateway refuses is shown."""

        async def run() -> None:
            self._flows_to_start.remove(flow)
            try:
                await flow
            except (Refused, BackendUnreachable) as error:
                self.chat_app.show_error(error)

        work: WorkType[None] = run
        self._flows_to_start.append(flow)
        self.run_worker(work, exit_on_error=True)

    def on_unmount(self) -> None:
        """Close the work that has not started: when the chat closes, its worker is cancelled before."""
        for flow in self._flows_to_start:
            flow.close()

    # What `ChatState` tells.

    def feed(self, session: ChatSession, chat_turn: ChatTurn, entry: Entry) -> None:
        """Apply an entry to a turn, and draw it if its session is shown."""
        if session is self.chat and self._composed:
            self.conversation.feed(chat_turn, entry)
        else:
            chat_turn.feed(entry)
        if isinstance(entry.event, ApprovalAsked | ApprovalSettled) and self._composed:
            self._show_approval()
            self.sessions_changed()

    def turn_changed(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw the state of a turn."""
        if session is not self.chat:
            session.unread = session.unread or not chat_turn.running
        elif self._composed:
            if exchange := self.conversation.exchange(chat_turn):
                exchange.show_state()
            elif chat_turn.running:  # a question that waited was sent, or another surface asked one
                self.conversation.changed()
            self._show_approval()
            self._show_waiting()
            self._show_status()
            if not chat_turn.running and chat_turn.id:
                self.run_flow(self._read_cost(chat_turn))

    def turn_restarted(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw a turn again from its first entry."""
        shown = session is self.chat and self._composed
        if shown and (exchange := self.conversation.exchange(chat_turn)):
            exchange.turn_view.show(chat_turn.turn)

    def sessions_changed(self) -> None:
        """Draw the list of sessions, and the title."""
        if not self._composed:
            return
        shown = self.chat.info.id if self.chat else ""
        words = self.display_settings.words
        self.query_one(SessionList).show(self.state.sessions.values(), shown, words)
        title = Content(self.display_settings.title(self.chat, self.state.answerer))
        title_line = self.query_one("#title", Static)
        if title_line.content != title:
            title_line.update(title)
        self._show_waiting()

    def _show_waiting(self) -> None:
        self.composer.waiting = self.chat.waiting if self.chat else ()
        waiting = self.query_one(WaitingList)
        waiting.show(self.chat, self.display_settings.words)
        if waiting.has_focus and not self.composer.waiting:
            self.composer.area.focus()

    async def _watch_gateway(self, check_s: float) -> None:
        while True:
            await asyncio.sleep(check_s)
            await self._check_gateway()

    async def _check_gateway(self) -> None:
        try:
            await self.state.refresh_sessions()
        except BackendUnreachable as error:
            self._gateway_lost = error.wording
            self._show_status()
            return
        except Refused as error:
            self.chat_app.show_error(error)
            return
        if self._gateway_lost:
            self._gateway_lost = None
            self.chat_app.show_notice(self.display_settings.words.text("gateway.back"))
            self._show_status()
        for chat, chat_turn in self.state.unfollowed():
            self.run_flow(self.state.follow(chat, chat_turn))
        self.run_flow(self._check_waiting())

    async def _check_waiting(self) -> None:
        self.state.drop_gone()
        if self.chat is not None:
            self.state.reload_waiting(self.chat)
        for chat in self.state.unsent():
            self.run_flow(self.state.run_waiting(chat))

    # Which session is shown.

    async def open_session(self, session: str) -> None:
        """Show a session."""
        chat = await self.state.load(session)
        self._show(chat)
        for chat_turn in chat.turns:
            if chat_turn.running:
                self.run_flow(self.state.follow(chat, chat_turn))
        self.run_flow(self.state.run_waiting(chat))
        if chat.turns and not chat.turns[-1].running:
            self.run_flow(self._read_cost(chat.turns[-1]))

    async def _read_cost(self, chat_turn: ChatTurn) -> None:
        """Show what a turn used in the line below."""
        chat_turn.cost = await self.state.backend.cost(chat_turn.id)
        self._show_status()

    def show_new(self) -> None:
        """Show an empty session. It is created with its first question."""
        self._show(None)
        self.composer.area.focus()

    def _show(self, chat: ChatSession | None) -> None:
        composer = self.composer
        if self.chat is not None and not composer.edits:
            self.chat.draft = composer.area.text
        self.leave_edit()
        self.chat = chat
        if chat is not None:
            chat.unread = False
            composer.fill(chat.draft)
        self.conversation.show(
            [] if chat is None else chat.turns, self.display_settings.words.text("welcome")
        )
        if self.has_class("-narrow"):
            self.remove_class("-listed")
        self.sessions_changed()
        self._show_approval()
        self._show_status()

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        edited = self.composer.edited_waiting
        blank = not event.text.strip() and not self.composer.attachments
        if blank and edited is None:
            if self.chat is not None:
                self.run_flow(self.state.run_waiting(self.chat, chosen=True))
            return
        if blank and edited is not None and not edited.attachments:
            self.run_flow(flows.remove_waiting(self, edited.key))
            return
        command = read_command(event.text)
        if command is None:
            self.run_flow(self.ask())
        elif command.known:
            self.composer.take()
            self.run_flow(run_command(self, command))
        else:
            self.run_flow(flows.ask_unknown_command(self, command))

    async def ask(self) -> None:
        """Ask what is in the prompt. If the gateway refuses it, the text stays in the prompt."""
        composer = self.composer
        shown = self.chat
        if self._asking:
            return
        if shown is not None and composer.edited_waiting is not None:
            await flows.save_waiting(self, shown)
            return
        replaces = composer.edited.id if composer.edited else ""
        if shown is not None and self.state.busy(shown):
            await flows.wait(self, shown, replaces)
            return
        self._asking = True
        try:
            prompt, attachments = composer.area.text, composer.attachments
            chat, chat_turn = await self.state.ask_in(shown, prompt, attachments, replaces)
        except SessionBusy:  # a turn of another surface runs
            if shown is None:
                raise
            await flows.wait(self, shown, replaces)
            return
        finally:
            self._asking = False
        self.run_flow(self.state.follow(chat, chat_turn))
        chat.draft = ""
        if self.chat is not shown:  # the person has gone to another session meanwhile
            return
        self.clear_prompt()
        if shown is None:
            self._show(chat)
        self.conversation.changed()
        self.conversation.follow_end()
        self._show_status()

    def clear_prompt(self) -> None:
        """Empty the prompt after its question was sent or put with those that wait."""
        self.composer.take()
        self.composer.take_attachments()
        self.composer.leave_edit()

    def leave_edit(self) -> None:
        """Leave the question that is edited as it was. One that waits may be sent again."""
        question = self.composer.edited_waiting
        self.composer.leave_edit()
        if question is not None and self.chat is not None:
            try:
                self.state.change_waiting(self.chat, question.key, question)
            except Refused as error:  # it still waits, and only the person sends it
                self.chat_app.show_error(error)
                return
            self.run_flow(self.state.run_waiting(self.chat))

    # The line below, and the bar for approvals.

    def _show_status(self) -> None:
        if not self._composed:
            return
        place = _PLACES.get(type(self.focused), "status.idle")
        text = status_text(self.display_settings, self.chat, self._gateway_lost, place)
        self.status_line.show_status(text, lost=bool(self._gateway_lost))

    @on(events.DescendantFocus)
    def _focus_moved(self) -> None:
        self._show_status()

    def _show_approval(self) -> None:
        bar = self.query_one(ApprovalBar)
        waiting = self.chat.waiting_calls if self.chat else []
        if not waiting:
            if bar.has_focus:
                self.composer.area.focus()
            bar.clear()
            return
        (chat_turn, block), *others = waiting
        newly_asked = not bar.asked
        bar.ask(chat_turn.id, block, len(others))
        if newly_asked and not self.composer.area.text:
            bar.focus()

    @on(ApprovalBar.Answered)
    def _answered(self, event: ApprovalBar.Answered) -> None:
        self.run_flow(self.state.backend.approve(event.turn, event.block, event.granted))

    @on(ApprovalBar.Typed)
    def _typed_at_approval(self, event: ApprovalBar.Typed) -> None:
        for character in event.text:
            self.composer.type(character)

    @on(PromptArea.HelpAsked)
    def _help_asked(self) -> None:
        self.run_flow(flows.show_help(self))

    @on(PromptArea.ImagePasted)
    def _image_pasted(self, event: PromptArea.ImagePasted) -> None:
        self.run_flow(flows.attach(self, event.path))

    @on(AnswerView.LinkClicked)
    def _link_clicked(self, event: AnswerView.LinkClicked) -> None:
        self.app.open_url(event.href)

    @on(SessionList.OptionSelected, "#sessions")
    def _session_selected(self, event: OptionList.OptionSelected) -> None:
        self.run_flow(self.open_session(event.option_id or ""))
        self.composer.area.focus()

    @on(SessionList.EndReached)
    def _list_end_reached(self) -> None:
        self.run_flow(self.state.load_more_sessions())

    @on(SessionList.Acted)
    def _session_acted(self, event: SessionList.Acted) -> None:
        self.run_flow(flows.SESSION_FLOWS[event.act](self, event.session))

    @on(WaitingList.Acted)
    def _waiting_acted(self, event: WaitingList.Acted) -> None:
        self.run_flow(flows.WAITING_FLOWS[event.act](self, event.key))

    @on(Composer.WaitingRecalled)
    def _waiting_recalled(self, event: Composer.WaitingRecalled) -> None:
        self.run_flow(flows.edit_waiting(self, event.key))

    @on(QuestionView.Acted)
    def _question_acted(self, event: QuestionView.Acted) -> None:
        self.run_flow(flows.TURN_FLOWS[event.act](self, event.chat_turn))

    # Keys.

    def on_key(self, event: events.Key) -> None:
        """Give what is typed while the conversation has the focus to the prompt."""
        # A key that was under way when the focus went to the prompt comes here too; the prompt keeps its own.
        places = [] if self.focused is None else self.focused.ancestors_with_self
        meant = self.conversation in places or self.composer.area in places
        if meant and event.character and event.is_printable and event.key not in self.active_bindings:
            event.stop()
            self.composer.type(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Give what is pasted elsewhere to the prompt."""
        self.composer.area.focus()
        self.composer.area.post_message(events.Paste(event.text))

    def action_flow(self, name: str) -> None:
        """Start a flow of the whole screen."""
        self.run_flow(flows.SCREEN_FLOWS[name](self))

    def action_turn_flow(self, name: str) -> None:
        """Edit, copy or replay the selected turn."""
        self.run_flow(flows.act_on_turn(self, name))

    def action_session_flow(self, name: str) -> None:
        """Rename, delete or export the shown session."""
        self.run_flow(flows.SESSION_FLOWS[name](self, self.chat.info.id if self.chat else ""))

    def action_stop(self) -> None:
        """Leave the edit, or stop the running turn."""
        composer = self.composer
        if composer.edits:
            self.leave_edit()
        elif self.query_one(WaitingList).has_focus:
            composer.area.focus()
        elif self.query_one(SessionList).has_focus:
            self.leave_sessions()
        else:
            self.run_flow(flows.stop(self))

    def action_interrupt(self) -> None:
        """Copy the selected text, else empty the prompt, else stop the running turn; pressed again, quit."""
        composer = self.composer
        if selected := self.get_selected_text() or composer.area.selected_text:
            self.app.copy_to_clipboard(selected)
            return
        again = monotonic() - self._interrupted_s < QUIT_S
        running = self.chat is not None and self.chat.running_turn is not None
        if composer.area.text or composer.edits:
            composer.take()
            self.leave_edit()
            if running:  # the next one stops the turn
                return
        elif again:
            self.app.exit()
            return
        elif running:
            self.run_flow(flows.stop(self))
        self._interrupted_s = monotonic()
        self.chat_app.show_notice(self.display_settings.words.text("quit.again"))

    def action_leave(self) -> None:
        """Leave the chat, if the prompt is empty."""
        if not self.composer.area.text:
            self.app.exit()

    def action_toggle_sessions(self) -> None:
        """Show the list of sessions and go there, or hide it."""
        sessions = self.query_one(SessionList)
        if sessions.has_focus:
            self.set_class(self.has_class("-wide"), "-unlisted")
            self.leave_sessions()
        else:
            self.remove_class("-unlisted")
            self.add_class("-listed")
            sessions.highlight_shown()
            sessions.focus()

    def leave_sessions(self) -> None:
        """Go back to the prompt. A list that covers the conversation is hidden."""
        self.remove_class("-listed")
        self.composer.area.focus()

    def action_step_session(self, step: int) -> None:
        """Show the next or the previous session of the list."""
        ids = list(self.state.sessions)
        if ids:
            index = ids.index(self.chat.info.id) + step if self.chat and self.chat.info.id in ids else 0
            self.run_flow(self.open_session(ids[index % len(ids)]))

    def action_follow_end(self) -> None:
        """Go to the end of the conversation and follow it."""
        self.conversation.follow_end()

    def action_scroll_start(self) -> None:
        """Go to the start of the conversation."""
        self.conversation.scroll_home(animate=False, immediate=True)

    def action_scroll_conversation(self, pages: int) -> None:
        """Scroll the conversation by a page."""
        self.conversation.scroll_pages(pages)
