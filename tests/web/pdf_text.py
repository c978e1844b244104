"""The text of each page of a PDF file that Chromium printed, as far as tests need it.

Knows what Chromium writes: objects that are not packed, fonts with a table from glyphs to letters.
"""

import re
import zlib

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\b(.*?)endobj", re.S)
_STREAM = re.compile(rb"stream\r?\n(.*)\r?\nendstream", re.S)
_FONT_OR_TEXT = re.compile(rb"/(\w+) [\d.]+ Tf|<([0-9A-Fa-f]+)>")
_GLYPH_RANGE = re.compile(rb"<(\w{4})> <(\w{4})> <(\w{4})>")
_GLYPH = re.compile(rb"<(\w{4})> <(\w+)>")


def page_texts(pdf: bytes) -> list[str]:
    """Return the text of every page, in order and without its spaces."""
    objects = {int(number): body for number, body in _OBJECT.findall(pdf)}
    pages = [body for body in objects.values() if re.search(rb"/Type\s*/Page\b", body)]
    return [_page_text(page, objects) for page in pages]


def _page_text(page: bytes, objects: dict[int, bytes]) -> str:
    fonts = {
        name: _letters(objects[int(number)], objects)
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", page)
    }
    contents = re.search(rb"/Contents (\d+) 0 R", page)
    assert contents
    text, letters = "", dict[int, str]()
    for font, glyphs in _FONT_OR_TEXT.findall(_stream(objects[int(contents[1])])):
        letters = fonts.get(font, letters) if font else letters
        codes = [int(glyphs[at : at + 4], 16) for at in range(0, len(glyphs), 4)]
        text += "".join(letters.get(code, "") for code in codes)
    return re.sub(r"\s", "", text)


def _letters(font: bytes, objects: dict[int, bytes]) -> dict[int, str]:
    """The letters of a font by the numbers of their glyphs."""
    table = re.search(rb"/ToUnicode (\d+) 0 R", font)
    if not table:
        return {}
    text = _stream(objects[int(table[1])])
    letters: dict[int, str] = {}
    for section in re.findall(rb"beginbfchar(.*?)endbfchar", text, re.S):
        for glyph, code in _GLYPH.findall(section):
            letters[int(glyph, 16)] = bytes.fromhex(code.decode()).decode("utf-16-be")
    for section in re.findall(rb"beginbfrange(.*?)endbfrange", text, re.S):
        for first, last, code in _GLYPH_RANGE.findall(section):
            for offset in range(int(last, 16) - int(first, 16) + 1):
                letters[int(first, 16) + offset] = chr(int(code, 16) + offset)
    return letters


def _stream(body: bytes) -> bytes:
    found = _STREAM.search(body)
    assert found
    return zlib.decompress(found[1]) if b"/FlateDecode" in body else found[1]
