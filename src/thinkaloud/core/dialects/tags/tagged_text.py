"""Emits the blocks of text that may contain thinking tags, for the dialects whose text can.

Without a given profile, the model's name selects one when the first text arrives, by the rows of
`families.toml`. A row says which profile reads the family's text from a server and which its raw text, and
from which public chat template or parser that is known. The first row with a matching name wins.
"""

import re
from collections.abc import Callable, Hashable
from functools import cache
from importlib import resources
from typing import Annotated

import msgspec

from thinkaloud.core.canon import Kind, Provenance, Wording
from thinkaloud.core.dialects.emitter import TurnEmitter
from thinkaloud.core.dialects.tags.markers import CallStarted, Piece, Reclassified
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.core.dialects.tags.splitter import LoneCloseWatch, Splitter, make_splitter, watch_lone_close


class ModelFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models that one chat template, or several alike, are written for."""

    names: str
    """A regular expression that is searched in the model's name, see `normal_name`."""
    served: str
    """The profile for text from a server."""
    raw: str
    """The profile for the model's raw text."""
    example: str
    """The name of one such model."""
    as_of: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    source: Annotated[str, msgspec.Meta(min_length=1)]


@cache
def model_families() -> dict[str, ModelFamily]:
    """Return the families in the order in which they are tried."""
    text = resources.files("thinkaloud.core.dialects.tags").joinpath("families.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, ModelFamily])


def normal_name(model: str) -> str:
    """Return a model's name in lower case, with one spelling of separators and version numbers.

    `_`, `:`, `/` and spaces become `-`, and the version `4p6`, as some hosts write it, becomes `4.6`.
    """
    name = re.sub(r"[\s_:/]+", "-", model.lower())
    return re.sub(r"(?<=\d)p(?=\d)", ".", name)


@cache
def _family_patterns() -> tuple[tuple[re.Pattern[str], ModelFamily], ...]:
    return tuple((re.compile(family.names), family) for family in model_families().values())


def find_family(model: str) -> ModelFamily | None:
    """Return the family of a model, or None if no row has its name."""
    name = normal_name(model)
    return next((family for pattern, family in _family_patterns() if pattern.search(name)), None)


def profile_for_model(model: str, *, raw: bool) -> TagProfile:
    """Return the profile for a model's text, from a server or `raw` from the model.

    A server that separates reasoning itself may send an answer without any, so text from a server never
    starts inside the reasoning. If the chat template opens it, a closing marker alone shows that this server
    does not separate it.
    """
    family = find_family(model)
    if family is None:
        return PROFILES["think"]
    return PROFILES[family.raw if raw else family.served]


LONE_CLOSE = "lone_closing_tag"
"""The code of the notice about a closing tag that nothing opened."""
REASONING_KEY = "reasoning"
TEXT_KEY = "text"


class TaggedText:
    """Emits text as reasoning, answer and tool call blocks, one open block at a time.

    `key` is the key of the answer's block, for a dialect that may have several texts in a turn.
    `before_answer` is called before each text of an answer, unless it is blank.
    """

    def __init__(
        self,
        emitter: TurnEmitter,
        profile: TagProfile | None,
        *,
        raw: bool = False,
        key: Hashable = TEXT_KEY,
        before_answer: Callable[[], None] | None = None,
    ) -> None:
        self._emitter = emitter
        self._profile = profile
        self._raw = raw
        self._text_key = key
        self._reasoning_key = REASONING_KEY if key == TEXT_KEY else (REASONING_KEY, key)
        self._splitter: Splitter | None = None
        self._plain = False
        self._disabled = False
        self._before_answer = before_answer
        self._emitting = False
        self._lone_close: LoneCloseWatch | None = None
        self._call_count = 0
        self._answer_pieces: list[str] = []
        """The text of the open answer block, which a closing tag may still make a thought."""
        self.thought_pieces: list[str] = []
        """The text of all thoughts so far."""

    def feed(self, text: str) -> None:
        """Split and emit more text."""
        if self._plain:
            self._append(Kind.TEXT, text)
            return
        if self._splitter is None:
            profile = self._chosen_profile()
            self._splitter = make_splitter(profile)
            self._lone_close = self._lone_close or watch_lone_close(profile)
        self._emitting = True
        self._emit(self._splitter.feed(text))
        self._emitting = False
        if self._splitter.inert or (self._disabled and self._between_tags(self._splitter)):
            self.close()
            self._plain = True

    def opens(self, text: str) -> bool:
        """Return whether a text begins with an opening tag. A thought that a template has opened is none."""
        start = text.lstrip()
        return any(start.startswith(opening) for opening, _ in self._chosen_profile().pairs)

    def _chosen_profile(self) -> TagProfile:
        return self._profile or profile_for_model(self._emitter.model, raw=self._raw)

    @property
    def thought_begun(self) -> bool:
        """Whether a thought was read, or a tag has opened one."""
        inside = self._splitter is not None and self._splitter.inside
        return inside or any(not piece.isspace() for piece in self.thought_pieces)

    @property
    def plain(self) -> bool:
        """Whether all further text is answer."""
        return self._plain

    def disable_tags(self) -> None:
        """Treat tags as plain text from now on, because reasoning arrives in a field of its own.

        A thought that tags have opened already is still ended by its closing tag, and a tag that has begun
        is still read to its end.
        """
        self._disabled = True
        self._lone_close = None
        if self._emitting:
            return  # `feed` still has text to emit, and then looks whether a tag is open
        if self._splitter is None or self._between_tags(self._splitter):
            self.close()
            self._plain = True

    def _between_tags(self, splitter: Splitter) -> bool:
        return not (splitter.inside or splitter.undecided)

    def close(self) -> None:
        """Emit the text that was held back."""
        if self._splitter is not None:
            self._emit(self._splitter.close())
            self._splitter = None

    def _emit(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Reclassified):
                self._reclassify(piece)
            elif isinstance(piece, CallStarted):
                self._start_call(piece.name)
            elif piece[0] is Kind.TOOL_CALL:
                self._emitter.append(("call", self._call_count), piece[1])
            else:
                self._append(*piece)

    def _reclassify(self, piece: Reclassified) -> None:
        if piece.kind is Kind.TEXT:
            self._emitter.reclassify(self._reasoning_key, piece.kind, piece.tail)
        elif self._emitter.has_open(self._text_key):
            # Without text before the marker, an earlier text block stays what it is.
            self.thought_pieces += self._answer_pieces
            self._answer_pieces.clear()
            self._emitter.reclassify(self._text_key, piece.kind, piece.tail, new_key=self._reasoning_key)

    def _append(self, kind: Kind, text: str) -> None:
        key = self._text_key if kind is Kind.TEXT else self._reasoning_key
        if kind is not Kind.TEXT:
            self.thought_pieces.append(text)
        if kind is Kind.TEXT and self._lone_close is not None:
            self._look_for_lone_close(self._lone_close, text)
        if self._before_answer is not None and kind is Kind.TEXT and not text.isspace():
            self._before_answer()
        if not self._emitter.grow(key, kind, text):
            self._start(key, kind, text)
        if kind is Kind.TEXT and not self._plain:
            self._answer_pieces.append(text)

    def _start(self, key: Hashable, kind: Kind, text: str) -> None:
        if not self._emitter.has_open(key):
            if kind is Kind.TEXT:
                self._answer_pieces.clear()
            if self._text_key == TEXT_KEY:
                self._emitter.end_all_blocks(except_key=key)
            else:
                self._emitter.end_block(self._reasoning_key if kind is Kind.TEXT else self._text_key)
        self._emitter.append_or_start(
            key, kind, text, Provenance.UNKNOWN if kind is Kind.TEXT else Provenance.RAW
        )

    def _look_for_lone_close(self, watch: LoneCloseWatch, text: str) -> None:
        """Tell how to read a closing tag that nothing opened, which stays in the answer."""
        marker = "" if self.thought_pieces else watch.find(text)
        if marker:
            model = self._emitter.model or Wording("this model")
            self._emitter.add_notice(
                LONE_CLOSE,
                Wording(
                    "The answer has {marker} without an opening tag, and it stays there: the chat "
                    "template of {model} is not known to open a thought. If it does, set `tags` to "
                    "{setting}.",
                    marker=marker,
                    model=model,
                    setting=repr(watch.setting),
                ),
            )
        if marker or watch.ended or self.thought_pieces:
            self._lone_close = None

    def _start_call(self, name: str) -> None:
        self._emitter.end_all_blocks()
        self._call_count += 1
        self._emitter.start_block(("call", self._call_count), Kind.TOOL_CALL, name=name)


class TaggedBlocks:
    """The texts of a turn by the keys of their blocks, for a dialect that has reasoning blocks of its own.

    Servers without support for a model leave its tags in the text. Once a reasoning block arrives, tags are
    plain text.
    """

    def __init__(self, emitter: TurnEmitter, profile: TagProfile | None) -> None:
        self._emitter = emitter
        self._profile = profile
        self._texts: dict[Hashable, TaggedText] = {}
        self._plain_key: Hashable = None
        self.enabled = True

    def append(self, key: Hashable, text: str) -> None:
        """Emit more text of a block, which starts with its first text."""
        if key == self._plain_key or not text:
            self._emitter.append_or_start(key, Kind.TEXT, text)
            return
        tagged_text = self._texts.get(key)
        if tagged_text is None:
            tagged_text = self._texts[key] = TaggedText(self._emitter, self._profile, key=key)
            if not self.enabled:
                tagged_text.disable_tags()
        tagged_text.feed(text)
        self._plain_key = key if tagged_text.plain else None

    def end(self, key: Hashable) -> None:
        """Emit the text of a block that was held back, and end it."""
        tagged_text = self._texts.pop(key, None)
        if tagged_text is not None:
            tagged_text.close()
            self._emitter.end_block((REASONING_KEY, key))
        if key == self._plain_key:
            self._plain_key = None
        self._emitter.end_block(key)

    def disable_tags(self) -> None:
        """Treat tags as plain text from now on, because reasoning arrives in blocks of its own."""
        if not self.enabled:
            return
        self.enabled = False
        for tagged_text in self._texts.values():
            tagged_text.disable_tags()

    def close(self) -> None:
        """Emit all text that was held back."""
        for tagged_text in self._texts.values():
            tagged_text.close()
