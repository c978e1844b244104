"""What the chat knows: the sessions, which one is shown, who answers, and the streams of the running turns.

It talks to the gateway and calls `Listener` methods when something changed. A turn is followed until it has
ended, whichever session is shown. `unfollowed` names the turns whose stream was lost. After a turn that ended
normally, the first question that waits in its session is sent (see `question_queue`).
"""

from typing import Protocol

import msgspec

from thinkaloud.core.canon import Entry, OutOfOrder, Refused, Wording
from thinkaloud.core.canon.requests import TurnRequest, UserMessage
from thinkaloud.surfaces.chat.attachments import Attachment
from thinkaloud.surfaces.chat.backend import (
    Backend,
    BackendUnreachable,
    Reconnecting,
    Restarted,
    SessionBusy,
    SessionInfo,
    StorageChanged,
    StreamItem,
)
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.question_queue import (
    Change,
    Questions,
    WaitingInMemory,
    WaitingQuestion,
    WaitingStore,
)

SESSIONS_PER_PAGE = 50


class Listener(Protocol):
    """Is called when something changed."""

    def feed(self, session: ChatSession, chat_turn: ChatTurn, entry: Entry) -> None:
        """Apply an entry to a turn and draw it."""

    def turn_changed(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw the state of a turn: it was accepted, lost its connection, or ended."""

    def turn_restarted(self, session: ChatSession, chat_turn: ChatTurn) -> None:
        """Draw a turn again from its first entry."""

    def sessions_changed(self) -> None:
        """Draw the list of sessions, and the questions that wait."""


class ChatState:
    """The sessions of the gateway, and the streams of their running turns."""

    def __init__(
        self,
        backend: Backend,
        listener: Listener,
        answerer: Answerer,
        waiting_store: WaitingStore | None = None,
    ) -> None:
        self.backend = backend
        self.sessions: dict[str, ChatSession] = {}
        self.more_sessions = ""
        """The cursor of the next page of sessions; empty if all are here."""
        self.answerer = answerer
        self._listener = listener
        self._waiting_store = waiting_store or WaitingInMemory()
        self._followed: set[str] = set()
        self._sending: set[str] = set()
        """The sessions whose first waiting question is on its way."""
        self._unsent: set[str] = set()
        """The sessions whose first waiting question the gateway has neither taken nor refused."""
        self._listed: set[str] = set()
        """The sessions that the gateway has listed."""
        self._gone: set[str] = set()
        """The sessions that another surface deleted, and whose waiting questions are still kept."""

    async def refresh_sessions(self) -> None:
        """Read the first page of sessions again. Sessions of later pages stay."""
        listed_before = self._listed
        rows, cursor = await self.backend.sessions(limit=SESSIONS_PER_PAGE)
        listed = {row.id for row in rows}
        if not self.more_sessions and len(self.sessions) <= len(rows):
            self.more_sessions = cursor
        if cursor:  # there are others, which stay
            self._listed = self._listed | listed
            self._take_rows(rows, self.sessions)
            return
        # This is the whole list. `_listed` may have changed while it was read.
        self._gone |= listed_before - listed
        self._listed = listed
        running = {key: chat for key, chat in self.sessions.items() if chat.running_turn is not None}
        self._take_rows(rows, running)

    async def load_more_sessions(self) -> None:
        """Read the next page of sessions, if there is one."""
        if self.more_sessions:
            rows, self.more_sessions = await self.backend.sessions(
                after=self.more_sessions, limit=SESSIONS_PER_PAGE
            )
            for row in rows:
                self.sessions.setdefault(row.id, ChatSession(row))
            self._listener.sessions_changed()

    def _take_rows(self, rows: list[SessionInfo], kept: dict[str, ChatSession]) -> None:
        sessions: dict[str, ChatSession] = {}
        for row in rows:
            chat = self.sessions.get(row.id) or ChatSession(row)
            chat.info = row
            sessions[row.id] = chat
        self.sessions = sessions | {key: chat for key, chat in kept.items() if key not in sessions}
        self._listener.sessions_changed()

    async def load(self, session_id: str) -> ChatSession:
        """Return a session with its turns."""
        chat = self.sessions.get(session_id)
        if chat is None:
            await self.refresh_sessions()
            while session_id not in self.sessions and self.more_sessions:
                await self.load_more_sessions()
            chat = self.sessions.get(session_id) or ChatSession(SessionInfo(id=session_id, title=""))
        if not chat.loaded:
            chat.load(await self.backend.turns(session_id))
        self.sessions.setdefault(session_id, chat)
        chat.waiting = self._waiting_store.read(session_id)
        return chat

    async def load_version(self, chat: ChatSession, turn_id: str) -> None:
        """Load the branch of a session that has this turn."""
        newest = {turn.id for turn in await self.backend.turns(chat.info.id)}
        chat.load(await self.backend.turns(chat.info.id, branch=turn_id))
        chat.older_branch = turn_id not in newest

    async def create(self, title: str = "") -> ChatSession:
        """Create a session for the present answerer."""
        info = await self.backend.create_session(
            model=self.answerer.model, agent=self.answerer.agent, title=title
        )
        chat = ChatSession(info)
        chat.loaded = True
        self.sessions = {info.id: chat, **self.sessions}
        self._listener.sessions_changed()
        return chat

    async def delete(self, session_id: str) -> None:
        """Delete a session."""
        await self.backend.delete_session(session_id)
        self.sessions.pop(session_id, None)
        self._drop_waiting(session_id)
        self._listener.sessions_changed()

    async def rename(self, session_id: str, title: str) -> None:
        """Change the title of a session."""
        await self.backend.rename_session(session_id, title)
        chat = self.sessions[session_id]
        chat.info = msgspec.structs.replace(chat.info, title=title)
        self._listener.sessions_changed()

    async def ask(
        self, chat: ChatSession, prompt: str, attachments: list[Attachment], replaces: str = ""
    ) -> ChatTurn:
        """Ask a question and return its turn."""
        question = WaitingQuestion(
            prompt=prompt, attachments=tuple(attachments), answerer=self.answerer, key=""
        )
        return await self._ask(chat, question, replaces)

    async def _ask(self, chat: ChatSession, asked: WaitingQuestion, replaces: str = "") -> ChatTurn:
        images = tuple(attachment.image for attachment in asked.attachments)
        follows = ""
        if chat.older_branch and chat.turns and not replaces:  # else the gateway takes the newest turn
            follows = chat.turns[-1].id
        request = TurnRequest(
            messages=(UserMessage(asked.prompt, images),),
            model=asked.answerer.model,
            agent=asked.answerer.agent,
            thinking=asked.answerer.thinking or None,
            replaces=replaces,
            follows=follows,
        )
        turn_id = await self.backend.ask(chat.info.id, request, asked.key)
        known = [other for other in chat.turns if other.id == turn_id]
        if known:  # the question was sent before, with the same key
            return known[0]
        chat_turn = ChatTurn(asked.prompt, images, turn_id)
        chat.older_branch = False
        ids = [other.id for other in chat.turns]
        if replaces in ids:
            index = ids.index(replaces)
            earlier_versions = chat.turns[index].versions or (replaces,)
            chat_turn.versions = (*earlier_versions, turn_id)
            del chat.turns[index:]
        chat.turns.append(chat_turn)
        self._listener.sessions_changed()
        return chat_turn

    async def ask_in(
        self, shown: ChatSession | None, prompt: str, attachments: list[Attachment], replaces: str = ""
    ) -> tuple[ChatSession, ChatTurn]:
        """Ask in a session, or in a new one. A new session whose question is refused is deleted."""
        chat = shown or await self.create()
        try:
            return chat, await self.ask(chat, prompt, attachments, replaces)
        except Refused:
            if shown is None:
                await self.delete(chat.info.id)
            raise

    # Questions that wait.

    def change_waiting(self, chat: ChatSession, key: str, question: WaitingQuestion | None) -> None:
        """Put another question in the place of one that waits, or none.

        One that does not wait any more, because it was sent or removed meanwhile, is not brought back.
        """

        def change(questions: Questions) -> Questions:
            keys = [other.key for other in questions]
            if key not in keys:
                return questions
            changed = list(questions)
            index = keys.index(key)
            if question is None:
                del changed[index]
            else:
                changed[index] = question
            return changed

        self._change_waiting(chat, change)

    def _change_waiting(self, chat: ChatSession, change: Change) -> None:
        chat.waiting = self._waiting_store.change(chat.info.id, change)
        self._listener.sessions_changed()

    def _drop_waiting(self, session: str) -> None:
        self._waiting_store.change(session, lambda questions: [])

    def drop_gone(self) -> None:
        """Drop the questions that wait in sessions which another surface deleted."""
        for session in sorted(self._gone):
            self._drop_waiting(session)
            self._gone.discard(session)

    def reload_waiting(self, chat: ChatSession) -> None:
        """Read what waits again: another chat may have sent or changed it."""
        waiting = self._waiting_store.read(chat.info.id)
        if waiting != chat.waiting:
            chat.waiting = waiting
            self._listener.sessions_changed()

    def busy(self, chat: ChatSession | None) -> bool:
        """Return whether a question in this session has to wait."""
        return chat is not None and (chat.running_turn is not None or chat.info.id in self._sending)

    def wait(self, chat: ChatSession, prompt: str, attachments: list[Attachment]) -> None:
        """Have a question wait until the turn that runs has ended."""
        question = WaitingQuestion(prompt=prompt, attachments=tuple(attachments), answerer=self.answerer)
        self._change_waiting(chat, lambda questions: [*questions, question])

    async def run_waiting(self, chat: ChatSession, *, chosen: bool = False) -> None:
        """Send the questions that wait as their turns come, and follow them."""
        chat_turn = await self.send_waiting(chat, chosen=chosen)
        if chat_turn is not None:
            await self.follow(chat, chat_turn)

    async def send_waiting(self, chat: ChatSession, *, chosen: bool = False) -> ChatTurn | None:
        """Send the first question that waits, if it is its turn or the person chose to.

        Return the turn to follow: that of the question, or one that another surface started before.
        """
        session = chat.info.id
        if session in self._sending:
            return None
        self._unsent.discard(session)
        self.reload_waiting(chat)
        if not chat.waiting or chat.running_turn is not None:
            return None
        first = chat.waiting[0]
        if not chosen and (first.held or not chat.turns or not chat.turns[-1].ended_normally):
            return None
        self._sending.add(session)
        self._unsent.add(session)
        try:
            chat_turn = await self._ask(chat, first)
        except SessionBusy:
            chat.load(await self.backend.turns(session))
            if chat.running_turn is not None:  # else it has ended meanwhile
                self._unsent.discard(session)
                self._listener.turn_changed(chat, chat.running_turn)
            return chat.running_turn
        except Refused:
            self._unsent.discard(session)
            self.change_waiting(chat, first.key, msgspec.structs.replace(first, held=True))
            raise
        finally:
            self._sending.discard(session)
        self._unsent.discard(session)
        self.change_waiting(chat, first.key, None)
        self._listener.turn_changed(chat, chat_turn)
        return chat_turn

    def unsent(self) -> list[ChatSession]:
        """Return the sessions whose first waiting question is to be sent again."""
        unsent = self._unsent - self._sending
        return [chat for chat in self.sessions.values() if chat.info.id in unsent]

    # The streams of running turns.

    async def follow(self, chat: ChatSession, chat_turn: ChatTurn) -> None:
        """Read the stream of a running turn to its end, then those of the questions that wait."""
        following: ChatTurn | None = chat_turn
        while following is not None:
            await self._follow(chat, following)
            following = await self.send_waiting(chat) if following.ended_normally else None

    async def _follow(self, chat: ChatSession, chat_turn: ChatTurn) -> None:
        if not chat_turn.running or chat_turn.id in self._followed:
            return
        self._followed.add(chat_turn.id)
        try:
            if not chat.info.title:
                await self.refresh_sessions()  # the first question gives a session its title
            async for item in self.backend.stream(chat_turn.id, after=chat_turn.turn.seq):
                self._take(chat, chat_turn, item)
            chat_turn.running = False
            chat_turn.reconnecting = None
            await self.refresh_sessions()  # it is the most recently used one now
        except BackendUnreachable as error:  # see `unfollowed`
            chat_turn.reconnecting = Reconnecting(0, error.wording)
        except Refused as error:
            chat_turn.running = False
            chat_turn.error = error.wording
        except OutOfOrder as error:  # a bug of the gateway ends the turn here, but not the chat
            chat_turn.running = False
            chat_turn.error = Wording("The gateway sent an invalid entry: {reason}.", reason=error)
        finally:
            self._followed.discard(chat_turn.id)
        self._listener.turn_changed(chat, chat_turn)
        self._listener.sessions_changed()

    def _take(self, chat: ChatSession, chat_turn: ChatTurn, item: StreamItem) -> None:
        match item:
            case Entry():
                resumed = chat_turn.reconnecting is not None
                self._listener.feed(chat, chat_turn, item)
                if resumed:
                    self._listener.turn_changed(chat, chat_turn)
            case Reconnecting():
                chat_turn.reconnecting = item
                self._listener.turn_changed(chat, chat_turn)
            case Restarted():
                chat_turn.restart()
                self._listener.turn_restarted(chat, chat_turn)
            case StorageChanged():
                chat_turn.saved = item.saved
                self._listener.turn_changed(chat, chat_turn)

    async def finish(self) -> None:
        """Read the running turns to their end without drawing them, after the screen has closed."""
        for _, chat_turn in self._running_turns():
            async for item in self.backend.stream(chat_turn.id, after=chat_turn.turn.seq):
                if isinstance(item, Entry):
                    chat_turn.feed(item)
                elif isinstance(item, Restarted):
                    chat_turn.restart()
            chat_turn.running = False

    def unfollowed(self) -> list[tuple[ChatSession, ChatTurn]]:
        """Return the running turns that no stream is open for."""
        return [pair for pair in self._running_turns() if pair[1].id not in self._followed]

    def _running_turns(self) -> list[tuple[ChatSession, ChatTurn]]:
        pairs: list[tuple[ChatSession, ChatTurn]] = []
        for chat in self.sessions.values():
            pairs += [(chat, chat_turn) for chat_turn in chat.turns if chat_turn.running]
        return pairs
