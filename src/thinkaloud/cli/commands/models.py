"""`thinkaloud models` and `thinkaloud route`: list the catalog, and explain which provider it chooses."""

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime

from thinkaloud.cli.output.console import (
    EXIT_OK,
    add_json_option,
    add_thinking_option,
    in_users_language,
    print_json,
    progress,
)
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.table import print_columns, table_lines
from thinkaloud.client.http import Client
from thinkaloud.client.prepared_request import Options, has_key, prepare
from thinkaloud.client.user_catalog import add_rows, load_catalog, user_catalog_path
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.core.canon.requests import ThinkingParameters
from thinkaloud.core.catalog import (
    Catalog,
    Provider,
    ReplayForm,
    ReplayRow,
    ReplayScope,
    compare_models,
    list_models,
    new_rows,
    read_reported_models,
)
from thinkaloud.core.catalog.levels import effort_rank
from thinkaloud.core.catalog.routing import ASSUMED_FACT
from thinkaloud.surfaces.terminal import clean

_PROVIDERS_PER_LINE = 2
_REPLAYED_TURNS = {
    ReplayScope.NONE: "",
    ReplayScope.OPEN_LOOP: "the open tool loop",
    ReplayScope.TOOL_TURNS: "turns with tools",
    ReplayScope.ALL: "all turns",
}


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options of `models`."""
    parser.add_argument("--thinking", action="store_true", help="list only models that can think")
    add_json_option(parser, "a list of models with all fields of the catalog")
    parser.add_argument(
        "action", nargs="?", choices=("refresh",), help="compare the catalog with PROVIDER's list"
    )
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="the provider whose list is read")
    parser.add_argument(
        "--write", action="store_true", help="with refresh: add rows for new models to your catalog.toml"
    )
    parser.set_defaults(run=run_models)


def add_route(parser: argparse.ArgumentParser) -> None:
    """Add the options of `route`."""
    parser.add_argument("model", metavar="MODEL", help="a model, or provider/model")
    add_thinking_option(parser)
    parser.set_defaults(run=run_route)


def run_models(options: argparse.Namespace) -> int:
    """List the models, or the differences to a provider's list."""
    catalog = load_catalog()
    if options.action == "refresh":
        return _refresh(catalog, options.provider or "", write=options.write)
    models = list_models(catalog, today=datetime.now(UTC).date().isoformat(), thinking=options.thinking)
    if options.json:
        print_json(models)
        return EXIT_OK
    rows = []
    for row in models:
        controls = " ".join(filter(None, ("+".join(row.control), _effort_ranges(row.efforts))))
        shows = row.visible.value if row.thinking != "none" else "-"
        name = f"{row.id} (family)" if row.family else row.id
        rows.append((name, row.thinking.value, controls or "-", shows, _provider_names(row.providers)))
    with paged():
        print_columns(
            rows, (Wording("model"), Wording("thinks"), Wording("asked by"), Wording("shows"), Wording("at"))
        )
    return EXIT_OK


def run_route(options: argparse.Namespace) -> int:
    """Print which provider a request would go to, how thinking is requested, and why."""
    prepared = prepare(
        "", model=options.model, thinking=options.thinking, options=Options(catalog=load_catalog())
    )
    route = prepared.route
    provider = route.provider
    thinking = prepared.request.thinking
    fact = route.model.fact
    rows = [
        ("provider", f"{provider.name}, {provider.base_url or 'no address set'}"),
        ("model", route.model_id),
        ("dialect", provider.dialect),
        ("key", _key_status(provider)),
        ("thinking", _thinking_request(thinking) or "as the model does by itself"),
    ]
    if thinking.max_tokens:
        rows.append(("limit", f"{thinking.max_tokens} tokens, thoughts included"))
    rows.append(("goes back", _replayed_thoughts(route.replay)))
    rows += [("why", reason) for reason in route.why]
    rows += [("note", in_users_language(note)) for note in prepared.notes]
    if fact != ASSUMED_FACT:
        rows.append(("as of", f"{fact.as_of}, {fact.source}"))
    for line in table_lines(rows, shutil.get_terminal_size().columns, header=False):
        print(line)
    return EXIT_OK


def _key_status(provider: Provider) -> str:
    if not provider.key:
        return "none needed"
    status = "there" if has_key(provider) else "missing"
    return f"{status} ({provider.key})"


def _thinking_request(ask: ThinkingParameters) -> str:
    """Return the thinking parameters in the words of `docs/reference/catalog.md`."""
    parts = []
    for name in ("mode", "effort", "level"):
        if value := getattr(ask, name):
            parts.append(f"{name} {value}")
    if ask.budget_tokens is not None:
        parts.append(f"budget {ask.budget_tokens} tokens")
    if ask.toggle is not None:
        parts.append("on" if ask.toggle else "off")
    parts += [f"{name}={json.dumps(value)}" for name, value in ask.template]
    if ask.display:
        parts.append(f"display {ask.display}")
    return ", ".join(parts)


def _replayed_thoughts(replay: ReplayRow) -> str:
    """Return which thoughts of earlier turns are sent back, and in what form."""
    turns = _REPLAYED_TURNS[replay.default]
    if replay.form is ReplayForm.NONE or not turns:
        return "no thoughts"
    shape = f"in {replay.field}" if replay.form is ReplayForm.FIELD else "as they came"
    return f"thoughts of {turns}, {shape}"


def _provider_names(providers: Sequence[str]) -> str:
    """Return the providers of a model, the preferred first; on a terminal only those that fit the line."""
    omitted = len(providers) - _PROVIDERS_PER_LINE if sys.stdout.isatty() else 0
    if omitted <= 0:
        return " ".join(providers)
    return f"{' '.join(providers[:_PROVIDERS_PER_LINE])} +{omitted}"


def _effort_ranges(efforts: Sequence[str]) -> str:
    """Return effort levels with neighbours joined: low-high, max."""
    runs: list[list[str]] = []
    for effort in efforts:
        if runs and effort_rank(effort) == effort_rank(runs[-1][-1]) + 1:
            runs[-1].append(effort)
        else:
            runs.append([effort])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else run
    return ", ".join(parts)


def _refresh(catalog: Catalog, name: str, *, write: bool) -> int:
    provider_names = sorted(row.name for row in catalog.providers.values() if row.models_path)
    if name not in provider_names:
        problem = Wording("`models refresh` needs a provider")
        if name:
            problem = Wording("{name} has no list of models", name=repr(name))
        raise Refused("{problem}. Use one of: {names}.", problem=problem, names=", ".join(provider_names))
    provider = catalog.providers[name]
    with progress(Wording("Reading the list of {name}...", name=name)):
        reported = read_reported_models(asyncio.run(_fetch_models(provider)))
    changes = compare_models(catalog, name, reported)
    rows = new_rows(catalog, provider, reported, date.today().isoformat()) if write else ""
    for title, names in (("new", changes.new), ("gone", changes.gone)):
        print(f"{title} at {name}: {', '.join(map(clean, names)) or 'none'}")
    for change in changes.changed:
        values = f"{change.provider_value} at {name}, {change.catalog_value} in the catalog row {change.row}"
        print(clean(f"{change.id}: {change.field} is {values}"))
    if write:
        count = rows.count("[models.")
        path = add_rows(rows) if rows else user_catalog_path()
        print(f"{count} {'row' if count == 1 else 'rows'} added to {path}.")
    return EXIT_OK


async def _fetch_models(provider: Provider) -> bytes:
    async with Client() as client:
        return await client.fetch(provider, provider.models_path)
