"""Raw model text: thoughts between tags or in channels, as a model without a server would write it.

A frame is a run of text, or a JSON object with the `text` of one token. There is no word for the end, so
the end of the bytes is the end of the turn unless a token says why it stopped.
"""

import msgspec

from thinkaloud.canon import Finish
from thinkaloud.dialects.blocks import Blocks
from thinkaloud.dialects.profiles import Profile
from thinkaloud.dialects.tagged_text import TaggedText
from thinkaloud.wire import PLAIN, Frame

NAME = "text"

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


class Token(msgspec.Struct):
    """One generated token, as local runners print them."""

    text: str
    finish_reason: str | None = None


_token = msgspec.json.Decoder(Token)


class Reader:
    """Reads one text."""

    def __init__(self, blocks: Blocks, tags: Profile | None = None) -> None:
        self._blocks = blocks
        self._text = TaggedText(blocks, tags, raw=True)
        self._pieces: list[str] = []
        self._said = ""

    def feed(self, frame: Frame) -> None:
        """A run of text, or a token."""
        if frame.event == PLAIN:
            text = frame.data.decode()
        else:
            token = _token.decode(frame.data)
            text, self._said = token.text, token.finish_reason or self._said
        self._pieces.append(text)
        self._text.feed(text)

    def close(self) -> None:
        """The bytes ended, and with them the turn."""
        self._text.close()
        if not self._pieces:
            self._blocks.cut_off("any text")
            return
        finish = _FINISHES.get(self._said, Finish.UNKNOWN)
        message = msgspec.json.encode({"role": "assistant", "content": "".join(self._pieces)}).decode()
        self._blocks.finish(finish, self._said, message)
