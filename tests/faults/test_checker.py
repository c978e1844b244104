"""The checker accepts a correct history and finds each planted fault, by the rule that it breaks."""

from pathlib import Path

import msgspec
import pytest
from tests.faults import checker
from tests.faults.history import (
    ClientHistory,
    Connected,
    EndReceived,
    EntryReceived,
    History,
    Observation,
    ResetReceived,
    StorageReported,
    TurnHistory,
    WriteHistory,
    append_histories,
    read_histories,
)

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockStarted,
    Entry,
    Event,
    Kind,
    TurnEnded,
    TurnStarted,
)

EVENTS: tuple[Event, ...] = (
    TurnStarted(),
    BlockStarted(0, Kind.REASONING),
    BlockGrew(0, "pensée"),
    BlockEnded(0),
    BlockStarted(1, Kind.TEXT),
    BlockGrew(1, "→ 42"),
    BlockEnded(1),
    TurnEnded(),
)
LINES = tuple(
    msgspec.json.encode(Entry(number, event, 1000 + number)).decode() for number, event in enumerate(EVENTS)
)
RECEIVED: tuple[Observation, ...] = tuple(EntryReceived(number, line) for number, line in enumerate(LINES))
END = EndReceived("done")


def history(*readers: tuple[Observation, ...], **changes: object) -> TurnHistory:
    """Return the history of a turn that was read without a fault, with some fields replaced."""
    correct = TurnHistory(
        turn="t",
        sent_thought="pensée",
        sent_answer="→ 42",
        readers=readers or ((Connected(), *RECEIVED, END),),
        stored=LINES,
        state="done",
        stored_thought="pensée",
        stored_answer="→ 42",
    )
    return msgspec.structs.replace(correct, **changes)


def client(**changes: object) -> ClientHistory:
    """Return the history of a client that was told that its answer is whole, with some fields replaced."""
    correct = ClientHistory(
        name="/v1/messages",
        turn="t",
        sent_thought="pensée",
        sent_answer="→ 42",
        thought="pensée",
        answer="→ 42",
        ends=("whole",),
        may_break=False,
        state="done",
        stored_thought="pensée",
        stored_answer="→ 42",
    )
    return msgspec.structs.replace(correct, **changes)


def broken_rules(checked: History) -> set[str]:
    return {violation.rule for violation in checker.check(checked)}


CORRECT: dict[str, History] = {
    "one reader": history(),
    "no reader": history(readers=()),
    "resumed": history((Connected(), *RECEIVED[:3], Connected(), *RECEIVED[3:], END)),
    "resumed after the end": history((Connected(), *RECEIVED, Connected())),
    "not saved, then saved": history(
        (Connected(), *RECEIVED[:3], StorageReported(False), *RECEIVED[3:], StorageReported(True), END)
    ),
    "not saved, lost and reset": history(
        (
            Connected(),
            *RECEIVED[:3],
            StorageReported(False),
            EntryReceived(3, "never saved"),
            Connected(),
            ResetReceived(),
            *RECEIVED,
            END,
        )
    ),
    "acknowledged": WriteHistory(name="import", acknowledged=True, found=1),
    "not acknowledged": WriteHistory(name="import", acknowledged=False, found=0),
    "acknowledged in vain": WriteHistory(name="import", acknowledged=False, found=1),
    "a client": client(),
    "a client that was told an error": client(
        ends=("error",), answer="→", state="interrupted", stored_answer=""
    ),
    "a client whose gateway was killed": client(
        ends=(), may_break=True, answer="→ 4", state="interrupted", stored_answer="→"
    ),
    "a client whose turn had not begun": client(ends=(), may_break=True, turn="", thought="", answer=""),
}

OTHER = EntryReceived(2, LINES[2].replace("pensée", "pensee"))
WITH_TWO_ENDS = (*LINES, LINES[-1].replace('"seq":7', '"seq":8'))
CLOCK_BACK = (*LINES[:5], LINES[5].replace("1005", "5"), *LINES[6:])

PLANTED: dict[str, tuple[History, str]] = {
    "a lost entry": (history(stored=LINES[:-1]), "lost"),
    "a lost entry before a reset": (
        history((*RECEIVED, EntryReceived(8, "gone"), ResetReceived(), *RECEIVED, END)),
        "lost",
    ),
    "an entry lost after it was reported as saved": (
        history((StorageReported(False), *RECEIVED, EntryReceived(8, "gone"), StorageReported(True), END)),
        "lost",
    ),
    "changed bytes": (history((*RECEIVED[:2], OTHER, *RECEIVED[3:], END)), "changed"),
    "an unsaved entry that is kept without a reset": (
        history((*RECEIVED[:2], StorageReported(False), OTHER, Connected(), *RECEIVED[3:], END)),
        "changed",
    ),
    "a doubled entry": (history((*RECEIVED[:4], RECEIVED[3], *RECEIVED[4:], END)), "doubled"),
    "a doubled entry after a resume": (history((*RECEIVED[:4], Connected(), *RECEIVED[2:], END)), "doubled"),
    "a gap": (history((*RECEIVED[:4], Connected(), *RECEIVED[5:], END)), "skipped"),
    "another order": (history((*RECEIVED[:3], RECEIVED[4], RECEIVED[3], *RECEIVED[5:], END)), "skipped"),
    "two ends": (history((*RECEIVED, END), stored=WITH_TWO_ENDS), "ended"),
    "no end": (history((*RECEIVED[:-1],), stored=LINES[:-1]), "ended"),
    "an end that is not the last entry": (
        history(readers=(), stored=(*LINES[:6], LINES[7].replace('"seq":7', '"seq":6'), LINES[6])),
        "ended",
    ),
    "a turn that runs for ever": (history(state="running"), "ended"),
    "another state": (history(state="interrupted"), "complete"),
    "two states": (history((*RECEIVED, END, END)), "complete"),
    "a reader that stopped early": (history(RECEIVED[:-2]), "complete"),
    "another message": (history(stored_answer="→ 4"), "folded"),
    "text that was not sent": (history(sent_thought="another"), "exact"),
    "a done turn that is cut": (history(sent_answer="→ 42."), "exact"),
    "a clock that goes back": (history(readers=(), stored=CLOCK_BACK), "in_time"),
    "an acknowledged write that is not there": (
        WriteHistory(name="import", acknowledged=True, found=0),
        "created_once",
    ),
    "an end that was told and not stored": (client(state="interrupted"), "told_stored"),
    "an end of a turn that still runs": (client(state="running"), "told_stored"),
    "an end of a turn that is gone": (client(state="", stored_thought="", stored_answer=""), "told_stored"),
    "a whole answer of which a part is stored": (client(stored_answer="→"), "told_stored"),
    "a whole answer of which a part was received": (client(answer="→"), "told_stored"),
    "two ends of a response": (client(ends=("whole", "error")), "told_one_end"),
    "a response without an end": (client(ends=()), "told_one_end"),
    "a response with a word twice": (client(ends=("error",), answer="→ → 42"), "told_exact"),
    "a write that is there twice": (WriteHistory(name="turn", acknowledged=False, found=2), "created_once"),
}


@pytest.mark.parametrize("correct", CORRECT.values(), ids=CORRECT.keys())
def test_checker_accepts_correct_histories(correct: History) -> None:
    assert checker.check(correct) == []


@pytest.mark.parametrize(("planted", "rule"), PLANTED.values(), ids=PLANTED.keys())
def test_checker_finds_planted_faults(planted: History, rule: str) -> None:
    assert rule in broken_rules(planted)


def test_every_rule_finds_a_planted_fault() -> None:
    rules = {rule.__name__ for rule in (*checker.RULES, checker.created_once, *checker.CLIENT_RULES)}
    assert {rule for _, rule in PLANTED.values()} == rules


def test_checker_reads_histories_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    correct, lost = tmp_path / "correct.jsonl", tmp_path / "lost.jsonl"
    append_histories(correct, CORRECT.values())
    append_histories(lost, [history(stored=LINES[:-1])])
    assert list(read_histories(correct)) == list(CORRECT.values())
    assert checker.main([str(correct)]) == 0
    assert capsys.readouterr().out == "6 turns, 44 entries received, 3 writes, 4 clients, 0 violations\n"
    assert checker.main([str(correct), str(lost)]) == 1
    assert "lost: t: entry 7 was received and is not stored" in capsys.readouterr().out
    assert checker.main([]) == 1, "an empty run proves nothing"
