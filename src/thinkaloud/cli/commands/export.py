"""`thinkaloud export`: writes a session as a file, and sends its traces to a collector of OpenTelemetry."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from thinkaloud.cli.commands.sessions import one_line, run_with_gateway
from thinkaloud.cli.gateway_client import GatewayClient, add_server_options
from thinkaloud.cli.gateway_client.find import find_session
from thinkaloud.cli.output.console import EXIT_OK, STDIN, invalid_value, read_bytes
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.words import command_words
from thinkaloud.client.http import Client
from thinkaloud.core.canon import Refused, Wording, reason_of
from thinkaloud.core.catalog.rows import AuthScheme, Provider, RowSource
from thinkaloud.core.export import SpanContent, SpanOptions, ThinkingStyle, read_json, write_otlp
from thinkaloud.core.export.otlp import encode_request
from thinkaloud.surfaces.terminal import clean

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json", ".jsonl": "otlp"}
TRACES_PATH = "/v1/traces"
_COLLECTOR_AS_OF = "2026-11-18"
_PROTOBUF = "application/x-protobuf"
_HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
"""Headers for a collector, as every exporter of OpenTelemetry reads them: a=1,b=2."""


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    parser.add_argument(
        "session",
        metavar="SESSION",
        help="an id, the beginning of one, or `latest`; for traces also a session that was exported as "
        "FILE.json, or - for standard input",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write to a new file instead of stdout; - is stdout"
    )
    parser.add_argument(
        "--format",
        choices=tuple(_FORMATS.values()),
        help="text has no thoughts; markdown, json, and otlp with seals can be imported again "
        "(default: by the end of FILE, markdown without one)",
    )
    parser.add_argument(
        "--thinking",
        choices=tuple(style.value for style in ThinkingStyle),
        default=ThinkingStyle.DETAILS.value,
        help="how markdown writes thoughts; markers are lines, ---thinking--- and ---/thinking--- "
        "(default: details)",
    )
    parser.add_argument(
        "--content",
        choices=tuple(content.value for content in SpanContent),
        default=SpanContent.NONE.value,
        help="what otlp holds of the texts: none, messages without thoughts, thoughts as well, or seals, "
        "which is all that is stored (default: none)",
    )
    parser.add_argument(
        "--openinference", action="store_true", help="name everything in otlp as OpenInference does, too"
    )
    parser.add_argument("--turn", default="", metavar="ID", help="write only this turn as otlp")
    parser.add_argument(
        "--send",
        type=_collector,
        metavar="URL",
        help="send the traces to a collector, such as http://127.0.0.1:4318, and write nothing; headers are "
        f"taken from {_HEADERS_VARIABLE}",
    )
    add_server_options(parser)
    parser.set_defaults(run=_run_export)


def _run_export(options: argparse.Namespace) -> int:
    if not options.session.endswith(".json") and options.session != STDIN:
        return run_with_gateway(_export)(options)
    if options.send is None and options.format != "otlp":
        raise Refused("A file can be written as traces only. Add --format otlp or --send.")
    if options.turn:
        raise Refused("A file has no ids of turns. Leave out --turn.")
    return _export_file(options)


async def _export(client: GatewayClient, options: argparse.Namespace) -> int:
    session = await find_session(client, options.session)
    traced = {
        "content": options.content,
        "openinference": "true" if options.openinference else "false",
        "turn": options.turn,
    }
    if options.send is not None:
        return await _send(await client.export(session.id, "otlp", **traced), options.send)
    path = None if options.output in (None, STDIN) else Path(options.output)
    form = options.format or ("markdown" if path is None else _form_of(path))
    chosen = traced if form == "otlp" else {"thinking": options.thinking}
    return _write(await client.export(session.id, form, **chosen), path, form)


def _export_file(options: argparse.Namespace) -> int:
    """Export the traces of a session that was exported as JSON. This needs no gateway."""
    data = read_bytes(options.session, Wording("an exported session"))
    spans = SpanOptions(SpanContent(options.content), options.openinference)
    text = write_otlp(read_json(data), spans).decode()
    if options.send is not None:
        return asyncio.run(_send(text, options.send))
    path = None if options.output in (None, STDIN) else Path(options.output)
    return _write(text, path, "otlp")


def _write(text: str, path: Path | None, form: str) -> int:
    if path is not None:
        _write_new(path, text)
        print(command_words().text("written", name=one_line(str(path)), format=form), file=sys.stderr)
    elif sys.stdout.isatty():
        with paged():
            print(clean(text), end="")
    else:
        sys.stdout.write(text)
    return EXIT_OK


class _TracesRequest(NamedTuple):
    """A request to a collector: one trace."""

    path: str
    headers: dict[str, str]
    body: bytes


async def _send(text: str, collector: Provider) -> int:
    headers = {**_collector_headers(os.environ.get(_HEADERS_VARIABLE, "")), "content-type": _PROTOBUF}
    lines = text.splitlines()
    async with Client() as http:
        for line in lines:
            body = encode_request(msgspec.json.decode(line))
            await http.read_all(collector, _TracesRequest(TRACES_PATH, headers, body))
    print(
        command_words().text("traces_sent", n=len(lines), name=one_line(collector.base_url)), file=sys.stderr
    )
    return EXIT_OK


def _collector(url: str) -> Provider:
    """Parse the address of a collector, for argparse."""
    base = url.rstrip("/").removesuffix(TRACES_PATH)
    if not base.startswith(("http://", "https://")):
        raise invalid_value("{value} is not an address such as http://127.0.0.1:4318", value=repr(url))
    fact = RowSource(as_of=_COLLECTOR_AS_OF, source="--send")
    return Provider(name="collector", dialect="", base_url=base, auth=AuthScheme.NONE, local=True, fact=fact)


def _collector_headers(text: str) -> dict[str, str]:
    """Return the headers in `a=1,b=2`, with values as in a URL."""
    pairs = (pair.partition("=") for pair in text.split(",") if pair.strip())
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}


def _form_of(path: Path) -> str:
    """Return the format that the end of a file name means; refuse one that means none."""
    form = _FORMATS.get(path.suffix.lower() or ".md")
    if form is None:
        raise Refused(
            "The end of {name} names no format. End the name with {formats}, or give --format.",
            name=repr(path.name),
            formats=", ".join(_FORMATS),
        )
    return form


def _write_new(path: Path, text: str) -> None:
    """Write a file that only its owner can read. A file that exists is not replaced."""
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise Refused("{path} exists already. Choose another name, or remove it.", path=path) from None
    except OSError as error:
        raise Refused(
            "Cannot write {path}: {reason}. Choose another place.", path=path, reason=reason_of(error)
        ) from None
