"""Texts for people that can be translated: errors, findings, notices, and what commands print.

The English template is the id of a message in the catalogs of `core/view/locales`. It is written where the
message is made, so that the catalogs can be checked against the source.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

MAX_DEPTH = 16
"""How deep wordings may be nested in fields. Ours reach 6; a file or a gateway may send anything."""

_PLAIN = "{text}"
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, init=False)
class Wording:
    """An English text with `{name}` for each of its fields. A field may be a wording itself.

    `str()` gives the English text. As JSON it is `{"template": ..., "fields": {...}}`.
    """

    template: str
    fields: "dict[str, str | Wording]" = field(default_factory=dict)

    def __init__(self, template: str, /, **fields: object) -> None:
        values = {name: value if isinstance(value, Wording) else str(value) for name, value in fields.items()}
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "fields", values)

    def __post_init__(self) -> None:
        # Called for a decoded one only, the innermost one first.
        if self._depth() > MAX_DEPTH:
            raise ValueError("the wording is nested too deeply")

    def __str__(self) -> str:
        return fill(self.template, {name: str(value) for name, value in self.fields.items()})

    def __hash__(self) -> int:
        return hash(self.template)

    @classmethod
    def plain(cls, text: object) -> "Wording":
        """Return a text that stays as it is in every language: a name, or what another program said."""
        return cls(_PLAIN, text=str(text))

    @classmethod
    def join(cls, parts: "Iterable[Wording | str]", separator: str = " ") -> "Wording":
        """Return several texts as one."""
        fields = {f"part{number}": part for number, part in enumerate(parts, 1)}
        return cls(separator.join(f"{{{name}}}" for name in fields), **fields)

    @classmethod
    def any_of(cls, choices: "Iterable[Wording | str]") -> "Wording":
        """Return the choices, with "or" between them."""
        first, *others = choices
        wording = first if isinstance(first, Wording) else cls.plain(first)
        for other in others:
            wording = Wording("{choices} or {choice}", choices=wording, choice=other)
        return wording

    @classmethod
    def received(cls, text: str, wording: "Wording | None") -> "Wording":
        """Return the wording of a text that was sent or stored with it, or without."""
        return wording or cls(text)

    @property
    def needed(self) -> "Wording | None":
        """What is sent and stored beside the text; None if the text itself says all."""
        return None if self.template == _PLAIN or not self.fields else self

    def map(self, change: Callable[[str], str]) -> "Wording":
        """Return the wording with its template and all texts of its fields changed."""
        fields = {
            name: value.map(change) if isinstance(value, Wording) else change(value)
            for name, value in self.fields.items()
        }
        return Wording(change(self.template), **fields)

    def _depth(self) -> int:
        return 1 + max(
            (value._depth() for value in self.fields.values() if isinstance(value, Wording)), default=0
        )


def fill(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its fields filled in. Braces around anything else stay as they are."""
    return _FIELD.sub(lambda match: fields.get(match[1], match[0]), template)
