"""Session files: what an export writes and an import reads, as computations for a `WorkerPool`.

Both forms, markdown and JSON, can be imported again.
"""

import pickle
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.canon import BlockStarted, Entry, Refused, UsageReported
from thinkaloud.canon.requests import ToolMessage, UserMessage
from thinkaloud.export.markdown import ThinkingStyle, write_markdown
from thinkaloud.export.markdown_reader import read_markdown
from thinkaloud.export.record import Exchange, SessionRecord, read_json, write_json
from thinkaloud.server.errors import BadRequest, PayloadTooLarge
from thinkaloud.server.schemas import ExportQuery
from thinkaloud.server.thought_filter import hide_in_entries
from thinkaloud.store import finish, turns
from thinkaloud.store.archive import PackedLog, decode_entries, unpack_lines
from thinkaloud.store.finish import FinishedTurn
from thinkaloud.store.rows import Session, ThinkingShown, TurnRow, TurnState
from thinkaloud.store.turns import TurnRequest

MAX_TURNS = 2_000
"""Turns in one imported file. Saving this many takes half a minute."""
MAX_NUMBER = 2**53
"""The largest integer that every JSON reader keeps exactly. No valid time or count comes near it."""


class StoredTurn(msgspec.Struct, frozen=True):
    """A turn as it is stored: its row, the messages that started it, and its log, not yet unpacked."""

    row: TurnRow
    asked: tuple[UserMessage | ToolMessage, ...]
    log: PackedLog
    shown: ThinkingShown = ThinkingShown.ALL


class ImportHeader(msgspec.Struct, frozen=True):
    """What an imported file says about its session."""

    title: str
    created_ms: int | None
    agent: str
    model: str
    turns: int


class ImportedTurn(msgspec.Struct, frozen=True):
    """A turn of an imported file, ready to be saved."""

    request: TurnRequest
    finished: FinishedTurn
    created_ms: int | None
    follows: int | UnsetType
    """As in `Exchange`."""


def write_export(
    session: Session, stored_turns: tuple[StoredTurn, ...], query: ExportQuery, language: str
) -> Iterator[bytes]:
    """Yield the file of a session, as markdown or JSON."""
    record = _session_record(session, stored_turns)
    if query.format == "json":
        yield write_json(record)
    else:
        yield write_markdown(record, locale=language, thinking=ThinkingStyle(query.thinking)).encode()


def read_import(media_type: str, data: bytes, max_blocks: int) -> Iterator[bytes]:
    """Read a file. Yield its `ImportHeader`, then an `ImportedTurn` for each exchange, pickled."""
    record = _parse_record(media_type, data, max_blocks)
    model = record.exchanges[-1].model if record.exchanges else ""
    yield pickle.dumps(
        ImportHeader(record.title, record.created_ms, record.agent, model, len(record.exchanges))
    )
    for exchange in record.exchanges:
        yield pickle.dumps(_imported_turn(exchange))


def _imported_turn(exchange: Exchange) -> ImportedTurn:
    request = TurnRequest(
        messages=exchange.asked,
        model=exchange.model,
        provider=exchange.provider,
        prefix=exchange.prefix,
        imported=True,
        normalized_texts=turns.normalized_texts(exchange.asked),
    )
    finished = finish.finished_from_entries(list(exchange.entries))
    return ImportedTurn(request, finished, exchange.created_ms, exchange.follows)


def _session_record(session: Session, stored_turns: tuple[StoredTurn, ...]) -> SessionRecord:
    ended = [turn for turn in stored_turns if turn.row.state is not TurnState.RUNNING]
    indexes = {turn.row.key: index for index, turn in enumerate(ended)}
    exchanges = (
        Exchange(
            asked=turn.asked,
            entries=_visible_entries(turn),
            model=turn.row.model,
            provider=turn.row.provider,
            prefix=turn.row.prefix,
            created_ms=turn.row.created_ms,
            follows=_followed_index(turn.row, index, indexes),
        )
        for index, turn in enumerate(ended)
    )
    return SessionRecord(session.title, session.created_ms, tuple(exchanges), session.agent)


def _followed_index(row: TurnRow, index: int, indexes: dict[int, int]) -> int | UnsetType:
    followed = -1 if row.parent is None else indexes[row.parent]
    return UNSET if followed == index - 1 else followed


def _visible_entries(turn: StoredTurn) -> tuple[Entry, ...]:
    """Return the entries that the user may see, numbered anew if events of a newer version were left out."""
    entries = hide_in_entries(decode_entries(unpack_lines(turn.log)), turn.shown)
    return tuple(msgspec.structs.replace(entry, seq=seq) for seq, entry in enumerate(entries))


def _parse_record(media_type: str, data: bytes, max_blocks: int) -> SessionRecord:
    try:
        record = read_json(data) if media_type == "application/json" else read_markdown(data.decode())
    except UnicodeDecodeError:
        raise BadRequest("The file is not UTF-8 text. Export it again, or convert it to UTF-8.") from None
    _check_record(record, max_blocks)
    return record


def _check_record(record: SessionRecord, max_blocks: int) -> None:
    if len(record.exchanges) > MAX_TURNS:
        raise PayloadTooLarge(f"The file has more than {MAX_TURNS:,} turns. Split it and import the parts.")
    _check_numbers(record.created_ms)
    for number, exchange in enumerate(record.exchanges, 1):
        if [entry.seq for entry in exchange.entries] != list(range(len(exchange.entries))):
            raise Refused(
                f"The entries of exchange {number} are not numbered 0, 1, 2 and so on. "
                "Export the session again."
            )
        _check_numbers(exchange.created_ms, *(entry.at_ms for entry in exchange.entries))
        if sum(isinstance(entry.event, BlockStarted) for entry in exchange.entries) > max_blocks:
            raise PayloadTooLarge(
                f"Exchange {number} has more than {max_blocks:,} blocks (limit blocks_per_turn). "
                "Split the file and import the parts."
            )
        for entry in exchange.entries:
            if isinstance(entry.event, UsageReported):
                _check_numbers(*msgspec.structs.astuple(entry.event.usage))


def _check_numbers(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not 0 <= number <= MAX_NUMBER:
            raise Refused(
                f"The file has a time or a count of {number}, which is out of range. Correct it: "
                f"0 to {MAX_NUMBER} is allowed."
            )
