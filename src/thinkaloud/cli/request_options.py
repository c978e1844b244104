"""The options of `ask` for files, for how the model picks its words, and for the shape of its answer."""

import argparse
from typing import Any

import msgspec

from thinkaloud.cli.output.console import read_bytes
from thinkaloud.client.json_schema import checked_schema
from thinkaloud.client.prepared_request import checked_sampling
from thinkaloud.core.canon import Refused
from thinkaloud.core.canon.requests import Sampling


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. What a model does not take is not sent, with a note."""
    add_option = parser.add_argument
    add_option(
        "-f",
        "--file",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="attach a file: an image, a PDF, an MP3 or WAV recording, or text; can be repeated",
    )
    add_option(
        "--temperature",
        type=float,
        metavar="X",
        help="how freely words are picked, from 0 to 2 (default: the model's)",
    )
    add_option(
        "--top-p", type=float, metavar="X", help="pick only from the likeliest words that make up this share"
    )
    add_option(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end the answer before this text; can be repeated",
    )
    add_option(
        "--seed", type=int, metavar="N", help="a number that makes answers repeatable, where models can"
    )
    add_option(
        "--schema",
        metavar="FILE",
        help="a JSON Schema that the answer must match; exit 1 if it does not (- reads standard input)",
    )
    add_option(
        "--extra",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="a further field of the request body, by name or dotted path; can be repeated",
    )


def sampling_of(options: argparse.Namespace) -> Sampling:
    """Return the sampling parameters of the command line."""
    return checked_sampling(
        Sampling(
            temperature=options.temperature,
            top_p=options.top_p,
            stop=tuple(options.stop),
            seed=options.seed,
            extra=dict(map(_extra_field, options.extra)),
        )
    )


def output_schema_of(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the JSON Schema that the answer must match, if there is one."""
    if not options.schema:
        return None
    data = read_bytes(options.schema, "a JSON Schema")
    try:
        schema = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            f"Invalid value for --schema: {options.schema} is not a JSON Schema: {error}."
        ) from None
    checked_schema(schema)
    return schema


def _extra_field(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    try:
        if name and equals:
            return name, msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError):
        pass
    raise Refused(f"Invalid value for --extra: {text!r}. Write NAME=JSON, for example top_k=40.")
