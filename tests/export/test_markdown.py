"""Sessions as markdown: readable, lossless, and damage is detected."""

import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.dialects.recordings import RECORDINGS
from tests.examples import examples
from tests.export.sessions import HOSTILE_PIECES, RECORDS, TEXTS, normalized_turn, record_content, session
from tests.linear_time import assert_linear
from tests.view.turns import STOP, answer_events, assistant_call_events, thought_events, tool_call_events

from thinkaloud.core.canon import (
    BlockEnded,
    BlockSealed,
    BlockStarted,
    Event,
    Finish,
    Kind,
    NoticeGiven,
    Refused,
    Seal,
    SealForm,
    SummaryWritten,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from thinkaloud.core.canon.requests import Image, ToolMessage, UserMessage
from thinkaloud.core.export import (
    Exchange,
    SessionRecord,
    ThinkingStyle,
    read_markdown,
    without_thoughts,
    write_markdown,
)
from thinkaloud.core.transcript import Block, Turn
from thinkaloud.core.view import LOCALES

LOSSLESS = [ThinkingStyle.DETAILS, ThinkingStyle.MARKERS, ThinkingStyle.CALLOUT]
STYLES = st.sampled_from(LOSSLESS)
LANGUAGES = st.sampled_from(sorted(LOCALES))
COMMENT = re.compile(r"^<!-- ta\d+ .*$", re.MULTILINE)

SEAL = Seal("anthropic_messages", SealForm.SIGNATURE, "c2lnbmVk", "m1")
MESSAGE = Seal("anthropic_messages", SealForm.MESSAGE, '{"content":"as it came"}', "m1")
STORY: list[Event] = [
    TurnStarted("anthropic_messages", "m1"),
    *thought_events(0, "I should look.\n```\nthere\n```"),
    BlockSealed(0, SEAL),
    *tool_call_events(1, "get_weather", '{"city":"Lima"}', "18 C"),
    BlockSealed(1, SEAL),
    *answer_events(2, "It is **warm** in Lima."),
    TurnEnded(Finish.STOP, "end_turn", MESSAGE),
]
PAGE = """\
<!-- thinkaloud ta1 {"version":1,"exchanges":1,"title":"A talk","hash":"HASH","created_ms":5} -->

# A talk

## You

<!-- ta1 {"is":"asked","message":{"role":"user","text":""},"text":{"form":"plain","hash":"HASH"}} -->

Why?

<!-- ta1 {"is":"turn",...} -->

## m1

<!-- ta1 {"is":"block",...} -->

<details><summary>Thinking · 800 ms · 4 words</summary>

````
I should look.
```
there
```
````

</details>

<!-- ta1 {"is":"block",...} -->

<details><summary>🔧 get_weather</summary>

```json
{"city":"Lima"}
```

<!-- ta1 {"is":"return","block":1,"text":{"form":"fence","hash":"HASH"}} -->

**Result**

```
18 C
```

</details>

<!-- ta1 {"is":"block",...} -->

It is **warm** in Lima.

<!-- ta1 {"is":"end",...} -->
"""


def sketch(text: str) -> str:
    """Return a page with its long comments shortened."""
    text = re.sub(r'"hash":"[0-9a-f]{16}"', '"hash":"HASH"', text)
    return re.sub(r'("is":"(?:turn|block|end)",).*(?=} -->)', r"\1...", text)


def test_markdown_export_is_readable() -> None:
    """R137: folded thoughts with time and word count, tools with input and result, the answer verbatim."""
    assert sketch(write_markdown(session(*STORY))) == PAGE


def test_markdown_export_in_portuguese_with_callouts() -> None:
    """R129, R137: the words are localized, the marks are not."""
    text = write_markdown(session(*STORY), locale="pt-BR", thinking=ThinkingStyle.CALLOUT)
    assert "\n## Você\n" in text
    assert "\n**Resultado**\n" in text
    assert (
        "\n> [!thinking]- Pensamento · 800 ms · 4 palavras\n> I should look.\n> ```\n> there\n> ```\n" in text
    )
    assert record_content(read_markdown(text)) == record_content(session(*STORY))


def test_markdown_export_with_markers() -> None:
    """R137: a thought stands between two lines, also one that contains these lines itself."""
    thought = "I think\n---/thinking---\nthat ---thinking--- and\n\\---thinking---\nare lines."
    record = session(TurnStarted(), *thought_events(0, thought), *answer_events(1, "Yes."), STOP)
    text = write_markdown(record, thinking=ThinkingStyle.MARKERS)
    assert (
        "\n---thinking---\nI think\n\\---/thinking---\nthat ---thinking--- and\n"
        "\\\\---thinking---\nare lines.\n---/thinking---\n" in text
    )
    assert read_markdown(text).exchanges[0].turn.blocks[0].text == thought
    typed = edited(text, "I think\n", "I know\n---/thinking---\n")
    assert typed.blocks[0].text == thought.replace("I think\n", "I know\n---/thinking---\n")
    with pytest.raises(Refused, match="the markers around its text has no start or no end"):
        read_markdown(text.replace("\n---thinking---\n", "\n"))


@given(RECORDS, STYLES, LANGUAGES)
@examples(100)
def test_markdown_round_trip_is_lossless(record: SessionRecord, style: ThinkingStyle, locale: str) -> None:
    """R050, R137: texts, seals, times, usage, notices, ends and prompts; a second export is identical."""
    text = write_markdown(record, locale=locale, thinking=style)
    again = read_markdown(text)
    assert record_content(again) == record_content(record)
    assert write_markdown(again, locale=locale, thinking=style) == text
    key = text.split(" ", 3)[2]
    comments = [line for line in text.split("\n") if line.startswith(("<!-- thinkaloud ", f"<!-- {key} "))]
    assert not any(re.search("[<>]|--", line[4:-3]) for line in comments)


@given(RECORDS, STYLES)
@settings(deadline=None)
def test_markdown_import_tolerates_changed_line_ends_and_bom(
    record: SessionRecord, style: ThinkingStyle
) -> None:
    """R137: Windows line ends, a byte order mark, added or removed blank lines at the end."""
    text = write_markdown(record, thinking=style)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]", text)
    marked, trimmed, padded = f"\ufeff{text}", text.rstrip("\n"), f"\n{text}\n\n"
    for edited in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), marked, trimmed, padded):
        assert record_content(read_markdown(edited)) == record_content(record)


@pytest.mark.some_cases(150)
@pytest.mark.parametrize("style", LOSSLESS)
@pytest.mark.parametrize("name", RECORDINGS)
def test_markdown_round_trip_of_recorded_turns(name: str, style: ThinkingStyle) -> None:
    """R137: recorded responses of providers, seals included."""
    record = session(*RECORDINGS[name].events())
    assert record_content(read_markdown(write_markdown(record, thinking=style))) == record_content(record)


CANARY = "canary"
THINKER: list[Event] = [
    TurnStarted("openai_responses", "m1"),
    *thought_events(0, f"Plain {CANARY}."),
    BlockSealed(0, Seal("d", SealForm.SIGNATURE, CANARY)),
    *assistant_call_events(1, "Checker", "Look."),
    BlockSealed(1, Seal("openai_responses", SealForm.ENCRYPTED, CANARY)),
    *thought_events(2, CANARY, 1),
    *answer_events(3, "Checked.", 1),
    *answer_events(4, f"Below a thought: {CANARY}", 2),
    BlockEnded(1),
    ToolFinished(1, "Fine."),
    *answer_events(5, "Yes."),
    BlockSealed(5, Seal("openai_responses", SealForm.ITEM, CANARY)),
    SummaryWritten(f"Thought of a {CANARY}", "provider"),
    TurnEnded(Finish.STOP, "stop", Seal("openai_responses", SealForm.MESSAGE, f"[{CANARY}]")),
]
"""A turn with a canary in every place where a thought may be."""


def test_markdown_omit_contains_no_thought() -> None:
    """R137: no text, seal, summary or provider message of a thought."""
    assert write_markdown(session(*THINKER)).count(CANARY) == 8
    text = write_markdown(session(*THINKER), thinking=ThinkingStyle.OMIT)
    assert CANARY not in text
    turn = read_markdown(text).exchanges[0].turn
    assert [(block.kind, block.text, block.parent, block.result) for block in turn.blocks] == [
        (Kind.ASSISTANT_CALL, "Look.", None, "Fine."),
        (Kind.TEXT, "Checked.", 0, None),
        (Kind.TEXT, "Yes.", None, None),
    ]
    assert (turn.message, turn.summary, turn.started_ms, turn.ended_ms) == (None, "", 0, 9600)


def thinks(turn: Turn, block: Block) -> bool:
    """Return whether a block is a thought or below one, at any depth."""
    while block.kind is not Kind.REASONING and block.parent is not None:
        block = turn.blocks[block.parent]
    return block.kind is Kind.REASONING


@given(RECORDS, LANGUAGES)
@settings(deadline=None)
def test_without_thoughts_keeps_everything_else(record: SessionRecord, locale: str) -> None:
    """R137: calls, results, answers, prompts, notices and usage stay; seals are removed."""
    bare = without_thoughts(record)
    text = write_markdown(record, locale=locale, thinking=ThinkingStyle.OMIT)
    assert record_content(read_markdown(text)) == record_content(bare)
    for exchange, bare_exchange in zip(record.exchanges, bare.exchanges, strict=True):
        full_turn, bare_turn = exchange.turn, bare_exchange.turn
        assert bare_turn.answer == full_turn.answer
        assert (bare_turn.usage, bare_turn.notices) == (full_turn.usage, full_turn.notices)
        assert [(block.text, block.result, block.error) for block in bare_turn.blocks] == [
            (block.text, block.result, block.error)
            for block in full_turn.blocks
            if not thinks(full_turn, block)
        ]
        assert bare_turn.message is None
        assert not bare_turn.summary
        assert not any(block.seals for block in bare_turn.blocks)


def edited(text: str, old: str, new: str) -> Turn:
    """Return the turn of a page after one text was edited."""
    assert text.count(old) == 1
    return read_markdown(text.replace(old, new)).exchanges[0].turn


@pytest.mark.parametrize(
    ("style", "old", "new", "block", "now"),
    [
        (
            ThinkingStyle.DETAILS,
            "\nIt is **warm** in Lima.\n",
            "\n\n\nIt is cold.\n\n```\nvery\n\n",
            2,
            "It is cold.\n\n```\nvery",
        ),
        (
            ThinkingStyle.DETAILS,
            "I should look.\n",
            "I should not.\n````\n",
            0,
            "I should not.\n````\n```\nthere\n```",
        ),
        (
            ThinkingStyle.CALLOUT,
            "> I should look.\n",
            "> I should not.\n\nlook\n",
            0,
            "I should not.\n\nlook\n```\nthere\n```",
        ),
        (ThinkingStyle.CALLOUT, "> I should look.\n> ```\n> there\n> ```\n", "", 0, ""),
        (
            ThinkingStyle.MARKERS,
            "I should look.\n",
            "I should not.\n",
            0,
            "I should not.\n```\nthere\n```",
        ),
        (ThinkingStyle.DETAILS, '{"city":"Lima"}\n', '{"city":"Rome"}\n', 1, '{"city":"Rome"}'),
    ],
)
def test_markdown_import_takes_edited_text(
    style: ThinkingStyle, old: str, new: str, block: int, now: str
) -> None:
    """R137: the edited text is used, and it is never sent back as signed."""
    turn = edited(write_markdown(session(*STORY), thinking=style), old, new)
    assert turn.blocks[block].text == now
    assert turn.message is None
    assert [bool(each.seals) for each in turn.blocks] == [
        number != block and number < 2 for number in range(3)
    ]


def test_markdown_import_takes_edited_result() -> None:
    turn = edited(write_markdown(session(*STORY)), "\n18 C\n", "\n17 C\n")
    assert (turn.blocks[1].result, turn.blocks[1].seals, turn.message) == ("17 C", [], None)


def test_markdown_import_takes_edited_prompt_and_title() -> None:
    text = write_markdown(session(*STORY))
    changed = read_markdown(text.replace("\nWhy?\n", "\nHow?\n").replace("# A talk", "# Rain &amp; sun "))
    assert changed.title == "Rain & sun"
    assert changed.exchanges[0].asked == (UserMessage("How?"),)
    assert changed.exchanges[0].turn.message == MESSAGE
    assert read_markdown(text.replace("# A talk\n", "")).title == "A talk"


def test_markdown_import_ignores_added_blank_lines() -> None:
    text = write_markdown(session(*STORY)).replace("It is **warm**", "\n\nIt is **warm**")
    assert read_markdown(text).exchanges[0].turn.message == MESSAGE


def test_markdown_export_shows_control_characters_readably() -> None:
    """R137: the comment holds the original, which an edit of the visible text replaces."""
    mean = "a\r\nb\0c\u2028d\x1b\x85e\rf\tg\x7f"
    text = write_markdown(session(TurnStarted(), *answer_events(0, mean), STOP))
    shown = "a\nb␀c\nd␛\ne\nf\tg\ufffd"
    assert f"\n\n{shown}\n\n" in text
    assert read_markdown(text).exchanges[0].turn.answer == mean
    assert edited(text, shown, f"{shown}!").answer == f"{shown}!"


def test_markdown_export_closes_open_fences() -> None:
    cut = "So:\n~~~~python\nprint(1)\n~~~"
    text = write_markdown(session(TurnStarted(), *answer_events(0, cut), TurnEnded(Finish.LENGTH)))
    assert f"\n\n{cut}\n~~~~\n\n<!-- " in text
    assert "> [!WARNING]\n> The length limit cut the answer off.\n" in text
    assert read_markdown(text).exchanges[0].turn.answer == cut


def test_markdown_comment_key_occurs_in_no_text() -> None:
    text = write_markdown(
        session(TurnStarted(), *answer_events(0, "<!-- ta1 {} -->\n<!-- ta2 -->\n<!-- ta22"), STOP)
    )
    assert text.startswith("<!-- thinkaloud ta3 {")
    assert read_markdown(text).exchanges[0].turn.answer.startswith("<!-- ta1 {} -->")


NESTED: list[Event] = [
    TurnStarted("agents", ""),
    *assistant_call_events(0, "Policy <Checker>", "Check it."),
    *thought_events(1, "Which one?", 0),
    *tool_call_events(2, "search", "", "found", 0),
    *answer_events(3, "It is allowed.", 0),
    BlockEnded(0, interrupted=True),
    ToolFinished(0, "", "too slow"),
    *assistant_call_events(4, ""),
    BlockEnded(4, interrupted=True),
    NoticeGiven("slow", "A <long>\nwait."),
    TurnFailed("overloaded", "Try later."),
]


def test_markdown_export_nests_assistant_steps() -> None:
    """R124, R137: nested sections, indented, with escaped names and the status."""
    text = write_markdown(msgspec.structs.replace(session(*NESTED), title=""))
    lines = [
        line for line in text.splitlines() if line.startswith(("<details", "</", "<block", "**", ">", "#"))
    ]
    assert lines == [
        "# Conversation",
        "## You",
        "## m1",
        "<details><summary>🤖 Policy &lt;Checker&gt; · Failed</summary>",
        "<blockquote>",
        "<details><summary>Thinking · 800 ms · 2 words</summary>",
        "</details>",
        "<details><summary>🔧 search</summary>",
        "**Result**",
        "</details>",
        "</blockquote>",
        "**Result**",
        "**Error**",
        "</details>",
        "<details><summary>🤖 Assistant · Interrupted</summary>",
        "</details>",
        "> [!NOTE]",
        "> A &lt;long&gt; wait.",
        "> [!WARNING]",
        "> The answer failed: Try later.",
    ]


def test_markdown_export_of_messages_and_images() -> None:
    messages = (
        ToolMessage("c1", '{"t":18}', "get_weather"),
        ToolMessage("c2", "no", failed=True),
        UserMessage("First.", (Image("image/png", "aGk="),)),
        UserMessage("Second."),
    )
    record = session(TurnStarted("text", "said"), *answer_events(0, "Yes."), STOP)
    exchange = msgspec.structs.replace(record.exchanges[0], asked=messages, model="")
    text = write_markdown(SessionRecord("T", None, (exchange,)))
    lines = [line for line in text.splitlines() if line and not line.startswith(("<!--", "```", "</"))]
    assert lines == [
        "# T",
        "<details><summary>🔧 get_weather · Result</summary>",
        '{"t":18}',
        "<details><summary>🔧 Tool · Error</summary>",
        "no",
        "## You",
        "First.",
        "Second.",
        "*Image: image/png*",
        "## said",
        "Yes.",
    ]
    assert read_markdown(text).exchanges[0].asked == messages


def test_markdown_export_of_hidden_thoughts() -> None:
    """R137: a sealed thought is shown with a placeholder, without invented text."""
    withheld: list[Event] = [BlockStarted(0, Kind.REASONING), BlockSealed(0, SEAL), BlockEnded(0)]
    silent: list[Event] = [BlockStarted(1, Kind.REASONING), BlockEnded(1)]
    record = session(TurnStarted(), *withheld, *silent, *answer_events(2, "Yes."), STOP)
    folded, quoted = write_markdown(record), write_markdown(record, thinking=ThinkingStyle.CALLOUT)
    line = "Thought; the provider withheld the text."
    assert f"<details><summary>Thinking · 800 ms</summary>\n\n{line}\n\n</details>" in folded
    assert f"> [!thinking]- Thinking · 800 ms\n> {line}\n" in quoted
    assert (folded + quoted).count("Thinking") == 2
    assert (
        record_content(read_markdown(folded))
        == record_content(read_markdown(quoted))
        == record_content(record)
    )


WHOLE = write_markdown(
    SessionRecord("T", 1, (*session(*STORY).exchanges, *session(*NESTED, asked="And?").exchanges))
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a Thinkaloud session: .* Import an exported file"),
        ("# Notes\n\nBuy milk.\n", "not a Thinkaloud session"),
        ("<!-- thinkaloud -->", "not a Thinkaloud session"),
        (WHOLE[10:], "not a Thinkaloud session"),
        ("<!-- thinkaloud ta1 {} -->", "damaged at line 1: the comment cannot be read .*`version`"),
        ('<!-- thinkaloud ta1 {"version":1} -->', "damaged at line 1: the comment cannot be read"),
        ('<!-- thinkaloud ta1 {"version":3,"new":1} -->', "format version 3"),
        (
            WHOLE.replace('"exchanges":2', '"exchanges":3'),
            "the first line announces 3 exchanges, but the file has 2",
        ),
        (
            WHOLE.replace("````\n\n</details>", "</details>", 1),
            "damaged at line 15: the fence around its text has no start",
        ),
        (
            WHOLE.replace('{"is":"turn"', '{"is":"tern"', 1),
            "damaged at line 11: the comment cannot be read .*tern",
        ),
        (
            WHOLE.replace(" -->\n\n## m1", "\n\n## m1", 1),
            "damaged at line 11: the comment does not end on this line",
        ),
        (
            WHOLE.replace('{"is":"turn"', '{"is":"turn","deep":' + "[" * 9_999, 1),
            "damaged at line 11: the comment",
        ),
        (
            WHOLE.replace('"asked":1', '"asked":2', 1),
            "damaged at line 11: this answer needs 2 messages before it",
        ),
        (WHOLE.replace('"blocks":3', '"blocks":4', 1), "needs 4 blocks with all their results"),
        (WHOLE.replace('"number":0', '"number":1', 1), "block 1 is duplicated"),
        (
            WHOLE.replace('"returns":1', '"returns":2', 1),
            "needs 3 blocks with all their results",
        ),
        (
            WHOLE.replace('"return","block":1', '"return","block":9', 1),
            "block 9 is duplicated, or its result comes before it",
        ),
        (
            WHOLE.replace('"parent":0', '"parent":4'),
            "entries of exchange 2 are not a valid turn: block 4 has not started",
        ),
        (WHOLE.replace('"started_ms":0,', '"summary":"x","summary_by":"me",', 1), "Invalid enum value 'me'"),
        (WHOLE + "\ud800", "unpaired surrogate at position .* Decode the file as UTF-8"),
    ],
)
def test_markdown_import_error_names_the_line(text: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        read_markdown(text)


def test_markdown_callout_has_no_trailing_spaces() -> None:
    """R137: editors remove trailing spaces, and that must not count as an edit."""
    text = write_markdown(
        session(TurnStarted(), *thought_events(0, "one\n\ntwo"), STOP), thinking=ThinkingStyle.CALLOUT
    )
    assert "\n> one\n>\n> two\n" in text


def test_markdown_import_refuses_missing_callout() -> None:
    text = write_markdown(session(*STORY), thinking=ThinkingStyle.CALLOUT)
    with pytest.raises(Refused, match="damaged at line 15: the quote around its text has no start"):
        read_markdown("\n".join(line for line in text.split("\n") if not line.startswith(">")))


@pytest.mark.parametrize("number", range(len(COMMENT.findall(WHOLE))))
def test_markdown_import_refuses_missing_duplicate_or_cut_comments(number: int) -> None:
    comment = list(COMMENT.finditer(WHOLE))[number]
    line = comment[0] + "\n"
    assert WHOLE.count("\n", 0, comment.start()) > 0
    for put in ("", line * 2, f"{line[: len(line) // 2]}\n"):
        with pytest.raises(Refused, match=r"damaged at line \d+|not a session|no story"):
            read_markdown(WHOLE[: comment.start()] + put + WHOLE[comment.end() + 1 :])


@given(st.integers(0, len(WHOLE)))
def test_markdown_import_refuses_a_truncated_page(place: int) -> None:
    try:
        record = read_markdown(WHOLE[:place])
    except Refused:
        return
    assert record_content(record) == record_content(read_markdown(WHOLE))


PIECES = st.sampled_from([*HOSTILE_PIECES, *COMMENT.findall(WHOLE), "\ud800"]) | TEXTS


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 60), PIECES), min_size=1, max_size=5))
@examples(300)
def test_markdown_import_survives_any_damage(damage: list[tuple[int, int, str]]) -> None:
    """R137: any removed or inserted text gives a session or a refusal."""
    text = WHOLE
    for place, length, put in damage:
        text = text[:place] + put + text[place + length :]
    try:
        record = read_markdown(text)
    except Refused:
        return
    assert record_content(read_markdown(write_markdown(record))) == record_content(record)


@given(TEXTS, TEXTS)
def test_markdown_import_takes_any_text_between_comments(old_text: str, new_text: str) -> None:
    """R137: any edited text is taken verbatim."""
    assume(not re.search("<!-- ta|[\r]", new_text) and new_text.strip("\n"))
    text = write_markdown(
        session(TurnStarted(), *answer_events(0, "OLD"), STOP, asked=old_text.replace("<!-- ta", ""))
    )
    turn = edited(text, "\n\nOLD\n\n", f"\n\n{new_text}\n\n")
    assert turn.answer in (new_text, new_text.strip("\n"))


def nasty(size: int) -> dict[str, list[Event]]:
    """Generate turns that are long in ways that make naive code quadratic."""
    marks = '<!-- ta1 {"is":"end"} -->\n' * size + "<!-- ta1 " * size
    parents = [None, *range(size // 8)]
    return {
        "backticks": [*answer_events(0, "`" * size), *thought_events(1, ("`" * 9 + "\n") * size)],
        "fences": [*answer_events(0, "```\n~~~\n" * size), *thought_events(1, "``` `\n" * size)],
        "markers": [*answer_events(0, "-"), *thought_events(1, "---thinking---\n---/thinking---\n" * size)],
        "comments": [*answer_events(0, marks), *thought_events(1, marks.replace("\n", "\r"))],
        "deep": [
            *(e for at in range(size // 8) for e in assistant_call_events(at, "A", "t", parents[at])),
            *(BlockEnded(at) for at in range(size // 8)),
        ],
        "keys": [*answer_events(0, "".join(f"<!-- ta{n}\n" for n in range(size)))],
    }


@pytest.mark.parametrize("style", LOSSLESS)
@pytest.mark.parametrize("shape", sorted(nasty(8)))
def test_markdown_takes_linear_time(shape: str, style: ThinkingStyle) -> None:
    """S18: twice the size takes about twice as long, to write and to read."""

    def writing(size: int) -> Callable[[], object]:
        record = session(TurnStarted(), *nasty(size)[shape], STOP)
        return lambda: write_markdown(record, thinking=style)

    def reading(size: int) -> Callable[[], object]:
        text = write_markdown(session(TurnStarted(), *nasty(size)[shape], STOP), thinking=style)
        return lambda: read_markdown(text)

    assert_linear(writing, 4_000)
    assert_linear(reading, 4_000)


def test_markdown_round_trip_of_a_thousand_levels() -> None:
    """R124, R137: nesting has no limit."""
    record = session(TurnStarted(), *nasty(8_000)["deep"], STOP)
    assert record_content(read_markdown(write_markdown(record))) == record_content(record)


def test_markdown_export_refuses_a_live_turn() -> None:
    with pytest.raises(Refused, match="answer of exchange 1 has not ended"):
        write_markdown(session(TurnStarted()))


def test_exchange_turn_is_a_new_turn_each_time() -> None:
    exchange: Exchange = session(*STORY).exchanges[0]
    exchange.turn.blocks.clear()
    assert normalized_turn(exchange.turn).answer == "It is **warm** in Lima."
