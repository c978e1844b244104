"""`thinkaloud show`, `watch` and the replay of a stored turn: turns that a gateway keeps, on the terminal."""

import argparse
import asyncio
import sys
from contextlib import aclosing
from typing import TextIO

from thinkaloud.cli.commands.ask_turn import EXIT_CODES
from thinkaloud.cli.commands.read import turn_as_json
from thinkaloud.cli.commands.sessions import one_line, run_with_gateway
from thinkaloud.cli.gateway_client import GatewayClient, add_server_options, open_backend, server_choice
from thinkaloud.cli.gateway_client.client import full_name
from thinkaloud.cli.gateway_client.find import LATEST, TURN_PREFIX, find_session, find_turn
from thinkaloud.cli.output.console import (
    EXIT_OK,
    add_json_option,
    add_language_option,
    plain_writer,
    print_json,
)
from thinkaloud.cli.output.follow import follow_printed
from thinkaloud.cli.output.words import command_words
from thinkaloud.core.transcript import fold_entries
from thinkaloud.core.view import Words
from thinkaloud.surfaces.chat.backend import PastTurn
from thinkaloud.surfaces.plain import ShowThinking
from thinkaloud.surfaces.terminal import clean

MAX_SPEED = 100.0


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a session (its id, or the beginning of one), a turn (its id), or `latest` for the last turn",
    )
    parser.add_argument(
        "--show-thinking",
        choices=tuple(ShowThinking),
        default=ShowThinking.SHOW,
        help="how much of the thinking to show (default: show)",
    )
    add_json_option(parser, "one object with a list of turns")
    add_language_option(parser)
    add_server_options(parser)
    parser.set_defaults(run=run_with_gateway(_show))


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add the options of `watch`."""
    parser.add_argument(
        "name", nargs="?", default=LATEST, metavar="TURN", help="a turn, or `latest` (the default)"
    )
    add_language_option(parser)
    add_server_options(parser)
    parser.set_defaults(run=run_with_gateway(_watch))


def stored_turn_named(name: str) -> bool:
    """Return whether a name means a stored turn."""
    return name == LATEST or name.startswith(TURN_PREFIX)


def replay_stored(options: argparse.Namespace) -> int:
    """Replay a stored turn with its timing."""
    return asyncio.run(_replay(options))


async def _show(client: GatewayClient, options: argparse.Namespace) -> int:
    if stored_turn_named(options.name):
        info = await find_turn(client, options.name)
        session, only_turn = info.session, info.id
    else:
        found = await find_session(client, options.name)
        session, only_turn = found.id, ""
    turns = await client.turns(session, branch=only_turn)
    if only_turn:
        turns = [turn for turn in turns if turn.id == only_turn]
    if options.json:
        print_json({"session": session, "turns": [_turn_json(turn) for turn in turns]})
        return EXIT_OK
    for turn in turns:
        _print_turn(turn, options, prompts_to=sys.stderr if only_turn else sys.stdout)
    return EXIT_OK


def _turn_json(turn: PastTurn) -> dict[str, object]:
    return {
        "turn": turn.id,
        "prompt": turn.prompt,
        "state": turn.state,
        "agent": turn.agent_name,
        "versions": turn.versions,
        **turn_as_json(fold_entries(turn.entries)),
    }


def _print_turn(turn: PastTurn, options: argparse.Namespace, prompts_to: TextIO) -> None:
    version = f" {turn.versions.index(turn.id) + 1}/{len(turn.versions)}" if turn.versions else ""
    name = one_line(turn.agent_name or turn.model)
    print(f"[{turn.id} {name} {turn.state}{version}]", file=sys.stderr, flush=True)
    if others := [other for other in turn.versions if other != turn.id]:
        text = command_words(options.lang).text("versions", name=", ".join(others))
        print(text, file=sys.stderr, flush=True)
    prompt = "\n".join(f"> {line}" for line in clean(turn.prompt).splitlines())
    print(f"{prompt}\n", file=prompts_to, flush=True)
    if turn.state == "running":
        text = command_words(options.lang).text("runs", name=f"thinkaloud watch {turn.id}")
        print(text, file=sys.stderr, flush=True)
    writer = plain_writer(options.lang, ShowThinking(options.show_thinking))
    for entry in turn.entries:
        writer.feed(entry)
    print(file=prompts_to, flush=True)


async def _watch(client: GatewayClient, options: argparse.Namespace) -> int:
    turn = await find_turn(client, options.name)
    print(f"[{turn.id} {one_line(full_name(turn.provider, turn.model))}]", file=sys.stderr, flush=True)
    writer = plain_writer(options.lang)
    async with aclosing(follow_printed(client, turn.id, writer.write_notice)) as entries:
        async for entry in entries:
            writer.feed(entry)
    outcome = writer.turn.outcome
    return EXIT_OK if outcome is None else EXIT_CODES.get(outcome.ending, EXIT_OK)


async def _replay(options: argparse.Namespace) -> int:
    async with open_backend(server_choice(options)) as client:
        turn = await find_turn(client, options.file)
        name = Words(options.lang).text("cli.replaying", name=turn.id)
        print(clean(name), file=sys.stderr, flush=True)
        writer = plain_writer(options.lang)
        speed = min(options.speed, MAX_SPEED)
        if speed:
            stream = client.replay(turn.id, speed=speed)
        else:
            stream = follow_printed(client, turn.id, writer.write_notice)
        async with aclosing(stream) as entries:
            async for entry in entries:
                writer.feed(entry)
    return EXIT_OK
