"""API keys: looked up by reference, and masked wherever they could be printed.

A key never appears in a row, a log, an error or a repr. Rows hold a reference (`env:NAME`, `file:PATH`,
`keyring:SERVICE/USER`, `credentials:NAME.IN.THE.FILE`, or several separated by ` | `), which resolves to a
`Secret`. If the variable of `env:NAME` is not set, the key that `thinkaloud keys set` stored under the same
name is used: from the keyring of the system, or from `[keys]` in the credentials file.
"""

import importlib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Never

from thinkaloud.client.user_files import home_folder
from thinkaloud.core.canon import Wording, reason_of
from thinkaloud.core.canon.errors import KeyMissing

MASK = "***"
CREDENTIALS_FILE = "credentials.toml"
STORED_KEYS = "keys"
"""The table of the credentials file with the keys that `thinkaloud keys set` stored."""
KEYRING_SERVICE = "thinkaloud"
MIN_KEY_CHARACTERS = 4
"""A shorter key would mask ordinary words; no provider issues one."""


MIN_PIECE_CHARACTERS = 6
"""A shorter piece of a key reveals nothing and may be part of an ordinary word."""

REFERENCE_SEPARATOR = " | "
"""Separates references; the first that resolves to a key is used."""


class Secret:
    """A value that prints as `***` unless `reveal` is called."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself."""
        return self._value

    def header(self, prefix: str = "") -> str:
        """Return the value for a header. Printing the headers does not reveal it."""
        return _MaskedText(prefix + self._value)

    def mask_in(self, text: str) -> str:
        """Mask every copy of the value in a text, because some servers quote the key they refuse.

        A quote may be truncated or lower-cased, so prefixes and suffixes of the key are masked too, in any
        case.
        """
        if len(self._value) < MIN_KEY_CHARACTERS:
            return text
        text = _mask(text, self._value)
        for size in range(len(self._value) - 1, MIN_PIECE_CHARACTERS - 1, -1):
            text = _mask(_mask(text, self._value[:size]), self._value[-size:])
        return text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return MASK

    def __reduce__(self) -> Never:
        raise TypeError("A Secret cannot be copied or pickled. Keep its reference and resolve it again.")


def _mask(text: str, piece: str) -> str:
    return (
        re.sub(re.escape(piece), MASK, text, flags=re.IGNORECASE) if piece.lower() in text.lower() else text
    )


class _MaskedText(str):
    """A string whose repr is masked. It is sent unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


def read_key_file(path: str) -> str:
    """Read a key file; `~` is the user's home."""
    return Path(path).expanduser().read_text("utf-8")


def resolve_key(
    reference: str, *, environ: Mapping[str, str], read_file: Callable[[str], str] = read_key_file
) -> Secret | None:
    """Resolve a reference to a key; None if no key is needed.

    Raises `KeyMissing` if the reference does not resolve to a usable key.
    """
    if not reference:
        return None
    problems: list[KeyProblem] = []
    for candidate in reference.split(REFERENCE_SEPARATOR):
        key_or_problem = _look_up(candidate, environ, read_file)
        if isinstance(key_or_problem, Secret):
            return key_or_problem
        problems.append(key_or_problem)
    del environ  # the environment holds keys, and tools that print a traceback may print local variables
    texts = list(dict.fromkeys(problem.text for problem in problems))
    faults = list(dict.fromkeys(problem.text for problem in problems if problem.fault))
    fault = Wording.join(faults) if faults else None
    raise KeyMissing(wording=Wording.join(texts, " Or: "), fault=fault)


class KeyProblem(NamedTuple):
    """Why a place gives no key, and what to do. A fault is more than an empty place: a key may be there."""

    text: Wording
    fault: bool = False


def _look_up(
    reference: str, environ: Mapping[str, str], read_file: Callable[[str], str]
) -> Secret | KeyProblem:
    """Return the key, or what is wrong and what to do."""
    kind, _, name = reference.partition(":")
    match kind:
        case "env" if name:
            return _from_environment(name, environ)
        case "file" if name:
            return _from_file(name, read_file)
        case "keyring" if all(name.partition("/")):
            return _from_keyring(name)
        case "credentials" if all(name.split(".")):
            return _from_credentials(name, home_folder(environ) / CREDENTIALS_FILE)
    return KeyProblem(
        Wording(
            "Unknown kind of key reference {kind}, so no key was sent. Use env:NAME, file:PATH, "
            "keyring:SERVICE/USER or credentials:NAME in the provider's row; never write the key "
            "itself there.",
            kind=repr(kind),
        ),
        fault=True,
    )


def _from_environment(name: str, environ: Mapping[str, str]) -> Secret | KeyProblem:
    """Return the key of a variable, else the one that is stored under the same name."""
    value = environ.get(name, "")
    if not value.strip():
        credentials = home_folder(environ) / CREDENTIALS_FILE
        stored = _from_credentials(f"{STORED_KEYS}.{name}", credentials)
        if isinstance(stored, Secret) or stored.fault:
            return stored
        if (ringed := keyring_password(KEYRING_SERVICE, name)) is not None:
            return _checked_key(
                ringed,
                Wording(
                    "The keyring entry {keyring_service}/{name}", keyring_service=KEYRING_SERVICE, name=name
                ),
                Wording("Set it again."),
            )
    return _checked_key(value, Wording.plain(name), Wording("Set it: export {name}=...", name=name))


def keyring_password(service: str, user: str) -> str | None:
    """Return a password of the system's keyring; None if it has none or there is no keyring to ask."""
    try:
        value = importlib.import_module("keyring").get_password(service, user)
    except Exception:  # noqa: BLE001 without the package, or with a keyring that cannot be opened, there is none
        return None
    return value if isinstance(value, str) else None


def _from_file(path: str, read_file: Callable[[str], str]) -> Secret | KeyProblem:
    remedy = Wording("Put the key there, alone on one line, with file mode 600.")
    try:
        return _checked_key(read_file(path), Wording("The key file {path}", path=path), remedy)
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else Wording("it is not text")
        return KeyProblem(
            Wording(
                "The key file {path} cannot be read: {reason}. {remedy}",
                path=path,
                reason=reason,
                remedy=remedy,
            ),
            fault=True,
        )


def _from_credentials(name: str, path: Path) -> Secret | KeyProblem:
    """Read a key from the user's credentials file: `ai.claude.api_token` is `api_token` in `[ai.claude]`."""
    table, _, field = name.rpartition(".")
    remedy = Wording(
        'Add it to {path} (mode 600): [{table}] {field} = "..."', path=path, table=table, field=field
    )
    try:
        value: object = tomllib.loads(path.read_text("utf-8"))
        shared_mode = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) if os.name == "posix" else 0
    except FileNotFoundError:
        return KeyProblem(
            Wording(
                "No credentials file found, so there is no key {name}. {remedy}", name=name, remedy=remedy
            )
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else Wording("it is not valid TOML")
        return KeyProblem(
            Wording(
                "The credentials file {path} cannot be read: {reason}. Correct it.", path=path, reason=reason
            ),
            fault=True,
        )
    if shared_mode:
        return KeyProblem(
            Wording(
                "{path} is readable by other users, so no key was read from it. Run: chmod 600 {path}",
                path=path,
            ),
            fault=True,
        )
    for word in name.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return _checked_key(
        value if isinstance(value, str) else "", Wording("{name} in {path}", name=name, path=path), remedy
    )


def _from_keyring(name: str) -> Secret | KeyProblem:
    service, _, user = name.partition("/")
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return KeyProblem(
            Wording(
                "The key keyring:{name} cannot be read, because the package keyring is not "
                "installed. Install it, or use an env: or file: reference.",
                name=name,
            ),
            fault=True,
        )
    try:
        value = keyring.get_password(service, user)
    except Exception as error:  # noqa: BLE001 the keyring backend's exception types are unknown here
        return KeyProblem(
            Wording(
                "The keyring could not be opened ({problem}), so there is no key keyring:{name}. "
                "Unlock it, or use an env: or file: reference.",
                problem=type(error).__name__,
                name=name,
            ),
            fault=True,
        )
    return _checked_key(
        value or "",
        Wording("The keyring entry {name}", name=name),
        Wording("Set it: keyring set {service} {user}", service=service, user=user),
    )


def _checked_key(value: str, source: Wording, remedy: Wording) -> Secret | KeyProblem:
    key = value.strip()
    if not key:
        return KeyProblem(
            Wording(
                "{source} is {state}, so there is no key to send. {remedy}",
                source=source,
                state=Wording("empty") if value else Wording("not set"),
                remedy=remedy,
            )
        )
    if not valid_key(key):
        return KeyProblem(
            Wording(
                "{source} is not a valid key: it contains spaces, line breaks or non-ASCII "
                "characters. It was not sent. {remedy}",
                source=source,
                remedy=remedy,
            ),
            fault=True,
        )
    return Secret(key)


def valid_key(key: str) -> bool:
    """Return whether a text can be sent as a key."""
    return key.isascii() and key.isprintable() and " " not in key
