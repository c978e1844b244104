"""The user's settings in `config.toml`: default model, language, thinking and display.

The file is the only place where the settings of the user of this machine are kept. The command line, the
terminal and the gateway read and change the same values there. Comments and unknown keys survive a change.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.client.home import home_folder
from thinkaloud.client.toml_edit import Value, set_value, unset_value
from thinkaloud.client.write_file import replace_file
from thinkaloud.view import LOCALES, PRESETS, Policy, read_policy

CONFIG_NAME = "config.toml"
_LANGUAGE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_FALLBACK_LANGUAGE = "en-US"
_ContextMode = Literal["keep", "strip", "provider_default"]
"""As in `thinkaloud.context`, which would triple the time to read the settings."""
_DISPLAY = "thinking.display."


class Setting(NamedTuple):
    """A setting of the file: the type of its value, and what it means."""

    kind: Any
    meaning: str


_DISPLAY_MEANINGS = {
    "preset": "the preset that the other display settings override",
    "while_streaming": "how a live thought is shown",
    "after_complete": "how a completed thought is shown",
    "auto_close": "whether a thought that was opened automatically closes automatically",
    "header": "what the header line of a thought contains",
    "show_thinking": "whether completed thoughts are shown",
    "remember": "where showing and hiding is remembered",
    "live_region": "what a screen reader announces",
}
SETTINGS: Mapping[str, Setting] = {
    "model": Setting(str, "the model that answers if none is named"),
    "language": Setting(Literal[tuple(LOCALES)], "the language of labels and notices"),
    "thinking.level": Setting(str | int, "how much models think: off, low, medium, high, max, or tokens"),
    "thinking.context_mode": Setting(_ContextMode, "which earlier thoughts are sent back to models"),
    **{
        f"{_DISPLAY}{field.name}": Setting(field.type, _DISPLAY_MEANINGS[field.name])
        for field in msgspec.structs.fields(Policy)
    },
    f"{_DISPLAY}preset": Setting(Literal[tuple(PRESETS)], _DISPLAY_MEANINGS["preset"]),
    "page.render": Setting(Literal["markdown", "plain"], "how the page draws the text of thoughts"),
    "page.expand_key": Setting(str, "the key of the page that opens and closes all thinking"),
}


class Config:
    """The settings as the file has them, by dotted key. What the file does not set is not there."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values = dict(values or {})

    def text(self, key: str) -> str:
        """Return a setting as text, empty if it is not set."""
        return str(self.values.get(key, ""))

    @property
    def display(self) -> Policy:
        """The display policy: the preset that is set, overridden by the other settings."""
        return read_policy(
            {
                key.removeprefix(_DISPLAY): value
                for key, value in self.values.items()
                if key.startswith(_DISPLAY)
            }
        )

    @property
    def language(self) -> str:
        """The language that is set, else the one of the environment."""
        return self.text("language") or language_of(os.environ)


class ConfigFile:
    """Reads and changes the file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or home_folder() / CONFIG_NAME

    def read(self) -> Config:
        """Return the settings; refuse a file that cannot be read or has an invalid value."""
        values = _flatten(self._parse(self._text()))
        return Config({key: self._checked(key, value) for key, value in values.items() if key in SETTINGS})

    def unknown_keys(self) -> list[str]:
        """Return the keys of the file that this version does not know."""
        return [key for key in _flatten(self._parse(self._text())) if key not in SETTINGS]

    def change(self, changes: Mapping[str, Value | None]) -> None:
        """Set some values; None removes one."""
        text = self._text()
        self._parse(text)
        for key, value in changes.items():
            if value is None:
                text = unset_value(text, key)
            else:
                text = set_value(text, key, self._checked(key, value))
        replace_file(self.path, text)

    def _text(self) -> str:
        try:
            return self.path.read_text("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or "it is not UTF-8 text"
            raise Refused(
                f"{self.path} cannot be read: {reason}. Correct the file, or move it away."
            ) from None

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Refused(
                f"{self.path} is not valid TOML: {error}. Correct the file, or move it away."
            ) from None

    def _checked(self, key: str, value: Any) -> Any:
        try:
            return msgspec.to_builtins(msgspec.convert(value, SETTINGS[key].kind))
        except msgspec.ValidationError as error:
            allowed = setting_values(key)
            remedy = f"Use one of: {', '.join(allowed)}" if allowed else "Correct it"
            raise Refused(
                f"Invalid value for {key} in {self.path}: {error}. {remedy}, or remove it: "
                f"thinkaloud config unset {key}"
            ) from None


def setting_values(key: str) -> list[str]:
    """Return the values that a setting may have; empty if they are not limited."""
    kind = SETTINGS[key].kind
    if kind is bool:
        return ["true", "false"]
    if hasattr(kind, "__members__"):
        return [member.value for member in kind]
    return [str(value) for value in getattr(kind, "__args__", ()) if isinstance(value, str)]


def parse_setting(key: str, text: str) -> Value:
    """Return the value of a setting from what the user typed."""
    kind = SETTINGS[key].kind
    if kind is bool:
        if text.lower() in ("true", "yes", "on"):
            return True
        if text.lower() in ("false", "no", "off"):
            return False
        raise Refused(f"Invalid value for {key}: {text!r}. Use true or false.")
    if allowed := setting_values(key):
        if text in allowed:
            return text
        raise Refused(f"Invalid value for {key}: {text!r}. Use one of: {', '.join(allowed)}.")
    return int(text) if text.isdecimal() and kind is not str else text


def language_of(environ: Mapping[str, str]) -> str:
    """Return the language that the environment asks for, en-US if it is not one of ours.

    The first variable that is not empty decides, as everywhere: LC_ALL, then LC_MESSAGES, then LANG.
    """
    wanted = next((value for name in _LANGUAGE_VARIABLES if (value := environ.get(name))), "")
    language = wanted.partition(".")[0].partition("@")[0].replace("_", "-").lower()
    exact = next((locale for locale in LOCALES if locale.lower() == language), "")
    same_language = (locale for locale in LOCALES if locale.partition("-")[0] == language.partition("-")[0])
    return exact or next(same_language, _FALLBACK_LANGUAGE)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
