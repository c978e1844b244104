"""Keys: found by reference, held so that only an explicit word shows them.

A key never stands in a row, a log, an error or a repr: rows hold a reference (`env:NAME`, `file:PATH`,
`keyring:SERVICE/USER`, `credentials:NAME.IN.THE.FILE`, or several with ` | ` between them), and what a
reference leads to is a `Secret`.
"""

import importlib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Never

from thinkaloud.canon.errors import KeyMissing
from thinkaloud.client.home import home_folder

MASK = "***"
CREDENTIALS_FILE = "credentials.toml"
MIN_KEY_CHARACTERS = 4
"""A shorter key would blacken ordinary words; no provider issues one."""


MIN_PIECE_CHARACTERS = 6
"""A shorter piece of a key tells nothing, and may be part of an ordinary word."""

REFERENCE_SEPARATOR = " | "
"""Between references of which the first that leads to a key is taken."""


class Secret:
    """A value that is shown as `***` wherever it is not asked for by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def header(self, prefix: str = "") -> str:
        """The value as it goes into a header; even a dump of the headers does not show it."""
        return _MaskedText(prefix + self._value)

    def mask_in(self, text: str) -> str:
        """The text with every copy of the value blackened: some servers quote the key they refuse.

        A quote may have been cut within the key or put into small letters, so its beginnings and ends count
        as well, in whatever case.
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
        raise TypeError("A Secret is not copied or stored. Keep its reference and resolve it again.")


def _mask(text: str, piece: str) -> str:
    return (
        re.sub(re.escape(piece), MASK, text, flags=re.IGNORECASE) if piece.lower() in text.lower() else text
    )


class _MaskedText(str):
    """Text that goes out as it is, and shows itself to nobody who prints what holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


def read_key_file(path: str) -> str:
    """The text of a key file; `~` is the user's folder."""
    return Path(path).expanduser().read_text("utf-8")


def resolve_key(
    reference: str, *, environ: Mapping[str, str], read_file: Callable[[str], str] = read_key_file
) -> Secret | None:
    """The key that a reference leads to; None where no key is needed.

    Raises `KeyMissing` when there is a reference and nothing, or nothing usable, behind it.
    """
    if not reference:
        return None
    problems: list[str] = []
    for candidate in reference.split(REFERENCE_SEPARATOR):
        key_or_problem = _look_up(candidate, environ, read_file)
        if isinstance(key_or_problem, Secret):
            return key_or_problem
        problems.append(key_or_problem)
    del environ  # it holds keys, and tools that print a traceback may print what its frames hold
    raise KeyMissing(" Or: ".join(problems))


def _look_up(reference: str, environ: Mapping[str, str], read_file: Callable[[str], str]) -> Secret | str:
    """The key, or what is wrong and what to do."""
    kind, _, name = reference.partition(":")
    match kind:
        case "env" if name:
            return _checked_key(environ.get(name, ""), name, f"Set it: export {name}=...")
        case "file" if name:
            return _from_file(name, read_file)
        case "keyring" if all(name.partition("/")):
            return _from_keyring(name)
        case "credentials" if all(name.split(".")):
            return _from_credentials(name, home_folder(environ) / CREDENTIALS_FILE)
    return (
        f"{kind}: is not a way to name a key, so none was sent. Write env:NAME, file:PATH, "
        "keyring:SERVICE/USER or credentials:NAME in the provider's row, and the key itself never."
    )


def _from_file(path: str, read_file: Callable[[str], str]) -> Secret | str:
    remedy = "Put the key there, alone on one line, and make it readable for you only."
    try:
        return _checked_key(read_file(path), f"The key file {path}", remedy)
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is not text"
        return f"The key file {path} cannot be read: {reason}. {remedy}"


def _from_credentials(name: str, path: Path) -> Secret | str:
    """A key from the user's own file: `ai.claude.api_token` is `api_token` in the table `ai.claude`."""
    table, _, field = name.rpartition(".")
    remedy = f'Put it into {path}: [{table}] {field} = "...", and let nobody but you read that file.'
    try:
        value: object = tomllib.loads(path.read_text("utf-8"))
        shared_mode = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) if os.name == "posix" else 0
    except FileNotFoundError:
        return f"There is no file of credentials, so there is no key {name}. {remedy}"
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is not TOML"
        return f"The file of credentials {path} cannot be read: {reason}. {remedy}"
    if shared_mode:
        return f"{path} can be read by others, so no key was taken from it. Take that away: chmod 600 {path}"
    for word in name.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return _checked_key(value if isinstance(value, str) else "", f"{name} in {path}", remedy)


def _from_keyring(name: str) -> Secret | str:
    service, _, user = name.partition("/")
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return (
            f"The key keyring:{name} cannot be looked up, because the package keyring is not installed. "
            "Install it, or name the key by env: or file:."
        )
    try:
        value = keyring.get_password(service, user)
    except Exception as error:  # noqa: BLE001 a keyring's own errors are known only where it is installed
        return (
            f"The keyring did not open ({type(error).__name__}), so there is no key keyring:{name}. "
            "Unlock it, or name the key by env: or file:."
        )
    return _checked_key(value or "", f"The keyring entry {name}", f"Set it: keyring set {service} {user}")


def _checked_key(value: str, source: str, remedy: str) -> Secret | str:
    key = value.strip()
    if not key:
        return f"{source} is {'empty' if value else 'not set'}, so there is no key to send. {remedy}"
    if not (key.isascii() and key.isprintable() and " " not in key):
        return (
            f"{source} holds something that is no key: spaces, line ends or letters beyond ASCII. "
            f"It was not sent. {remedy}"
        )
    return Secret(key)
