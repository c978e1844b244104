"""The text of a paragraph, a heading or a cell of Markdown in spans.

The address of a link is shown behind its text unless they are the same, because a terminal has no other place
to show where a link leads. Only web and mail addresses are links.
"""

from urllib.parse import urlsplit

from markdown_it.token import Token

from thinkaloud.surfaces.chat.display import LINK_SCHEMES
from thinkaloud.surfaces.tui.text.sections import Span

_LITERALS = {"softbreak": " ", "hardbreak": "\n"}


def inline_spans(children: list[Token], role: str = "text") -> list[Span]:
    """Return inline tokens as spans; `role` is the role of plain text."""
    text = _InlineText(role)
    for child in children:
        text.take(child)
    return text.spans


class _InlineText:
    def __init__(self, role: str) -> None:
        self.spans: list[Span] = []
        self._role = role
        self._marks: list[str] = []
        self._link = ""
        self._link_start = 0

    def take(self, token: Token) -> None:
        match token.type:
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "code_inline":
                self._add(token.content, "code")
            case "image":
                self._add(f"🖼 {token.content}", self._role)
                self._add(f" ({token.attrs.get('src', '')})", "quiet")
            case _ if token.nesting > 0:
                self._marks.append(token.tag)
            case _ if token.nesting < 0:
                self._marks.pop()
            case _:
                self._add(_LITERALS.get(token.type, token.content), self._text_role())

    def _add(self, text: str, role: str) -> None:
        if text:
            self.spans.append(Span(text, role, self._link))

    def _open_link(self, address: str) -> None:
        self._link = address if _scheme(address) in LINK_SCHEMES else ""
        self._link_start = len(self.spans)

    def _close_link(self) -> None:
        text = "".join(span.text for span in self.spans[self._link_start :])
        if self._link and text not in (self._link, self._link.removeprefix("mailto:")):
            self._add(f" ({self._link})", "quiet")
        self._link = ""

    def _text_role(self) -> str:
        if self._link:
            return "link"
        if "s" in self._marks:
            return "strike"
        if self._role != "text" or not self._marks:
            return self._role
        if len(set(self._marks)) > 1:
            return "strong.emphasis"
        return "strong" if self._marks[0] == "strong" else "emphasis"


def _scheme(address: str) -> str:
    """Return the scheme of an address; empty for a text that is no address."""
    try:
        return urlsplit(address).scheme.lower()
    except ValueError:
        return ""
