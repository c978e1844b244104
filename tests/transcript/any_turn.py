"""Random turns, made from the registry of events: every kind of event, with any values of its fields.

An event that does not fit where it comes is left in the script: `fold_script` skips it, and tells where.
Whoever folds the same script elsewhere must skip the same events.
"""

import enum
from collections.abc import Callable
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from thinkaloud.core import canon
from thinkaloud.core.canon import Entry, Event, OutOfOrder, Seal, SealForm, Usage, Wording
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.transcript import Turn, apply

EVENTS: tuple[type[Any], ...] = get_args(canon.Event)
"""The registry of events: every kind there is, in its order."""

TEXTS = ["Hm. ", "\n", " ", "", "**Plan**\n\n", "漢字", "👩‍💻", "{}", "\r\n", "word", "It is 42."]
CODES = ["cut_off", "overloaded", "repeating", "pause_turn", "stop", ""]
_ENDS: list[type[Any]] = [canon.TurnEnded, canon.TurnFailed]
_COMMON = [canon.BlockStarted, canon.BlockGrew, canon.BlockGrew, canon.BlockEnded, canon.ToolFinished]
"""Most of what happens in a turn; without more of it, little is said in a random one."""
_MIDDLE: list[type[Any]] = [*_COMMON * 2, *(kind for kind in EVENTS if kind not in _ENDS)]

Script = list[tuple[int, Event]]
"""Events in their order, each with its moment."""


FAILURE = Wording("It stopped: {reason}", reason=Wording("{count} left", count=7))


def scripts() -> st.SearchStrategy[Script]:
    """The events of a turn, perhaps not to its end; a failing script is cut to its first events."""
    return st.builds(random_script, st.integers(0, 2**32), st.integers(0, 40))


def random_script(seed: int, size: int) -> Script:
    """The first events of the script of a seed."""
    random, turn, script = Random(seed), Turn(), list[tuple[int, Event]]()
    ends_at = random.choice([10, 20, 30, 99])
    now_ms = 0
    while len(script) < size:
        now_ms += random.choice([0, 1, 60, 1500])
        event = _next_event(random, turn, ending=len(script) >= ends_at)
        script.append((now_ms, event))
        _fits(turn, event, now_ms, turn.seq + 1)
    return script


def fold_script(script: Script) -> tuple[Turn, list[int]]:
    """The turn of a script, and which of its events did not fit."""
    turn = Turn()
    refused = [seq for seq, (at_ms, event) in enumerate(script) if not _fits(turn, event, at_ms, seq)]
    return turn, refused


def _fits(turn: Turn, event: Event, at_ms: int, seq: int) -> bool:
    try:
        apply(turn, Entry(seq, event, at_ms))
    except OutOfOrder:
        return False
    return True


def _next_event(random: Random, turn: Turn, *, ending: bool) -> Event:
    running = [block.number for block in turn.blocks if block.status == "running"]
    if ending and running:
        return canon.BlockEnded(running[-1], random.choice([True, False]))
    kind: type[Any] = random.choice(_ENDS if ending else _MIDDLE)
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    values = {field.name: _value(random, kind, field.name, hints[field.name], turn) for field in fields}
    if values.get("wording"):
        values["message" if "message" in values else "text"] = str(values["wording"])
    event: Event = kind(**values)
    return event


def _value(random: Random, kind: type[Any], name: str, hint: Any, turn: Turn) -> Any:
    if name == "block":
        likely = _likely_blocks(kind, turn)
        return random.choice(likely if likely and random.random() < 0.9 else range(len(turn.blocks) + 1))
    if get_origin(hint) is Literal:
        return random.choice(get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return random.choice(list(hint))
    if name in _VALUES:
        return _VALUES[name](random, turn)
    by_type: dict[Any, Callable[[], Any]] = {
        str: lambda: random.choice(TEXTS),
        bool: lambda: random.choice([True, False]),
        int: lambda: random.choice([0, 7, 429]),
        int | None: lambda: random.choice([None, 0, 7000]),
        Wording | None: lambda: random.choice([None, FAILURE]),
        Seal: lambda: Seal("d", random.choice(list(SealForm)), "x"),
        Seal | None: lambda: random.choice([None, Seal("d", SealForm.MESSAGE, "x")]),
        tuple[Image, ...]: lambda: random.choice([(), (Image("image/png", "aGk="),)]),
        Usage: lambda: Usage(*(random.choice([None, 0, 7, 40]) for _ in Usage.__struct_fields__)),
    }
    return by_type[hint]()


def _likely_blocks(kind: type[Any], turn: Turn) -> list[int]:
    """The blocks that an event of this kind may be about."""
    if kind is canon.BlockStarted:
        return [len(turn.blocks)]
    if kind in (canon.BlockGrew, canon.BlockEnded):
        return [block.number for block in turn.blocks if block.status == "running"]
    if kind is canon.ApprovalSettled:
        return [block.number for block in turn.blocks if block.approval == "asked"]
    if kind in (canon.ApprovalAsked, canon.ToolFinished):
        return [block.number for block in turn.blocks if block.awaiting_result]
    return [block.number for block in turn.blocks]


def _parent(random: Random, turn: Turn) -> int | None:
    calls = [block.number for block in turn.blocks if block.kind.value.endswith("call")]
    return random.choice([None, None, *calls])


_VALUES: dict[str, Callable[[Random, Turn], Any]] = {
    "parent": _parent,
    "into": lambda random, turn: random.choice([None, len(turn.blocks), len(turn.blocks)]),
    "tail": lambda random, turn: random.choice([None, 1, 3]),
    "code": lambda random, turn: random.choice(CODES),
    "said": lambda random, turn: random.choice(CODES),
}
