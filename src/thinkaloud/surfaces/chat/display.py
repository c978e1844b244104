"""How the chat is drawn: the display policy, the language, and the words about turns, models and calls.

What every surface must say or decide in the same way is here, so that a surface only draws it.
"""

import json
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

import msgspec

from thinkaloud.core.canon import Wording, reason_of
from thinkaloud.core.view import Policy, preset, read_policy
from thinkaloud.core.view.translate import translate
from thinkaloud.surfaces.chat.backend import DisplayPreferences, Responder, TurnCost
from thinkaloud.surfaces.chat.chat_session import Answerer, ChatSession, ChatTurn
from thinkaloud.surfaces.chat.screen_words import CHAT_TEXTS, ScreenWords, Texts
from thinkaloud.surfaces.terminal import clean

QUESTION_LIMIT = 4_000
"""Characters of a question that are drawn. A longer one is a pasted document, which nobody reads here."""
TYPE_AHEAD_S = 0.5
"""A key or a tap so soon after a call appeared was meant for what was there before."""
GATEWAY_CHECK_S = 5.0
"""How often the list of sessions is read. It shows that the gateway is gone, and when it is back."""

_LINK_SCHEMES = ("http", "https", "mailto")
_THINKING_NOTES = {"none": "model.thinks_none", "always": "model.thinks_always"}


class Display:
    """The policy and the words that every widget draws with. A surface sets `texts` to words of its own."""

    texts: ClassVar[Texts] = CHAT_TEXTS

    def __init__(
        self, policy: Policy, locale: str, saved_language: str = "", default_model: str = ""
    ) -> None:
        self.policy = policy
        self.default_model = default_model
        """Who answers if nobody was chosen; empty if only the gateway knows."""
        self.words = ScreenWords(locale, self.texts)
        self._saved_language = saved_language or self.words.locale

    @property
    def locale(self) -> str:
        """The full name of the language."""
        return self.words.locale

    @classmethod
    def from_preferences(cls, preferences: DisplayPreferences, language: str = "") -> Self:
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

    def with_policy(self, policy: Policy) -> Self:
        """Return the same with another policy."""
        return type(self)(policy, self.locale, self._saved_language, self.default_model)

    def with_language(self, language: str) -> Self:
        """Return the same in another language, which is saved."""
        return type(self)(self.policy, language, default_model=self.default_model)

    def title(self, chat: ChatSession | None, answerer: Answerer) -> str:
        """Return the line at the top: the session, and who answers."""
        title = "" if chat is None else clean(chat.info.title)
        who = clean(self.answerer_name(chat, answerer))
        parts = [title or self.words.text("untitled"), who, answerer.thinking]
        return " · ".join(filter(None, parts))

    def answerer_name(self, chat: ChatSession | None, answerer: Answerer) -> str:
        """Return who answers the next question: the chosen agent or model, else that of the session."""
        session_agent = "" if chat is None else chat.info.agent
        return answerer.agent or answerer.model or session_agent or self.model(chat, answerer)

    def model(self, chat: ChatSession | None, answerer: Answerer) -> str:
        """Return the model of the next question: the chosen, the session's, the last or the default."""
        if answerer.model or chat is None:
            return answerer.model or self.default_model
        last_model = chat.turns[-1].turn.model if chat.turns else ""
        return chat.info.model or last_model or self.default_model

    def cost(self, cost: TurnCost) -> str:
        """Return what a turn used: tokens in and out, dollars, and the share of the context window."""
        words = self.words
        parts = []
        if cost.input_tokens is None and cost.output_tokens is None:
            parts.append(words.text("cost.no_tokens"))
        else:
            counts = [words.count(count) for count in (cost.input_tokens, cost.output_tokens)]
            parts.append(words.text("cost.tokens", input=counts[0], output=counts[1]))
        if cost.usd is None:
            parts.append(words.text("cost.no_usd"))
        else:
            parts.append(words.text("cost.usd", amount=words.decimal(float(cost.usd))))
        if cost.context_tokens is None or not cost.context_window:
            parts.append(words.text("cost.no_context"))
        else:
            share = 100 * cost.context_tokens / cost.context_window
            parts.append(words.text("cost.context", share="<1" if share < 1 else f"{share:.0f}"))
        return " · ".join(parts)

    def cut_question(self, prompt: str) -> str:
        """Return a question as it is drawn: the start of a very long one, and how much more there is."""
        if len(prompt) <= QUESTION_LIMIT:
            return prompt
        rest = self.words.text("question.rest", n=len(prompt) - QUESTION_LIMIT)
        return f"{prompt[:QUESTION_LIMIT]}… {rest}"

    def stream_state(self, chat_turn: ChatTurn) -> str:
        """Return what is to be said about the stream of a turn; nothing if all is well."""
        if chat_turn.reconnecting is not None:
            return self.words.text("stream.lost", reason=self.error_text(chat_turn.reconnecting.reason))
        if chat_turn.error:
            return self.words.text("stream.failed", reason=self.error_text(chat_turn.error))
        return "" if chat_turn.saved else self.words.text("stream.unsaved")

    def error_text(self, error: Exception | Wording) -> str:
        """Return an error in the language, for the screen."""
        wording = reason_of(error) if isinstance(error, Exception) else error
        return clean(translate(wording, self.locale))


def responder_note(responder: Responder, words: ScreenWords) -> str:
    """Return what is good to know before it is chosen; often nothing."""
    unchecked = words.any_of("model.unchecked", responder.unchecked)
    note = _THINKING_NOTES.get(responder.thinking)
    thinking = words.text(note) if note else ""
    description = translate(responder.description, words.locale)  # that of an included agent is known there
    return " ".join(filter(None, (unchecked, thinking, description)))


def responder_reason(responder: Responder, words: ScreenWords) -> str:
    """Return why it cannot be used now; empty if that is not known."""
    return responder.reason or words.any_of("model.no_key", responder.keyless)


def argument_lines(text: str) -> list[str]:
    """Return the arguments of a call, one in each line; a text that is not a JSON object as it is."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return clean(text).splitlines()
    lines: list[str] = []
    for name, value in values.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = clean(shown).splitlines() or [""]
        lines += [f"{clean(name)}: {first}", *(f"  {line}" for line in rest)]
    return lines


def link_allowed(address: str) -> bool:
    """Return whether an address of an answer may be opened: only web and mail addresses are links."""
    try:
        return urlsplit(address).scheme.lower() in _LINK_SCHEMES
    except ValueError:  # no address at all, such as `http://[`
        return False
