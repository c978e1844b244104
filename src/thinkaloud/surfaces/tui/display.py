"""How the chat is drawn: the display policy, the language and the words."""

from typing import Any

import msgspec

from thinkaloud.surfaces.backend import DisplayPreferences, SessionInfo
from thinkaloud.surfaces.terminal import clean
from thinkaloud.surfaces.tui.chat_session import Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.tui.words import ScreenWords
from thinkaloud.view import Policy, preset, read_policy


class Display:
    """The policy and the words that every widget draws with."""

    def __init__(
        self, policy: Policy, locale: str, saved_language: str = "", default_model: str = ""
    ) -> None:
        self.policy = policy
        self.default_model = default_model
        """Who answers if nobody was chosen; empty if only the gateway knows."""
        self.words = ScreenWords(locale)
        self._saved_language = saved_language or self.words.locale

    @property
    def locale(self) -> str:
        """The full name of the language."""
        return self.words.locale

    @classmethod
    def from_preferences(cls, preferences: DisplayPreferences, language: str = "") -> "Display":
        """Return what the user's preferences say. `language` is used instead of theirs, and is not saved."""
        saved_language = preferences.language or "en-US"
        return cls(
            read_policy(preferences.display), language or saved_language, saved_language, preferences.model
        )

    def preferences(self) -> DisplayPreferences:
        """Return the preferences to save: the preset, and what differs from it."""
        settings: dict[str, Any] = msgspec.to_builtins(self.policy)
        of_preset = msgspec.to_builtins(preset(self.policy.preset))
        overrides = {name: value for name, value in settings.items() if value != of_preset[name]}
        return DisplayPreferences(
            display={"preset": self.policy.preset, **overrides}, language=self._saved_language
        )

    def with_policy(self, policy: Policy) -> "Display":
        """Return the same with another policy."""
        return Display(policy, self.locale, self._saved_language, self.default_model)

    def with_language(self, language: str) -> "Display":
        """Return the same in another language, which is saved."""
        return Display(self.policy, language, default_model=self.default_model)

    def title(self, chat: ChatSession | None, answerer: Answerer) -> str:
        """Return the line at the top: the session, and who answers."""
        info = SessionInfo(id="", title="") if chat is None else chat.info
        who = answerer.agent or answerer.model or info.agent or self.model(chat, answerer)
        parts = [clean(info.title) or self.words.text("untitled"), clean(who), answerer.thinking]
        return " · ".join(part for part in parts if part)

    def model(self, chat: ChatSession | None, answerer: Answerer) -> str:
        """Return the model of the next question: the chosen, the session's, the last or the default."""
        session_model = "" if chat is None else chat.info.model
        last_model = chat.turns[-1].turn.model if chat is not None and chat.turns else ""
        return answerer.model or session_model or last_model or self.default_model

    def status(self, chat: ChatSession | None, gateway_lost: str, place: str) -> str:
        """Return the line at the bottom: what is wrong, what runs, or the keys of a place."""
        running = None if chat is None else chat.running_turn
        if gateway_lost:
            text = self.words.text("gateway.lost", reason=clean(gateway_lost))
        elif running is None or place != "status.idle":
            text = self.words.text(place)
        else:
            text = self.stream_state(running) or self.words.text("status.running")
        return text.replace("\n", " ")

    def stream_state(self, chat_turn: ChatTurn) -> str:
        """Return what is to be said about the stream of a turn; nothing if all is well."""
        if chat_turn.reconnecting is not None:
            return self.words.text("stream.lost", reason=clean(chat_turn.reconnecting.reason))
        if chat_turn.error:
            return self.words.text("stream.failed", reason=clean(chat_turn.error))
        return "" if chat_turn.saved else self.words.text("stream.unsaved")
