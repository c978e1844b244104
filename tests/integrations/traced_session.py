"""A session with all that a trace can show: thoughts, tools, one of which failed, and an assistant."""

from thinkaloud.core.canon import (
    BlockEnded,
    BlockGrew,
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    Kind,
    ReplyEnded,
    Seal,
    SealForm,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    Usage,
)
from thinkaloud.core.canon.requests import UserMessage
from thinkaloud.core.export.record import Exchange, SessionRecord

QUESTION = "Is the sea at Lima warm enough to swim today?"
THOUGHT = "The air alone does not tell. I need the water, and somebody who knows the tides."
ANSWER = "Yes: the water has 22 °C. I could not check the tides, so ask at the beach."
CHECK = "The water has 22 °C, which is warm for Lima."
_MODEL, _DIALECT = "claude-sonnet-4-5", "anthropic_messages"
_STEPS: list[tuple[int, Event]] = [
    (0, TurnStarted(_DIALECT, _MODEL)),
    (700, BlockStarted(0, Kind.REASONING)),
    (1400, BlockGrew(0, THOUGHT)),
    (0, BlockEnded(0)),
    (0, BlockSealed(0, Seal(_DIALECT, SealForm.SIGNATURE, "c2lnbmVk", _MODEL))),
    (50, BlockStarted(1, Kind.TOOL_CALL, "get_weather", "toolu_1")),
    (150, BlockGrew(1, '{"city": "Lima"}')),
    (0, BlockEnded(1)),
    (0, BlockStarted(2, Kind.TOOL_CALL, "get_tides", "toolu_2")),
    (150, BlockGrew(2, '{"beach": "Agua Dulce"}')),
    (0, BlockEnded(2)),
    (0, BlockStarted(3, Kind.ASSISTANT_CALL, "Water expert", "toolu_3")),
    (150, BlockGrew(3, "How warm is the water at Lima?")),
    (0, BlockEnded(3)),
    (
        20,
        ReplyEnded(Finish.TOOL_CALLS, "tool_use", None, Usage(812, 164, 96), _DIALECT, _MODEL, "anthropic"),
    ),
    (430, ToolFinished(1, "18 degrees, no wind")),
    (200, ToolFinished(2, "", "The tide service did not answer.")),
    (300, BlockStarted(4, Kind.REASONING, parent=3)),
    (600, BlockGrew(4, "The season matters here.")),
    (0, BlockEnded(4)),
    (20, BlockStarted(5, Kind.TEXT, parent=3)),
    (300, BlockGrew(5, CHECK)),
    (0, BlockEnded(5)),
    (
        20,
        ReplyEnded(
            Finish.STOP, "stop", None, Usage(96, 41, 20), "openai_chat", "deepseek-v4-pro", "deepseek", "", 3
        ),
    ),
    (0, ToolFinished(3, CHECK)),
    (600, BlockStarted(6, Kind.REASONING)),
    (500, BlockGrew(6, "Warm enough. The tides stay open.")),
    (0, BlockEnded(6)),
    (20, BlockStarted(7, Kind.TEXT)),
    (900, BlockGrew(7, ANSWER)),
    (0, BlockEnded(7)),
    (
        20,
        ReplyEnded(Finish.STOP, "end_turn", None, Usage(1042, 61, 12), _DIALECT, _MODEL, "anthropic"),
    ),
    (0, TurnEnded(Finish.STOP, "end_turn")),
]


def traced_session(start_ms: int = 1_795_000_000_000) -> SessionRecord:
    """Return the session, as one that began at this time."""
    entries: list[Entry] = []
    at_ms = start_ms
    for seq, (later_ms, event) in enumerate(_STEPS):
        at_ms += later_ms
        entries.append(Entry(seq, event, at_ms))
    exchange = Exchange((UserMessage(QUESTION),), tuple(entries), _MODEL, "anthropic", created_ms=start_ms)
    return SessionRecord("Swimming at Lima", start_ms, (exchange,))
