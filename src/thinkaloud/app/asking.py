"""`thinkaloud ask`: one prompt, one answer, live."""

import argparse
import asyncio
import sys
from contextlib import aclosing

import msgspec

from thinkaloud.app.reading import summary
from thinkaloud.app.settings import model_name, user_catalog
from thinkaloud.app.shared import DONE, FAILED, STDIN, add_language, dim, pieces, positive
from thinkaloud.client.prompting import Options, entries
from thinkaloud.surfaces.plain import Plain, Show
from thinkaloud.surfaces.terminal import clean_json
from thinkaloud.transcript import Ending, Turn, apply

_FAILURES = (Ending.FAILED, Ending.CUT_OFF)


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `ask`."""
    add = parser.add_argument
    add("prompt", metavar="PROMPT", help="what to ask; - reads it from standard input")
    add(
        "--model",
        default="",
        metavar="M",
        help="provider/model or a model's name (default: THINKALOUD_MODEL)",
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
    add("--on-thinking-unavailable", choices=("error", "warn"), default="error", help="(default: error)")
    add("--format", choices=("plain", "json", "ndjson"), default="plain", help="as for read (default: plain)")
    add_language(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask and show."""
    prompt = options.prompt
    if prompt == STDIN:
        prompt = b"".join(pieces(STDIN)).decode(errors="replace")
    turn = asyncio.run(_ask(prompt, options))
    if options.format == "json":
        print(clean_json(msgspec.json.encode(summary(turn)).decode()))
    return FAILED if turn.outcome and turn.outcome.ending in _FAILURES else DONE


async def _ask(prompt: str, options: argparse.Namespace) -> Turn:
    asked = Options(
        system=options.system,
        max_tokens=options.max_tokens,
        on_thinking_unavailable=options.on_thinking_unavailable,
        catalog=user_catalog(),
    )
    plain = Plain(sys.stdout, sys.stderr, locale=options.lang, dim=dim(), show=options.show_thinking)
    turn = plain.turn
    told = entries(prompt, model=model_name(options.model), thinking=options.thinking, options=asked)
    async with aclosing(told):
        async for entry in told:
            if options.format == "plain":
                plain.feed(entry)
            else:
                apply(turn, entry)
            if options.format == "ndjson":
                print(clean_json(msgspec.json.encode(entry).decode()), flush=True)
    return turn
