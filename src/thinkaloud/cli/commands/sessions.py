"""`thinkaloud sessions` and `search`: the sessions that a gateway keeps."""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

from thinkaloud.cli.gateway_client import GatewayClient, add_server_options, open_backend, server_choice
from thinkaloud.cli.gateway_client.find import find_session, list_sessions
from thinkaloud.cli.output.console import EXIT_OK, add_json_option, positive, print_json
from thinkaloud.cli.output.pager import paged
from thinkaloud.cli.output.table import marked_bold, print_columns
from thinkaloud.cli.output.words import command_words
from thinkaloud.cli.parser import add_actions
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.surfaces.chat.backend import FoundText
from thinkaloud.surfaces.terminal import clean

DEFAULT_LIMIT = 50
_SHORT_ID = 12
"""Characters of an id in a list. The beginning of an id is enough for every command."""
_MAX_SEARCH_CHARACTERS = 1_000
"""As in the API of the gateway, whose message would name a field of a request."""

GatewayCommand = Callable[[GatewayClient, argparse.Namespace], Awaitable[int]]


def run_with_gateway(command: GatewayCommand) -> Callable[[argparse.Namespace], int]:
    """Return the function that opens a gateway and runs the command with its client."""

    async def run(options: argparse.Namespace) -> int:
        async with open_backend(server_choice(options)) as client:
            return await command(client, options)

    return lambda options: asyncio.run(run(options))


def add_sessions(parser: argparse.ArgumentParser) -> None:
    """Add the options of `sessions`."""
    _add_list_options(parser)
    parser.set_defaults(run=run_with_gateway(_list))
    add_action = add_actions(parser, required=False)  # without one, the sessions are listed
    _add_list_options(add_action("list", "list sessions", "List sessions.", run_with_gateway(_list)))
    rename_parser = add_action(
        "rename", "change the title", "Change the title of a session.", run_with_gateway(_rename)
    )
    _add_session_argument(rename_parser)
    rename_parser.add_argument("title", nargs="+", metavar="TITLE", help="the new title, quoted or not")
    add_server_options(rename_parser)
    delete_parser = add_action(
        "delete", "delete sessions", "Delete sessions and all in them.", run_with_gateway(_delete)
    )
    delete_parser.add_argument(
        "sessions", nargs="+", metavar="SESSION", help="an id, the beginning of one, or `latest`"
    )
    delete_parser.add_argument("--yes", action="store_true", help="confirm; without it nothing is deleted")
    add_server_options(delete_parser)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of `search`."""
    parser.add_argument("words", nargs="+", metavar="WORDS", help="the words; all of them must occur")
    parser.add_argument("--thoughts", action="store_true", help="search thoughts as well")
    add_json_option(parser, "a list of places with their session and turn")
    add_server_options(parser)
    parser.set_defaults(run=run_with_gateway(_search))


def short_id(text: str) -> str:
    """Return the beginning of an id, which is enough to find it again."""
    return text[:_SHORT_ID]


def one_line(text: str) -> str:
    """Return a text as one line that is safe for a terminal."""
    return " ".join(clean(text).split())


def _add_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=positive,
        default=DEFAULT_LIMIT,
        metavar="N",
        help="list at most N sessions, the last used first (default: %(default)s)",
    )
    add_json_option(parser, "a list of sessions")
    add_server_options(parser)


def _add_session_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="an id, the beginning of one, or `latest`")


async def _list(client: GatewayClient, options: argparse.Namespace) -> int:
    sessions = await list_sessions(client, options.limit)
    if options.json:
        print_json(sessions)
        return EXIT_OK
    if not sessions:
        print(command_words().text("no_sessions"), file=sys.stderr)
        return EXIT_OK
    rows = []
    for session in sessions:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.updated_ms / 1000))
        rows.append(
            (short_id(session.id), used, session.agent or session.model or "-", one_line(session.title))
        )
    with paged():
        print_columns(rows, (Wording("session"), Wording("used"), Wording("model"), Wording("title")))
    return EXIT_OK


async def _rename(client: GatewayClient, options: argparse.Namespace) -> int:
    session = await find_session(client, options.session)
    title = " ".join(options.title)
    await client.rename_session(session.id, title)
    text = command_words().text("renamed", session=short_id(session.id), name=one_line(title))
    print(text, file=sys.stderr)
    return EXIT_OK


async def _delete(client: GatewayClient, options: argparse.Namespace) -> int:
    found = [await find_session(client, name) for name in options.sessions]
    sessions = {session.id: session for session in found}  # one may have been named twice
    if not options.yes:
        titles = "; ".join(f"{short_id(row.id)} {one_line(row.title)}".strip() for row in sessions.values())
        raise Refused(
            "This would delete: {titles}. It cannot be undone. Add --yes to confirm.", titles=titles
        )
    for session in sessions:
        await client.delete_session(session)
    return EXIT_OK


async def _search(client: GatewayClient, options: argparse.Namespace) -> int:
    words = " ".join(options.words)
    if not words.strip() or len(words) > _MAX_SEARCH_CHARACTERS:
        raise Refused(
            "The search has {count} characters. Use 1 to {max_search_characters}.",
            count=f"{len(words.strip()):,}",
            max_search_characters=f"{_MAX_SEARCH_CHARACTERS:,}",
        )
    hits = await client.search(words, thoughts=options.thoughts)
    if options.json:
        print_json(hits)
        return EXIT_OK
    if not hits:
        text = "nothing_found" if options.thoughts else "nothing_found_hint"
        print(command_words().text(text), file=sys.stderr)
        return EXIT_OK
    with paged():
        for hit in hits:
            print_columns([(short_id(hit.session), hit.kind, one_line(hit.session_title))])
            print_columns([("", f"{hit.turn}  {_snippet(hit)}")])
    return EXIT_OK


def _snippet(hit: FoundText) -> str:
    """Return the snippet in one line, with the words in bold."""
    parts = []
    end = 0
    for first, last in hit.marks:
        parts.append(_spaced(hit.snippet[end:first]))
        parts.append(marked_bold(_spaced(hit.snippet[first:last])))
        end = last
    return "".join([*parts, _spaced(hit.snippet[end:])]).strip()


def _spaced(text: str) -> str:
    return clean(text).replace("\n", " ").replace("\t", " ")
