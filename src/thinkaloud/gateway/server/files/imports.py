"""Files that can be imported, as a computation for a `ProcessPool`: sessions of Thinkaloud and of others.

The output is a sequence of parts, each its length and MessagePack: for each conversation an `ImportHeader`
and its turns, and an `ImportEnd` last. A file that cannot be read as a whole gives an error and no output.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
from msgspec import UNSET, UnsetType

from thinkaloud.core.canon import BlockStarted, Kind, Refused, ReplyEnded, UsageReported, reason_of
from thinkaloud.core.canon.events import MAX_NUMBER
from thinkaloud.core.canon.requests import ToolMessage, UserMessage
from thinkaloud.core.export.markdown_reader import read_markdown
from thinkaloud.core.export.record import Exchange, SessionRecord, Source, block_kinds, read_json
from thinkaloud.core.transcript import Turn
from thinkaloud.core.wire.frames import MIB
from thinkaloud.gateway.server.compatible.client_identity import MAX_CLIENT_CHARACTERS
from thinkaloud.gateway.server.http.errors import BadRequest, PayloadTooLarge
from thinkaloud.gateway.store.log import finish
from thinkaloud.gateway.store.log.archive import LogChunk
from thinkaloud.gateway.store.queries import turns
from thinkaloud.gateway.store.rows import TurnState
from thinkaloud.importers import HistoryFile, UnreadItem

MAX_CONVERSATIONS = 20_000
"""In one file. The response lists them."""
MAX_TURN_BYTES = 64 * MIB
"""One turn in the output. The gateway holds one at a time of each import."""
MAX_TURNS = 2_000
"""Turns in one imported conversation. Saving this many takes half a minute."""
MAX_CONVERSATION_CHARACTERS = 300
OWN_FORMAT = "thinkaloud"
MARKDOWN = "text/markdown"
OTHER_MEDIA_TYPES = (
    "application/zip",
    "application/x-ndjson",
    "application/jsonl",
    "application/vnd.sqlite3",
    "application/octet-stream",
)
"""Types of files of other programs. Their content tells their format."""


_OWN_LINE = b'\n{"thinkaloud"'
"""Begins each further session of a file with several. A line break cannot occur within a string of JSON."""


class ImportHeader(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What an imported file says about a session."""

    title: str
    created_ms: int | None
    agent: str
    model: str
    turns: int
    thoughts: int
    calls: int
    source: Source | None


class ImportedTurn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A turn of an imported file, ready to be saved."""

    asked: tuple[UserMessage | ToolMessage, ...]
    asked_texts: dict[str, str]
    """Its prompts as search indexes them."""
    model: str
    provider: str
    prefix: str
    key: str
    follows: int | UnsetType = UNSET
    """As in `Exchange`."""
    follows_key: str
    created_ms: int | None
    turn: Turn
    state: TurnState
    chunks: tuple[LogChunk, ...]
    texts: dict[str, str]
    """The texts of the turn as search indexes them."""


class ImportEnd(msgspec.Struct, frozen=True, tag=True):
    """The format of a file, and what of it comes into no session."""

    format: str
    unread: tuple[UnreadItem, ...]


class ImportLimits(msgspec.Struct, frozen=True):
    """What an import may hold, and the format if it was named."""

    blocks_per_turn: int
    unpacked_bytes: int
    format: str = ""


ImportPart = ImportHeader | ImportedTurn | ImportEnd
_part_decoder: msgspec.msgpack.Decoder[ImportPart] = msgspec.msgpack.Decoder(ImportPart)
_encode_part = msgspec.msgpack.Encoder().encode
_LENGTH_BYTES = 4


class _JsonFile(msgspec.Struct):
    thinkaloud: msgspec.Raw | UnsetType = UNSET


def read_import(media_type: str, data: bytes, limits: ImportLimits) -> Iterator[bytes]:
    """Read a file. Yield the parts of the output."""
    conversations = 0
    for part in _parts(media_type, data, limits):
        conversations += isinstance(part, ImportHeader)
        if conversations > MAX_CONVERSATIONS:
            raise PayloadTooLarge(
                "The file has more than {max_conversations} conversations. Split it and import the parts.",
                max_conversations=f"{MAX_CONVERSATIONS:,}",
            )
        encoded = _encode_part(part)
        if len(encoded) > MAX_TURN_BYTES:
            raise PayloadTooLarge(
                "One turn takes more than {max_turn_bytes} MiB with its index. Shorten it.",
                max_turn_bytes=MAX_TURN_BYTES // MIB,
            )
        yield len(encoded).to_bytes(_LENGTH_BYTES) + encoded


def next_part(output: BinaryIO) -> ImportPart:
    """Return the next part of the output of `read_import`. It is not trusted: a stranger's file made it."""
    size = int.from_bytes(output.read(_LENGTH_BYTES))
    if size > MAX_TURN_BYTES:
        raise ValueError(f"a part of {size} bytes in the output of an import")
    return _part_decoder.decode(output.read(size))


def _parts(media_type: str, data: bytes, limits: ImportLimits) -> Iterator[ImportPart]:
    if limits.format in ("", OWN_FORMAT) and (media_type == MARKDOWN or _is_own_file(data)):
        for record in _own_records(media_type, data):
            yield from _record_parts(record, limits)
        yield ImportEnd(OWN_FORMAT, ())
        return
    if media_type == MARKDOWN or limits.format == OWN_FORMAT:
        raise Refused("The file is not one of Thinkaloud's own. Send it with another format, or with none.")
    with tempfile.NamedTemporaryFile() as file:  # a database can only be opened by its name
        file.write(data)
        file.seek(0)
        history = HistoryFile(
            cast(BinaryIO, file),
            format_name=limits.format,
            path=Path(file.name),
            max_unpacked_bytes=limits.unpacked_bytes,
        )
        for imported in history.sessions():
            yield from _record_parts(imported.record, limits)
        yield ImportEnd(history.format, history.unread)


_file_decoder = msgspec.json.Decoder(_JsonFile)


def _is_own_file(data: bytes) -> bool:
    """Return whether an object has the field `thinkaloud`, or cannot be told from one that is damaged."""
    if not data.startswith(b"{"):
        return False
    try:
        return _file_decoder.decode(data).thinkaloud is not UNSET
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return data.startswith(_OWN_LINE.lstrip())


def _own_records(media_type: str, data: bytes) -> Iterator[SessionRecord]:
    """Yield the session of a file, or one session for each of its lines."""
    if media_type == MARKDOWN:
        try:
            yield read_markdown(data.decode())
        except UnicodeDecodeError:
            raise BadRequest("The file is not UTF-8 text. Export it again, or convert it to UTF-8.") from None
    elif _OWN_LINE in data:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                yield read_json(line)
            except Refused as error:
                raise Refused("Line {number}: {reason}", number=number, reason=reason_of(error)) from None
    else:
        yield read_json(data)


def _record_parts(record: SessionRecord, limits: ImportLimits) -> Iterator[ImportPart]:
    _check_record(record, limits.blocks_per_turn)
    kinds = block_kinds(record)
    yield ImportHeader(
        title=record.title,
        created_ms=record.created_ms,
        agent=record.agent,
        model=record.exchanges[-1].model if record.exchanges else "",
        turns=len(record.exchanges),
        thoughts=kinds.count(Kind.REASONING),
        calls=kinds.count(Kind.TOOL_CALL),
        source=record.source,
    )
    yield from map(_imported_turn, record.exchanges)


def _imported_turn(exchange: Exchange) -> ImportedTurn:
    finished = finish.finished_from_entries(list(exchange.entries))
    return ImportedTurn(
        asked=exchange.asked,
        asked_texts=turns.normalized_texts(exchange.asked),
        model=exchange.model,
        provider=exchange.provider,
        prefix=exchange.prefix,
        key="" if exchange.key is UNSET else exchange.key,
        follows=exchange.follows,
        follows_key="" if exchange.follows_key is UNSET else exchange.follows_key,
        created_ms=exchange.created_ms,
        turn=finished.turn,
        state=finished.state,
        chunks=finished.chunks,
        texts=finished.normalized_texts,
    )


def _check_record(record: SessionRecord, max_blocks: int) -> None:
    if len(record.exchanges) > MAX_TURNS:
        raise PayloadTooLarge(
            "The file has more than {max_turns} turns. Split it and import the parts.",
            max_turns=f"{MAX_TURNS:,}",
        )
    _check_source(record)
    _check_numbers(record.created_ms)
    for number, exchange in enumerate(record.exchanges, 1):
        if [entry.seq for entry in exchange.entries] != list(range(len(exchange.entries))):
            raise Refused(
                "The entries of exchange {number} are not numbered 0, 1, 2 and so on. Export the "
                "session again.",
                number=number,
            )
        _check_numbers(exchange.created_ms, *(entry.at_ms for entry in exchange.entries))
        if sum(isinstance(entry.event, BlockStarted) for entry in exchange.entries) > max_blocks:
            raise PayloadTooLarge(
                "Exchange {number} has more than {max_blocks} blocks (limit blocks_per_turn). Split "
                "the file and import the parts.",
                number=number,
                max_blocks=f"{max_blocks:,}",
            )
        for entry in exchange.entries:
            if isinstance(entry.event, UsageReported | ReplyEnded):
                _check_numbers(*msgspec.structs.astuple(entry.event.usage))


def _check_source(record: SessionRecord) -> None:
    """Refuse keys without a source, and a source whose exchanges have no keys or names that are too long."""
    source = record.source
    keyed = [exchange.key is not UNSET for exchange in record.exchanges]
    if source is None:
        if any(keyed) or any(exchange.follows_key is not UNSET for exchange in record.exchanges):
            raise Refused("The file has keys of exchanges, but no `source`. Remove them, or add it.")
        return
    names = (source.conversation, source.parent)
    if (
        not all(keyed)
        or not (source.client and source.conversation)
        or len(source.client) > MAX_CLIENT_CHARACTERS
        or max(map(len, names)) > MAX_CONVERSATION_CHARACTERS
    ):
        raise Refused(
            "A session with a `source` needs a `key` in each exchange, a `client` of at most "
            "{max_client_characters} characters, and a `conversation` of at most "
            "{max_conversation_characters} characters.",
            max_client_characters=MAX_CLIENT_CHARACTERS,
            max_conversation_characters=MAX_CONVERSATION_CHARACTERS,
        )


def _check_numbers(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not 0 <= number <= MAX_NUMBER:
            raise Refused(
                "The file has a time or a count of {number}, which is out of range. Correct it: 0 to "
                "{max_number} is allowed.",
                number=number,
                max_number=MAX_NUMBER,
            )
