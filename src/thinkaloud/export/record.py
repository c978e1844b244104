"""A session as files keep it: what was asked, and the log of each answer.

The log is the source: a turn is the fold of its entries. A file holds whole turns only, so a record whose
entries tell no story, or have no end, can be neither written nor read.

The canonical file of a session: one JSON object with every entry as it was told, stamps and all.
"""

import msgspec

from thinkaloud.canon import Entry, Kind, OutOfOrder, Refused, TurnEnded, TurnFailed
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.transcript import Block, Reply, Turn, apply, unfold

VERSION = 1
"""Of both files; a reader refuses what a newer one wrote."""


class Exchange(msgspec.Struct, frozen=True):
    """What was asked and what was answered; `prefix` is the fingerprint of the request that was sent."""

    asked: tuple[UserMessage | ToolMessage, ...]
    entries: tuple[Entry, ...]
    model: str = ""
    provider: str = ""
    prefix: str = ""
    created_ms: int | None = None

    @property
    def turn(self) -> Turn:
        """The fold of the entries, made anew each time."""
        turn = Turn()
        for entry in self.entries:
            apply(turn, entry)
        return turn


class SessionRecord(msgspec.Struct, frozen=True):
    """Everything of a session that a file keeps."""

    title: str = ""
    created_ms: int | None = None
    exchanges: tuple[Exchange, ...] = ()


def turns_of(record: SessionRecord) -> list[Turn]:
    """The turn of each exchange; refuses entries that tell no story, and names their exchange."""
    return [_checked_turn(number, exchange) for number, exchange in enumerate(record.exchanges, 1)]


def end_event(exchange: Exchange) -> TurnEnded | TurnFailed:
    """The event that ended the answer."""
    end = exchange.entries[-1].event
    assert isinstance(end, TurnEnded | TurnFailed), "turns_of refuses a turn without an end"
    return end


def entries_of(turn: Turn, end: TurnEnded | TurnFailed) -> tuple[Entry, ...]:
    """A turn as entries with this end, each text in one piece."""
    entries = unfold(msgspec.structs.replace(turn, outcome=None))
    return (*entries, Entry(len(entries), end, turn.ended_ms))


def without_thoughts(record: SessionRecord) -> SessionRecord:
    """The record without any thought, and without all that may hold one: seals, summaries, raw messages."""
    pairs = zip(record.exchanges, turns_of(record), strict=True)
    return msgspec.structs.replace(
        record, exchanges=tuple(_exchange_without_thoughts(exchange, turn) for exchange, turn in pairs)
    )


def refuse_newer_version(version: int) -> None:
    """Refuses a file that a newer Thinkaloud wrote."""
    if version > VERSION:
        raise Refused(
            f"This session is in version {version} of the format, and this Thinkaloud reads up to {VERSION}. "
            "Bring Thinkaloud up to date to read it."
        )


def _checked_turn(number: int, exchange: Exchange) -> Turn:
    try:
        turn = exchange.turn
    except OutOfOrder as error:
        raise Refused(
            f"The entries of exchange {number} tell no story: {error}. Keep them as they were told."
        ) from None
    if turn.live:
        raise Refused(
            f"The answer of exchange {number} has no end: a file keeps turns that are over. "
            "Wait for it, or stop it; or leave that exchange out."
        )
    return turn


def _exchange_without_thoughts(exchange: Exchange, turn: Turn) -> Exchange:
    end = end_event(exchange)
    if isinstance(end, TurnEnded):
        end = msgspec.structs.replace(end, message=None)
    stripped = without_seals(_turn_without_thoughts(turn))
    return msgspec.structs.replace(
        exchange,
        entries=entries_of(msgspec.structs.replace(stripped, summary="", summary_by="", message=None), end),
    )


def without_seals(turn: Turn) -> Turn:
    """A turn that can go back to nobody as it was said: without what its issuers sealed of its replies."""
    return msgspec.structs.replace(
        turn, replies=[msgspec.structs.replace(reply, message=None) for reply in turn.replies]
    )


def _turn_without_thoughts(turn: Turn) -> Turn:
    """The turn with the blocks that are no thoughts and hang below none, numbered anew."""
    new_numbers: dict[int | None, int | None] = {None: None}
    blocks: list[Block] = []
    for block in turn.blocks:
        if block.kind is not Kind.REASONING and block.parent in new_numbers:
            new_numbers[block.number] = len(blocks)
            number, parent = len(blocks), new_numbers[block.parent]
            blocks.append(msgspec.structs.replace(block, number=number, parent=parent, seals=[]))
    return msgspec.structs.replace(
        turn,
        blocks=blocks,
        replies=[
            _renumber_reply(reply, new_numbers) for reply in turn.replies if reply.parent in new_numbers
        ],
        notices=[
            msgspec.structs.replace(notice, block=new_numbers[notice.block])
            for notice in turn.notices
            if notice.block in new_numbers
        ],
    )


def _renumber_reply(reply: Reply, new_numbers: dict[int | None, int | None]) -> Reply:
    until = sum(number is not None and number < reply.until for number in new_numbers)
    calls = tuple(new_number for number in reply.calls if (new_number := new_numbers.get(number)) is not None)
    return msgspec.structs.replace(reply, parent=new_numbers[reply.parent], until=until, calls=calls)


class _JsonVersion(msgspec.Struct):
    thinkaloud: int


class _SessionFile(_JsonVersion):
    title: str
    created_ms: int | None
    exchanges: tuple[Exchange, ...]


def write_json(record: SessionRecord) -> bytes:
    """The bytes of the file; reading them gives the same record."""
    turns_of(record)
    return msgspec.json.encode(_SessionFile(VERSION, record.title, record.created_ms, record.exchanges))


def read_json(data: bytes) -> SessionRecord:
    """The session in these bytes."""
    try:
        refuse_newer_version(msgspec.json.decode(data, type=_JsonVersion).thinkaloud)
        file = msgspec.json.decode(data, type=_SessionFile)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(
            f"This is not a session of Thinkaloud: {error}. It needs one JSON object as an export writes it, "
            "with `thinkaloud`, `title`, `created_ms` and `exchanges`."
        ) from None
    record = SessionRecord(file.title, file.created_ms, file.exchanges)
    turns_of(record)
    return record
