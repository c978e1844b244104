"""`thinkaloud models` and `thinkaloud route`: what the catalog knows, and what it would choose."""

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Sequence
from textwrap import fill

from thinkaloud.app.settings import user_catalog
from thinkaloud.app.shared import DONE, print_columns
from thinkaloud.canon import Refused
from thinkaloud.canon.requests import Ask
from thinkaloud.catalog import Catalog, Provider, Replay, ReplayForm, Sent, difference, listing, offers
from thinkaloud.catalog.routing import ASSUMED
from thinkaloud.catalog.scale import rank
from thinkaloud.client.http import Client
from thinkaloud.client.prepare import Options, has_key, prepare
from thinkaloud.surfaces.terminal import clean

_LABELS = 11
_PROVIDERS_ON_A_LINE = 2
_TURNS = {
    Sent.NONE: "",
    Sent.OPEN_LOOP: "the open tool loop",
    Sent.TOOL_TURNS: "turns with tools",
    Sent.ALL: "all turns",
}


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
    rows = [("model", "thinks", "asked by", "shows", "at")]
    for row in listing(catalog, thinking=options.thinking):
        asked = " ".join(filter(None, ("+".join(row.control), _scale(row.efforts))))
        shows = row.visible.value if row.thinking != "none" else "-"
        rows.append((row.id, row.thinking.value, asked or "-", shows, _at(row.providers)))
    print_columns(rows)
    return DONE


def explain(options: argparse.Namespace) -> int:
    """Say where a model would be asked, how, and why."""
    ready = prepare(
        "", model=options.model, thinking=options.thinking, options=Options(catalog=user_catalog())
    )
    route, ask = ready.route, ready.request.ask
    provider, fact = route.provider, route.model.fact
    rows = [
        ("provider", f"{provider.name}, {provider.base_url or 'no address set'}"),
        ("model", route.model_id),
        ("dialect", provider.dialect),
        ("key", _key(provider)),
        ("thinking", _asked(ask) or "as the model does by itself"),
        *([("limit", f"{ask.max_tokens} tokens, thoughts included")] if ask.max_tokens else []),
        ("goes back", _goes_back(route.replay)),
        *(("why", reason) for reason in route.why),
        *(("note", note) for note in ready.notes),
        *([("as of", f"{fact.as_of}, {fact.source}")] if fact != ASSUMED else []),
    ]
    width = shutil.get_terminal_size().columns
    for name, said in rows:
        margin = f"{name:<{_LABELS}}"
        wrapped = fill(
            clean(said),
            width,
            initial_indent=margin,
            subsequent_indent=" " * _LABELS,
            break_long_words=False,
            break_on_hyphens=False,
        )
        print(wrapped)
    return DONE


def _key(provider: Provider) -> str:
    if not provider.key:
        return "none needed"
    return f"{'there' if has_key(provider) else 'missing'} ({provider.key})"


def _asked(ask: Ask) -> str:
    """What is asked of the model, in the words of `docs/reference/catalog.md`."""
    said = [f"{name} {value}" for name in ("mode", "effort", "level") if (value := getattr(ask, name))]
    if ask.budget_tokens is not None:
        said.append(f"budget {ask.budget_tokens} tokens")
    if ask.toggle is not None:
        said.append("on" if ask.toggle else "off")
    said += [f"{name}={json.dumps(value)}" for name, value in ask.template]
    return ", ".join([*said, *([f"display {ask.display}"] if ask.display else [])])


def _goes_back(replay: Replay) -> str:
    """Which thoughts of earlier turns are sent again, and in what shape."""
    turns = _TURNS[replay.default]
    if replay.form is ReplayForm.NONE or not turns:
        return "no thoughts"
    shape = f"in {replay.field}" if replay.form is ReplayForm.FIELD else "as they came"
    return f"thoughts of {turns}, {shape}"


def _at(providers: Sequence[str]) -> str:
    """Where a model is, the preferred first; a pipe gets them all, a terminal those that fit a line."""
    left_off = len(providers) - _PROVIDERS_ON_A_LINE if sys.stdout.isatty() else 0
    if left_off <= 0:
        return " ".join(providers)
    return f"{' '.join(providers[:_PROVIDERS_ON_A_LINE])} +{left_off}"


def _scale(words: Sequence[str]) -> str:
    """Words for a strength, with neighbours drawn together: low-high, max."""
    runs: list[list[str]] = []
    for word in words:
        if runs and rank(word) == rank(runs[-1][-1]) + 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return ", ".join(word for run in runs for word in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else run))


def _refresh(catalog: Catalog, name: str) -> int:
    listed = sorted(row.name for row in catalog.providers.values() if row.models_path)
    if name not in listed:
        what = f"No list of models is known for {name!r}" if name else "Nobody was named whose list to read"
        raise Refused(f"{what}. Name one of: {', '.join(listed)}.")
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
