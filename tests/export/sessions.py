"""Generates sessions with texts that could break a file, and compares sessions."""

from hypothesis import strategies as st
from tests.transcript.test_properties import generate_turn, steps_with
from tests.transcript.turn_builders import with_joined_text

from thinkaloud.core.canon import (
    BlockSealed,
    BlockStarted,
    Entry,
    Event,
    Finish,
    NoticeGiven,
    Provenance,
    Seal,
    SealForm,
    SummaryWritten,
    TurnEnded,
    TurnFailed,
    Usage,
    UsageReported,
)
from thinkaloud.core.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.core.export import Exchange, SessionRecord
from thinkaloud.core.transcript import Turn

HOSTILE_PIECES = [
    *("```", "````", "```python\n", "~~~\n", "\n```\n", "`", "\n", "\n\n", "\r\n", "\r", "\t", " "),
    *("\0", "\x1b[31m", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffd", "é", "e\u0301", "👩‍💻", "漢字"),
    *("</details>", "<details>", "<summary>", "</blockquote>", "<!--", "-->", "--", "---\n", "&lt;", "<b>"),
    *("<!-- ta1 ", "\n<!-- ta1 {", '\n<!-- ta1 {"is":"end","end":{"type":"turn.ended"}} -->\n', "<!-- ta2 x"),
    *(
        "<!-- thinkaloud ta1 {} -->\n",
        "\n## You\n",
        "# ",
        "\n> [!thinking]- Thinking\n> ",
        "> ",
        ">",
        "\n>\n",
    ),
    *("word", "two words ", "\\", '"', "{", "[", "**bold**", "[link](there)", "1"),
]
TEXTS = st.one_of(st.lists(st.sampled_from(HOSTILE_PIECES), max_size=6).map("".join), st.text(max_size=12))
TIMESTAMPS = st.none() | st.integers(-(2**53), 2**53)
SEALS = st.builds(Seal, TEXTS, st.sampled_from(SealForm), TEXTS, TEXTS)
ENDS = st.one_of(
    st.builds(TurnEnded, st.sampled_from(Finish), TEXTS | st.just("cut_off"), st.none() | SEALS),
    st.builds(TurnFailed, st.sampled_from(["cut_off", "oops", ""]), TEXTS),
)
MESSAGES = st.one_of(
    st.builds(UserMessage, TEXTS, st.lists(st.builds(Image, TEXTS, TEXTS), max_size=2).map(tuple)),
    st.builds(ToolMessage, TEXTS, TEXTS, TEXTS, st.booleans()),
)
COUNTS = st.none() | st.integers(0, 10**6)


@st.composite
def turn_events(draw: st.DrawFn) -> list[Event]:
    """Generate a complete turn with all kinds of blocks, some reclassified, some nested, with any texts."""
    return [draw(_with_texts(event)) for event in generate_turn(draw(steps_with(TEXTS))).end(draw(ENDS))]


def _with_texts(event: Event) -> st.SearchStrategy[Event]:
    """Return the event with random texts in fields that the generator leaves empty."""
    match event:
        case BlockStarted(block, kind, name, _, _, parent):
            sources = st.sampled_from(Provenance)
            return st.builds(
                BlockStarted, *map(st.just, (block, kind, name)), TEXTS, TEXTS, st.just(parent), sources
            )
        case BlockSealed(block):
            return st.builds(BlockSealed, st.just(block), SEALS)
        case SummaryWritten(text):
            return st.builds(SummaryWritten, st.just(text), st.sampled_from(["provider", "extract", "model"]))
        case NoticeGiven(code):
            return st.builds(NoticeGiven, st.just(code), TEXTS)
        case UsageReported():
            return st.builds(UsageReported, st.builds(Usage, *[COUNTS] * 5))
    return st.just(event)


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    stamped = draw(st.booleans())
    entries = tuple(
        Entry(3 * seq, event, draw(TIMESTAMPS) if stamped else None)
        for seq, event in enumerate(draw(turn_events()))
    )
    asked = tuple(draw(st.lists(MESSAGES, max_size=3)))
    return Exchange(asked, entries, draw(TEXTS), draw(TEXTS), draw(TEXTS), draw(TIMESTAMPS))


RECORDS = st.builds(SessionRecord, TEXTS, TIMESTAMPS, st.lists(exchanges(), max_size=2).map(tuple))


def record_content(record: SessionRecord) -> list[object]:
    """Return the content of a record, independent of the number of entries per turn."""
    return [record.title, record.created_ms, *map(_exchange_content, record.exchanges)]


def _exchange_content(exchange: Exchange) -> list[object]:
    fields = exchange.model, exchange.provider, exchange.prefix, exchange.created_ms
    return [exchange.asked, *fields, normalized_turn(exchange.turn)]


def normalized_turn(turn: Turn) -> Turn:
    """Return the turn with each text in one piece and without its entry count."""
    turn.seq = 0
    return with_joined_text(turn)


def session(*events: Event, asked: str = "Why?", step_ms: int = 400) -> SessionRecord:
    """Return a record of one exchange with an entry for each event."""
    entries = tuple(Entry(seq, event, seq * step_ms) for seq, event in enumerate(events))
    return SessionRecord("A talk", 5, (Exchange((UserMessage(asked),), entries, "m1", "acme", "abc", 7),))
