"""A session as a record, and its canonical file: one JSON object with every entry and its time.

The entries are the source of truth: a turn is the fold of its entries. A file holds completed turns only; a
record whose entries are out of order or have no end can be neither written nor read.
"""

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.core.canon import (
    BlockSealed,
    BlockStarted,
    Entry,
    Kind,
    OutOfOrder,
    Refused,
    ReplyEnded,
    TurnEnded,
    TurnFailed,
    reason_of,
)
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.transcript import Block, Reply, Turn, apply, unfold

VERSION = 2
"""The newest format version of both files; a file with a newer one is refused."""
STRAIGHT_VERSION = 1
"""The version of a file without branches, which earlier versions of Thinkaloud can read."""


class Exchange(msgspec.Struct, frozen=True):
    """The messages of a request and the entries of its answer; `prefix` is a fingerprint of the request."""

    asked: tuple[UserMessage | ToolMessage, ...]
    entries: tuple[Entry, ...]
    model: str = ""
    provider: str = ""
    prefix: str = ""
    created_ms: int | None = None
    follows: int | UnsetType = UNSET
    """The index of the exchange that this one follows, -1 for none; unset for the one before it."""
    key: str | UnsetType = UNSET
    """Identifies an exchange of an imported conversation, so that it is imported once."""
    follows_key: str | UnsetType = UNSET
    """Replaces `follows` if the exchange that this one follows is in another file of the same source."""

    @property
    def turn(self) -> Turn:
        """The fold of the entries, computed on each access."""
        turn = Turn()
        for entry in self.entries:
            apply(turn, entry)
        return turn


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conversation of another program: the program, its id there, and the id of the one it belongs to."""

    client: str
    conversation: str
    parent: str = ""


class SessionRecord(msgspec.Struct, frozen=True):
    """All of a session that a file holds."""

    title: str = ""
    created_ms: int | None = None
    exchanges: tuple[Exchange, ...] = ()
    agent: str = ""
    """The id of the agent that answers; empty if a model does."""
    source: Source | None = None
    """Where the session was imported from; None if from a file of Thinkaloud."""


def turns_of(record: SessionRecord) -> list[Turn]:
    """Return the turn of each exchange; refuse entries that are out of order or have no end."""
    return [_checked_turn(number, exchange) for number, exchange in enumerate(record.exchanges, 1)]


def block_kinds(record: SessionRecord) -> list[Kind]:
    """Return the kinds of all blocks, to count them."""
    return [
        entry.event.kind
        for exchange in record.exchanges
        for entry in exchange.entries
        if isinstance(entry.event, BlockStarted)
    ]


def end_event(exchange: Exchange) -> TurnEnded | TurnFailed:
    """Return the event that ended the answer."""
    end = exchange.entries[-1].event
    assert isinstance(end, TurnEnded | TurnFailed), "turns_of refuses a turn without an end"
    return end


def entries_of(turn: Turn, end: TurnEnded | TurnFailed) -> tuple[Entry, ...]:
    """Return a turn as entries with this end; each text is one delta."""
    entries = unfold(msgspec.structs.replace(turn, outcome=None))
    return (*entries, Entry(len(entries), end, turn.ended_ms))


def without_thoughts(record: SessionRecord) -> SessionRecord:
    """Return the record without thoughts and without what may contain one: seals, summaries, raw messages."""
    pairs = zip(record.exchanges, turns_of(record), strict=True)
    return msgspec.structs.replace(
        record, exchanges=tuple(_exchange_without_thoughts(exchange, turn) for exchange, turn in pairs)
    )


def refuse_newer_version(version: int) -> None:
    """Refuse a file that a newer Thinkaloud wrote."""
    if version > VERSION:
        raise Refused(
            "This session file has format version {version}, but this Thinkaloud reads only up to "
            "version {latest}. Update Thinkaloud to import it.",
            version=version,
            latest=VERSION,
        )


def _checked_turn(number: int, exchange: Exchange) -> Turn:
    try:
        turn = exchange.turn
    except OutOfOrder as error:
        raise Refused(
            "The entries of exchange {number} are not a valid turn: {reason}. Keep them complete and "
            "in their original order.",
            number=number,
            reason=reason_of(error),
        ) from None
    if turn.live:
        raise Refused(
            "The answer of exchange {number} has not ended, and a file holds completed turns only. "
            "Wait for its end, stop it, or leave that exchange out.",
            number=number,
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
    """Return the turn without the providers' own messages, so that it cannot be sent back verbatim."""
    return msgspec.structs.replace(
        turn, replies=[msgspec.structs.replace(reply, message=None) for reply in turn.replies]
    )


def entry_without_seals(entry: Entry) -> Entry:
    """Return the entry without the contents of seals, which only their issuer may see."""
    event = entry.event
    if isinstance(event, BlockSealed):
        seal = msgspec.structs.replace(event.seal, payload="")
        return msgspec.structs.replace(entry, event=BlockSealed(event.block, seal))
    if isinstance(event, ReplyEnded | TurnEnded) and event.message is not None:
        return msgspec.structs.replace(entry, event=msgspec.structs.replace(event, message=None))
    return entry


def _turn_without_thoughts(turn: Turn) -> Turn:
    """Return the turn with renumbered blocks, without thoughts and the blocks below them."""
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
    agent: str | UnsetType = UNSET
    """Unset without an agent, so that the file is the same as an earlier version wrote."""
    source: Source | UnsetType = UNSET


def write_json(record: SessionRecord) -> bytes:
    """Return the bytes of the file; `read_json` returns the same record from them."""
    turns_of(record)
    branched = any(exchange.follows is not UNSET for exchange in record.exchanges)
    version = VERSION if branched else STRAIGHT_VERSION
    agent, source = record.agent or UNSET, record.source or UNSET
    return msgspec.json.encode(
        _SessionFile(version, record.title, record.created_ms, record.exchanges, agent, source)
    )


_version_decoder = msgspec.json.Decoder(_JsonVersion)
_file_decoder = msgspec.json.Decoder(_SessionFile)


def read_json(data: bytes) -> SessionRecord:
    """Return the session in these bytes."""
    try:
        refuse_newer_version(_version_decoder.decode(data).thinkaloud)
        file = _file_decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(
            "This is not a Thinkaloud session: {reason}. Import a file as it was exported: one JSON "
            "object with `thinkaloud`, `title`, `created_ms` and `exchanges`.",
            reason=reason_of(error),
        ) from None
    agent = "" if file.agent is UNSET else file.agent
    source = None if file.source is UNSET else file.source
    record = SessionRecord(file.title, file.created_ms, file.exchanges, agent, source)
    turns_of(record)
    _check_branches(record)
    return record


def _check_branches(record: SessionRecord) -> None:
    for index, exchange in enumerate(record.exchanges):
        if exchange.follows is not UNSET and not -1 <= exchange.follows < index:
            raise Refused(
                "Exchange {number} follows exchange {follows}, which is not before it. Import the "
                "file as it was exported.",
                number=index + 1,
                follows=exchange.follows + 1,
            )
