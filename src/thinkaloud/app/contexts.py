"""`thinkaloud context`: what of a conversation would be sent to a model, and the exact body."""

import argparse
import sys

from thinkaloud.app.settings import model_name, user_catalog
from thinkaloud.app.shared import DONE, text_of
from thinkaloud.client.prepare import Options, PreparedRequest, prepare
from thinkaloud.context import ContextMode, Fate, Unsupported, read_conversation
from thinkaloud.dialects.bodies import write
from thinkaloud.surfaces.terminal import clean, clean_json


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `context`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a conversation as JSON; - is standard input")
    add("--model", default="", metavar="M", help="the model to ask next (default: THINKALOUD_MODEL)")
    add("--thinking", default="", metavar="T", help="off, low, medium, high, max, or a number of tokens")
    add(
        "--mode",
        type=ContextMode,
        choices=tuple(ContextMode),
        default=ContextMode.PROVIDER_DEFAULT,
        help="thoughts to send back: all that are accepted, only those demanded, or as the provider "
        "recommends (the default)",
    )
    add(
        "--unsupported",
        type=Unsupported,
        choices=tuple(Unsupported),
        default=Unsupported.METADATA,
        help="thoughts of another model: keep them here (metadata, the default), leave them out, or tell "
        "them in a short note",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Report on stderr, body on stdout."""
    conversation = read_conversation(text_of(options.file, "a conversation as JSON"))
    asked = Options(
        context_mode=options.mode,
        unsupported=options.unsupported,
        tools=conversation.tools,
        catalog=user_catalog(),
    )
    ready = prepare(conversation, model=model_name(options.model), thinking=options.thinking, options=asked)
    _report(ready)
    print(clean_json(write(ready.route, ready.request).body.decode()))
    return DONE


def _report(ready: PreparedRequest) -> None:
    report = ready.report
    print(f"to {ready.route.model_id} at {ready.route.provider.name}", file=sys.stderr)
    for line in report.lines:
        place = f"step {line.step}" + ("" if line.block is None else f", block {line.block}")
        tokens = "" if line.tokens is None else f" ({line.tokens} tokens)"
        print(clean(f"{line.fate:<11} {place}: {line.kind}{tokens}. {line.why}"), file=sys.stderr)
    totals = ", ".join(f"{report.total(fate).blocks} {fate}" for fate in Fate)
    print(f"blocks: {totals}", file=sys.stderr)
    for note in ready.notes:
        print(clean(f"note: {note}"), file=sys.stderr)
