"""The prompt of `ask`: the words of the command line, joined with what standard input holds."""

import os
import stat

from thinkaloud.cli.output.console import STDIN, not_utf8_text, read_chunks
from thinkaloud.core.canon import Refused

MAX_PROMPT_BYTES = 8_000_000
"""A gateway accepts requests of 10 MiB, and JSON escapes make a prompt longer. No model reads as much."""
_MISSING = (
    "The prompt is empty, so nothing was sent. Write it after the command, or pipe it in: "
    "thinkaloud ask what is 2+2"
)


def read_prompt(words: list[str]) -> str:
    """Return the prompt: text from standard input first, then the words, as one would paste and ask.

    A `-` among the words reads standard input even if it is a terminal.
    """
    question = " ".join(word for word in words if word != STDIN)
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise Refused(not_utf8_text(question))
    text = ""
    if STDIN in words or _stdin_holds_text():
        text = _read_stdin().decode(errors="replace")
    parts = [part for part in (text.strip("\n") if question.strip() else text, question) if part.strip()]
    if not parts:
        raise Refused(_MISSING)
    return "\n\n".join(parts)


def _read_stdin() -> bytes:
    content = bytearray()
    for chunk in read_chunks(STDIN):
        content += chunk
        if len(content) > MAX_PROMPT_BYTES:
            raise Refused(
                f"Standard input has more than {MAX_PROMPT_BYTES:,} bytes, which is the most that a prompt "
                "may have, so nothing was sent. Send less of it: head -c 1000000 FILE | thinkaloud ask ..."
            )
    return bytes(content)


def _stdin_holds_text() -> bool:
    """Return whether something was piped or redirected into this command."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # it was closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
