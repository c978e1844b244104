"""Changes single values in a TOML text and leaves the rest of it as it is, comments included.

tomlkit keeps the layout; it is imported on first use, since most commands only read. A key is dotted, such as
`thinking.display.preset`, and its tables are made as needed.
"""

import tomllib
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from thinkaloud.core.canon import Refused

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

Value = str | int | bool


def set_value(text: str, key: str, value: Value) -> str:
    """Return the text with one value set."""
    import tomlkit

    document = tomlkit.parse(text)
    *tables, name = key.split(".")
    table: MutableMapping[str, Any] = document
    for part in tables:
        if part not in table:
            table[part] = _new_table(document, is_parent=part != tables[-1])
        table = table[part]
        if not isinstance(table, MutableMapping):
            raise Refused(
                "{key} cannot be set, because {part} is a value in the file and not a table.",
                key=key,
                part=part,
            )
    table[name] = value
    return _text_of(document, key)


def unset_value(text: str, key: str) -> str:
    """Return the text without a value; the same text if it has none."""
    import tomlkit

    document = tomlkit.parse(text)
    *tables, name = key.split(".")
    table: Any = document
    for part in tables:
        table = table.get(part) if isinstance(table, MutableMapping) else None
    if not isinstance(table, MutableMapping) or name not in table:
        return text
    del table[name]
    return _text_of(document, key)


def _text_of(document: "TOMLDocument", key: str) -> str:
    text = document.as_string()
    # The file may hold the person's keys: what another reader would read differently is not written.
    if tomllib.loads(text) != document.unwrap():
        raise Refused(
            "{key} cannot be changed by a command the way it is written in the file. Edit the file instead.",
            key=key,
        )
    return text


def _new_table(document: "TOMLDocument", *, is_parent: bool) -> "Table":
    """Return an empty table, whose header stands after a blank line. One that only holds tables has none."""
    import tomlkit

    if document and not is_parent:
        document.add(tomlkit.nl())
    return tomlkit.table(is_super_table=is_parent)
