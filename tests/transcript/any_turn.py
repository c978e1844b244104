"""Random turns, made from the registry of events: every kind of event there is, with any values of its fields.

An event that does not fit where it comes is left in the script: `fold_script` skips it, and tells where. Whoever
folds the same script elsewhere must skip the same events.
"""

import enum
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from thinkaloud import canon
from thinkaloud.canon import Entry, Event, OutOfOrder, Seal, SealForm, Usage
from thinkaloud.transcript import Turn, apply

EVENTS: tuple[type[Any], ...] = get_args(canon.Event)
"""The registry of events: every kind there is, in its order."""

TEXTS = ["Hm. ", "\n", " ", "", "**Plan**\n\n", "漢字", "👩‍💻", "{}", "\r\n", "word", "It is 42."]
CODES = ["cut_off", "overloaded", "repeating", "pause_turn", "stop", ""]
_ENDS = (canon.TurnEnded, canon.TurnFailed)
_COMMON = [canon.BlockStarted, canon.BlockGrew, canon.BlockGrew, canon.BlockEnded, canon.ToolFinished]
"""Most of what happens in a turn; without more of it, little is said in a random one."""
_MIDDLE = [*_COMMON * 3, *(kind for kind in EVENTS if kind not in _ENDS)]

_seals = st.builds(Seal, st.just("d"), st.sampled_from(SealForm), st.just("x"))
_counts = st.none() | st.integers(0, 50)
_usages = st.builds(Usage, _counts, _counts, _counts, _counts, _counts)
Script = list[tuple[int | None, Event]]
"""Events in their order, each with its moment."""


@st.composite
def scripts(draw: st.DrawFn, *, legal: bool = False) -> Script:
    """The events of a turn, perhaps not to its end; `legal` leaves out those that do not fit."""
    turn, script = Turn(), list[tuple[int | None, Event]]()
    now_ms = 0

    def add(event: Event) -> None:
        if _fits(turn, event, now_ms) or not legal:
            script.append((now_ms, event))

    for kind in draw(st.lists(st.sampled_from(_MIDDLE), max_size=30)):
        now_ms += draw(st.sampled_from([0, 1, 60, 1500]))
        add(draw(_events(kind, turn)))
    if draw(st.booleans()):
        for block in [block.number for block in turn.blocks if block.status == "running"]:
            add(canon.BlockEnded(block, draw(st.booleans())))
        # What comes after the end does not fit, whatever it is.
        for kind in [draw(st.sampled_from(_ENDS)), *draw(st.lists(st.sampled_from(EVENTS), max_size=2))]:
            add(draw(_events(kind, turn)))
    return script


def fold_script(script: Script) -> tuple[Turn, list[int]]:
    """The turn of a script, and which of its events did not fit."""
    turn, refused = Turn(), list[int]()
    for seq, (at_ms, event) in enumerate(script):
        if not _fits(turn, event, at_ms, seq):
            refused.append(seq)
    return turn, refused


def _fits(turn: Turn, event: Event, at_ms: int | None, seq: int | None = None) -> bool:
    try:
        apply(turn, Entry(turn.seq + 1 if seq is None else seq, event, at_ms))
    except OutOfOrder:
        return False
    return True


def _events(kind: type[Any], turn: Turn) -> st.SearchStrategy[Event]:
    """Any event of this kind, with blocks that are likely to be there."""
    hints = get_type_hints(kind)
    fields = {field.name: _values(field.name, hints[field.name], turn) for field in msgspec.structs.fields(kind)}
    likely = _likely_blocks(kind, turn)
    if likely and "block" in fields:
        fields["block"] = st.sampled_from(likely * 3) | fields["block"]
    return st.builds(kind, **fields)


def _values(name: str, hint: Any, turn: Turn) -> st.SearchStrategy[Any]:
    if name in _BLOCKS:
        return _BLOCKS[name](turn)
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    texts = st.sampled_from(CODES if name in ("code", "said") else TEXTS)
    by_type = {str: texts, bool: st.booleans(), Seal: _seals, Usage: _usages, Seal | None: st.none() | _seals}
    return by_type[hint]


def _likely_blocks(kind: type[Any], turn: Turn) -> list[int]:
    """The blocks that an event of this kind may be about."""
    if kind is canon.BlockStarted:
        return [len(turn.blocks)]
    if kind in (canon.BlockGrew, canon.BlockEnded):
        return [block.number for block in turn.blocks if block.status == "running"]
    if kind is canon.ApprovalSettled:
        return [block.number for block in turn.blocks if block.approval == "asked"]
    return [block.number for block in turn.blocks if block.awaited]


def _numbers(turn: Turn) -> st.SearchStrategy[int]:
    """Any block, and now and then one that is not there."""
    return st.integers(0, len(turn.blocks))


def _parents(turn: Turn) -> st.SearchStrategy[int | None]:
    calls = [block.number for block in turn.blocks if block.kind.value.endswith("call")]
    return st.sampled_from([None, None, *calls])


_BLOCKS: dict[str, Any] = {
    "block": _numbers,
    "parent": _parents,
    "into": lambda turn: st.sampled_from([None, len(turn.blocks)]),
    "tail": lambda turn: st.sampled_from([None, 1, 3]),
}
