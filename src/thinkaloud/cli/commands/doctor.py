"""`thinkaloud doctor`: checks what asking needs, and says for each problem what to do."""

import argparse
import asyncio
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from thinkaloud.cli.database import database_url
from thinkaloud.cli.output.console import (
    EXIT_FAILED,
    EXIT_OK,
    add_json_option,
    in_users_language,
    print_json,
    progress,
    users_language,
)
from thinkaloud.cli.output.portuguese import translate_header
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.settings import database_path, model_name, user_agents
from thinkaloud.client.config import ConfigFile
from thinkaloud.client.connections import connect_all, local_providers
from thinkaloud.client.key_store import credentials_path, key_source
from thinkaloud.client.prepared_request import Options, prepare, require_key
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.client.user_files import home_folder, write_remedy
from thinkaloud.core.canon import ThinkaloudError
from thinkaloud.extras import EXTRAS, install_command, installed, refuse_missing_extras
from thinkaloud.gateway.store.engine.disk import disk_problem, disk_remedy
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path

OK, NOTE, PROBLEM = "ok", "note", "problem"
_TRIAL_BYTES = 64 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Finding(msgspec.Struct, frozen=True):
    """What a check found: the state is `ok`, `note` or `problem`."""

    check: str
    state: str
    text: str


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    add_json_option(parser, "a list of findings")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Run all checks and print what they find; fail if there is a problem."""
    with progress("Checking..."):
        findings = [finding for name, check in _CHECKS.items() for finding in _guarded(name, check)]
    if options.json:
        print_json(findings)
    else:
        print_columns(list(map(_row, findings)), header=False)
    return EXIT_FAILED if any(finding.state == PROBLEM for finding in findings) else EXIT_OK


def _row(finding: Finding) -> tuple[str, str]:
    """Return the columns of a finding in the user's language, the first as wide as a problem."""
    state, check, problem = finding.state, finding.check, PROBLEM
    if users_language() == "pt-BR":
        state, check, problem = map(translate_header, (state, check, problem))
    return f"{state:<{len(problem)}}", f"{check}: {in_users_language(finding.text)}"


def _guarded(name: str, check: Callable[[], Iterator[tuple[str, str]]]) -> Iterator[Finding]:
    """Yield the findings of a check; an error of the product is a finding too, with its own remedy."""
    try:
        with refuse_missing_extras():
            for state, text in check():
                yield Finding(name, state, text)
    except ThinkaloudError as error:
        yield Finding(name, PROBLEM, str(error))


def _check_home() -> Iterator[tuple[str, str]]:
    folder = home_folder()
    if not folder.exists():
        parent = next((one for one in folder.parents if one.exists()), folder)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            yield NOTE, f"{folder} does not exist yet. It is created when something is stored."
        else:
            yield (
                PROBLEM,
                f"{folder} does not exist, and it cannot be created in {parent}. Set THINKALOUD_HOME to a "
                "folder that you can write, or ask with --no-save.",
            )
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield PROBLEM, f"{folder} cannot be read and written. Run: chmod u+rwx {folder}"
    else:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:  # only a write shows that the disk is full
                file.write(bytes(_TRIAL_BYTES))
        except OSError as error:
            yield PROBLEM, f"{folder} cannot be written: {error.strerror}. {write_remedy(error)}"
        else:
            yield OK, f"{folder} can be read and written."


def _check_settings() -> Iterator[tuple[str, str]]:
    file = ConfigFile()
    config = file.read()
    if unknown := file.unknown_keys():
        yield (
            NOTE,
            f"{file.path} has settings that this version does not know: {', '.join(unknown)}. Correct or "
            "remove them; `thinkaloud config show` lists all settings.",
        )
    for problem in config.problems:
        yield PROBLEM, problem
    if not file.path.exists():
        yield OK, f"{file.path} does not exist, so every setting has its default."
    elif not config.problems:
        yield OK, f"{file.path} is valid, with {len(config.values)} settings."
    yield OK, f"The language is {config.language}."


def _check_catalog_and_agents() -> Iterator[tuple[str, str]]:
    catalog = load_catalog()
    yield OK, f"The catalog has {len(catalog.models)} models at {len(catalog.providers)} providers."
    yield OK, f"There are {len(user_agents().agents)} agents."


def _check_credentials() -> Iterator[tuple[str, str]]:
    path = credentials_path()
    if not path.exists():
        yield OK, f"{path} does not exist; `thinkaloud keys set PROVIDER` stores a key."
    elif os.name == "posix" and path.stat().st_mode & _OTHERS:
        yield PROBLEM, f"{path} is readable by other users, so no key is read from it. Run: chmod 600 {path}"
    else:
        yield OK, f"{path} can be read only by you."


def _check_keys() -> Iterator[tuple[str, str]]:
    sources = {row.name: key_source(row) for row in load_catalog().providers.values() if row.key}
    for name, source in sources.items():
        if source:
            yield OK, f"{name} has a key ({source}). Check that it works: thinkaloud keys test {name}"
    if not any(sources.values()):
        yield (
            NOTE,
            "No provider has a key, so only the built-in model and local servers can be asked. "
            "Store one: thinkaloud keys set PROVIDER",
        )


def _check_default_model() -> Iterator[tuple[str, str]]:
    name = model_name()
    route = prepare("", model=name, options=Options(catalog=load_catalog())).route
    require_key(route)
    yield OK, f"{name}, asked at {route.provider.name}. Another one: thinkaloud config set model MODEL"


def _check_database() -> Iterator[tuple[str, str]]:
    if url := database_url():
        from thinkaloud.gateway.store.engine.postgres import check_postgres

        for passed, text in check_postgres(url):
            yield OK if passed else PROBLEM, text
        return
    path = database_path()
    if not path.exists():
        yield OK, f"{path} does not exist yet. It is created with the first stored turn."
        return
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if reason := disk_problem(error, path):
            yield PROBLEM, f"{path} cannot be checked: {reason}. {disk_remedy(reason)}"
            return
        result = str(error)
    if result != "ok":
        yield (
            PROBLEM,
            f"{path} is damaged or cannot be read: {result}. Stop the gateway, keep a copy of the file, and "
            "restore a backup, or move the file away to start with an empty one.",
        )
    elif not os.access(path, os.W_OK):
        yield PROBLEM, f"{path} cannot be written. Run: chmod u+w {path}"
    else:
        yield OK, f"{path} is intact, {path.stat().st_size / 1_000_000:.1f} MB."
        yield from _check_shared(path)


def _check_shared(path: Path) -> Iterator[tuple[str, str]]:
    if (
        os.name == "posix"
        and path.stat().st_mode & stat.S_IROTH
        and path.parent.stat().st_mode & stat.S_IXOTH
    ):
        yield NOTE, f"{path} is readable by other users of this machine. To keep it private: chmod 600 {path}"


def _check_gateway() -> Iterator[tuple[str, str]]:
    holder = lock_holder(lock_path(database_path()))
    if holder is None:
        yield OK, "No gateway runs for this folder. Start one: thinkaloud serve"
    elif holder.url:
        yield OK, f"A gateway runs at {holder.url}, process {holder.pid}."
    else:
        yield NOTE, f"Process {holder.pid} uses the database. Wait until it ends, or stop it."


def _check_local_servers() -> Iterator[tuple[str, str]]:
    providers = local_providers(load_catalog())
    answers = asyncio.run(connect_all(providers))
    for provider, answered in zip(providers, answers, strict=True):
        if answered:
            yield OK, f"{provider.name} answers at {provider.base_url}."
    silent = [provider.name for provider, answered in zip(providers, answers, strict=True) if not answered]
    if silent:
        yield (
            NOTE,
            f"Not running: {', '.join(silent)}. Start one to ask its models; base_url in your catalog.toml "
            "sets another address.",
        )


def _check_packages() -> Iterator[tuple[str, str]]:
    for extra in EXTRAS:
        if installed(extra):
            yield OK, f"The extra [{extra}] is installed."
        else:
            yield NOTE, f"The extra [{extra}] is not installed. Run: {install_command(extra)}"


_CHECKS: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "home": _check_home,
    "settings": _check_settings,
    "catalog": _check_catalog_and_agents,
    "credentials": _check_credentials,
    "keys": _check_keys,
    "default model": _check_default_model,
    "database": _check_database,
    "gateway": _check_gateway,
    "local servers": _check_local_servers,
    "packages": _check_packages,
}
