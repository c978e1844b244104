"""The `thinkaloud` command. This package may import every other one.

Exit codes: 0 success, 1 the model or its provider failed, 2 the command cannot be carried out or an input
file is invalid, 130 stopped by Ctrl-C. Only the options of the given command are imported, and nothing heavy
at the top of this module, so that `--version` and `--help` start fast.

Read first: `parser.py`, `commands/ask_turn.py`, `gateway_client/attach.py`.
"""

import os
import sys

from thinkaloud import __version__

TYPE_CHECKING = False  # not from `typing`, which is slow to import
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

EXIT_STOPPED = 130
"""By Ctrl-C. The other exit codes are in `console`, which takes some time to import."""
_VERSION = f"thinkaloud {__version__}"
COMMANDS = {
    "read": (
        "read:add_read",
        "read saved or piped responses",
        "Read the response of a provider and show its thoughts and its answer separately. "
        "A pipe is shown while it arrives: curl -N ... | thinkaloud read -",
    ),
    "ask": (
        "ask:add_options",
        "ask a model or an agent",
        "Ask a model, or an agent with its tools. Thoughts and steps go to stderr while they arrive, "
        "the answer goes to stdout.",
    ),
    "chat": (
        "chat:add_options",
        "chat in the terminal, in several sessions at once",
        "Chat with any model or agent in the terminal. Thoughts, tool calls and answers are kept apart; "
        "sessions are kept by the gateway.",
    ),
    "flutter": (
        "flutter:add_options",
        "chat in a Flutter app in the browser",
        "Chat with any model or agent in a Flutter app, on a phone-sized or a wide screen. Everything that "
        "the browser loads comes from this machine.",
    ),
    "agents": (
        "agents:add_options",
        "list agents and tools",
        "List the agents for `ask --agent`, and the tools that an agent may use.",
    ),
    "models": (
        "models:add_models",
        "list models and their thinking controls",
        "List the models of the catalog, or compare the catalog with a provider's own list.",
    ),
    "route": (
        "models:add_route",
        "explain which provider serves a model, and how",
        "Show which provider a request for a model goes to, how thinking is requested, and why. "
        "Nothing is sent.",
    ),
    "context": (
        "context:add_options",
        "show which parts of a conversation would be sent",
        "Build the next request of a conversation: which blocks of each turn are sent back and why, "
        "and the exact JSON of the request. Nothing is sent.",
    ),
    "serve": (
        "serve:add_options",
        "run the gateway: sessions, live streams, search",
        "Run the gateway, which serves sessions and turns over HTTP and stores them in one SQLite file "
        "or in PostgreSQL. "
        "It starts without an API key and without other services.",
    ),
    "users": (
        "users:add_users",
        "add, list and remove users of a shared gateway",
        "Manage the users of a shared gateway. The gateway may be running.",
    ),
    "tokens": (
        "users:add_tokens",
        "create, list and revoke API tokens of users",
        "Manage the API tokens of a shared gateway's users. The gateway may be running.",
    ),
    "backup": (
        "db:add_backup",
        "copy the database into a file",
        "Copy all sessions, users and settings into a new SQLite file, as they are at one moment. The "
        "gateway may be running. To restore, stop it and put the copy in place of thinkaloud.db.",
    ),
    "db": (
        "db:add_options",
        "copy a database, between SQLite and PostgreSQL",
        "Copy a database into another one: from SQLite to PostgreSQL, or back.",
    ),
    "simulate": (
        "simulate:add_options",
        "run a simulated provider on this machine",
        "Run a simulated provider on this machine. It validates requests as the real one does, and needs "
        "no API key.",
    ),
    "sessions": (
        "sessions:add_sessions",
        "list, rename and delete sessions",
        "List the sessions in which `ask`, `chat` and the page keep their turns; rename and delete them.",
    ),
    "show": (
        "show:add_show",
        "show a session or a turn",
        "Show a stored session or turn: thoughts on stderr, answers on stdout.",
    ),
    "search": (
        "sessions:add_search",
        "search sessions",
        "Search the prompts, answers and tools of all sessions, and thoughts if asked for.",
    ),
    "export": (
        "export:add_export",
        "write a session as text, markdown, JSON or traces",
        "Write a session as text without thoughts, as markdown, as JSON with everything, or as traces of "
        "OpenTelemetry.",
    ),
    "import": (
        "imports:add_import",
        "import sessions and the history of other programs",
        "Create sessions from files that `export` or the page wrote, and from the history of other programs: "
        "ChatGPT and Claude account exports, logs of Claude Code, Codex, Qwen Code, Gemini CLI and llm, "
        "exports of Open WebUI and LibreChat, traces of OpenTelemetry, and OpenAI or Anthropic messages. "
        "Importing again adds only "
        "what is new. The id of each "
        "session is printed.",
    ),
    "watch": (
        "show:add_watch",
        "follow a turn that runs in the gateway",
        "Show a turn from its beginning and follow it while it runs. It may have been started by another "
        "command, by the page or by the chat. Ctrl-C leaves, and the turn goes on.",
    ),
    "replay": (
        "read:add_replay",
        "replay a recorded or stored turn with its timing",
        "Show a recorded or stored turn with its original timing. No model is asked.",
    ),
    "keys": (
        "keys:add_options",
        "set, list, test and remove API keys",
        "Manage the API keys of providers: in the keyring of your system if there is one, else in a file "
        "that only you can read. A key is never printed.",
    ),
    "config": (
        "config:add_options",
        "show and change your settings",
        "Show and change your settings: default model, language, thinking and display. The page and the "
        "gateway use the same settings.",
    ),
    "doctor": (
        "doctor:add_options",
        "check keys, settings, database and local servers",
        "Check what asking needs: settings, keys, permissions, the database, the gateway and local servers. "
        "Each problem comes with what to do.",
    ),
    "completion": (
        "completion:add_options",
        "print a completion script for a shell",
        "Print a script that makes a shell complete commands and options. To use it, run in bash: "
        "source <(thinkaloud completion bash)",
    ),
    "help": ("", "show help on a command", "Show help on a command."),
}

OTHER_NAMES = {
    "auth": "keys",
    "history": "sessions",
    "key": "keys",
    "list": "models",
    "login": "keys",
    "logs": "sessions",
    "ls": "models",
    "prompt": "ask",
    "ps": "watch",
    "run": "ask",
    "settings": "config",
}
"""What similar programs call a command, to suggest ours."""


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command and return its exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv == ["--version"]:
        print(_VERSION)  # without the parser, which takes longer to build than Python to start
        return 0
    if argv[:1] in ([], ["help"]):
        argv = [*argv[1:], "--help"]
    if arguments is None:
        _exit_on_ctrl_c()
    return _run(argv)


def _exit_on_ctrl_c() -> None:
    """Let Ctrl-C end this process without a word, until the command runs.

    Until then modules are imported, and there is nothing to undo. An exception in the middle of an import may
    arrive as another one, such as the `RuntimeError` of a class that could not be made.
    """
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have it ignored
        signal.signal(signal.SIGINT, _exit_stopped)


def _exit_stopped(*_: object) -> None:
    os._exit(EXIT_STOPPED)


def _raise_on_ctrl_c() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again, which a command may catch."""
    import signal

    if signal.getsignal(signal.SIGINT) is _exit_stopped:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parse(argv: "Sequence[str]") -> "Namespace":
    from thinkaloud.cli.parser import build_parser, parse, with_suggestion
    from thinkaloud.core.canon import Refused, Wording

    command = next((argument for argument in argv if not argument.startswith("-")), "")
    if command and command not in COMMANDS:
        missing = Wording("There is no command {command}.", command=repr(command))
        remedy = Wording("Run `thinkaloud help` for all commands.")
        name = OTHER_NAMES.get(command, command)
        known = [name] if command in OTHER_NAMES else list(COMMANDS)
        raise Refused(wording=with_suggestion(missing, name, known, remedy))
    return parse(build_parser(COMMANDS, command, _VERSION), argv)


def _run(argv: "Sequence[str]") -> int:
    import errno

    from thinkaloud.cli.output.console import (
        EXIT_FAILED,
        EXIT_OK,
        not_utf8_text,
        open_missing_streams,
        print_error,
    )
    from thinkaloud.core.canon import Refused, ThinkaloudError, Wording, reason_of
    from thinkaloud.extras import refuse_missing_extras

    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        with refuse_missing_extras():
            options = _parse(argv)
            if "lang" in options and options.lang is None:
                from thinkaloud.cli.settings import user_config

                options.lang = user_config().language
            _raise_on_ctrl_c()
            code = int(options.run(options))
        sys.stdout.flush()
        return code
    except Refused as error:
        return print_error(error.wording)
    except ThinkaloudError as error:
        return print_error(error.wording, EXIT_FAILED)
    except UnicodeEncodeError as error:
        return print_error(not_utf8_text(error.object))
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except BrokenPipeError:
        # The reader of the pipe has closed it. Without this the interpreter reports an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return print_error(
            Wording(
                "The output could not be written: {reason}. Free some disk space.", reason=reason_of(error)
            ),
            EXIT_FAILED,
        )
