"""`thinkaloud ask`: its options, its prompt and what the settings add. `ask_turn` asks and shows the turn.

It is imported for `ask --help` and for the completion, so what asks is imported when the command runs.
"""

import argparse
import os
import stat

from thinkaloud.cli.gateway_client import add_server_options
from thinkaloud.cli.gateway_client.find import LATEST
from thinkaloud.cli.output.console import (
    SHOW_KEY,
    STDIN,
    add_agent_option,
    add_language_option,
    add_thinking_option,
    invalid_value,
    not_utf8_text,
    positive,
    read_chunks,
)
from thinkaloud.cli.settings import user_config
from thinkaloud.core.canon import Refused, Wording
from thinkaloud.surfaces.plain import ShowThinking

MAX_PROMPT_BYTES = 8_000_000
"""A gateway accepts requests of 10 MiB, and JSON escapes make a prompt longer. No model reads as much."""
_MISSING = Wording(
    "The prompt is empty, so nothing was sent. Write it after the command, or pipe it in: "
    "thinkaloud ask what is 2+2"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask`."""
    add_option = parser.add_argument
    add_option(
        "prompt",
        nargs="*",
        metavar="PROMPT",
        help="the prompt, quoted or not; text from standard input is put before it",
    )
    add_agent_option(parser)
    add_option(
        "-m",
        "--model",
        default="",
        metavar="M",
        help="a model, or provider/model (default: the agent's model, else THINKALOUD_MODEL, else your "
        "setting, else builtin/solver)",
    )
    add_thinking_option(parser)
    add_option("--system", default="", metavar="S", help="the system prompt")
    add_option(
        "--max-tokens", type=positive, metavar="N", help="token limit of the answer, thoughts included"
    )
    _add_request_options(parser)
    add_option(
        "--approve",
        action="append",
        default=[],
        metavar="NAME",
        help="run this tool without asking, or `all` tools; can be repeated",
    )
    add_option(
        "--show-thinking",
        choices=tuple(ShowThinking),
        help="how much of the thinking to show (default: show, or hide if your settings hide it); on a "
        f"terminal the key {SHOW_KEY} shows and hides it",
    )
    add_option(
        "--on-thinking-unavailable",
        choices=("error", "warn"),
        default="error",
        help="if the model cannot think as requested: fail (error, the default), or warn and ask without "
        "thinking",
    )
    add_option(
        "--format",
        choices=("plain", "json", "ndjson"),
        default="plain",
        help="plain: thoughts on stderr, answer on stdout; json: one object at the end; ndjson: one event "
        "with its time per line",
    )
    add_option("--json", dest="format", action="store_const", const="json", help="short for --format json")
    _add_stored_options(parser)
    add_language_option(parser)
    parser.set_defaults(run=run_ask)


def _add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. What a model does not take is not sent, with a note."""
    add_option = parser.add_argument
    add_option(
        "-f",
        "--file",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="attach a file: an image, a PDF, an MP3 or WAV recording, or text; can be repeated",
    )
    add_option(
        "--temperature",
        type=float,
        metavar="X",
        help="how freely words are picked, from 0 to 2 (default: the model's)",
    )
    add_option(
        "--top-p", type=float, metavar="X", help="pick only from the likeliest words that make up this share"
    )
    add_option(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end the answer before this text; can be repeated",
    )
    add_option(
        "--seed", type=int, metavar="N", help="a number that makes answers repeatable, where models can"
    )
    add_option(
        "--verbosity",
        choices=("low", "medium", "high"),
        help="how long the answer is to be, for models that can be told",
    )
    add_option(
        "--schema",
        metavar="FILE",
        help="a JSON Schema that the answer must match; exit 1 if it does not (- reads standard input)",
    )
    add_option(
        "--extra",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="a further field of the request body, by name or dotted path; can be repeated",
    )


def _add_stored_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose where the turn is kept."""
    sessions = parser.add_mutually_exclusive_group()
    sessions.add_argument(
        "-c",
        "--continue",
        dest="session",
        action="store_const",
        const=LATEST,
        default="",
        help="continue the session that was used last",
    )
    sessions.add_argument(
        "-s",
        "--session",
        dest="session",
        type=_session_name,
        metavar="SESSION",
        help="continue this session: its id, or the beginning of one",
    )
    sessions.add_argument(
        "--no-save", action="store_true", help="do not keep the turn: no gateway, no session"
    )
    add_server_options(parser)


def _session_name(text: str) -> str:
    """Parse the name of a session, for argparse. An empty one, of an unset variable, names none."""
    if text.strip():
        return text
    raise invalid_value("the name of the session is empty. Leave the option out for a new one")


def run_ask(options: argparse.Namespace) -> int:
    """Ask and show the answer."""
    prompt = read_prompt(options.prompt)
    _apply_settings(options)
    from thinkaloud.cli.commands.ask_turn import ask

    return ask(prompt, options)


def _apply_settings(options: argparse.Namespace) -> None:
    """Take from the user's settings what the options leave open."""
    config = user_config()
    if options.show_thinking is None:
        options.show_thinking = ShowThinking.SHOW if config.display.show_thinking else ShowThinking.HIDE
    level = config.text("thinking.level")
    if level and not options.thinking and not options.agent:
        options.thinking = level
        # A setting holds for all models, also for those that cannot think; only an option is worth an error.
        options.on_thinking_unavailable = "warn"


def read_prompt(words: list[str]) -> str:
    """Return the prompt: text from standard input first, then the words, as one would paste and ask.

    A `-` among the words reads standard input even if it is a terminal.
    """
    question = " ".join(word for word in words if word != STDIN)
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise Refused(wording=not_utf8_text(question))
    text = ""
    if STDIN in words or _stdin_holds_text():
        text = _read_stdin().decode(errors="replace")
    if question.strip():
        text = text.strip("\n")  # a blank line is put between them
    parts = [part for part in (text, question) if part.strip()]
    if not parts:
        raise Refused(wording=_MISSING)
    return "\n\n".join(parts)


def _read_stdin() -> bytes:
    content = bytearray()
    for chunk in read_chunks(STDIN):
        content += chunk
        if len(content) > MAX_PROMPT_BYTES:
            raise Refused(
                "Standard input has more than {max_prompt_bytes} bytes, which is the most that a "
                "prompt may have, so nothing was sent. Send less of it: head -c 1000000 FILE | "
                "thinkaloud ask ...",
                max_prompt_bytes=f"{MAX_PROMPT_BYTES:,}",
            )
    return bytes(content)


def _stdin_holds_text() -> bool:
    """Return whether something was piped or redirected into this command."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # it was closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
