"""`thinkaloud config`: shows and changes the user's settings in `config.toml`."""

import argparse
import sys

from thinkaloud.canon import Refused
from thinkaloud.cli.console import EXIT_OK, add_json_option, print_error, print_json
from thinkaloud.cli.parser import did_you_mean
from thinkaloud.cli.table import print_columns
from thinkaloud.client.config import SETTINGS, ConfigFile, parse_setting, setting_values
from thinkaloud.surfaces.terminal import clean


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `config`."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    path_parser = actions.add_parser(
        "path", help="print where the file is", description="Print where the file with your settings is."
    )
    path_parser.set_defaults(run=run_path)
    show_parser = actions.add_parser(
        "show",
        help="list all settings",
        description="List all settings with their values and meanings; - means that it is not set.",
    )
    add_json_option(show_parser, "one object with the settings that are set")
    show_parser.set_defaults(run=run_show)
    set_parser = actions.add_parser(
        "set", help="change a setting", description="Change a setting. The rest of the file stays as it is."
    )
    set_parser.add_argument("key", metavar="KEY", help="the setting, as `config show` lists it")
    set_parser.add_argument("value", metavar="VALUE", help="its new value")
    set_parser.set_defaults(run=run_set)
    unset_parser = actions.add_parser(
        "unset", help="remove a setting", description="Remove a setting, so that its default holds again."
    )
    unset_parser.add_argument("key", metavar="KEY", help="the setting, as `config show` lists it")
    unset_parser.set_defaults(run=run_unset)


def run_path(options: argparse.Namespace) -> int:
    """Print the path of the file."""
    print(ConfigFile().path)
    return EXIT_OK


def run_show(options: argparse.Namespace) -> int:
    """List the settings."""
    file = ConfigFile()
    config = file.read()
    if options.json:
        print_json(config.values)
        return EXIT_OK
    rows = [("setting", "value", "meaning")]
    for key, setting in SETTINGS.items():
        value = config.values.get(key)
        values = setting_values(key)
        meaning = f"{setting.meaning}: {', '.join(values)}" if values else setting.meaning
        rows.append((key, "-" if value is None else _shown(value), meaning))
    print_columns(rows)
    for problem in config.problems:
        print_error(problem)
    if unknown := file.unknown_keys():
        print(f"Unknown in {file.path}, and ignored: {', '.join(unknown)}.", file=sys.stderr)
    return EXIT_OK


def run_set(options: argparse.Namespace) -> int:
    """Change one setting."""
    key = _known(options.key)
    value = parse_setting(key, options.value)
    ConfigFile().change({key: value})
    print(clean(f"{key} is {_shown(value)}."), file=sys.stderr)
    return EXIT_OK


def run_unset(options: argparse.Namespace) -> int:
    """Remove one setting."""
    key = _known(options.key)
    ConfigFile().change({key: None})
    print(f"{key} is not set; its default holds.", file=sys.stderr)
    return EXIT_OK


def _known(key: str) -> str:
    if key in SETTINGS:
        return key
    suggestion = did_you_mean(key, list(SETTINGS)) or "."
    raise Refused(f"There is no setting {key!r}{suggestion} `thinkaloud config show` lists all settings.")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
