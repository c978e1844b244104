"""What a splitter makes of a text: runs of thought, answer and calls, to compare with a written story."""

from collections.abc import Iterable

from thinkaloud.canon import Kind
from thinkaloud.dialects.pieces import Called, Piece, Refiled
from thinkaloud.dialects.profiles import Profile
from thinkaloud.dialects.think_tags import splitter

Run = tuple[str, str]
Story = list[Run]

WORDS = {Kind.REASONING: "thought", Kind.TEXT: "answer"}


def thought(text: str) -> Run:
    return "thought", text


def answer(text: str) -> Run:
    return "answer", text


def call(name: str, arguments: str) -> Run:
    return f"call {name}", arguments


def told(profile: Profile, parts: Iterable[str]) -> Story:
    """The story of a text that comes in these parts."""
    split = splitter(profile)
    return story([*(piece for part in parts for piece in split.feed(part)), *split.close()])


def story(pieces: Iterable[Piece]) -> Story:
    """Neighbours of one kind joined, calls named, and second thoughts carried out."""
    runs: Story = []
    for piece in pieces:
        match piece:
            case Called(name):
                runs.append(call(name, ""))
            case Refiled(kind, tail):
                runs = _refiled(runs, WORDS[kind], tail)
            case (Kind.TOOL_CALL, text):
                name, arguments = runs.pop()
                runs.append((name, arguments + text))
            case (kind, text):
                _say(runs, WORDS[kind], text)
    return runs


def _refiled(runs: Story, word: str, tail: int | None) -> Story:
    """The last run of the other word, or the end of it, gets this word."""
    other = [at for at, run in enumerate(runs) if run[0] in WORDS.values() and run[0] != word]
    again: Story = []
    for at, (was, text) in enumerate(runs):
        moved = 0 if other[-1:] != [at] else len(text) if tail is None else tail
        _say(again, was, text[: len(text) - moved])
        _say(again, word, text[len(text) - moved :])
    return again


def _say(runs: Story, word: str, text: str) -> None:
    if text and runs and runs[-1][0] == word and word in WORDS.values():
        runs[-1] = (word, runs[-1][1] + text)
    elif text or word not in WORDS.values():
        runs.append((word, text))
