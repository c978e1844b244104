"""Markdown as it grows: the same nodes however the text was cut, nothing lost, nothing that leads astray."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

SLOW = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Draws a text piece by piece and at once, and compares what stands there after every piece.
DRAWN_SCRIPT = """async pieces => {
  const { markdown, plain } = await import("/dist/lib/element/markdown.js");
  const say = key => ({ copy: "Copy", copied: "Copied", image: "Image not loaded" })[key];
  const problems = [];
  for (const make of [root => markdown(root, say), plain]) {
    const grown = document.createElement("div"), renderer = make(grown);
    let text = "";
    for (const piece of pieces) {
      renderer.feed(piece);
      text += piece;
      const whole = document.createElement("div");
      make(whole).feed(text);
      if (whole.innerHTML !== grown.innerHTML) problems.push([text, whole.innerHTML, grown.innerHTML]);
    }
  }
  return problems;
}"""

HTML = """async text => {
  const { markdown } = await import("/dist/lib/element/markdown.js");
  const root = document.createElement("div");
  markdown(root, key => ({ copy: "Copy", copied: "Copied", image: "Image not loaded" })[key]).feed(text);
  for (const node of root.querySelectorAll("[class]")) { node.removeAttribute("part");
    if (/section|more|code-part/.test(node.className)) node.replaceWith(...node.childNodes); }
  return root.innerHTML;
}"""

# Letters of a text, however it is drawn.
TEXT = """async text => {
  const { markdown } = await import("/dist/lib/element/markdown.js");
  const root = document.createElement("div");
  markdown(root, () => "").feed(text);
  return root.textContent;
}"""

BITS = [
    "a",
    "B ",
    "word",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "*",
    "**",
    "_",
    "__",
    "~~",
    "`",
    "```",
    "````",
    "~~~",
    "# ",
    "###### ",
    "#",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "10) ",
    "> ",
    ">",
    "---",
    "***",
    "|",
    "|---|---|",
    "| a | b |",
    "[",
    "](",
    ")",
    "![",
    "(https://a.b/c)",
    "https://a.b/c?d=(e)",
    "<https://x.y>",
    "<b>",
    "</script>",
    "\\",
    "\\*",
    "é",
    "漢",
    "👩‍💻",
    "\u202e",
    "\u2066",
    "x" * 30,
    "javascript:alert(1)",
    "&amp;",
    "&lt;",
    "\x00",
    '"',
    "'",
]
PIECES = st.lists(st.sampled_from(BITS), max_size=40)


@SLOW
@given(pieces=PIECES)
def test_any_cut_gives_the_same_nodes(page: Page, pieces: list[str]) -> None:
    """R018 on the screen: what stands there depends on the text alone."""
    assert page.evaluate(DRAWN_SCRIPT, pieces) == []


def test_any_three_bits_give_the_same_nodes(page: Page) -> None:
    """All of them, whole and bit by bit: what seemed to be over may go on."""
    bits = [
        *"a \\#*_`./!<>|:\né",
        "[x](https://a.b)",
        "https://x.y",
        "~~",
        "- ",
        "&amp;",
        "**b**",
        "`c`",
        "_d_",
    ]
    differences = page.evaluate(
        """async bits => {
          const { markdown } = await import("/dist/lib/element/markdown.js");
          const drawn = pieces => {
            const root = document.createElement("div"), renderer = markdown(root, key => key);
            for (const piece of pieces) renderer.feed(piece);
            return root.innerHTML;
          };
          const problems = [];
          for (const one of bits) for (const two of bits) for (const three of bits) {
            const pieces = [one, two, three];
            if (drawn(pieces) !== drawn([pieces.join("")])) problems.push(pieces);
          }
          return problems;
        }""",
        bits,
    )
    assert differences == []


@pytest.mark.parametrize("size", [1, 7, 999, 2000, 2001, 3999])
def test_long_lines_and_long_code_are_cut_alike(page: Page, size: int) -> None:
    line = "word " * 900 + "x" * 5000 + " **bold** [a](https://b.c) "
    text = (
        f"{line}\n- {line}\n```\n{line}\n{line}\n```\n| {line} | b |\n|---|---|\n| {line} | d |\n"
        + "short\n" * 3000
    )
    step = max(size, len(text) // 60)
    pieces = [text[:size], *(text[at : at + step] for at in range(size, len(text), step))]
    assert page.evaluate(DRAWN_SCRIPT, pieces) == []


@SLOW
@given(words=st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=60), seed=PIECES)
def test_no_letter_is_lost(page: Page, words: list[str], seed: list[str]) -> None:
    text = "".join(word + bit for word, bit in zip(words, seed * 60, strict=False))
    drawn_text = page.evaluate(TEXT, text)
    for word in words[: len(seed) * 60]:
        assert word in text
    if "[" not in text and "`" not in text and "~" not in text and "<" not in text:
        letters = [c for c in text if c in "abcdefgh"]
        assert [c for c in drawn_text if c in "abcdefgh"] == letters


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Hello *you* and **you**", "<p>Hello <em>you</em> and <strong>you</strong></p>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        ("2**10 and 2 * 3 * 4, a_b_c", "<p>2**10 and 2 * 3 * 4, a_b_c</p>"),
        ("# Title\ntext", '<p class="heading">Title</p><p>text</p>'),
        ("#hashtag", "<p>#hashtag</p>"),
        (
            "- a\n- b\n  - c\n- d",
            "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li><li><p>d</p></li></ul>",
        ),
        (
            "1. a\n  - b\n2. c",
            '<ol start="1"><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>',
        ),
        ("3. a\nlazy", '<ol start="3"><li><p>a\nlazy</p></li></ol>'),
        ("> a\n> b\n\nc", "<blockquote><p>a\nb</p></blockquote><p>c</p>"),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
        ),
        ("`a*b*` and ``c`d``", "<p><code>a*b*</code> and <code>c`d</code></p>"),
        ("\\*not\\* em", "<p>*not* em</p>"),
        ("<b>bold</b> &amp;", "<p>&lt;b&gt;bold&lt;/b&gt; &amp;amp;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](/logout)", "<p>[x](/logout)</p>"),
        ("![cat](https://e.f/g.png)", '<p><span class="image">Image not loaded · cat · e.f</span></p>'),
        ("a\u202eb", '<p>a<span class="bidi">U+202E</span>b</p>'),
        ("**un*closed", "<p>**un*closed</p>"),
        ("~~gone~~ ***both***", "<p><s>gone</s> <strong><em>both</em></strong></p>"),
    ],
)
def test_markdown_html(page: Page, text: str, html: str) -> None:
    assert page.evaluate(HTML, text) == html


def test_a_link_says_where_it_leads(page: Page) -> None:
    """S2."""
    html = page.evaluate(HTML, "[docs](https://a.b/c_(d)) https://e.f/g. <mailto:a@b.c>")
    assert html.count('rel="noopener noreferrer nofollow"') == 3
    assert 'href="https://a.b/c_(d)" title="https://a.b/c_(d)" target="_blank"' in html
    assert ">https://e.f/g</a>." in html
    assert 'href="mailto:a@b.c"' in html


def test_code_keeps_every_space_and_can_be_copied(page: Page) -> None:
    html = page.evaluate(HTML, "```python\ndef f():\n\n    return '<b>'  \n```\nafter")
    assert "def f():\n\n    return '&lt;b&gt;'  \n" in html
    assert (
        '<span class="code-lang">python</span><button class="copy-code" type="button">Copy</button>' in html
    )
    assert html.endswith("<p>after</p>")
