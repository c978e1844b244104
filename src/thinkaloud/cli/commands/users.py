"""`thinkaloud users` and `thinkaloud tokens`: manage users and API tokens, also while the gateway runs."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from thinkaloud.cli.database import database_url, open_home_database
from thinkaloud.cli.output.console import EXIT_OK, add_json_option, print_json
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.table import print_columns
from thinkaloud.cli.parser import add_actions
from thinkaloud.cli.settings import database_path, user_agents
from thinkaloud.core.canon import Refused, ThinkaloudError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from thinkaloud.gateway.store.rows import ApiToken


class CommandOutput(NamedTuple):
    """The output of a command: a table for stdout, which scripts read, and a note for stderr."""

    table: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    rows: tuple[msgspec.Struct, ...] = ()
    """The values of a list, for `--json`."""


class ThinkingRule(msgspec.Struct, frozen=True):
    """What a user may see of the thinking of an agent, or of all agents without a rule of their own."""

    agent: str | None
    show: str


_DATABASE_KEYS = ("key", "user")
DatabaseCommand = Callable[["Connection", argparse.Namespace], CommandOutput]


def add_users(parser: argparse.ArgumentParser) -> None:
    """Add the options of `users`."""
    add_action = add_actions(parser)
    add_parser = add_action("add", "add a user", "Add a user to a workspace.", _command(_add_user))
    add_parser.add_argument("name", metavar="NAME", help="the name: letters, digits and . _ - @")
    add_parser.add_argument(
        "--workspace", default="default", metavar="W", help="created if it does not exist (default: default)"
    )
    join_parser = add_action(
        "join",
        "add a user to another workspace",
        "Add a user to another workspace. They stay in their other workspaces.",
        _command(_join_workspace),
    )
    join_parser.add_argument("name", metavar="NAME", help="the user; local is the user of this machine")
    join_parser.add_argument("--workspace", required=True, metavar="W", help="created if it does not exist")
    list_parser = add_action("list", "list all users", "List all users, one per line.", _command(_list_users))
    add_json_option(list_parser, "a list of users")
    thinking_parser = add_action(
        "thinking",
        "set what a user may see of the thinking",
        "Set or list what a user may see of the thinking of agents, live and stored.",
        _command(_thinking_rules),
    )
    _add_thinking_options(thinking_parser)
    remove_parser = add_action(
        "remove",
        "remove a user and their data",
        "Remove a user with their tokens, sessions and agents. This cannot be undone.",
        _command(_remove_user, deletes=True),
    )
    remove_parser.add_argument("name", metavar="NAME", help="the user")
    remove_parser.add_argument("--yes", action="store_true", help="confirm; without it nothing is removed")


def _add_thinking_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the user")
    parser.add_argument(
        "--show",
        choices=("all", "length", "nothing"),
        help="length: how long the thoughts are, but not what they say; without it the rules are listed",
    )
    parser.add_argument(
        "--agent", default="", metavar="ID", help="only for this agent (default: all agents and models)"
    )
    add_json_option(parser, "a list of rules; the agent of the rule for all agents is null")


def add_tokens(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tokens`."""
    add_action = add_actions(parser)
    create_parser = add_action(
        "create",
        "create a token",
        "Create a token for a user. It is shown once, on stdout.",
        _command(_create_token),
    )
    create_parser.add_argument("user", metavar="USER", help="the user; local is the user of this machine")
    create_parser.add_argument(
        "--name", default="", metavar="N", help="a label, to recognize the token in lists"
    )
    list_parser = add_action(
        "list",
        "list a user's tokens",
        "List the tokens of a user, without their secrets.",
        _command(_list_tokens),
    )
    list_parser.add_argument("user", metavar="USER", help="the user")
    add_json_option(list_parser, "a list of tokens, without their secrets")
    revoke_parser = add_action(
        "revoke",
        "revoke a token",
        "Revoke a token immediately. This cannot be undone.",
        _command(_revoke_token),
    )
    revoke_parser.add_argument("id", metavar="ID", help="the id that `thinkaloud tokens list` shows: tok_...")


def _add_user(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    user = users.add_user(conn, options.name, _now_ms(), options.workspace)
    membership = f"Added {user.name} to the workspace {options.workspace}."
    return CommandOutput(((user.id,),), f"{membership} Next: thinkaloud tokens create {user.name}")


def _join_workspace(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    user = users.user_named(conn, options.name)
    workspace = users.add_member(conn, user.key, options.workspace, _now_ms())
    return CommandOutput(((workspace.id,),), f"{user.name} is a member of the workspace {workspace.name}.")


def _list_users(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    listed = users.list_users(conn)
    table = tuple((user.id, _date(user.created_ms), user.name) for user in listed)
    return CommandOutput(table, rows=listed)


def _thinking_rules(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users
    from thinkaloud.gateway.store.rows import ThinkingShown

    user = users.user_named(conn, options.name)
    if options.show is not None:
        users.set_thinking_rule(
            conn, user, options.agent, ThinkingShown(options.show), file_agents=user_agents().agents
        )
    rules = tuple(
        ThinkingRule(agent or None, shown) for agent, shown in users.thinking_rules(conn, user.key).items()
    )
    if options.show is not None:
        scope = f"agent {options.agent}" if options.agent else "all agents without a rule of their own"
        return CommandOutput(note=f"Thinking shown to {user.name} ({scope}): {options.show}.", rows=rules)
    table = tuple((rule.show, rule.agent or "all agents") for rule in rules)
    return CommandOutput(table, "" if rules else f"{user.name} sees all thinking.", rules)


def _remove_user(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    user = users.user_named(conn, options.name)
    if user.name == users.LOCAL_USER:
        raise Refused(
            "The user local is the user of this machine and cannot be removed. Delete single "
            "sessions instead, or delete all data: stop the gateway and delete the file {path}",
            path=database_path(),
        )
    if not options.yes:
        raise Refused(
            "Nothing was removed: this deletes {name} with all tokens, sessions and agents, and "
            "cannot be undone. To confirm: thinkaloud users remove {name} --yes",
            name=user.name,
        )
    users.remove_user(conn, user.name)
    return CommandOutput(note=f"Removed {user.name}.")


def _create_token(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    user = users.user_named(conn, options.user)
    token, secret = users.create_token(conn, user.key, options.name, _now_ms())
    return CommandOutput(
        ((secret,),),
        "The token is shown once; only its hash is stored. Send it as `Authorization: Bearer TOKEN`. "
        f"To revoke it: thinkaloud tokens revoke {token.id}",
    )


def _list_tokens(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    user = users.user_named(conn, options.user)
    tokens = users.tokens_of(conn, user.key)
    return CommandOutput(tuple(map(_token_cells, tokens)), rows=tokens)


def _revoke_token(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    if not users.revoke_token(conn, options.id, _now_ms()):
        raise Refused(
            "There is no valid token {id}. List the tokens of a user: thinkaloud tokens list USER",
            id=options.id,
        )
    return CommandOutput(note=f"Revoked {options.id}.")


def _command(command: DatabaseCommand, *, deletes: bool = False) -> Callable[[argparse.Namespace], int]:
    """Return a function that runs a command in one transaction and prints its output after the commit."""

    def run(options: argparse.Namespace) -> int:
        _print_output(asyncio.run(_run_in_database(command, options)), options)
        if deletes:
            asyncio.run(_erase_deleted())
        return EXIT_OK

    return run


def _print_output(output: CommandOutput, options: argparse.Namespace) -> None:
    if getattr(options, "json", False):
        print_json([_public_fields(row) for row in output.rows])
        return
    if output.table:
        with paged():
            print_columns(output.table)
    if output.note:
        print(output.note, file=sys.stderr)


async def _run_in_database(command: DatabaseCommand, options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.gateway.store.queries import users

    def transaction(conn: "Connection") -> CommandOutput:
        users.ensure_local(conn, _now_ms())
        return command(conn, options)

    async with open_home_database(database_url(), guest=True) as database:
        return await database.write(transaction)


async def _erase_deleted() -> None:
    """Erase what a command deleted. If a gateway runs, it does this within a second."""
    import sqlite3

    from sqlalchemy.exc import DBAPIError

    from thinkaloud.gateway.store.queries.delete import erase_deleted

    try:
        async with open_home_database(database_url(), guest=True) as database:
            await erase_deleted(database)
    except (ThinkaloudError, sqlite3.Error, DBAPIError) as error:
        # The deletion itself is done, so the command has not failed.
        print(
            f"The deleted words are still in the files: {error} The gateway erases them when it runs.",
            file=sys.stderr,
        )


def _public_fields(row: msgspec.Struct) -> dict[str, object]:
    """Return the fields of a row without the keys of the database."""
    return {name: value for name, value in msgspec.structs.asdict(row).items() if name not in _DATABASE_KEYS}


def _token_cells(token: "ApiToken") -> tuple[str, ...]:
    state = "valid" if token.revoked_ms is None else f"revoked {_date(token.revoked_ms)}"
    return token.id, _date(token.created_ms), state, token.name


def _date(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
