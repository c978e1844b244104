"""A conversation into the next request, with a report of what was sent, what was not, and why.

A turn goes back byte for byte to the model that issued it, as far as the rule of its provider reaches, and in
plain form to every other. Thoughts of one model never become words of another.
"""

import msgspec

from thinkaloud.canon import Kind
from thinkaloud.canon.requests import (
    Ask,
    AssistantMessage,
    Call,
    Message,
    Request,
    UserMessage,
)
from thinkaloud.catalog.rows import ReplayForm, Route, Sent
from thinkaloud.context.conversation import Conversation, Said
from thinkaloud.context.families import native
from thinkaloud.context.fingerprints import Prefix
from thinkaloud.context.notes import note
from thinkaloud.context.plain import Plain
from thinkaloud.context.replaying import Judge
from thinkaloud.context.report import Fate, Line, Report
from thinkaloud.context.speech import Speech, listen
from thinkaloud.context.terms import Terms, Unsupported
from thinkaloud.transcript import Block


class Built(msgspec.Struct, frozen=True):
    """A request, what became of every block, and the fingerprint to keep with the answer (`Said.prefix`)."""

    request: Request
    report: Report
    prefix: str


def build(conversation: Conversation, route: Route, terms: Terms | None = None) -> Built:
    """The request that asks this route to go on with the conversation."""
    terms = terms or Terms()
    builder = _Builder(conversation, route, terms)
    builder.run()
    ask, notes = _fitting(terms.ask, route, builder)
    request = Request(
        model=route.model_id,
        messages=tuple(builder.messages),
        system=conversation.system,
        tools=conversation.tools,
        tool_choice=terms.tool_choice,
        ask=ask,
        max_tokens=terms.max_tokens,
        stream=terms.stream,
    )
    return Built(request, Report(tuple(builder.lines), notes), builder.prefix.fingerprint)


class _Builder:
    """Goes through the steps once; what it has said of a step never changes."""

    def __init__(self, conversation: Conversation, route: Route, terms: Terms) -> None:
        self._steps = conversation.steps
        self._route = route
        self._unsupported = terms.unsupported
        self._mode = terms.ask.mode
        self._heard = listen(self._steps, self._demands)
        self.loop = self._heard.loop
        self.judge = Judge(route, terms, self.loop)
        self._last_asked = max(
            (number for number, step in enumerate(self._steps) if isinstance(step, UserMessage)), default=-1
        )
        self._plain = Plain()
        self._foreign: list[Block] = []
        self.messages: list[Message] = []
        self.lines: list[Line] = []
        self.bare: set[int] = set()
        """Turns that called tools and went without a thought."""
        self.prefix = Prefix(conversation.system, conversation.tools)

    def _demands(self, said: Said) -> bool:
        """Whether a call of this turn is refused without its thought, however the model is asked."""
        rule = self._route.replay
        demanded = rule.form is ReplayForm.VERBATIM and rule.required is not Sent.NONE
        return demanded and self._mode not in ("enabled", "disabled") and native(said, self._route)

    def run(self) -> None:
        """Say every step."""
        for number, step in enumerate(self._steps):
            if isinstance(step, Said):
                self._say_turn(self._heard.speeches[number])
            elif isinstance(step, UserMessage):
                self._say(self._noted(step))
            elif number in self._heard.lost:
                self.lines.append(Line(number, None, "tool_result", Fate.WITHHELD, self._heard.lost[number]))

    def _say(self, message: Message) -> None:
        self.messages.append(message)
        self.prefix.add(message)

    def _noted(self, message: UserMessage) -> UserMessage:
        if not self._foreign:
            return message
        told, self._foreign = note(self._foreign), []
        return msgspec.structs.replace(message, text=f"{told}\n\n{message.text}" if message.text else told)

    def _say_turn(self, speech: Speech) -> None:
        if speech.left_out:
            self._withhold(speech, speech.left_out)
            return
        ruled = self.judge.rule(speech, self.prefix.fingerprint)
        if ruled in ("verbatim", "drop_block"):
            self._say_verbatim(speech, ruled)
        elif speech.spoken or speech.calls:
            self._say_plain(speech, ruled)
        else:
            self._withhold(speech, "server_tool")

    def _withhold(self, speech: Speech, code: str) -> None:
        lines = [self._line(speech, block, *_fate_out(block, code)) for block in speech.turn.blocks]
        self.lines += lines or [Line(speech.step, None, "turn", Fate.WITHHELD, code)]

    def _say_verbatim(self, speech: Speech, ruled: str) -> None:
        assert speech.turn.message is not None
        self._say(AssistantMessage(verbatim=speech.turn.message.payload))
        for block, result in speech.calls:
            self._plain.keep(block.call_id)
            self._say(msgspec.structs.replace(result, call_id=block.call_id, name=result.name or block.name))
        if not speech.thoughtful:
            self.bare.add(speech.step)
        self.lines += [
            self._line(speech, block, *_fate_verbatim(block, ruled)) for block in speech.turn.blocks
        ]

    def _say_plain(self, speech: Speech, ruled: str) -> None:
        named = self._plain.calls(speech, signed=ruled == "no_message")
        self._say(
            AssistantMessage(
                text=speech.turn.answer if speech.spoken else "",
                calls=tuple(call for call, _ in named.values()),
                **self._thought(speech, ruled),
            )
        )
        for block, result in speech.calls:
            call, _ = named[block.number]
            self._say(msgspec.structs.replace(result, call_id=call.call_id, name=result.name or block.name))
        self.bare.add(speech.step)
        self.lines += [
            self._line(speech, block, *self._fate_plain(speech, block, ruled, named))
            for block in speech.turn.blocks
        ]

    def _thought(self, speech: Speech, ruled: str) -> dict[str, str]:
        text = speech.turn.reasoning if ruled == "field" else ""
        if text or self.judge.echoes(speech):
            return {"reasoning": text, "reasoning_field": self._route.replay.field}
        return {}

    def _fate_plain(
        self, speech: Speech, block: Block, ruled: str, named: dict[int, tuple[Call, str]]
    ) -> tuple[Fate, str]:
        if block.kind is Kind.REASONING:
            return self._fate_of_thought(speech, block, ruled)
        if block.kind is Kind.TEXT:
            return (Fate.WITHHELD, "empty") if block.blank else (Fate.SENT, "plain")
        if block.number in named:
            code = named[block.number][1]
            return (Fate.SENT if code == "plain" else Fate.TRANSFORMED), code
        return Fate.WITHHELD, "server_tool" if block.number in speech.served else "unanswered"

    def _fate_of_thought(self, speech: Speech, block: Block, ruled: str) -> tuple[Fate, str]:
        if ruled == "field":
            return (Fate.WITHHELD, "empty") if not block.text else (Fate.SENT, "field")
        if ruled != "foreign" or self._unsupported is Unsupported.METADATA:
            return Fate.WITHHELD, ruled
        if self._unsupported is Unsupported.STRIP:
            return Fate.WITHHELD, "stripped"
        if block.blank or block.parent is not None or speech.step > self._last_asked:
            return Fate.WITHHELD, "foreign"
        self._foreign.append(block)
        return Fate.TRANSFORMED, "note"

    def _line(self, speech: Speech, block: Block, fate: Fate, code: str) -> Line:
        if block.parent is not None:
            fate, code = Fate.WITHHELD, "nested"
        return Line(speech.step, block.number, block.kind, fate, code, _tokens(speech, block))


def _fitting(ask: Ask, route: Route, builder: _Builder) -> tuple[Ask, tuple[str, ...]]:
    """What is asked of the model, made to fit the loop that is open, and a word on what that changed.

    A budget demands that a loop begins and ends with a thought; what another model said has none that may be
    sent. A thought that is demanded though its prefix changed goes with the word to drop it.
    """
    demanded = route.replay.form is ReplayForm.VERBATIM and route.replay.required is not Sent.NONE
    ends = {min(builder.loop), max(builder.loop)} if builder.loop else set()
    if ask.mode == "enabled" and demanded and ends & builder.bare:
        return msgspec.structs.replace(ask, mode="disabled", budget_tokens=None, display=""), (_PAUSED,)
    if builder.judge.drops:
        template = (*ask.template, ("block_binding", "drop_block"))
        return msgspec.structs.replace(ask, mode=ask.mode or "adaptive", template=template), (_DROPPED,)
    return ask, ()


_PAUSED = (
    "Thinking is off for this request: the open tool loop goes on from an answer without a thought of this "
    "model, and with a budget it would refuse that. It thinks again after the next user message."
)
_DROPPED = (
    "The provider is told to drop thoughts that no longer fit: something before the open tool loop changed, "
    "and the loop cannot go on without them."
)


def _fate_verbatim(block: Block, ruled: str) -> tuple[Fate, str]:
    return Fate.SENT, ruled if block.kind is Kind.REASONING else "verbatim"


def _fate_out(block: Block, code: str) -> tuple[Fate, str]:
    if block.kind is Kind.TEXT and block.blank:
        return Fate.WITHHELD, "empty"
    return Fate.WITHHELD, code


def _tokens(speech: Speech, block: Block) -> int | None:
    """What a thought cost; known only where it is the turn's only one."""
    if block.kind is not Kind.REASONING or block.parent is not None:
        return None
    return speech.turn.usage.reasoning if len(speech.turn.top(Kind.REASONING)) == 1 else None
