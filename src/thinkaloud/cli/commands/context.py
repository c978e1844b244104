"""`thinkaloud context`: shows which parts of a conversation would be sent, and the exact request body."""

import argparse
import sys

from thinkaloud.cli.output.console import EXIT_OK, add_thinking_option, read_bytes
from thinkaloud.cli.settings import model_name
from thinkaloud.client.prepared_request import Options, PreparedRequest, prepare
from thinkaloud.client.user_catalog import load_catalog
from thinkaloud.core.canon import Wording
from thinkaloud.core.canon.requests import Request
from thinkaloud.core.context import ContextMode, SendStatus, UnsupportedThoughts, read_conversation
from thinkaloud.core.dialects import build_request
from thinkaloud.surfaces.terminal import clean, clean_json


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `context`."""
    add_option = parser.add_argument
    add_option("file", metavar="FILE", help="a conversation as JSON; - reads standard input")
    add_option(
        "--model", default="", metavar="M", help="the model for the next request (default: THINKALOUD_MODEL)"
    )
    add_thinking_option(parser)
    add_option(
        "--mode",
        type=ContextMode,
        choices=tuple(ContextMode),
        default=ContextMode.PROVIDER_DEFAULT,
        help="thoughts to send back: all that the provider accepts (keep), only those it requires (strip), "
        "or those it recommends (provider_default, the default)",
    )
    add_option(
        "--unsupported",
        type=UnsupportedThoughts,
        choices=tuple(UnsupportedThoughts),
        default=UnsupportedThoughts.METADATA,
        help="thoughts of another model: keep them here without sending them (metadata, the default), leave "
        "them out (strip), or send them as a short note (note)",
    )
    parser.set_defaults(run=run_context)


def run_context(options: argparse.Namespace) -> int:
    """Print the report to stderr and the request body to stdout."""
    conversation = read_conversation(read_bytes(options.file, Wording("a conversation as JSON")))
    request_options = Options(
        context_mode=options.mode,
        unsupported=options.unsupported,
        tools=conversation.tools,
        catalog=load_catalog(),
    )
    prepared = prepare(
        conversation, model=model_name(options.model), thinking=options.thinking, options=request_options
    )
    _print_report(prepared)
    print(clean_json(build_request(prepared.route, prepared.request).body.decode()))
    return EXIT_OK


def _print_report(prepared: PreparedRequest) -> None:
    report = prepared.report
    print(f"to {prepared.route.model_id} at {prepared.route.provider.name}", file=sys.stderr)
    if marks := _cache_marks(prepared.request):
        print(f"cache: {marks}", file=sys.stderr)
    for line in report.lines:
        place = f"step {line.step}" + ("" if line.block is None else f", block {line.block}")
        tokens = "" if line.tokens is None else f" ({line.tokens} tokens)"
        print(clean(f"{line.status:<11} {place}: {line.kind}{tokens}. {line.reason}"), file=sys.stderr)
    totals = ", ".join(f"{report.total(status).blocks} {status}" for status in SendStatus)
    print(f"blocks: {totals}", file=sys.stderr)
    for note in prepared.notes:
        print(clean(f"note: {note}"), file=sys.stderr)


def _cache_marks(request: Request) -> str:
    """Return where the request has cache marks, in words."""
    cache = request.cache
    marks = [name for name, marked in (("tools", cache.tools), ("system prompt", cache.system)) if marked]
    marks += [f"message {position + 1} of {len(request.messages)}" for position in cache.messages]
    if marks:
        return f"marks after {', '.join(marks)}"
    if cache.automatic:
        return "marks are placed by the provider"
    return f"key {cache.key}" if cache.key else ""
