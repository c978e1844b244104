"""Reads keys and pasted text from the terminal.

Textual reads an escape sequence within a pasted text as keys, so that a paste could stop a turn or send a
question. Here everything between the two marks of a paste is text.
"""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Generator

from textual import events
from textual._parser import ParseError, Peek1, Read1, TokenCallback
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

_READ_BYTES = 64 * 1024
_POLL_S = 0.1


class InputParser(XTermParser):
    """Makes events from what a terminal sends. A paste is one event, whatever it holds."""

    def parse(self, token_callback: TokenCallback[Message]) -> Generator[Read1 | Peek1, str, None]:
        """Leave keys and reports to Textual, and take pastes."""

        def pass_on(token: Message) -> None:
            if not isinstance(token, events.Paste):  # the empty one that Textual made
                token_callback(token)

        keys = super().parse(pass_on)
        awaited = next(keys)
        recent = ""
        while True:
            try:
                character = yield awaited
            except ParseError as error:  # the time for an escape sequence is over, or the input
                try:
                    awaited = keys.throw(error)
                except StopIteration:
                    return
                continue
            awaited = keys.send(character)
            recent = (recent + character)[-len(BRACKETED_PASTE_START) :]
            if recent == BRACKETED_PASTE_START:
                token_callback(events.Paste((yield from self._pasted())))
                for character in BRACKETED_PASTE_END:
                    awaited = keys.send(character)

    def _pasted(self) -> Generator[Read1 | Peek1, str, str]:
        """Return the text before the mark that ends a paste."""
        end = list(BRACKETED_PASTE_END)
        characters: list[str] = []
        while characters[-len(end) :] != end:
            characters.append((yield self.read1()))
        return "".join(characters[: -len(end)])


class TerminalDriver(LinuxDriver):
    """Draws on a terminal as Textual does, and reads it with `InputParser`."""

    def run_input_thread(self) -> None:
        """Read until the chat ends."""
        parser = InputParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:  # kqueue of macOS does not watch every terminal
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_POLL_S):
                    received = os.read(self.fileno, _READ_BYTES)
                    if not received:  # there is no terminal any more
                        return
                    if text := decode(received):  # no text for a part of a character; "" would end the input
                        for event in parser.feed(text):
                            self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
