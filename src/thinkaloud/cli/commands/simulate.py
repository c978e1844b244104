"""`thinkaloud simulate`: runs a simulated provider on this machine, for tests and experiments."""

import argparse
import sys
from pathlib import Path

import msgspec

from thinkaloud.cli.output.console import EXIT_OK, port
from thinkaloud.core.canon import Refused, reason_of
from thinkaloud.simulators import SIMULATOR_NAMES, serve_simulator


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `simulate`."""
    add_option = parser.add_argument
    add_option(
        "name",
        choices=tuple(SIMULATOR_NAMES),
        metavar="NAME",
        help="the provider: %(choices)s",
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
            "{script} is not a valid script: {reason}. Write a JSON list of turns, such as "
            '[{"thinking": "Easy.", "text": "Four."}].',
            script=options.script,
            reason=reason_of(error),
        ) from error
    except OSError as error:
        raise _refusal(options, error) from error
    return EXIT_OK


def _refusal(options: argparse.Namespace, error: OSError) -> Refused:
    if error.filename is not None:
        return Refused(
            "Cannot read {file}: {reason}. Give a file with a JSON list of turns.",
            file=error.filename,
            reason=reason_of(error),
        )
    return Refused(
        "Cannot listen on port {port}: {reason}. Use another --port, or leave it out to get a free port.",
        port=options.port,
        reason=reason_of(error),
    )
