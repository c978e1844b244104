"""Session files: what an export writes, as a computation for a `ProcessPool`.

Markdown, JSON and traces with seals can be imported again.
"""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.core.canon import Entry
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.markdown import write_markdown
from thinkaloud.core.export.otlp import TraceIds, write_otlp
from thinkaloud.core.export.record import Exchange, SessionRecord, write_json
from thinkaloud.core.export.spans import SpanOptions
from thinkaloud.gateway.server.schemas.sessions import ExportQuery
from thinkaloud.gateway.server.streams.thought_filter import hide_in_entries
from thinkaloud.gateway.store.log.archive import PackedLog, decode_entries, unpack_lines
from thinkaloud.gateway.store.rows import Session, ThinkingShown, TurnRow, TurnState


class StoredTurn(msgspec.Struct, frozen=True):
    """A turn as it is stored: its row, the messages that started it, and its log, not yet unpacked."""

    row: TurnRow
    asked: tuple[UserMessage | ToolMessage, ...]
    log: PackedLog
    shown: ThinkingShown = ThinkingShown.ALL


def write_export(
    session: Session, stored_turns: tuple[StoredTurn, ...], query: ExportQuery, language: str
) -> Iterator[bytes]:
    """Yield the file of a session, as markdown, JSON or traces."""
    record = _session_record(session, stored_turns)
    if query.format == "json":
        yield write_json(record)
    elif query.format == "otlp":
        options = SpanOptions(query.content, query.openinference)
        ids = TraceIds(session.id, tuple(turn.row.id for turn in _ended(stored_turns)), query.turn)
        yield write_otlp(record, options, ids)
    else:
        yield write_markdown(record, locale=language, thinking=query.thinking).encode()


def _session_record(session: Session, stored_turns: tuple[StoredTurn, ...]) -> SessionRecord:
    ended = _ended(stored_turns)
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


def _ended(stored_turns: tuple[StoredTurn, ...]) -> list[StoredTurn]:
    return [turn for turn in stored_turns if turn.row.state is not TurnState.RUNNING]


def _followed_index(row: TurnRow, index: int, indexes: dict[int, int]) -> int | UnsetType:
    followed = -1 if row.parent is None else indexes[row.parent]
    return UNSET if followed == index - 1 else followed


def _visible_entries(turn: StoredTurn) -> tuple[Entry, ...]:
    """Return the entries that the user may see, numbered anew if events of a newer version were left out."""
    entries = hide_in_entries(decode_entries(unpack_lines(turn.log)), turn.shown)
    return tuple(msgspec.structs.replace(entry, seq=seq) for seq, entry in enumerate(entries))
