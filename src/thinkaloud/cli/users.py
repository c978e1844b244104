"""`thinkaloud users` and `thinkaloud tokens`: who may use a shared gateway, also while it runs."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from thinkaloud.canon import Refused
from thinkaloud.cli.console import EXIT_OK
from thinkaloud.cli.serve import require_server_packages
from thinkaloud.cli.settings import database_path

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from thinkaloud.store.rows import ApiToken


class CommandOutput(NamedTuple):
    """What a command says once it is done: lines for stdout, and a note for whoever sits there."""

    lines: tuple[str, ...] = ()
    note: str = ""


DatabaseCommand = Callable[["Connection", argparse.Namespace], CommandOutput]


def add_users(parser: argparse.ArgumentParser) -> None:
    """The options of `users`."""
    actions = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    add_parser = actions.add_parser("add", help="add a user", description="Add a user to a workspace.")
    add_parser.add_argument("name", metavar="NAME", help="letters, digits and . _ - @")
    add_parser.add_argument(
        "--workspace", default="default", metavar="W", help="made if there is none (default: default)"
    )
    add_parser.set_defaults(run=_command(_add_user))
    join_parser = actions.add_parser(
        "join",
        help="let a user into another workspace",
        description="Let a user into another workspace, beside those that they are in.",
    )
    join_parser.add_argument("name", metavar="NAME", help="who it is; local is the user of this machine")
    join_parser.add_argument("--workspace", required=True, metavar="W", help="made if there is none")
    join_parser.set_defaults(run=_command(_join_workspace))
    list_parser = actions.add_parser("list", help="list all users", description="List all users, one a line.")
    list_parser.set_defaults(run=_command(_list_users))
    remove_parser = actions.add_parser(
        "remove",
        help="remove a user and all that is theirs",
        description="Remove a user with their tokens, sessions and agents. It cannot be undone.",
    )
    remove_parser.add_argument("name", metavar="NAME", help="who it is")
    remove_parser.add_argument("--yes", action="store_true", help="do it; without it nothing is removed")
    remove_parser.set_defaults(run=_command(_remove_user))


def add_tokens(parser: argparse.ArgumentParser) -> None:
    """The options of `tokens`."""
    actions = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    create_parser = actions.add_parser(
        "create", help="create a token", description="Create a token for a user. It is shown once, on stdout."
    )
    create_parser.add_argument("user", metavar="USER", help="whose it is; local is the user of this machine")
    create_parser.add_argument(
        "--name", default="", metavar="N", help="what it is for, to tell it from others"
    )
    create_parser.set_defaults(run=_command(_create_token))
    list_parser = actions.add_parser(
        "list", help="list a user's tokens", description="List the tokens of a user, without their secrets."
    )
    list_parser.add_argument("user", metavar="USER", help="whose they are")
    list_parser.set_defaults(run=_command(_list_tokens))
    revoke_parser = actions.add_parser(
        "revoke", help="revoke a token", description="Make a token worthless, at once and for good."
    )
    revoke_parser.add_argument("id", metavar="ID", help="as `thinkaloud tokens list` shows it: tok_...")
    revoke_parser.set_defaults(run=_command(_revoke_token))


def _add_user(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    user = users.add_user(conn, options.name, _now_ms(), options.workspace)
    membership = f"{user.name} is in the workspace {options.workspace}."
    return CommandOutput((user.id,), f"{membership} Next: thinkaloud tokens create {user.name}")


def _join_workspace(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    user = users.user_named(conn, options.name)
    workspace = users.add_member(conn, user.key, options.workspace, _now_ms())
    return CommandOutput((workspace.id,), f"{user.name} is in the workspace {workspace.name}.")


def _list_users(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    return CommandOutput(
        tuple(f"{user.id}  {_date(user.created_ms)}  {user.name}" for user in users.list_users(conn))
    )


def _remove_user(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    user = users.user_named(conn, options.name)
    if user.name == users.LOCAL_USER:
        raise Refused(
            "local is the user of this machine itself and cannot be removed. Delete single sessions, or all "
            f"there is with the file {database_path()}"
        )
    if not options.yes:
        raise Refused(
            f"This would remove {user.name} with all tokens, sessions and agents, for good. "
            f"If that is meant: thinkaloud users remove {user.name} --yes"
        )
    users.remove_user(conn, user.name)
    return CommandOutput(note=f"{user.name} is removed.")


def _create_token(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    user = users.user_named(conn, options.user)
    token, secret = users.create_token(conn, user.key, options.name, _now_ms())
    return CommandOutput(
        (secret,),
        "This is shown once; only a hash of it is kept. Send it as `Authorization: Bearer TOKEN`. "
        f"To take it back: thinkaloud tokens revoke {token.id}",
    )


def _list_tokens(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    user = users.user_named(conn, options.user)
    return CommandOutput(tuple(map(_token_line, users.tokens_of(conn, user.key))))


def _revoke_token(conn: "Connection", options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import users

    if not users.revoke_token(conn, options.id, _now_ms()):
        raise Refused(
            f"There is no valid token {options.id}. `thinkaloud tokens list USER` shows those of a user."
        )
    return CommandOutput(note=f"{options.id} is revoked.")


def _command(command: DatabaseCommand) -> Callable[[argparse.Namespace], int]:
    """A command that visits the database, beside a gateway that may run, and speaks when all is kept."""

    def run(options: argparse.Namespace) -> int:
        with require_server_packages():
            output = asyncio.run(_run_in_database(command, options))
        for line in output.lines:
            print(line)
        if output.note:
            print(output.note, file=sys.stderr)
        return EXIT_OK

    return run


async def _run_in_database(command: DatabaseCommand, options: argparse.Namespace) -> CommandOutput:
    from thinkaloud.store import sqlite, users

    def transaction(conn: "Connection") -> CommandOutput:
        users.ensure_local(conn, _now_ms())
        return command(conn, options)

    async with sqlite.open_database(database_path(), guest=True) as database:
        return await database.write(transaction)


def _token_line(token: "ApiToken") -> str:
    state = "valid" if token.revoked_ms is None else f"revoked {_date(token.revoked_ms)}"
    return f"{token.id}  {_date(token.created_ms)}  {state}  {token.name}".rstrip()


def _date(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
