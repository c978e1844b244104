"""`thinkaloud simulate`: a provider on this machine, for tests and for trying things out."""

import argparse
from pathlib import Path

import msgspec

from thinkaloud.app.shared import DONE
from thinkaloud.canon import Refused
from thinkaloud.simulators import NAMES, run


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `simulate`."""
    parser.add_argument("name", choices=tuple(NAMES), metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--port", type=int, default=0, metavar="N", help="(default: one that is free)")
    parser.add_argument("--script", type=Path, metavar="FILE", help="turns to answer with, as JSON")
    parser.set_defaults(run=serve)


def serve(options: argparse.Namespace) -> int:
    """Serve until stopped."""
    try:
        run(options.name, port=options.port, script_path=options.script, announce=print)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise Refused(f"{options.name} cannot be simulated: {error}") from error
    return DONE
