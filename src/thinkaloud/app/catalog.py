"""`thinkaloud models` and `thinkaloud route`: what the catalog knows, and what it would choose."""

import argparse
import asyncio
from collections.abc import Sequence

from thinkaloud.app.settings import user_catalog
from thinkaloud.app.shared import DONE
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Ask
from thinkaloud.catalog import Catalog, Provider, difference, listing, offers
from thinkaloud.client.http import Client
from thinkaloud.client.prompting import Options, has_key, prepare
from thinkaloud.surfaces.terminal import clean


def add_models(parser: argparse.ArgumentParser) -> None:
    """The options of `models`."""
    parser.add_argument("--thinking", action="store_true", help="only those that can think")
    parser.add_argument("action", nargs="?", choices=("refresh",), help="compare with a provider's own list")
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="whose list to read")
    parser.set_defaults(run=models)


def add_route(parser: argparse.ArgumentParser) -> None:
    """The options of `route`."""
    parser.add_argument("model", metavar="MODEL", help="provider/model or a model's name")
    parser.add_argument("--thinking", default="", metavar="T", help="off, low, medium, high, max, or tokens")
    parser.set_defaults(run=explain)


def models(options: argparse.Namespace) -> int:
    """List the models, or the difference to a provider's list."""
    catalog = user_catalog()
    if options.action == "refresh":
        return _refresh(catalog, options.provider or "")
    rows = [("model", "thinks", "asked by", "shows", "at", "as of")]
    for row in listing(catalog, thinking=options.thinking):
        control = "+".join(row.control) + (f" ({', '.join(row.efforts)})" if row.efforts else "")
        shows = row.visible.value if row.thinking != "none" else "-"
        rows.append((row.id, row.thinking.value, control or "-", shows, " ".join(row.providers), row.as_of))
    _print_columns(rows)
    return DONE


def explain(options: argparse.Namespace) -> int:
    """Say where a model would be asked, how, and why."""
    ready = prepare(
        "", model=options.model, thinking=options.thinking, options=Options(catalog=user_catalog())
    )
    route, ask = ready.route, ready.built.request.ask
    key = "there" if has_key(route.provider) else f"missing ({route.provider.key})"
    rows = [
        ("provider", f"{route.provider.name}, {route.provider.base_url or 'no address set'}"),
        ("model", route.model_id),
        ("dialect", route.provider.dialect),
        ("key", key if route.provider.key else "none needed"),
        ("thinking", _asked(ask) or "as the model does by itself"),
        ("goes back", route.replay.name),
        *(("why", reason) for reason in route.why),
        *(("note", note) for note in ready.notes),
    ]
    _print_columns(rows)
    return DONE


def _asked(ask: Ask) -> str:
    fields = ("mode", "effort", "level", "budget_tokens", "toggle", "display", "max_tokens")
    said = [f"{name} {value}" for name in fields if (value := getattr(ask, name)) not in ("", None)]
    return ", ".join([*said, *(f"{name}={value}" for name, value in ask.template)])


def _refresh(catalog: Catalog, name: str) -> int:
    listed = sorted(row.name for row in catalog.providers.values() if row.models_path)
    if name not in listed:
        raise Refused(f"No models list is known for {name!r}. Name one of: {', '.join(listed)}.")
    provider = catalog.providers[name]
    found = difference(catalog, name, offers(asyncio.run(_fetch(provider))))
    for title, names in (("new", found.new), ("gone", found.gone)):
        print(f"{title} at {name}: {', '.join(map(clean, names)) or 'none'}")
    for change in found.changed:
        print(
            clean(
                f"{change.id}: {change.field} is {change.theirs} there, {change.ours} in our row {change.row}"
            )
        )
    return DONE


async def _fetch(provider: Provider) -> bytes:
    async with Client() as client:
        return await client.fetch(provider, provider.models_path)


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print(clean("  ".join([*cells, row[-1]])).rstrip())
