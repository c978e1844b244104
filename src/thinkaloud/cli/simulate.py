"""`thinkaloud simulate`: a provider on this machine, for tests and for trying things out."""

import argparse
import sys
from pathlib import Path

import msgspec

from thinkaloud.canon import Refused
from thinkaloud.cli.console import EXIT_OK
from thinkaloud.simulators import SIMULATOR_NAMES, serve_simulator

_MAX_PORT = 65_535


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `simulate`."""
    add_option = parser.add_argument
    add_option("name", choices=tuple(SIMULATOR_NAMES), metavar="NAME", help=", ".join(SIMULATOR_NAMES))
    add_option("--port", type=_port, default=0, metavar="N", help="where to listen (default: any free port)")
    add_option("--script", type=Path, metavar="FILE", help="turns to answer with, as a JSON list")
    parser.set_defaults(run=run_simulate)


def run_simulate(options: argparse.Namespace) -> int:
    """Serve until stopped; the address is alone on stdout, so that a script can take it."""

    def announce(url: str) -> None:
        print(url, flush=True)
        print(f"{options.name} is simulated there; no model is asked. Ctrl-C stops it.", file=sys.stderr)

    try:
        serve_simulator(options.name, port=options.port, script_path=options.script, announce=announce)
    except msgspec.MsgspecError as error:
        raise Refused(
            f"{options.script} is no script: {error}. Write a JSON list of turns, such as "
            '[{"thinking": "Easy.", "text": "Four."}].'
        ) from error
    except OSError as error:
        raise Refused(_error_text(options, error)) from error
    return EXIT_OK


def _error_text(options: argparse.Namespace, error: OSError) -> str:
    if error.filename is not None:
        return f"{error.filename} cannot be read: {error.strerror}. Name a file with a JSON list of turns."
    return (
        f"{options.name} cannot listen on port {options.port}: it is taken, or not yours to take. "
        "Name another with --port, or none to get one that is free."
    )


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= _MAX_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 1 to {_MAX_PORT}, or 0 for a free one")
