"""Follows a turn of a gateway for a command that prints: what was printed cannot be taken back."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from thinkaloud.cli.output.console import in_users_language
from thinkaloud.cli.output.words import command_words
from thinkaloud.core.canon import Entry, Refused, ThinkaloudError, TurnEnded, TurnFailed
from thinkaloud.surfaces.chat.backend import (
    BackendUnreachable,
    Reconnecting,
    Restarted,
    StorageChanged,
    TurnBackend,
)

_MAX_ATTEMPTS = 8
"""Attempts to reconnect. They take some twenty seconds."""
SAVE_TIMEOUT_S = 15.0
"""How long a turn that has ended may take to be saved."""
UNSAVED_TIMEOUT_S = 3.0
"""The same if the gateway reports that the disk accepts no writes."""


class TurnNotSaved(ThinkaloudError):
    """A turn has ended, but the gateway could not save it."""


async def follow_printed(
    backend: TurnBackend, turn: str, write_notice: Callable[[str], None]
) -> AsyncGenerator[Entry, None]:
    """Yield the entries of a turn from the first one until it has ended.

    `write_notice` reports lost connections. A turn that has ended but is not saved is waited for some seconds
    only: the disk may stay full for ever.
    """
    saved, wait_s = True, None
    async with aclosing(backend.stream(turn)) as items:
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise TurnNotSaved(
                    "The turn has ended but is not saved: the disk is full, or takes too long to write. "
                    "Keep what was printed, and free some disk space."
                ) from None
            if isinstance(item, StorageChanged):
                saved = item.saved
            if isinstance(item, Entry):
                yield item
                if isinstance(item.event, TurnEnded | TurnFailed):
                    wait_s = SAVE_TIMEOUT_S
            else:
                _report(turn, item, write_notice)
            if wait_s is not None:
                wait_s = SAVE_TIMEOUT_S if saved else UNSAVED_TIMEOUT_S


def _report(
    turn: str, item: Reconnecting | Restarted | StorageChanged, write_notice: Callable[[str], None]
) -> None:
    words = command_words()
    match item:
        case Reconnecting():
            _refuse_endless_loss(turn, item)
            if item.attempt == 1:
                write_notice(f"thinkaloud: {words.text('reconnect', reason=in_users_language(item.reason))}")
        case Restarted():
            raise Refused(
                "The gateway was restarted, and this turn ended in another way than was shown here. "
                "`thinkaloud show {turn}` shows it.",
                turn=turn,
            )
        case StorageChanged(saved=True):
            write_notice(f"thinkaloud: {words.text('saved')}")
        case StorageChanged():
            write_notice(f"thinkaloud: {words.text('unsaved')}")


def _refuse_endless_loss(turn: str, loss: Reconnecting) -> None:
    if loss.attempt > _MAX_ATTEMPTS:
        raise BackendUnreachable(
            "{reason} If the gateway still runs, so does the turn: `thinkaloud watch {turn}` shows it.",
            reason=loss.reason,
            turn=turn,
        )
