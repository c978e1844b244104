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
from msgspec.structs import asdict

from thinkaloud.cli.database import database_url
from thinkaloud.cli.output.console import (
    EXIT_FAILED,
    EXIT_OK,
    add_json_option,
    in_users_language,
    print_json,
    progress,
)
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.settings import database_path, model_name, user_agents
from thinkaloud.client.config import ConfigFile
from thinkaloud.client.connections import connect_all, local_providers
from thinkaloud.client.key_store import credentials_path, key_source
from thinkaloud.client.prepared_request import Options, prepare, require_key
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.client.user_files import home_folder, write_remedy
from thinkaloud.core.canon import ThinkaloudError, Wording, reason_of
from thinkaloud.extras import EXTRAS, install_command, installed, refuse_missing_extras
from thinkaloud.gateway.store.engine.disk import disk_problem, disk_remedy
from thinkaloud.gateway.store.engine.file_lock import lock_holder, lock_path

OK, NOTE, PROBLEM = Wording("ok"), Wording("note"), Wording("problem")
_Found = tuple[Wording, Wording]
"""The state of what a check found, and what it is."""
_TRIAL_BYTES = 64 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Finding(msgspec.Struct, frozen=True):
    """What a check found: the state is `ok`, `note` or `problem`."""

    check: Wording
    state: Wording
    text: Wording


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    add_json_option(parser, "a list of findings")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Run all checks and print what they find; fail if there is a problem."""
    findings: list[Finding] = []
    with progress(Wording("Checking...")):
        for name, check in _CHECKS.items():
            findings += _guarded(name, check)
    if options.json:
        print_json([_in_english(finding) for finding in findings])
    else:
        print_columns([_row(finding) for finding in findings])
    failed = any(finding.state == PROBLEM for finding in findings)
    return EXIT_FAILED if failed else EXIT_OK


def _in_english(finding: Finding) -> dict[str, str]:
    """Return a finding for programs, which must not depend on the user's language."""
    return {name: str(text) for name, text in asdict(finding).items()}


def _row(finding: Finding) -> tuple[str, str]:
    """Return the columns of a finding in the user's language, the first as wide as a problem."""
    width = len(in_users_language(PROBLEM))
    state = in_users_language(finding.state)
    check = in_users_language(finding.check)
    return state.ljust(width), f"{check}: {in_users_language(finding.text)}"


def _guarded(name: Wording, check: Callable[[], Iterator[_Found]]) -> Iterator[Finding]:
    """Yield the findings of a check; an error of the product is a finding too, with its own remedy."""
    try:
        with refuse_missing_extras():
            for state, text in check():
                yield Finding(name, state, text)
    except ThinkaloudError as error:
        yield Finding(name, PROBLEM, error.wording)


def _ok(template: str, /, **fields: object) -> _Found:
    return OK, Wording(template, **fields)


def _note(template: str, /, **fields: object) -> _Found:
    return NOTE, Wording(template, **fields)


def _problem(template: str, /, **fields: object) -> _Found:
    return PROBLEM, Wording(template, **fields)


def _check_home() -> Iterator[_Found]:
    folder = home_folder()
    if not folder.exists():
        parent = next((one for one in folder.parents if one.exists()), folder)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            yield _note("{folder} does not exist yet. It is created when something is stored.", folder=folder)
        else:
            yield _problem(
                "{folder} does not exist, and it cannot be created in {parent}. Set "
                "THINKALOUD_HOME to a folder that you can write, or ask with --no-save.",
                folder=folder,
                parent=parent,
            )
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield _problem("{folder} cannot be read and written. Run: chmod u+rwx {folder}", folder=folder)
    else:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:  # only a write shows that the disk is full
                file.write(bytes(_TRIAL_BYTES))
        except OSError as error:
            yield _problem(
                "{folder} cannot be written: {reason}. {remedy}",
                folder=folder,
                reason=reason_of(error),
                remedy=write_remedy(error),
            )
        else:
            yield _ok("{folder} can be read and written.", folder=folder)


def _check_settings() -> Iterator[_Found]:
    file = ConfigFile()
    config = file.read()
    if unknown := file.unknown_keys():
        yield _note(
            "{path} has settings that this version does not know: {unknown}. Correct or remove "
            "them; `thinkaloud config show` lists all settings.",
            path=file.path,
            unknown=", ".join(unknown),
        )
    for problem in config.problems:
        yield PROBLEM, problem
    if not file.path.exists():
        yield _ok("{path} does not exist, so every setting has its default.", path=file.path)
    elif not config.problems:
        yield _ok("{path} is valid, with {count} settings.", path=file.path, count=len(config.values))
    yield _ok("The language is {language}.", language=config.language)


def _check_catalog_and_agents() -> Iterator[_Found]:
    catalog = load_catalog()
    yield _ok(
        "The catalog has {count} models at {providers_count} providers.",
        count=len(catalog.models),
        providers_count=len(catalog.providers),
    )
    yield _ok("There are {count} agents.", count=len(user_agents().agents))


def _check_credentials() -> Iterator[_Found]:
    path = credentials_path()
    if not path.exists():
        yield _ok("{path} does not exist; `thinkaloud keys set PROVIDER` stores a key.", path=path)
    elif os.name == "posix" and path.stat().st_mode & _OTHERS:
        yield _problem(
            "{path} is readable by other users, so no key is read from it. Run: chmod 600 {path}",
            path=path,
        )
    else:
        yield _ok("{path} can be read only by you.", path=path)


def _check_keys() -> Iterator[_Found]:
    sources = {row.name: key_source(row) for row in load_catalog().providers.values() if row.key}
    for name, source in sources.items():
        if source:
            yield _ok(
                "{name} has a key ({source}). Check that it works: thinkaloud keys test {name}",
                name=name,
                source=source,
            )
    if not any(sources.values()):
        yield _note(
            "No provider has a key, so only the built-in model and local servers can be asked. "
            "Store one: thinkaloud keys set PROVIDER"
        )


def _check_default_model() -> Iterator[_Found]:
    name = model_name()
    route = prepare("", model=name, options=Options(catalog=load_catalog())).route
    require_key(route)
    yield _ok(
        "{name}, asked at {provider_name}. Another one: thinkaloud config set model MODEL",
        name=name,
        provider_name=route.provider.name,
    )


def _check_database() -> Iterator[_Found]:
    if url := database_url():
        from thinkaloud.gateway.store.engine.postgres import check_postgres

        for passed, text in check_postgres(url):
            yield OK if passed else PROBLEM, text
        return
    path = database_path()
    if not path.exists():
        yield _ok("{path} does not exist yet. It is created with the first stored turn.", path=path)
        return
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        if reason := disk_problem(error, path):
            remedy = disk_remedy(reason)
            yield _problem(
                "{path} cannot be checked: {reason}. {remedy}", path=path, reason=reason, remedy=remedy
            )
            return
        result = str(error)
    if result != "ok":
        yield _problem(
            "{path} is damaged or cannot be read: {result}. Stop the gateway, keep a copy of the "
            "file, and restore a backup, or move the file away to start with an empty one.",
            path=path,
            result=result,
        )
    elif not os.access(path, os.W_OK):
        yield _problem("{path} cannot be written. Run: chmod u+w {path}", path=path)
    else:
        yield _ok(
            "{path} is intact, {st_size} MB.", path=path, st_size=f"{path.stat().st_size / 1000000:.1f}"
        )
        yield from _check_shared(path)


def _check_shared(path: Path) -> Iterator[_Found]:
    if os.name != "posix":
        return
    readable = path.stat().st_mode & stat.S_IROTH
    reachable = path.parent.stat().st_mode & stat.S_IXOTH
    if readable and reachable:
        yield _note(
            "{path} is readable by other users of this machine. To keep it private: chmod 600 {path}",
            path=path,
        )


def _check_gateway() -> Iterator[_Found]:
    holder = lock_holder(lock_path(database_path()))
    if holder is None:
        yield _ok("No gateway runs for this folder. Start one: thinkaloud serve")
    elif holder.url:
        yield _ok("A gateway runs at {url}, process {pid}.", url=holder.url, pid=holder.pid)
    else:
        yield _note("Process {pid} uses the database. Wait until it ends, or stop it.", pid=holder.pid)


def _check_local_servers() -> Iterator[_Found]:
    providers = local_providers(load_catalog())
    answers = asyncio.run(connect_all(providers))
    silent: list[str] = []
    for provider, answered in zip(providers, answers, strict=True):
        if answered:
            yield _ok("{name} answers at {base_url}.", name=provider.name, base_url=provider.base_url)
        else:
            silent.append(provider.name)
    if silent:
        yield _note(
            "Not running: {silent}. Start one to ask its models; base_url in your catalog.toml "
            "sets another address.",
            silent=", ".join(silent),
        )


def _check_packages() -> Iterator[_Found]:
    for extra in EXTRAS:
        if installed(extra):
            yield _ok("The extra [{extra}] is installed.", extra=extra)
        else:
            yield _note(
                "The extra [{extra}] is not installed. Run: {command}",
                extra=extra,
                command=install_command(extra),
            )


_CHECKS: dict[Wording, Callable[[], Iterator[_Found]]] = {
    Wording("home"): _check_home,
    Wording("settings"): _check_settings,
    Wording("catalog"): _check_catalog_and_agents,
    Wording("credentials"): _check_credentials,
    Wording("keys"): _check_keys,
    Wording("default model"): _check_default_model,
    Wording("database"): _check_database,
    Wording("gateway"): _check_gateway,
    Wording("local servers"): _check_local_servers,
    Wording("packages"): _check_packages,
}
