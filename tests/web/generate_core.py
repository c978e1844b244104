"""Writes the TypeScript that repeats what Python defines: events, limits, presets, words, tags, errors.

`python -m tests.web.generate_core` rewrites the files in `web`. They are committed, so that the page
can be built without Python; a test compares them with what this module would write.
"""

import dataclasses
import enum
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from tests.languages.extract import texts

from thinkaloud.core import canon
from thinkaloud.core.canon.requests import Image
from thinkaloud.core.dialects.tags.families import model_families
from thinkaloud.core.dialects.tags.profiles import PROFILES, TagProfile
from thinkaloud.core.transcript import timing
from thinkaloud.core.view import LOCALES, PRESETS, summary, text, thinking
from thinkaloud.core.view.translate import catalog

WEB = Path(__file__).parents[2] / "web"
HEADER = "// Generated from Python by `make core`; do not edit.\n"
WIDTH = 120

EVENTS = get_args(canon.Event)
"""The registry of events: every kind there is, in its order."""

SHARED_WORDS = (
    "streaming",
    "complete",
    "complete_unknown",
    "approximate",
    "words",
    "tokens",
    "step",
    "waiting",
    "still_waiting",
    "interrupted",
    "stopped",
    "cut_by_limit",
    "connection_lost",
    "status.thinking",
    "status.done",
    "status.error",
    "tools",
    "tools_deep",
    "tool",
    "assistant",
    "calling",
    "working",
    "approval",
    "encrypted",
    "redacted",
    "withheld",
    "provenance.raw",
    "provenance.summary",
    "provenance.generated",
    "hidden",
    "notice.reasoning_only",
    "notice.empty",
    "notice.refused",
    "notice.stopped",
    "notice.cut_by_limit",
    "notice.connection_lost",
    "notice.failed",
    "notice.repeating",
    "session.thinking",
    "session.result",
    "session.error",
)
"""The words of the Python tables that the element says as well, without the prefix of their keys."""


SENT_BY_GATEWAY = ("agents/", "client/", "core/", "extras.py", "gateway/", "importers/")
"""Where the texts are that a gateway may send to its page."""

LIMITS = {
    "BURST_MS": timing.BURST_MS,
    "CALL_COLUMNS": thinking.CALL_COLUMNS,
    "CODE_POINTS_PER_COLUMN": text.CODE_POINTS_PER_COLUMN,
    "FEWEST_PEEK_CHARACTERS": text.FEWEST_PEEK_CHARACTERS,
    "INPUT_LIMIT": thinking.INPUT_LIMIT,
    "MAX_GAP_MS": timing.MAX_GAP_MS,
    "PEEK_COLUMNS": text.PEEK_COLUMNS,
    "PREVIEW_COLUMNS": text.PREVIEW_COLUMNS,
    "READ_AHEAD": summary.READ_AHEAD,
    "RESULT_LIMIT": thinking.RESULT_LIMIT,
    "SUMMARY_COLUMNS": summary.SUMMARY_COLUMNS,
}
"""The sizes and times of the view, by the names that they have in both languages."""


def _events() -> str:
    shared = (canon.Kind, canon.Provenance, canon.SealForm, canon.Finish)
    union = "\n".join(f"  | {event.__name__}" for event in EVENTS)
    parts = [
        _comment(
            "Everything that can happen in a turn, as it stands in a log or on a stream.\n\n"
            "`type` names each event. A reader passes over a type it does not know, so that an older page "
            "survives a newer server."
        ),
        *(f"export type {kind.__name__} = {_union(kind)};" for kind in shared),
        *(_interface(struct) for struct in (canon.Wording, canon.Seal, canon.Usage, Image, *EVENTS)),
        f"export type Event =\n{union};",
        _interface(canon.Entry),
    ]
    return "\n\n".join(parts).replace('";\n\nexport type', '";\nexport type') + "\n"


def _limits() -> str:
    lines = ["/** The sizes and times that decide what is shown, the same on every surface. */", ""]
    lines += [f"export const {name} = {value};" for name, value in LIMITS.items()]
    return "\n".join(lines) + "\n"


def _policy(policy: Any, default: msgspec.Struct) -> str:
    hints = get_type_hints(policy)
    types = {"while_streaming": "Open", "after_complete": "Rest"}
    fields = [f"  {name}: {types.get(name) or _type(hints[name])};" for name in policy.__struct_fields__]
    standard = msgspec.to_builtins(default)
    presets = {
        name: {key: value for key, value in msgspec.to_builtins(one).items() if value != standard[key]}
        for name, one in PRESETS.items()
    }
    for settings in presets.values():
        settings.pop("preset", None)
    return (
        "\n\n".join(
            [
                _comment(
                    "How thinking is shown: the settings of a display policy, and the presets to start from."
                ),
                *(f"export type {name} = {_type(hints[field])};" for field, name in types.items()),
                "/** How thinking is shown. A policy holds settings, never state. */\n"
                "export interface Policy {\n" + "\n".join(fields) + "\n}",
                "/** What holds where nothing else is set: the preset `default`. */\n"
                f"export const DEFAULT_POLICY: Policy = {_object(standard)};",
                "/** What each preset sets differently. */\n"
                f"export const PRESETS: Record<string, Partial<Policy>> = {_object(presets)};",
            ]
        ).replace('";\n\nexport type', '";\nexport type')
        + "\n"
    )


def _words(locale: str, name: str, language: str) -> str:
    table = LOCALES[locale].words
    words = {key: _text(table[_full_key(key)]) for key in SHARED_WORDS}
    about = _comment(
        f"The words that the element shares with the Python package, in {language}. "
        "`|` separates the singular from the plural."
    )
    return f"{about}\n\nexport const {name}: Record<string, string> = {_object(words)};\n"


def _tag_profiles() -> str:
    default = msgspec.to_builtins(TagProfile(""))
    rows = {
        name: {
            field: value
            for field, value in msgspec.to_builtins(profile).items()
            if field != "name" and value != default[field]
        }
        for name, profile in PROFILES.items()
    }
    families = [[family.names, family.served, family.raw] for family in model_families().values()]
    return "\n\n".join(
        [
            _comment("The ways in which models mark reasoning in text, and which model writes which."),
            'import type { TagProfile } from "./tags.js";',
            "/** What each profile sets differently. */\n"
            f"export const PROFILE_ROWS: Record<string, Partial<TagProfile>> = {_json(rows)};",
            "/** A pattern for a model's name, and the profiles of its text from a server and raw. */\n"
            f"export const FAMILIES: [names: string, served: string, raw: string][] = {_json(families)};\n",
        ]
    )


def _portuguese() -> str:
    """Return what the gateway says to its page, in Portuguese, by the English templates."""
    translations = catalog("pt-BR")
    sent = {text.template for text in texts() if text.place.startswith(SENT_BY_GATEWAY)}
    rows = {template: translations[template] for template in sorted(sent)}
    return json.dumps(rows, ensure_ascii=False, indent=2) + "\n"


def _json(value: Any) -> str:
    """Return a table on one line for each row; the formatter leaves this file alone."""
    rows = value.items() if isinstance(value, dict) else ((None, row) for row in value)
    lines = [
        f"  {'' if key is None else json.dumps(key) + ': '}{json.dumps(row, ensure_ascii=False)},\n"
        for key, row in rows
    ]
    return ("{\n" + "".join(lines) + "}") if isinstance(value, dict) else "[\n" + "".join(lines) + "]"


def _full_key(key: str) -> str:
    return f"ai.{key}" if key.startswith(("notice.", "session.")) else f"ai.thinking.{key}"


def _text(words: Any) -> str:
    return words if isinstance(words, str) else f"{words.one}|{words.other}"


def _interface(struct: Any) -> str:
    hints = get_type_hints(struct)
    if dataclasses.is_dataclass(struct):
        lines = [f"  {name}{'?' if name == 'fields' else ''}: {_type(hint)};" for name, hint in hints.items()]
    else:
        tag = struct.__struct_config__.tag
        lines = [f'  type: "{tag}";'] if tag else []
        for field in msgspec.structs.fields(struct):
            optional = "" if field.required else "?"
            lines.append(f"  {field.encode_name}{optional}: {_type(hints[field.name])};")
    return (
        f"{_comment(inspect.getdoc(struct) or '')}\nexport interface {struct.__name__} {{\n"
        + "\n".join(lines)
        + "\n}"
    )


def _type(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " | ".join(json.dumps(value) for value in get_args(hint))
    if hint == canon.Event:
        return "Event"
    if get_origin(hint) is dict:
        return f"Record<string, {_type(get_args(hint)[1])}>"
    if get_origin(hint) is tuple:
        return f"{_type(get_args(hint)[0])}[]"
    if get_origin(hint) in (Union, type(int | None)):
        return " | ".join(_type(part) for part in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint.__name__ if hasattr(canon, hint.__name__) else _union(hint)
    plain = {int: "number", str: "string", bool: "boolean", type(None): "null"}
    return plain.get(hint) or str(hint.__name__)


def _union(kind: type[enum.Enum]) -> str:
    return " | ".join(json.dumps(member.value) for member in kind)


def _object(values: Mapping[str, Any], indent: str = "") -> str:
    """An object as the formatter writes it: in one line where it is an inner one that fits."""
    inner = [f"{_key(key)}: {_value(value, indent + '  ')}" for key, value in values.items()]
    line = "{ " + ", ".join(inner) + " }" if inner else "{}"
    if not inner or (indent and len(line) + 24 <= WIDTH):
        return line
    return "{\n" + "".join(f"{indent}  {one},\n" for one in inner) + indent + "}"


def _value(value: Any, indent: str) -> str:
    return _object(value, indent) if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _comment(text: str) -> str:
    lines = list(_wrapped(re.sub(r"\bNone\b", "null", text)))
    if len(lines) == 1:
        return f"/** {lines[0]} */"
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */"


def _wrapped(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        line = ""
        for word in paragraph.split():
            if line and len(line) + len(word) + 8 > WIDTH:
                yield line
                line = word
            else:
                line = f"{line} {word}".strip()
        yield line


GENERATED: dict[str, Callable[[], str]] = {
    "src/core/events.ts": lambda: HEADER + _events(),
    "src/core/limits.ts": lambda: HEADER + _limits(),
    "src/core/policy.ts": lambda: HEADER + _policy(type(PRESETS["default"]), PRESETS["default"]),
    "src/core/words-en.ts": lambda: HEADER + _words("en-US", "EN_US_WORDS", "English"),
    "src/core/words-pt.ts": lambda: HEADER + _words("pt-BR", "PT_BR_WORDS", "Portuguese"),
    "src/sources/providers/tag-profiles.ts": lambda: HEADER + _tag_profiles(),
    "page/portuguese.json": _portuguese,
}
"""Every generated file by its name, and what makes its content."""

if __name__ == "__main__":
    for name, make in GENERATED.items():
        (WEB / name).write_text(make(), "utf-8")
