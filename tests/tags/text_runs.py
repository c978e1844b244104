"""The output of a splitter as runs of thought, answer and calls, to compare with expected runs."""

from collections.abc import Iterable

from thinkaloud.core.canon import Kind
from thinkaloud.core.dialects.tags.markers import CallStarted, Piece, Reclassified
from thinkaloud.core.dialects.tags.profiles import TagProfile
from thinkaloud.core.dialects.tags.splitter import make_splitter

Run = tuple[str, str]
TextRuns = list[Run]

RUN_LABELS = {Kind.REASONING: "thought", Kind.TEXT: "answer"}


def thought(text: str) -> Run:
    return "thought", text


def answer(text: str) -> Run:
    return "answer", text


def call(name: str, arguments: str) -> Run:
    return f"call {name}", arguments


def split_text(profile: TagProfile, chunks: Iterable[str]) -> TextRuns:
    """Return the runs of a text that arrives in these chunks."""
    text_splitter = make_splitter(profile)
    return join_pieces(
        [*(piece for chunk in chunks for piece in text_splitter.feed(chunk)), *text_splitter.close()]
    )


def join_pieces(pieces: Iterable[Piece]) -> TextRuns:
    """Join adjacent pieces of one kind, name the calls, and apply the reclassifications."""
    runs: TextRuns = []
    for piece in pieces:
        match piece:
            case CallStarted(name):
                runs.append(call(name, ""))
            case Reclassified(kind, tail):
                runs = _reclassify(runs, RUN_LABELS[kind], tail)
            case (Kind.TOOL_CALL, text):
                name, arguments = runs.pop()
                runs.append((name, arguments + text))
            case (kind, text):
                _append_run(runs, RUN_LABELS[kind], text)
    return runs


def _reclassify(runs: TextRuns, label: str, tail: int | None) -> TextRuns:
    """Relabel the last run with the other label, or its last `tail` characters."""
    candidates = [
        index for index, run in enumerate(runs) if run[0] in RUN_LABELS.values() and run[0] != label
    ]
    result: TextRuns = []
    for index, (old_label, text) in enumerate(runs):
        moved_length = 0 if candidates[-1:] != [index] else len(text) if tail is None else tail
        _append_run(result, old_label, text[: len(text) - moved_length])
        _append_run(result, label, text[len(text) - moved_length :])
    return result


def _append_run(runs: TextRuns, label: str, text: str) -> None:
    if text and runs and runs[-1][0] == label and label in RUN_LABELS.values():
        runs[-1] = (label, runs[-1][1] + text)
    elif text or label not in RUN_LABELS.values():
        runs.append((label, text))
