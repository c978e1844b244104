"""`thinkaloud simulate`: runs a simulated provider on this machine, for tests and experiments."""

import argparse
import sys
from pathlib import Path

import msgspec

from thinkaloud.cli.output.console import EXIT_OK, port
from thinkaloud.core.canon import Refused
from thinkaloud.simulators import SIMULATOR_NAMES, serve_simulator


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `simulate`."""
    add_option = parser.add_argument
    add_option(
        "name",
        choices=tuple(SIMULATOR_NAMES),
        metavar="NAME",
        help=f"the provider: {', '.join(SIMULATOR_NAMES)}",
    )
    add_option("--port", type=port, default=0, metavar="N", help="port to listen on (default: any free port)")
    add_option("--script", type=Path, metavar="FILE", help="the answers, as a JSON list of turns")
    parser.set_defaults(run=run_simulate)


def run_simulate(options: argparse.Namespace) -> int:
    """Serve until stopped. Only the address is printed to stdout, so that a script can read it."""

    def announce(url: str) -> None:
        print(url, flush=True)
        print(f"Simulating {options.name}; no model is asked. Press Ctrl-C to stop.", file=sys.stderr)

    try:
        serve_simulator(options.name, port=options.port, script_path=options.script, announce=announce)
    except msgspec.MsgspecError as error:
        raise Refused(
            f"{options.script} is not a valid script: {error}. Write a JSON list of turns, such as "
            '[{"thinking": "Easy.", "text": "Four."}].'
        ) from error
    except OSError as error:
        raise Refused(_error_text(options, error)) from error
    return EXIT_OK


def _error_text(options: argparse.Namespace, error: OSError) -> str:
    if error.filename is not None:
        return f"Cannot read {error.filename}: {error.strerror}. Give a file with a JSON list of turns."
    return (
        f"Cannot listen on port {options.port}: {error.strerror or error}. "
        "Use another --port, or leave it out to get a free port."
    )
