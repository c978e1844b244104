"""Exported markdown of a model runs no HTML and loads no image, and code stays readable."""

import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.export.sessions import session
from tests.linear_time import assert_linear
from tests.view.turns import STOP, answer_events, thought_events

from thinkaloud.core.canon import TurnStarted
from thinkaloud.core.export import SessionRecord, ThinkingStyle, read_markdown, write_markdown
from thinkaloud.core.export.markdown_format import without_html

RENDERERS = [MarkdownIt("commonmark"), MarkdownIt("commonmark").enable("table")]
ACTIVE = ("html_block", "html_inline", "image")
PIECES = [
    *("<img src=//x>", "<script>", "</b>", "<!-- x -->", "<?x", "![a](//x)", "![a][r]", "[r]: //x"),
    *("`", "``", "```", "~~~", "    ", " ", "\n", "\n\n", "\\", "|", "| a | b |\n|---|---|\n", "> ", "- "),
    *("1. ", "a", "<", "!", "[", "<https://x.y>", "``` js", "\t"),
]


def active_tokens(text: str) -> list[Token]:
    """Return what renderers make of a text that could run or load something."""
    blocks = [token for renderer in RENDERERS for token in renderer.parse(text)]
    inlines = [child for block in blocks for child in block.children or ()]
    return [token for token in (*blocks, *inlines) if token.type in ACTIVE]


@pytest.mark.parametrize(
    "text",
    [
        "<img src=https://tracker.example/x.png>",
        "Look: ![x](https://tracker.example/x.png) and ![x][r]\n\n[r]: https://tracker.example/x.png",
        "`\nx` <img src=//x> `y",
        "- ```\n  ```\n<script>alert(1)</script>",
        "| ` | <img src=//x> | ` |\n|---|---|---|\n| ` | <img src=//x> | ` |",
        "\\\\<img src=//x> \\`<img src=//x>`",
        "    ```\n<script>\n",
        "``` a`\n<script>",
        "```<img src=//x>\\| a | b |\n|---|---|\n",
    ],
)
def test_export_escapes_raw_html_and_remote_images(text: str) -> None:
    assert active_tokens(text)
    assert not active_tokens(without_html(text))


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=300)
def test_no_renderer_finds_html_or_an_image_in_any_text(text: str) -> None:
    assert not active_tokens(without_html(text))


@pytest.mark.parametrize(
    "text",
    [
        "Use `List<String>` or `<b>`, and 1 < 2.",
        "```html\n<b>bold</b> ![x](y)\n```\nThen `<i>` again.",
        "~~~\n<b>\n~~~",
        "a \\<b>",
    ],
)
def test_code_is_exported_as_it_is(text: str) -> None:
    assert without_html(text) == text


@pytest.mark.parametrize("style", [ThinkingStyle.DETAILS, ThinkingStyle.MARKERS, ThinkingStyle.CALLOUT])
def test_session_with_html_is_exported_harmless_and_imported_exactly(style: ThinkingStyle) -> None:
    text = "See ![x](https://tracker.example/a.png) <img src=https://tracker.example/b.png>"
    events = [TurnStarted("openai_chat", "m"), *thought_events(0, text), *answer_events(1, text), STOP]
    record = msgspec.structs.replace(session(*events), title=text)
    page = write_markdown(record, thinking=style)
    visible = re.sub(r"<!-- ta.*? -->|<!-- thinkaloud .*? -->|</?(?:details|summary|blockquote)>", "", page)
    assert not [token for token in active_tokens(visible) if "tracker" in token.content + str(token.attrs)]
    copy: SessionRecord = read_markdown(page)
    assert copy.title == record.title
    assert copy.exchanges[0].turn.answer == text
    assert copy.exchanges[0].turn.blocks[0].text == text


@pytest.mark.parametrize("piece", ["` `` ", "<b> `", "\\", "```\n", "![[<"])
def test_escaping_takes_linear_time(piece: str) -> None:
    def work(count: int) -> Callable[[], object]:
        text = piece * count + "<b>"
        return lambda: without_html(text)

    assert_linear(work, 4_000)
