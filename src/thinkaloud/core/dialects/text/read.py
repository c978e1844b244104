"""Raw model text, as a model writes it without a server: reasoning is between tags or in channels.

A frame is a run of text, or a JSON object with the `text` of one token. The format has no end of the turn, so
the turn ends with the bytes; only a token can give a stop reason.
"""

import msgspec

from thinkaloud.core.canon import Finish, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.lenient import LenientDecoder, Text
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.tagged_text import TaggedText
from thinkaloud.core.wire import PLAIN_TEXT, Frame

NAME = "text"

_FINISH_BY_REASON = {"stop": Finish.STOP, "length": Finish.LENGTH}


class GeneratedToken(msgspec.Struct):
    """One generated token, as local runners print them."""

    text: Text = ""
    finish_reason: str | None = None


_token_decoder = LenientDecoder(GeneratedToken)


class Reader:
    """Reads one text."""

    def __init__(self, emitter: TurnEmitter, tags: TagProfile | None = None) -> None:
        self._emitter = emitter
        self._odd_fields = emitter.odd_fields
        self._tagged_text = TaggedText(emitter, tags, raw=True)
        self._pieces: list[str] = []
        self._finish_reason = ""

    def feed(self, frame: Frame) -> None:
        """Read a run of text or a token."""
        if frame.event == PLAIN_TEXT:
            text = frame.data.decode()
        else:
            token = _token_decoder.decode(frame.data, self._odd_fields)
            text, self._finish_reason = token.text, token.finish_reason or self._finish_reason
        self._pieces.append(text)
        self._tagged_text.feed(text)

    def close(self) -> None:
        """End the turn with the bytes."""
        self._tagged_text.close()
        if not self._pieces:
            self._emitter.fail_cut_off(Wording("any text"))
            return
        finish = _FINISH_BY_REASON.get(self._finish_reason, Finish.UNKNOWN)
        message = msgspec.json.encode({"role": "assistant", "content": "".join(self._pieces)}).decode()
        self._emitter.finish(finish, self._finish_reason, message)
