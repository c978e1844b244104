"""Finds fonts on this machine for characters that the font of the package does not have.

The engine asks its server for Noto fonts by their addresses, `notosansarabic/v18/….woff2`, when a text needs
them. Nothing is fetched from elsewhere: a font of the system, or one named by `--font`, is sent instead. The
engine has cut large fonts into parts, but a font of the system is whole, so it is sent once to each page.
"""

import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from thinkaloud.canon import Refused

SAMPLES = {
    "notosanssc": ("chinese", "中"),
    "notosanstc": ("chinese", "灣"),
    "notosanshk": ("chinese", "嘅"),
    "notosansjp": ("japanese", "あ"),
    "notosanskr": ("korean", "한"),
    "notosansarabic": ("arabic", "ع"),
    "notosansdevanagari": ("devanagari", "ह"),
    "notosans": ("devanagari", "ह"),  # the one that the engine takes for it; its other letters are in Roboto
    "notosanshebrew": ("hebrew", "ש"),
    "notosansbengali": ("bengali", "ক"),
    "notosanstamil": ("tamil", "த"),
    "notosansthai": ("thai", "ก"),
    "notosanssymbols": ("symbols", "⌘"),
    "notosanssymbols2": ("symbols", "▶"),
    "notosansmath": ("symbols", "∑"),
    "notocoloremoji": ("emoji", "😀"),
}
"""The script of each font that the engine asks for, and a character that a font for it must have."""
_FOLDERS = {
    "darwin": ("/System/Library/Fonts", "/Library/Fonts", "~/Library/Fonts"),
    "win32": (r"C:\Windows\Fonts", r"~\AppData\Local\Microsoft\Windows\Fonts"),
}
_OTHER_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
_UNUSUAL = ("bold", "black", "italic", "oblique", "light", "thin", "condensed", "mono", "serif")
LARGEST_FONT = 64 * 1024 * 1024


class SystemFonts:
    """The fonts of this machine, and which of them a page has."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._named = [Path(name).expanduser() for name in named]
        for path in self._named:
            if not path.is_file() or path.suffix.lower() not in _ENDINGS:
                endings = ", ".join(_ENDINGS)
                raise Refused(f"{path} is not a font. --font takes a file that ends in {endings}.")
        self._found: dict[str, Path | None] = {}
        self._sent: set[str] = set()
        self.missing: list[str] = []
        """The scripts that no font has; `on_missing` is called after each new one."""
        self.on_missing: list[Callable[[], None]] = []

    def page_opened(self) -> None:
        """Note that a page starts, which has no font yet."""
        self._sent.clear()

    def find(self, family: str) -> Path | None:
        """Return the font for a family that the engine asks for. It reads files, so call it in a thread."""
        sample = SAMPLES.get(family, ("", ""))[1]
        if sample and sample not in self._found:
            candidates = [*self._named, *sorted(_system_files(), key=_plainness)]
            fonts = (path for path in candidates if has_character(path, sample))
            self._found[sample] = next(fonts, None)
        return self._found.get(sample)

    def take(self, family: str, path: Path | None) -> bool:
        """Return whether this font is to be sent now; note a script that has none."""
        if path is None:
            script = SAMPLES.get(family, ("other", ""))[0]
            if script not in self.missing:
                self.missing.append(script)
                for call in self.on_missing:
                    call()
            return False
        if str(path) in self._sent:
            return False
        self._sent.add(str(path))
        return True


def _system_files() -> Iterator[Path]:
    for folder in _FOLDERS.get(sys.platform, _OTHER_FOLDERS):
        for place, _, names in os.walk(Path(folder).expanduser()):
            yield from (Path(place, name) for name in names if name.lower().endswith(_ENDINGS))


def _plainness(path: Path) -> tuple[int, int, str]:
    """Sort upright fonts of normal weight before their variants."""
    name = path.stem.lower()
    return sum(word in name for word in _UNUSUAL), len(name), name


def has_character(path: Path, character: str) -> bool:
    """Return whether a font has a glyph for a character, from its table of characters (`cmap`)."""
    try:
        if path.stat().st_size > LARGEST_FONT:
            return False
        with path.open("rb") as file:
            data = file.read()
        return any(_in_subtable(data, start, ord(character)) for start in _subtables(data))
    except (OSError, struct.error):
        return False  # no font that can be used: damaged, or not for this user


def _subtables(data: bytes) -> Iterator[int]:
    """Yield where the subtables of the `cmap` begin; of a collection, those of its first font."""
    start = 0
    if data[:4] == b"ttcf":
        (start,) = struct.unpack_from(">I", data, 12)
    (tables,) = struct.unpack_from(">H", data, start + 4)
    for index in range(tables):
        tag, _, offset, _ = struct.unpack_from(">4sIII", data, start + 12 + 16 * index)
        if tag == b"cmap":
            (count,) = struct.unpack_from(">H", data, offset + 2)
            for entry in range(count):
                yield offset + struct.unpack_from(">HHI", data, offset + 4 + 8 * entry)[2]


def _in_subtable(data: bytes, start: int, code: int) -> bool:
    (form,) = struct.unpack_from(">H", data, start)
    if form == 12:  # groups of 32-bit codes
        (count,) = struct.unpack_from(">I", data, start + 12)
        groups = struct.iter_unpack(">III", data[start + 16 : start + 16 + 12 * count])
        return any(first <= code <= last for first, last, _ in groups)
    if form == 4 and code < 0xFFFF:  # segments of 16-bit codes
        (twice,) = struct.unpack_from(">H", data, start + 6)
        ends = struct.unpack_from(f">{twice // 2}H", data, start + 14)
        firsts = struct.unpack_from(f">{twice // 2}H", data, start + 16 + twice)
        return any(first <= code <= last for first, last in zip(firsts, ends, strict=True))
    return False
