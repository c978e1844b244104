"""Stores API keys for `thinkaloud keys`: in the keyring of the system, else in the credentials file.

A key is stored under the name of the environment variable that the provider's row reads, so that providers
which share a key share the stored one. `thinkaloud.client.keys` finds it there. The credentials file is
written with mode 600, and replaced at once so that nobody reads half of it.
"""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path

from thinkaloud.client.keys import (
    CREDENTIALS_FILE,
    KEYRING_SERVICE,
    REFERENCE_SEPARATOR,
    STORED_KEYS,
    keyring_password,
    resolve_key,
    valid_key,
)
from thinkaloud.client.toml_edit import set_value, unset_value
from thinkaloud.client.user_files import home_folder, locked_folder, replace_file
from thinkaloud.core.canon import KeyMissing, Refused, Wording, reason_of
from thinkaloud.core.catalog import Provider

KEYRING = "the keyring"


def credentials_path() -> Path:
    """Return the path of the credentials file."""
    return home_folder() / CREDENTIALS_FILE


def key_name(provider: Provider) -> str:
    """Return the name under which the provider's key is stored; refuse a provider that takes none."""
    if not provider.key:
        raise Refused("{name} needs no key.", name=provider.name)
    for reference in provider.key.split(REFERENCE_SEPARATOR):
        kind, _, name = reference.partition(":")
        if kind == "env" and name:
            return name
    raise Refused(
        "The row of {name} reads its key from {key}. Put the key there.", name=provider.name, key=provider.key
    )


def store_key(name: str, key: str) -> str:
    """Store a key and return where: the keyring, or the path of the credentials file."""
    key = key.strip()
    if not key:
        raise Refused("The key is empty, so nothing was stored.")
    if not valid_key(key):
        raise Refused(
            "This is not a valid key: it contains spaces, line breaks or non-ASCII characters. "
            "Nothing was stored."
        )
    if _store_in_keyring(name, key):
        _change_credentials(name, None)
        return KEYRING
    _change_credentials(name, key)
    return str(credentials_path())


def remove_key(name: str) -> list[str]:
    """Remove a stored key and return the places where it was."""
    places: list[str] = []
    if keyring_password(KEYRING_SERVICE, name) is not None:
        importlib.import_module("keyring").delete_password(KEYRING_SERVICE, name)
        places.append(KEYRING)
    if _change_credentials(name, None):
        places.append(str(credentials_path()))
    return places


def key_source(provider: Provider, environ: Mapping[str, str] = os.environ) -> str:
    """Return where the provider's key comes from; empty if it has none."""
    for reference in provider.key.split(REFERENCE_SEPARATOR):
        try:
            resolve_key(reference, environ=environ)
        except KeyMissing:
            continue
        kind, _, name = reference.partition(":")
        if kind == "env":
            return f"variable {name}" if environ.get(name, "").strip() else f"stored as {name}"
        return reference
    return ""


def key_fault(provider: Provider, environ: Mapping[str, str] = os.environ) -> Wording | None:
    """Return why a key that may be there cannot be read; None if there is a key or simply none."""
    try:
        resolve_key(provider.key, environ=environ)
    except KeyMissing as error:
        return error.fault
    return None


def _store_in_keyring(name: str, key: str) -> bool:
    """Return whether the keyring took the key. Many systems have the package but nothing that keeps keys."""
    try:
        keyring = importlib.import_module("keyring")
        keyring.set_password(KEYRING_SERVICE, name, key)
    except Exception:  # noqa: BLE001 the exception types of keyrings are unknown here; the file is used instead
        return False
    return keyring_password(KEYRING_SERVICE, name) == key


def _change_credentials(name: str, key: str | None) -> bool:
    """Set or remove a key in the credentials file. Return whether the file changed."""
    path = credentials_path()
    if key is None and not path.exists():
        return False
    with locked_folder(path):
        changed = _changed_credentials(path, name, key)
        if changed is not None:
            replace_file(path, changed, mode=0o600)
    return changed is not None


def _changed_credentials(path: Path, name: str, key: str | None) -> str | None:
    """Return the text of the credentials file after a change; None if it stays the same."""
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        entry = f"{STORED_KEYS}.{name}"
        changed = unset_value(text, entry) if key is None else set_value(text, entry, key)
    except (ValueError, RecursionError):  # not UTF-8, or not TOML
        raise Refused(
            "{path} is not valid TOML, so it was not changed. Correct the file.", path=path
        ) from None
    except OSError as error:
        raise Refused(
            "{path} cannot be read: {reason}. Check its permissions.", path=path, reason=reason_of(error)
        ) from None
    return None if changed == text else changed
