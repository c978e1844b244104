"""`thinkaloud users` and `thinkaloud tokens`: who may use a shared gateway, also while it runs."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from thinkaloud.app.serving import server_extra
from thinkaloud.app.settings import database_path
from thinkaloud.app.shared import DONE
from thinkaloud.canon import Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from thinkaloud.store.rows import Token


class Told(NamedTuple):
    """What a command says once it is done: lines for stdout, and a note for whoever sits there."""

    lines: tuple[str, ...] = ()
    note: str = ""


Change = Callable[["Connection", argparse.Namespace], Told]


def add_users(parser: argparse.ArgumentParser) -> None:
    """The options of `users`."""
    kinds = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    adding = kinds.add_parser("add", help="add a user", description="Add a user to a workspace.")
    adding.add_argument("name", metavar="NAME", help="letters, digits and . _ - @")
    adding.add_argument(
        "--workspace", default="default", metavar="W", help="made if there is none (default: default)"
    )
    adding.set_defaults(run=_visiting(_add_user))
    joining = kinds.add_parser(
        "join",
        help="let a user into another workspace",
        description="Let a user into another workspace, beside those that they are in.",
    )
    joining.add_argument("name", metavar="NAME", help="who it is; local is the user of this machine")
    joining.add_argument("--workspace", required=True, metavar="W", help="made if there is none")
    joining.set_defaults(run=_visiting(_join_workspace))
    listing = kinds.add_parser("list", help="list all users", description="List all users, one a line.")
    listing.set_defaults(run=_visiting(_list_users))
    removing = kinds.add_parser(
        "remove",
        help="remove a user and all that is theirs",
        description="Remove a user with their tokens, sessions and agents. It cannot be undone.",
    )
    removing.add_argument("name", metavar="NAME", help="who it is")
    removing.add_argument("--yes", action="store_true", help="do it; without it nothing is removed")
    removing.set_defaults(run=_visiting(_remove_user))


def add_tokens(parser: argparse.ArgumentParser) -> None:
    """The options of `tokens`."""
    kinds = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    creating = kinds.add_parser(
        "create", help="create a token", description="Create a token for a user. It is shown once, on stdout."
    )
    creating.add_argument("user", metavar="USER", help="whose it is; local is the user of this machine")
    creating.add_argument("--name", default="", metavar="N", help="what it is for, to tell it from others")
    creating.set_defaults(run=_visiting(_create_token))
    listing = kinds.add_parser(
        "list", help="list a user's tokens", description="List the tokens of a user, without their secrets."
    )
    listing.add_argument("user", metavar="USER", help="whose they are")
    listing.set_defaults(run=_visiting(_list_tokens))
    revoking = kinds.add_parser(
        "revoke", help="revoke a token", description="Make a token worthless, at once and for good."
    )
    revoking.add_argument("id", metavar="ID", help="as `thinkaloud tokens list` shows it: tok_...")
    revoking.set_defaults(run=_visiting(_revoke_token))


def _add_user(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    user = people.add_user(conn, options.name, _now_ms(), options.workspace)
    where = f"{user.name} is in the workspace {options.workspace}."
    return Told((user.id,), f"{where} Next: thinkaloud tokens create {user.name}")


def _join_workspace(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    user = people.user_named(conn, options.name)
    workspace = people.add_member(conn, user.key, options.workspace, _now_ms())
    return Told((workspace.id,), f"{user.name} is in the workspace {workspace.name}.")


def _list_users(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    return Told(tuple(f"{user.id}  {_day(user.created_ms)}  {user.name}" for user in people.users(conn)))


def _remove_user(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    user = people.user_named(conn, options.name)
    if user.name == people.LOCAL_USER:
        raise Refused(
            "local is the user of this machine itself and cannot be removed. Delete single sessions, or all "
            f"there is with the file {database_path()}"
        )
    if not options.yes:
        raise Refused(
            f"This would remove {user.name} with all tokens, sessions and agents, for good. "
            f"If that is meant: thinkaloud users remove {user.name} --yes"
        )
    people.remove_user(conn, user.name)
    return Told(note=f"{user.name} is removed.")


def _create_token(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    user = people.user_named(conn, options.user)
    token, secret = people.create_token(conn, user.key, options.name, _now_ms())
    return Told(
        (secret,),
        "This is shown once; only a hash of it is kept. Send it as `Authorization: Bearer TOKEN`. "
        f"To take it back: thinkaloud tokens revoke {token.id}",
    )


def _list_tokens(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    user = people.user_named(conn, options.user)
    return Told(tuple(map(_token_line, people.tokens_of(conn, user.key))))


def _revoke_token(conn: "Connection", options: argparse.Namespace) -> Told:
    from thinkaloud.store import people

    if not people.revoke_token(conn, options.id, _now_ms()):
        raise Refused(
            f"There is no valid token {options.id}. `thinkaloud tokens list USER` shows those of a user."
        )
    return Told(note=f"{options.id} is revoked.")


def _visiting(change: Change) -> Callable[[argparse.Namespace], int]:
    """A command that visits the database, beside a gateway that may run, and speaks when all is kept."""

    def run(options: argparse.Namespace) -> int:
        with server_extra():
            told = asyncio.run(_visit(change, options))
        for line in told.lines:
            print(line)
        if told.note:
            print(told.note, file=sys.stderr)
        return DONE

    return run


async def _visit(change: Change, options: argparse.Namespace) -> Told:
    from thinkaloud.store import people, sqlite

    def within(conn: "Connection") -> Told:
        people.ensure_local(conn, _now_ms())
        return change(conn, options)

    async with sqlite.opened(database_path(), guest=True) as database:
        return await database.write(within)


def _token_line(token: "Token") -> str:
    state = "valid" if token.revoked_ms is None else f"revoked {_day(token.revoked_ms)}"
    return f"{token.id}  {_day(token.created_ms)}  {state}  {token.name}".rstrip()


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
