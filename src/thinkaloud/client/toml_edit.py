"""Changes single values in a TOML text and leaves the rest of it as it is, comments included.

An edit replaces, adds or removes one line. The result is parsed and compared with what it must be, so a text
that this module does not understand (an inline table, a value over several lines) is refused, never damaged.
"""

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from thinkaloud.core.canon import Refused

Value = str | int | bool
_HEADER = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]\s*(?:#.*)?")
_LINE = re.compile(
    r"(?P<key>\s*[^=#\s][^=]*?\s*=\s*)"
    r"(?P<value>[^#\"']*?|\"(?:[^\"\\]|\\.)*\"|'[^']*')"
    r"(?P<rest>\s*(?:#.*)?)"
)


def set_value(text: str, key: str, value: Value) -> str:
    """Return the text with one value set. `key` is dotted: `thinking.display.preset`."""
    values = tomllib.loads(text)
    wanted = copy.deepcopy(values)
    *tables, name = key.split(".")
    table = wanted
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise Refused(f"{key} cannot be set, because {part} is a value in the file and not a table.")
    table[name] = value
    return _first_equal(_texts_with(text, key, _format(value)), wanted, key)


def unset_value(text: str, key: str) -> str:
    """Return the text without a value; the same text if it has none."""
    values = tomllib.loads(text)
    wanted: Any = copy.deepcopy(values)
    *tables, name = key.split(".")
    table = wanted
    for part in tables:
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict) or name not in table:
        return text
    del table[name]
    return _first_equal(_texts_without(text, name), wanted, key)


def _first_equal(texts: Iterator[str], wanted: dict[str, Any], key: str) -> str:
    for text in texts:
        try:
            if _without_empty_tables(tomllib.loads(text)) == _without_empty_tables(wanted):
                return text
        except tomllib.TOMLDecodeError:
            continue  # this edit does not fit the text; the next one may
    raise Refused(
        f"{key} cannot be changed by a command the way it is written in the file. Edit the file instead."
    )


def _texts_with(text: str, key: str, value: str) -> Iterator[str]:
    """Yield the text with each edit that may set the value, the least intrusive first."""
    lines = _lines(text)
    table, _, name = key.rpartition(".")
    for index, line in _lines_of(lines, name):
        yield _join([*lines[:index], f"{line['key']}{value}{line['rest']}", *lines[index + 1 :]])
    new_line = f"{name} = {value}"
    end = _end_of_table(lines, table)
    if end is not None:
        gap = [""] if end < len(lines) and lines[end].strip() else []
        yield _join([*lines[:end], new_line, *gap, *lines[end:]])
    if table:
        yield _join([*lines, *([""] if lines else []), f"[{table}]", new_line])


def _texts_without(text: str, name: str) -> Iterator[str]:
    lines = _lines(text)
    for index, _ in _lines_of(lines, name):
        yield _join([*lines[:index], *lines[index + 1 :]])


def _lines_of(lines: list[str], name: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the lines that give a value to a key whose last part is the name."""
    for index, line in enumerate(lines):
        match = _LINE.fullmatch(line)
        if match and match["key"].rstrip(" \t=").rpartition(".")[2].strip(" \t\"'") == name:
            yield index, match


def _end_of_table(lines: list[str], table: str) -> int | None:
    """Return where a line can be added to a table: after its last line that is not blank."""
    current, end = "", 0 if not table else None
    for index, line in enumerate(lines):
        if header := _HEADER.fullmatch(line):
            current = header["name"].strip()
        if current == table and line.strip():
            end = index + 1
    return end


def _format(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def _without_empty_tables(values: dict[str, Any]) -> dict[str, Any]:
    tables = {
        key: _without_empty_tables(value) if isinstance(value, dict) else value
        for key, value in values.items()
    }
    return {key: value for key, value in tables.items() if value != {}}


def _lines(text: str) -> list[str]:
    """Return the lines of a text. Characters that only some readers take for line breaks are not."""
    return text.removesuffix("\n").split("\n") if text else []


def _join(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""
