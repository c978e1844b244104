"""The command line, and the one room that may know every other.

Exit codes: 0 when it was done, 1 when the model or its provider failed, 2 when a file is no response or
the call cannot be carried out, 130 when stopped by Ctrl-C.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from thinkaloud import __version__
from thinkaloud.canon import ProviderFault, Refused
from thinkaloud.cli.console import EXIT_FAILED, EXIT_OK, EXIT_STOPPED, print_error

_COMMANDS = {
    "read": (
        "read:add_read",
        "read saved or piped responses",
        "Read what a provider sent and show thoughts and answer apart. "
        "Works live: curl -N ... | thinkaloud read -",
    ),
    "ask": (
        "ask:add_options",
        "ask a model or an agent",
        "Ask a model, or an agent with its tools: thoughts and steps go to stderr as they come, "
        "the answer to stdout.",
    ),
    "agents": (
        "agents:add_options",
        "list agents and the tools there are",
        "List the agents that `ask --agent` takes, and the tools that an agent may use.",
    ),
    "models": (
        "models:add_models",
        "list models and how they think",
        "List the models of the catalog, or compare it with a provider's own list.",
    ),
    "route": (
        "models:add_route",
        "explain where a model is asked and how",
        "Say which provider a model is asked at, how its thinking is asked for, and why.",
    ),
    "context": (
        "context:add_options",
        "show what of a conversation would be sent",
        "Build the next request of a conversation for a model: what of each turn goes back and why, "
        "and the exact JSON that would be sent. Nothing is sent.",
    ),
    "serve": (
        "serve:add_options",
        "run the gateway: sessions, live streams, search",
        "Serve sessions and turns to applications on this machine, kept in one SQLite file. "
        "No key and no other service is needed to start.",
    ),
    "users": (
        "users:add_users",
        "add, list and remove users of a shared gateway",
        "Say who may use a gateway that several people share. Works while it runs.",
    ),
    "tokens": (
        "users:add_tokens",
        "create, list and revoke their API tokens",
        "Give users of a shared gateway tokens to show, and take them back. Works while it runs.",
    ),
    "simulate": (
        "simulate:add_options",
        "run a loopback provider that refuses what the real one refuses",
        "Serve a simulated provider on this machine, to build against without a key or a bill.",
    ),
    "replay": (
        "read:add_replay",
        "replay a recorded turn with its own timing",
        "Show a recorded turn as it happened. Nothing is asked of any model.",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the answer."""
    argv = sys.argv[1:] if arguments is None else arguments
    options = _parser(next((argument for argument in argv if not argument.startswith("-")), "")).parse_args(
        argv
    )
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        return int(options.run(options))
    except Refused as error:
        return print_error(str(error))
    except ProviderFault as error:
        return print_error(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except BrokenPipeError:
        # Whoever read us has what it wanted; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def _parser(command: str) -> argparse.ArgumentParser:
    """All commands by name, and the options of the one that is meant: the others need not be imported."""
    parser = argparse.ArgumentParser(
        prog="thinkaloud",
        description="Thoughts, tool calls and answer of any model's response, apart and exact.",
    )
    parser.add_argument("--version", action="version", version=f"thinkaloud {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (options, summary, description) in _COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=description)
        if name == command:
            module, _, function = options.partition(":")
            getattr(importlib.import_module(f"thinkaloud.cli.{module}"), function)(subparser)
    return parser
