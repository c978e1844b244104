"""A turn in notebooks and in Rich: folded without a script, and with everything of a model escaped."""

import io
from html.parser import HTMLParser

import pytest

from thinkaloud import Turn, print_thinking, read
from thinkaloud.core.canon import BlockEnded, BlockGrew, BlockStarted, Entry, Event, Kind
from thinkaloud.core.transcript import apply

ATTACK = "<script>alert(1)</script></pre></details><img src=x onerror=alert(1)> \x1b[31m"
MESSAGE = {
    "reasoning_content": f"Think {ATTACK}",
    "content": f"Answer {ATTACK}",
    "tool_calls": [{"id": "c", "function": {"name": f"tool{ATTACK}", "arguments": '{"a": "<script>"}'}}],
}
BODY = {"model": "m", "choices": [{"message": MESSAGE, "finish_reason": "tool_calls"}]}


@pytest.fixture
def turn() -> Turn:
    return read(BODY)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_repr_is_short(turn: Turn) -> None:
    turn.blocks[0].pieces.append("x" * 100_000)
    assert repr(turn).startswith("<Turn of m: called_tools, 3 blocks, 100")
    assert len(repr(turn)) < 120
    assert repr(Turn()) == "<Turn: live, 0 blocks, 0 characters of thinking, 0 of answer>"


def test_html_folds_thoughts_and_escapes_everything(turn: Turn) -> None:
    page = Tags()
    page.feed(turn._repr_html_())
    assert set(page.tags) == {"div", "details", "summary", "pre"}
    assert page.tags.count("details") == 2
    assert page.text.count("<script>alert(1)</script>") == 3


def test_markdown_has_no_html_of_the_model(turn: Turn) -> None:
    text = turn._repr_markdown_()
    before_fence, _, rest = text.partition("```text")
    assert before_fence.startswith("<details><summary>")
    answer = rest.rpartition("Answer")[2].partition("<details>")[0]
    assert "\\<script>" in answer
    assert "<" not in answer.replace("\\<", "")


def test_rich_shows_the_turn_without_escape_sequences(turn: Turn) -> None:
    rich = pytest.importorskip("rich.console")
    output = io.StringIO()
    rich.Console(file=output, width=200, color_system=None).print(turn)
    assert "Think <script>" in output.getvalue()
    assert "Answer <script>" in output.getvalue()
    assert "\x1b" not in output.getvalue()


def test_header_of_a_thought_says_its_duration_once() -> None:
    turn = Turn()
    times_ms: dict[Event, int] = {
        BlockStarted(0, Kind.REASONING): 1_000,
        BlockGrew(0, "Look."): 1_000,
        BlockEnded(0): 5_200,
    }
    for seq, (event, at_ms) in enumerate(times_ms.items()):
        apply(turn, Entry(seq, event, at_ms))
    assert turn._repr_html_().count("4.2s") == 1


def test_a_failed_turn_says_so() -> None:
    turn = read(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n')
    for shown in (turn._repr_html_(), turn._repr_markdown_()):
        assert "Half" in shown
        assert "before the answer was complete" in shown


def test_print_thinking_prints_a_stream_and_returns_its_turn(turn: Turn) -> None:
    rich = pytest.importorskip("rich.console")
    output = io.StringIO()
    deltas = [{"reasoning_content": "Two "}, {"reasoning_content": "and two."}, {"content": "Four\x1b[1m."}]
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    printed = print_thinking([*chunks, end], console=rich.Console(file=output, color_system=None))
    assert output.getvalue() == "Two and two.\nFour␛[1m.\n"
    assert printed.answer == "Four\x1b[1m."
