"""The user's settings in `config.toml`: default model, language, thinking and display.

The file is the only place where the settings of the user of this machine are kept. The command line, the
terminal and the gateway read and change the same values there. Comments and unknown keys survive a change.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from thinkaloud.client.toml_edit import Value, set_value, unset_value
from thinkaloud.client.user_files import home_folder, locked_folder, replace_file
from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.core.view import LOCALES, PRESETS, Policy, read_policy

CONFIG_NAME = "config.toml"
_LANGUAGE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_FALLBACK_LANGUAGE = "en-US"
_ContextMode = Literal["keep", "strip", "provider_default"]
"""As in `thinkaloud.core.context`, which would triple the time to read the settings."""
DISPLAY_PREFIX = "thinking.display."
_MAX_CHARACTERS = 256 * 1024
"""A file of settings has a few lines. A larger one would take seconds to parse, in every command."""

ModelSetting = Annotated[str, msgspec.Meta(max_length=200)]
ThinkingText = Annotated[str, msgspec.Meta(pattern="^(off|low|medium|high|max|[0-9]{1,7})?$")]
ExpandKey = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(((Ctrl|Alt|Shift|Meta)\+){1,4}[A-Z][A-Za-z0-9]{1,20}|F[0-9]{1,2})?$",
        description="The shortcut that opens and closes all thinking, such as Alt+KeyE; empty for none.",
    ),
]
_ThinkingTokens = Annotated[int, msgspec.Meta(ge=0, le=9_999_999)]


class Setting(NamedTuple):
    """A setting of the file: the type of its value, what it means, and what a valid value looks like."""

    kind: Any
    meaning: Wording
    form: Wording | None = None


_DISPLAY_MEANINGS = {
    "preset": Wording("the preset that the other display settings override"),
    "while_streaming": Wording("how a live thought is shown"),
    "after_complete": Wording("how a completed thought is shown"),
    "auto_close": Wording("whether a thought that was opened automatically closes automatically"),
    "header": Wording("what the header line of a thought contains"),
    "show_thinking": Wording("whether completed thoughts are shown"),
    "remember": Wording("where showing and hiding is remembered"),
    "live_region": Wording("what a screen reader announces"),
}
SETTINGS: Mapping[str, Setting] = {
    "model": Setting(
        ModelSetting,
        Wording("the model that answers if none is named"),
        Wording("the name of a model, at most 200 characters"),
    ),
    "title_model": Setting(
        ModelSetting,
        Wording("the model that writes the titles of conversations; without it, the first question"),
        Wording("the name of a model, at most 200 characters"),
    ),
    "database": Setting(
        Annotated[str, msgspec.Meta(pattern="^(postgres(ql)?://.*)?$", max_length=2_000)],
        Wording("the PostgreSQL in which a gateway stores everything"),
        Wording("an address that begins with postgresql://, or empty for a SQLite file"),
    ),
    "language": Setting(Literal[tuple(LOCALES)], Wording("the language of labels and notices")),
    "thinking.level": Setting(
        ThinkingText | _ThinkingTokens,
        Wording("how much models think: off, low, medium, high, max, or tokens"),
        Wording("off, low, medium, high, max, or a number of tokens up to 9999999"),
    ),
    "thinking.context_mode": Setting(_ContextMode, Wording("which earlier thoughts are sent back to models")),
    **{
        f"{DISPLAY_PREFIX}{field.name}": Setting(field.type, _DISPLAY_MEANINGS[field.name])
        for field in msgspec.structs.fields(Policy)
    },
    f"{DISPLAY_PREFIX}preset": Setting(Literal[tuple(PRESETS)], _DISPLAY_MEANINGS["preset"]),
    "chat.theme": Setting(Literal["dark", "light"], Wording("the colours of the chat in a terminal")),
    "page.render": Setting(Literal["markdown", "plain"], Wording("how the page draws the text of thoughts")),
    "page.expand_key": Setting(
        ExpandKey,
        Wording("the key of the page that opens and closes all thinking"),
        Wording("a shortcut such as Alt+KeyE, Ctrl+Shift+KeyT or F9"),
    ),
}


class Config:
    """The settings as the file has them, by dotted key. What the file does not set is not there."""

    def __init__(self, values: Mapping[str, Any] | None = None, problems: tuple[Wording, ...] = ()) -> None:
        self.values = dict(values or {})
        self.problems = problems
        """What is wrong with values of the file, which were left out, and what to do about each."""

    def text(self, key: str) -> str:
        """Return a setting as text, empty if it is not set."""
        return str(self.values.get(key, ""))

    @property
    def display(self) -> Policy:
        """The display policy: the preset that is set, overridden by the other settings."""
        return read_policy(
            {
                key.removeprefix(DISPLAY_PREFIX): value
                for key, value in self.values.items()
                if key.startswith(DISPLAY_PREFIX)
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
        """Return the settings without those that have an invalid value; refuse a file that cannot be read."""
        values: dict[str, Any] = {}
        problems: list[Wording] = []
        for key, value in self._values(self._text()).items():
            if key in SETTINGS:
                try:
                    values[key] = self._checked(key, value)
                except Refused as error:
                    problems.append(error.wording)
        return Config(values, tuple(problems))

    def unknown_keys(self) -> list[str]:
        """Return the keys of the file that this version does not know."""
        return [key for key in self._values(self._text()) if key not in SETTINGS]

    def change(self, changes: Mapping[str, Value | None]) -> None:
        """Set some values; None removes one. Changes of several processes at once are all kept."""
        with locked_folder(self.path), self._refuse_invalid_toml():
            text = self._text()
            self._values(text)
            for key, value in changes.items():
                if value is None:
                    text = unset_value(text, key)
                else:
                    text = set_value(text, key, self._checked(key, value))
            replace_file(self.path, text)

    def _text(self) -> str:
        try:
            with open(self.path, encoding="utf-8") as file:
                text = file.read(_MAX_CHARACTERS + 1)
        except FileNotFoundError:
            return ""
        except NotADirectoryError:
            raise Refused(
                "{parent} is not a folder. Set THINKALOUD_HOME to a folder.", parent=self.path.parent
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or Wording("it is not UTF-8 text")
            raise Refused(
                "{path} cannot be read: {reason}. Correct the file, or move it away.",
                path=self.path,
                reason=reason,
            ) from None
        if len(text) > _MAX_CHARACTERS:
            raise Refused(
                "{path} has more than {max_characters} characters, too many for settings. Shorten "
                "the file, or move it away.",
                path=self.path,
                max_characters=f"{_MAX_CHARACTERS:,}",
            )
        return text

    def _values(self, text: str) -> dict[str, Any]:
        """Return the values of the file by dotted key."""
        with self._refuse_invalid_toml():
            return _flatten(tomllib.loads(text))

    @contextmanager
    def _refuse_invalid_toml(self) -> Iterator[None]:
        try:
            yield
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            reason = (
                Wording("it is nested too deeply") if isinstance(error, RecursionError) else reason_of(error)
            )
            raise Refused(
                "{path} is not valid TOML: {reason}. Correct the file, or move it away.",
                path=self.path,
                reason=reason,
            ) from None

    def _checked(self, key: str, value: Any) -> Any:
        try:
            return msgspec.to_builtins(msgspec.convert(value, SETTINGS[key].kind))
        except msgspec.ValidationError:
            allowed = ", ".join(setting_values(key))
            remedy = Wording("one of: {allowed}", allowed=allowed) if allowed else SETTINGS[key].form
            raise Refused(
                "Invalid value for {key} in {path}: {value}. Use {remedy}, or remove it: thinkaloud "
                "config unset {key}",
                key=key,
                path=self.path,
                value=f"{value!r:.80}",
                remedy=remedy,
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
        raise Refused("Invalid value for {key}: {text}. Use true or false.", key=key, text=repr(text))
    if allowed := setting_values(key):
        if text in allowed:
            return text
        raise Refused(
            "Invalid value for {key}: {text}. Use one of: {allowed}.",
            key=key,
            text=repr(text),
            allowed=", ".join(allowed),
        )
    try:
        msgspec.convert(text, kind)
    except msgspec.ValidationError:
        raise Refused(
            "Invalid value for {key}: {text}. Use {form}.",
            key=key,
            text=f"{text!r:.80}",
            form=SETTINGS[key].form,
        ) from None
    if not text and key != "page.expand_key":  # an empty shortcut means that there is none
        raise Refused(
            "Invalid value for {key}: it is empty. Use {form}, or remove the setting: thinkaloud "
            "config unset {key}",
            key=key,
            form=SETTINGS[key].form,
        )
    return int(text) if text.isdecimal() and key == "thinking.level" else text


def language_of(environ: Mapping[str, str]) -> str:
    """Return the language that the environment asks for, en-US if it is not one of ours.

    The first variable that is not empty decides, as everywhere: LC_ALL, then LC_MESSAGES, then LANG.
    """
    values = [environ.get(name, "") for name in _LANGUAGE_VARIABLES]
    wanted = next(filter(None, values), "")
    # pt_BR.UTF-8 and pt_BR@euro are pt-BR.
    wanted = wanted.partition(".")[0].partition("@")[0].replace("_", "-").lower()
    for locale in LOCALES:
        if locale.lower() == wanted:
            return locale
    for locale in LOCALES:
        if locale.partition("-")[0] == wanted.partition("-")[0]:
            return locale
    return _FALLBACK_LANGUAGE


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
