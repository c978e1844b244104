"""`thinkaloud ask`: one prompt, one answer, live."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext

import msgspec

from thinkaloud.app import builtin_model
from thinkaloud.app.reading import summary
from thinkaloud.app.settings import model_name, user_catalog
from thinkaloud.app.shared import DONE, FAILED, STDIN, STOPPED, add_language, dim, pieces, positive
from thinkaloud.canon import Entry, Finish, Refused, TurnEnded
from thinkaloud.catalog import Catalog
from thinkaloud.client import steady_clock
from thinkaloud.client.prompting import Options, entries
from thinkaloud.surfaces.plain import Plain, Show
from thinkaloud.surfaces.terminal import clean_json
from thinkaloud.transcript import Ending, Turn, apply, stopped

_CODES = {Ending.FAILED: FAILED, Ending.CUT_OFF: FAILED, Ending.CANCELLED: STOPPED}


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `ask`."""
    add = parser.add_argument
    add("prompt", metavar="PROMPT", help="what to ask; - reads it from standard input")
    add(
        "--model",
        default="",
        metavar="M",
        help="provider/model or a model's name (default: THINKALOUD_MODEL, else builtin/solver)",
    )
    add("--thinking", default="", metavar="T", help="off, low, medium, high, max, or a number of tokens")
    add("--system", default="", metavar="S", help="instructions for the model")
    add("--max-tokens", type=positive, metavar="N", help="the most the answer may take, thoughts included")
    add(
        "--show-thinking",
        choices=tuple(Show),
        default=Show.SHOW,
        type=Show,
        help="how much of the thinking to show (default: show)",
    )
    add(
        "--on-thinking-unavailable",
        choices=("error", "warn"),
        default="error",
        help="when thinking is asked for and cannot be had: do not ask (error, the default), or ask without "
        "it and say so",
    )
    add(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object at the end; ndjson: the events "
        "with their times",
    )
    add_language(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask and show. Stopped by Ctrl-C, the turn ends as cancelled, with what was said."""
    plain = Plain(sys.stdout, sys.stderr, locale=options.lang, dim=dim(), show=options.show_thinking)
    turn = plain.turn

    def show(entry: Entry) -> None:
        if options.format == "plain":
            plain.feed(entry)
            return
        apply(turn, entry)
        if options.format == "ndjson":
            print(clean_json(msgspec.json.encode(entry).decode()), flush=True)

    try:
        asyncio.run(_ask(_prompt(options.prompt), options, show))
    except KeyboardInterrupt:
        for entry in _stopped(turn):
            show(entry)
    if options.format == "json" and turn.outcome is not None:
        print(clean_json(msgspec.json.encode(summary(turn)).decode()))
    return STOPPED if turn.outcome is None else _CODES.get(turn.outcome.ending, DONE)


def _prompt(given: str) -> str:
    prompt = b"".join(pieces(STDIN)).decode(errors="replace") if given == STDIN else given
    if prompt.strip():
        return prompt
    raise Refused(
        "The prompt is empty, so nothing was asked. Write it in quotes, or pipe it in and use - in its place."
    )


async def _ask(prompt: str, options: argparse.Namespace, show: Callable[[Entry], None]) -> None:
    model = model_name(options.model)
    async with _catalog(model) as catalog:
        asked = Options(
            system=options.system,
            max_tokens=options.max_tokens,
            on_thinking_unavailable=options.on_thinking_unavailable,
            catalog=catalog,
        )
        async with aclosing(entries(prompt, model=model, thinking=options.thinking, options=asked)) as told:
            async for entry in told:
                show(entry)


def _catalog(model: str) -> AbstractAsyncContextManager[Catalog]:
    catalog = user_catalog()
    return builtin_model.reachable(catalog) if builtin_model.meant_by(model) else nullcontext(catalog)


def _stopped(turn: Turn) -> Iterator[Entry]:
    """The end of a turn that a person stopped; nothing where none had begun."""
    if turn.seq < 0:
        return
    at_ms = steady_clock()()
    for seq, event in enumerate(stopped(turn, TurnEnded(Finish.CANCELLED)), turn.seq + 1):
        yield Entry(seq, event, at_ms)
