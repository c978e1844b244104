"""`thinkaloud config`: shows and changes the user's settings in `config.toml`."""

import argparse
import sys

from thinkaloud.cli.output.console import EXIT_OK, add_json_option, in_users_language, print_error, print_json
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.parser import add_actions, with_suggestion
from thinkaloud.client.config import SETTINGS, ConfigFile, parse_setting, setting_values
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.surfaces.terminal import clean


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `config`."""
    add_action = add_actions(parser)
    add_action("path", "print where the file is", "Print where the file with your settings is.", run_path)
    show_parser = add_action(
        "show",
        "list all settings",
        "List all settings with their values and meanings; - means that it is not set.",
        run_show,
    )
    add_json_option(show_parser, "one object with the settings that are set")
    set_parser = add_action(
        "set", "change a setting", "Change a setting. The rest of the file stays as it is.", run_set
    )
    unset_parser = add_action(
        "unset", "remove a setting", "Remove a setting, so that its default holds again.", run_unset
    )
    for action_parser in (set_parser, unset_parser):
        action_parser.add_argument("key", metavar="KEY", help="the setting, as `config show` lists it")
    set_parser.add_argument("value", metavar="VALUE", help="its new value")


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
    rows = []
    for key, setting in SETTINGS.items():
        value = config.values.get(key)
        values = setting_values(key)
        meaning = in_users_language(setting.meaning)
        meaning = f"{meaning}: {', '.join(values)}" if values else meaning
        rows.append((key, "-" if value is None else _shown(value), meaning))
    print_columns(rows, (Wording("setting"), Wording("value"), Wording("meaning")))
    for problem in config.problems:
        print_error(problem)
    if unknown := file.unknown_keys():
        text = in_users_language(
            Wording("Unknown in {path}, and ignored: {keys}.", path=file.path, keys=", ".join(unknown))
        )
        print(clean(text), file=sys.stderr)
    return EXIT_OK


def run_set(options: argparse.Namespace) -> int:
    """Change one setting."""
    key = _known(options.key)
    value = parse_setting(key, options.value)
    ConfigFile().change({key: value})
    print(clean(command_words().text("setting", name=key, value=_shown(value))), file=sys.stderr)
    return EXIT_OK


def run_unset(options: argparse.Namespace) -> int:
    """Remove one setting."""
    key = _known(options.key)
    ConfigFile().change({key: None})
    print(command_words().text("setting_removed", name=key), file=sys.stderr)
    return EXIT_OK


def _known(key: str) -> str:
    if key in SETTINGS:
        return key
    missing = Wording("There is no setting {key}.", key=repr(key))
    remedy = Wording("`thinkaloud config show` lists all settings.")
    raise Refused(wording=with_suggestion(missing, key, list(SETTINGS), remedy))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
