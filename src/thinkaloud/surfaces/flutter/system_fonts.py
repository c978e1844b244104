"""Finds fonts on this machine for characters that the font of the package does not have.

The engine asks its server for Noto fonts by their addresses, `notosansarabic/v18/….woff2`, when a text needs
them. Nothing is fetched from elsewhere: a font of the system, or one named by `--font`, is sent instead. The
engine has cut large fonts into parts, but a font of the system is whole, so it is sent once to each page.
"""

import asyncio
import os
import struct
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from thinkaloud.core.canon import Refused

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
    """The fonts of this machine, and which of them each page has."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._named = [Path(name).expanduser() for name in named]
        for path in self._named:
            if not path.is_file() or path.suffix.lower() not in _ENDINGS:
                endings = ", ".join(_ENDINGS)
                raise Refused(
                    "{path} is not a font. --font takes a file that ends in {endings}.",
                    path=path,
                    endings=endings,
                )
        self._finding = threading.Lock()
        self._samples: dict[Path, frozenset[str]] = {}
        self._found: dict[str, Path | None] = {}
        self._sent: defaultdict[str, set[Path]] = defaultdict(set)
        self.missing: list[str] = []
        """The scripts that no font has; `on_missing` is called after each new one."""
        self.on_missing: list[Callable[[], None]] = []

    def find(self, family: str) -> Path | None:
        """Return the font for a family that the engine asks for. It reads files, so call it in a thread."""
        sample = SAMPLES.get(family, ("", ""))[1]
        with self._finding:  # the engine asks for many fonts at once
            if sample and sample not in self._found:
                candidates = [*self._named, *sorted(_system_files(), key=_plainness)]
                fonts = (path for path in candidates if sample in self._samples_of(path))
                self._found[sample] = next(fonts, None)
            return self._found.get(sample)

    def _samples_of(self, path: Path) -> frozenset[str]:
        if path not in self._samples:
            self._samples[path] = samples_in(path)
        return self._samples[path]

    def note_missing(self, family: str) -> None:
        """Note a script that no font has. Each page is told apart: one that fails does not stop others."""
        script = SAMPLES.get(family, ("other", ""))[0]
        if script in self.missing:
            return
        self.missing.append(script)
        for call in self.on_missing:
            asyncio.get_running_loop().call_soon(call)

    def take(self, page: str, path: Path) -> bool:
        """Return whether a page has not been sent this font yet; from now on it has."""
        if path in self._sent[page]:
            return False
        self._sent[page].add(path)
        return True

    def give_back(self, page: str, path: Path) -> None:
        """Note that a font could not be sent after all."""
        self._sent[page].discard(path)


def _system_files() -> Iterator[Path]:
    for folder in _FOLDERS.get(sys.platform, _OTHER_FOLDERS):
        for place, _, names in os.walk(Path(folder).expanduser()):
            yield from (Path(place, name) for name in names if name.lower().endswith(_ENDINGS))


def _plainness(path: Path) -> tuple[int, int, str]:
    """Sort upright fonts of normal weight before their variants."""
    name = path.stem.lower()
    return sum(word in name for word in _UNUSUAL), len(name), name


def samples_in(path: Path) -> frozenset[str]:
    """Return which samples a font has glyphs for, from its table of characters (`cmap`)."""
    try:
        if path.stat().st_size > LARGEST_FONT:
            return frozenset()
        with path.open("rb") as file:
            table = _character_table(file)
        samples = {sample for _, sample in SAMPLES.values()}
        found: set[str] = set()
        for start in _subtables(table):
            found |= {sample for sample in samples if _in_subtable(table, start, ord(sample))}
        return frozenset(found)
    except (OSError, struct.error):
        return frozenset()  # no font that can be used: damaged, or not for this user


def _character_table(file: BinaryIO) -> bytes:
    """Return the `cmap` of a font, of a collection that of its first font; empty if it has none."""
    start = 0
    if file.read(4) == b"ttcf":
        file.seek(12)
        (start,) = struct.unpack(">I", file.read(4))
    file.seek(start + 4)
    (tables,) = struct.unpack(">H6x", file.read(8))
    for tag, _, offset, length in struct.iter_unpack(">4sIII", file.read(16 * tables)):
        if tag == b"cmap":
            file.seek(offset)
            return file.read(length)
    return b""


def _subtables(table: bytes) -> Iterator[int]:
    """Yield where the subtables of a `cmap` begin."""
    if table:
        (count,) = struct.unpack_from(">H", table, 2)
        for entry in range(count):
            yield struct.unpack_from(">HHI", table, 4 + 8 * entry)[2]


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
