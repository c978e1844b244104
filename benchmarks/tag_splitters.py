"""Other splitters of streamed `<think>` text, to compare with ours."""

from collections.abc import Callable, Iterable
from typing import Protocol

from thinkaloud.core.canon import Kind

OPEN, CLOSE = "<think>", "</think>"


class TagSplitter(Protocol):
    """Text in, pieces out: pairs of a kind and a text, and whatever else a peer returns."""

    def feed(self, text: str) -> Iterable[object]:
        """Take more text."""

    def close(self) -> Iterable[object]:
        """Finish after the last text."""


class PerCharacter:
    """The usual state machine: one step per character, the beginning of a tag held back."""

    def __init__(self) -> None:
        self._kind, self._tag = Kind.TEXT, OPEN
        self._matched = 0

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        pieces: list[tuple[Kind, str]] = []
        characters: list[str] = []
        tag, matched = self._tag, self._matched
        for character in text:
            if character == tag[matched]:
                matched += 1
                if matched == len(tag):
                    if characters:
                        pieces.append((self._kind, "".join(characters)))
                        characters = []
                    tag, matched = self._switch_kind(), 0
                continue
            if matched:
                characters.append(tag[:matched])
                matched = 0
                if character == tag[0]:  # nothing but its first letter can begin a tag anew
                    matched = 1
                    continue
            characters.append(character)
        self._matched = matched
        if characters:
            pieces.append((self._kind, "".join(characters)))
        return pieces

    def close(self) -> list[tuple[Kind, str]]:
        pending, self._matched = self._tag[: self._matched], 0
        return [(self._kind, pending)] if pending else []

    def _switch_kind(self) -> str:
        inside = self._kind is Kind.REASONING
        self._kind, self._tag = (Kind.TEXT, OPEN) if inside else (Kind.REASONING, CLOSE)
        return self._tag


class ResplitAll:
    """Keeps the whole text and splits all of it again for every delta, as a page that redraws everything."""

    def __init__(self) -> None:
        self._text = ""
        self._pieces: list[tuple[Kind, str]] = []

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        self._text += text
        text_before, _, after_open = self._text.partition(OPEN)
        thought, _, text_after = after_open.partition(CLOSE)
        self._pieces = [(Kind.TEXT, text_before), (Kind.REASONING, thought), (Kind.TEXT, text_after)]
        return []

    def close(self) -> list[tuple[Kind, str]]:
        return self._pieces


def pydantic_ai_splitter() -> tuple[str, Callable[[], TagSplitter] | None]:
    """Pydantic AI by name and version, and a factory of its splitter; None if it is not installed."""
    try:
        from pydantic_ai import __version__
        from pydantic_ai._parts_manager import ModelResponsePartsManager
        from pydantic_ai.messages import ThinkingPart
        from pydantic_ai.models import ModelRequestParameters
    except ImportError:
        return "pydantic-ai", None

    class PydanticAi:
        """Calls what its OpenAI and Groq models call for each delta; `close` returns their parts."""

        def __init__(self) -> None:
            self._parts = ModelResponsePartsManager(ModelRequestParameters())

        def feed(self, text: str) -> Iterable[object]:
            events: Iterable[object] = self._parts.handle_text_delta(
                vendor_part_id="content", content=text, thinking_tags=(OPEN, CLOSE)
            )
            return events

        def close(self) -> list[tuple[Kind, str]]:
            return [
                (Kind.REASONING if isinstance(part, ThinkingPart) else Kind.TEXT, part.content)
                for part in self._parts.get_parts()
            ]

    return f"pydantic-ai {__version__}", PydanticAi
