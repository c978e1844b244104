"""`thinkaloud backup`: copies the database into a file. The gateway may be running."""

import argparse
import sys
from pathlib import Path

from thinkaloud.cli.database import database_url
from thinkaloud.cli.output.console import EXIT_OK
from thinkaloud.cli.settings import database_path
from thinkaloud.core.canon import Refused
from thinkaloud.surfaces.terminal import clean


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `backup`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the new file; it must not exist")
    parser.set_defaults(run=run_backup)


def run_backup(options: argparse.Namespace) -> int:
    """Write the copy and report its size."""
    if database_url():
        raise Refused("Your sessions are in PostgreSQL, which has its own backup. Run: pg_dump")
    from thinkaloud.gateway.store.engine.sqlite import back_up

    size = back_up(database_path(), options.file)
    print(clean(f"Copied {database_path()} to {options.file} ({size:,} bytes)."), file=sys.stderr)
    return EXIT_OK
