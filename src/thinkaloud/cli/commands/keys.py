"""`thinkaloud keys`: stores, lists, tests and removes API keys. A key is never printed."""

import argparse
import asyncio
import getpass
import sys

import msgspec

from thinkaloud.cli.output.console import (
    EXIT_FAILED,
    EXIT_OK,
    STDIN,
    add_json_option,
    in_users_language,
    print_error,
    print_json,
    progress,
    read_chunks,
)
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.parser import add_actions, with_suggestion
from thinkaloud.client.http import Client
from thinkaloud.client.key_store import key_fault, key_name, key_source, remove_key, store_key
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import Refused, ThinkaloudError, Wording
from thinkaloud.core.catalog import AuthScheme, Catalog, Provider, read_reported_models


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `keys`."""
    add_action = add_actions(parser)
    set_parser = add_action(
        "set",
        "store the key of a provider",
        "Store the key of a provider. It is asked for without being shown, or read from a pipe: "
        "pass show openai | thinkaloud keys set openai",
        run_set,
    )
    set_parser.add_argument(
        "provider", metavar="PROVIDER", help="the provider, as `thinkaloud keys list` shows it"
    )
    list_parser = add_action(
        "list",
        "list providers and where their keys come from",
        "List the providers that need a key, and where each key comes from, but no key.",
        run_list,
    )
    add_json_option(list_parser, "a list of providers")
    test_parser = add_action(
        "test",
        "check that keys work",
        "Ask providers for their lists of models, which costs nothing, to check that keys work.",
        run_test,
    )
    test_parser.add_argument(
        "providers", nargs="*", metavar="PROVIDER", help="the providers (default: all that have a key)"
    )
    remove_parser = add_action(
        "remove",
        "remove a stored key",
        "Remove the stored key of a provider. An environment variable is not changed.",
        run_remove,
    )
    remove_parser.add_argument("provider", metavar="PROVIDER", help="the provider")


def run_set(options: argparse.Namespace) -> int:
    """Store the key that is typed or piped in."""
    provider = _provider(load_catalog(), options.provider)
    name = key_name(provider)
    if sys.stdin.isatty():
        key = _typed_key(command_words().text("key_prompt", name=provider.name))
    else:
        key = b"".join(read_chunks(STDIN)).decode(errors="replace")
    place = store_key(name, key)
    words = command_words()
    check = words.text("check_key", name=f"thinkaloud keys test {provider.name}")
    print(f"{words.text('key_stored', name=name, place=place)} {check}", file=sys.stderr)
    return EXIT_OK


def _typed_key(prompt: str) -> str:
    """Return what is typed; nothing after Ctrl-D. What follows begins on a line of its own."""
    try:
        return getpass.getpass(prompt)
    except EOFError:
        print(file=sys.stderr)
        return ""
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise


def run_list(options: argparse.Namespace) -> int:
    """List the providers that need a key."""
    providers = load_catalog().providers.values()
    for fault in dict.fromkeys(map(key_fault, providers)):
        if fault:
            print_error(fault)
    rows: list[dict[str, str | bool]] = []
    for provider in providers:
        if provider.key:
            source = key_source(provider)
            rows.append(
                {"provider": provider.name, "key": bool(source), "source": source, "reference": provider.key}
            )
    if options.json:
        print_json(rows)
        return EXIT_OK
    rows.sort(key=lambda row: not row["key"])
    with paged():
        print_columns(
            [(str(row["provider"]), str(row["source"]) or "-", str(row["reference"])) for row in rows],
            (Wording("provider"), Wording("key"), Wording("looked for in")),
        )
    return EXIT_OK


def run_test(options: argparse.Namespace) -> int:
    """Ask each provider for its list of models."""
    catalog = load_catalog()
    if options.providers:
        providers = [_provider(catalog, name) for name in options.providers]
    else:
        providers = [
            row for row in catalog.providers.values() if row.key and row.models_path and key_source(row)
        ]
    if not providers:
        raise Refused("No provider has a key. Store one: thinkaloud keys set PROVIDER")
    with progress(Wording("Asking {names}...", names=", ".join(provider.name for provider in providers))):
        results = asyncio.run(_test_all(providers))
    rows = []
    for provider, (_, text) in zip(providers, results, strict=True):
        rows.append((f"{provider.name}: {in_users_language(text)}",))
    print_columns(rows)
    return EXIT_OK if all(works for works, _ in results) else EXIT_FAILED


async def _test_all(providers: list[Provider]) -> list[tuple[bool, Wording]]:
    async with Client() as client:
        return await asyncio.gather(*(_test(client, provider) for provider in providers))


async def _test(client: Client, provider: Provider) -> tuple[bool, Wording]:
    if not provider.models_path:
        return False, Wording("has no list of models, so the key cannot be tested without asking a model.")
    try:
        models = read_reported_models(await client.fetch(provider, provider.models_path))
    except ThinkaloudError as error:
        return False, error.wording
    if await _answers_without_key(client, provider):
        return True, Wording(
            "answers, but its list of models is public, so the key is not proved. Ask a model."
        )
    return True, Wording("works; {count} models listed", count=len(models))


async def _answers_without_key(client: Client, provider: Provider) -> bool:
    """Return whether the list of models is public. A key that nobody looked at is not proved to work."""
    anonymous = msgspec.structs.replace(provider, auth=AuthScheme.NONE, key="")
    try:
        await client.fetch(anonymous, provider.models_path)
    except ThinkaloudError:
        return False
    return True


def run_remove(options: argparse.Namespace) -> int:
    """Remove a stored key."""
    provider = _provider(load_catalog(), options.provider)
    name = key_name(provider)
    places = remove_key(name)
    if not places:
        raise Refused(
            "No key is stored for {name}. `thinkaloud keys list` shows where keys come from.",
            name=provider.name,
        )
    print(command_words().text("key_removed", name=name, places=", ".join(places)), file=sys.stderr)
    return EXIT_OK


def _provider(catalog: Catalog, name: str) -> Provider:
    if name in catalog.providers:
        return catalog.providers[name]
    missing = Wording("There is no provider {name}.", name=repr(name))
    remedy = Wording("`thinkaloud keys list` lists the providers with keys.")
    raise Refused(wording=with_suggestion(missing, name, list(catalog.providers), remedy))
